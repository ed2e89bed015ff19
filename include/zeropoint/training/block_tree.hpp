// SPDX-License-Identifier: BSD-3-Clause
// Sums of blocks in an order that depends on their numbers alone, whoever computes them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <zeropoint/kernel/gradient/clamp_gradient.hpp>

namespace zp::inline v0 {

/// Pairs of neighbours are added, then pairs of pairs: block 0 + block 1, blocks 2 + 3, then both, and so on; what has no neighbour goes
/// up as it is. A part of 2^k blocks from a multiple of 2^k on is a block of the tree above: parts may be summed elsewhere. At most one
/// array a level is kept.
template <class Arch> class block_tree {
public:
    explicit block_tree(std::size_t size) : size_(size) {}

    /// Takes the next block's values. `block` is another array afterwards, of any values.
    void push(std::vector<float>& block) {
        std::size_t level = 0;
        for (; level != levels_.size() && is_full_[level]; ++level) {
            add(levels_[level], block);
            is_full_[level] = false;
        }
        if (level == levels_.size()) {
            levels_.emplace_back(size_);
            is_full_.push_back(false);
        }
        std::swap(levels_[level], block);
        is_full_[level] = true;
    }
    /// The sum of all into `sum`, and from the beginning again.
    void finish(std::vector<float>& sum) {
        bool is_first = true;
        for (std::size_t level = 0; level != levels_.size(); ++level) {
            if (!is_full_[level]) continue;
            if (is_first) std::swap(sum, levels_[level]);
            else add(levels_[level], sum);
            is_first = false;
            is_full_[level] = false;
        }
        if (is_first) std::fill(sum.begin(), sum.end(), 0.0f);
    }

private:
    /// right = left + right, of which each sum has two operands: their order makes no difference.
    static void add(const std::vector<float>& left, std::vector<float>& right) {
        kernel::add_gradient<Arch>(left.data(), right.size(), right.data());
    }

    std::size_t size_;
    std::vector<std::vector<float>> levels_;
    std::vector<char> is_full_;
};

}  // namespace zp::inline v0
