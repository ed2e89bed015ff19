// SPDX-License-Identifier: BSD-3-Clause
// Who runs the blocks of a batch: the memory of a worker, and how blocks are shared among several.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <zeropoint/observe/observer.hpp>
#include <zeropoint/training/batch_losses.hpp>
#include <zeropoint/training/block_runner.hpp>
#include <zeropoint/training/block_tree.hpp>
#include <zeropoint/training/tape.hpp>

namespace zp::inline v0::detail {

/// What a worker has: a block's memory, sums of its blocks, and what it saw. Workers share nothing that is written.
template <class Arch> struct training_worker {
    block_runner<Arch> runner;
    block_tree<Arch> tree;
    std::vector<float> leaf;  // gradients of parameters, then of scale and zero point of each range
    std::vector<observed_range> seen;
    gathered_targets targets;
    std::vector<const void*> inputs;

    training_worker(const tape& of, std::size_t leaf_floats)
        : runner(of),
          tree(leaf_floats),
          leaf(leaf_floats),
          seen(static_cast<std::size_t>(of.qparams_count)),
          inputs(of.inputs.size()) {
        targets.inputs.resize(of.inputs.size());
    }
};

/// The sums of 2^level blocks each, by as many parts as there are workers, and then of all. What comes out depends on the blocks alone.
struct block_parts {
    std::size_t blocks, level;

    std::size_t size() const { return std::size_t{1} << level; }
    std::size_t count() const { return (blocks + size() - 1) / size(); }
    static block_parts of(std::size_t blocks, std::size_t workers) {
        block_parts parts{blocks, 0};
        const std::size_t least = workers == 1 ? 1 : std::min(4 * workers, blocks);
        while (block_parts{blocks, parts.level + 1}.count() >= least && parts.count() > 1) ++parts.level;
        return parts;
    }
};

}  // namespace zp::inline v0::detail
