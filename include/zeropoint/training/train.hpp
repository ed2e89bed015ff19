// SPDX-License-Identifier: BSD-3-Clause
// train: batches through a network and back, and a step of the optimizer after each.
#pragma once

#include <type_traits>
#include <utility>

#include <zeropoint/model/executor.hpp>
#include <zeropoint/training/fake_quantized.hpp>
#include <zeropoint/training/float_training.hpp>
#include <zeropoint/training/gradient_exchange.hpp>
#include <zeropoint/training/trainer.hpp>
#include <zeropoint/training/training_data.hpp>
#include <zeropoint/training/training_options.hpp>

namespace zp::inline v0 {
/// Trains a network: what zp::prepare_qat gives, or a float network, fused or as written. `data` is zp::labelled(inputs, labels),
/// zp::paired(inputs, targets), zp::unlabelled(inputs), or zp::with_targets for several outputs. `with` runs blocks of a batch at once; what comes out does not depend on it, bit for bit.
/// `progress(training_progress)` is called after each step, and may return false to end. Raises training_error where a loss, gradient or
/// weight is not finite, and value_error or shape_error for options and data that do not fit.
///
/// `ranks` are processes that train together, each of which makes the same call (gradient_exchange.hpp; zp::ranks over MPI): each
/// computes some of a batch's blocks, and all end with the same parameters. They begin with rank 0's parameters; rank 0 alone writes
/// checkpoints, all read them; progress is called on every rank, and any may end training. rank_error where they do not agree.
template <class Network, class Data, executor Executor, class Progress, class Exchange>
    requires gradient_exchange<std::remove_reference_t<Exchange>> training_report
    train(Network& network, const Data& data, const training_options& options, const Executor& with,
          Progress&& progress, Exchange&& ranks) {
        using inputs = std::remove_cvref_t<decltype(data.inputs)>;
        auto&& trainee = detail::trainee_of(network);
        using type = std::remove_reference_t<decltype(trainee)>;
        const detail::input_samples<type, inputs> samples(data.inputs);
        detail::trainer<type, inputs, std::remove_reference_t<Exchange>> run(
            trainee, samples, detail::targets_of(data, samples.count(), type::outputs()), options, ranks);
        return run.run(with, std::forward<Progress>(progress));
    }
template <class Network, class Data, executor Executor, class Progress>
training_report train(Network& network, const Data& data, const training_options& options, const Executor& with,
                      Progress&& progress) {
    return train(network, data, options, with, std::forward<Progress>(progress), one_rank{});
}
template <class Network, class Data>
training_report train(Network& network, const Data& data, const training_options& options = {}) {
    return train(network, data, options, executors::serial{}, [](const training_progress&) {});
}
template <class Network, class Data, executor Executor>
training_report train(Network& network, const Data& data, const training_options& options, const Executor& with) {
    return train(network, data, options, with, [](const training_progress&) {});
}
template <class Network, class Data, class Exchange>
    requires gradient_exchange<std::remove_reference_t<Exchange>> training_report train(Network& network,
                                                                                        const Data& data,
                                                                                        const training_options& options,
                                                                                        Exchange&& ranks) {
        return train(
            network, data, options, executors::serial{}, [](const training_progress&) {}, ranks);
    }

}  // namespace zp::inline v0
