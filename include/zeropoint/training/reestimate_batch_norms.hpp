// SPDX-License-Identifier: BSD-3-Clause
// reestimate_batch_norms: the running statistics of batch norms, from data, with the weights that training has ended with.
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <vector>

#include <zeropoint/core/error.hpp>
#include <zeropoint/training/block_runner.hpp>
#include <zeropoint/training/fake_quantized.hpp>
#include <zeropoint/training/float_training.hpp>
#include <zeropoint/training/live_norms.hpp>
#include <zeropoint/training/training_data.hpp>

namespace zp::inline v0 {

/// Runs all inputs, at most `block` at a time, with the statistics of those that run together, as training does, and sets each batch
/// norm's running mean and variance to those of all rows that it has seen; the variance is the unbiased one. `network` is a float network as
/// written, or what zp::prepare_qat makes of one, whose values are rounded; `inputs` are as for zp::labelled. Nothing else is changed, and
/// batch norms stay live or frozen as they were. Raises value_error where there are none to estimate, or one value a channel.
template <class Network, class Inputs>
void reestimate_batch_norms(Network& network, const Inputs& inputs, int block = 64) {
    auto&& trainee = detail::trainee_of(network);
    using type = std::remove_reference_t<decltype(trainee)>;
    const detail::input_samples<type, Inputs> samples(inputs);
    if (!trainee.has_batch_norms())
        raise<value_error>(
            "reestimate_batch_norms: expected a network with batch norms of its own, but they are folded: give it the "
            "network as written, or what prepare_qat makes of that");
    if (!trainee.has_ranges())
        raise<value_error>("reestimate_batch_norms: expected ranges of activations: calibrate or train the network");
    if (samples.count() == 0 || block < 1)
        raise<value_error>("reestimate_batch_norms: expected inputs, and a block of at least 1");
    const bool was_live = trainee.batch_norms_are_live();
    trainee.set_batch_norms_live(true);
    const std::size_t count = samples.count(), most = std::min(count, static_cast<std::size_t>(block)),
                      blocks = (count + most - 1) / most;
    const tape rows = trainee.make_tape(static_cast<int>(most));
    const live_norms norms(rows);
    norms.require_rows(count / blocks);
    block_runner<typename type::architecture> runner(rows);
    const tape_parameters parameters = trainee.pack();
    std::vector<batch_norm_statistics> seen = norms.statistics();
    std::vector<double> sums(norms.doubles());
    for (std::size_t b = 0; b != blocks; ++b) {
        const std::size_t first = count * b / blocks, size = count * (b + 1) / blocks - first;
        for (std::size_t i = 0; i != size; ++i)
            samples.copy(first + i, [&](int port) { return runner.input(port, static_cast<int>(i)); });
        runner.forward(static_cast<int>(size), parameters, true);
        norms.take_sums(runner, sums.data());
        norms.add(seen, size, sums.data());
    }
    norms.follow<typename type::architecture>(seen, 1, trainee.values());
    trainee.set_batch_norms_live(was_live);
    trainee.finish();
}

}  // namespace zp::inline v0
