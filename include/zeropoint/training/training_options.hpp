// SPDX-License-Identifier: BSD-3-Clause
// How a network is trained, what is said meanwhile, and what there is to know afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <zeropoint/training/losses.hpp>
#include <zeropoint/training/optimizers.hpp>
#include <zeropoint/training/schedules.hpp>
#include <zeropoint/training/weight_average.hpp>

namespace zp::inline v0 {

/// Distillation from a float network: see distill().
struct distilled {
    distillation by;  // temperature and weights
    /// Writes the float network's outputs for inputs, one pointer a port.
    std::function<void(const void* const* inputs, float* outputs)> teacher;
};
/// The loss of learning from `teacher`, a network with the same inputs and one output of as many values. It must outlive training.
template <class Network> distilled distill(const Network& teacher, const distillation& by = {}) {
    return {by, [&teacher](const void* const* inputs, float* outputs) {
                const auto memory = std::make_unique<typename Network::workspace>();
                void* const ys[] = {outputs};
                teacher.run(inputs, ys, memory->bytes);
            }};
}

/// One output of some samples, as a loss of one's own sees it.
struct loss_rows {
    std::span<const float> outputs;        // samples x values of an output
    std::size_t samples = 0;               // how many
    std::span<const std::int32_t> labels;  // as zp::labelled has them; else empty
    std::span<const float> targets;        // as zp::paired has them; else empty
    double factor = 1;                     // 1 / samples of the whole batch, for the mean
    std::span<float> gradient;             // to write: factor * d loss / d output
};
/// Returns the sum of the samples' losses, not multiplied by the factor. It must not raise.
using own_loss = std::function<double(const loss_rows&)>;

/// What training makes small.
using any_loss = std::variant<cross_entropy, mean_squared_error, kl_divergence, distilled, own_loss>;

/// The loss of a marked output.
struct output_loss {
    std::string output;               // its name
    any_loss loss = cross_entropy{};  // the mean over its rows is made small,
    double weight = 1;                // times this
};

/// How zp::train trains.
struct training_options {
    int epochs = 1;  // how often all data are seen
    int batch = 32;  // samples of a step; the last step of an epoch may have fewer
    int block =
        0;  // samples whose gradients are summed one after another, part of what results depend on; 0: 8 to 64, by the network
    any_optimizer optimizer = sgd{};             // sgd, adam or adamw
    any_schedule schedule = constant_rate{};     // what the rate is multiplied by over time
    warm_up start = {};                          // and in the first batches
    any_loss loss = cross_entropy{};             // what is made small, of the first output;
    std::vector<output_loss> losses = {};        // or of several, in its place
    double clip_norm = 0;                        // of the whole gradient; 0: it is not clipped
    int quantize_after = 0;                      // epochs of floats before codes are made
    int freeze_observers_after = -1;             // epochs; -1: they go on to the end
    int freeze_batch_norms_after = -1;           // epochs of live batch norms, where there are any; -1: to the end
    double batch_norm_momentum = 0.1;            // running += momentum * (batch - running)
    std::optional<weight_average> average = {};  // what the network has afterwards is then the average
    bool shuffle = true;                         // whether each epoch has an order of its own
    std::uint64_t seed = 1;                      // of shuffling, dropout and all else that is drawn
    std::string checkpoint = {};                 // a file, written after each epoch, and
    int checkpoint_every = 0;                    // after so many steps; 0: after epochs alone
    bool resume = false;                         // from that file, if it is there
};

/// What a callback is told after each step. Where it returns false training ends: the step is kept, and the checkpoint written.
struct training_progress {
    int epoch = 0, epochs = 1;             // from 0
    std::size_t batch = 0, batches = 1;    // which batch of how many, from 0
    double loss = 0;                       // of this batch, in front of its step
    double mean_loss = 0;                  // of this epoch so far
    double rate = 0;                       // of weights
    double gradient_norm = 0;              // 0 where it is not clipped
    double seconds = 0, seconds_left = 0;  // since training began, and until it ends at this speed
};

/// What zp::train gives back.
struct training_report {
    std::vector<double> losses;     // mean of each epoch
    std::uint64_t steps = 0;        // since the beginning, those before a resumption too
    std::size_t raised_scales = 0;  // learned scales that had to be kept at their floor, over all steps
    bool was_stopped = false;       // whether the callback ended it
    double seconds = 0;             // of this call
};

/// Raises value_error for options that contradict themselves or the data.
inline void require_valid(const training_options& options, std::size_t samples) {
    const auto require = [](bool is_right, const std::string& sentence) {
        if (!is_right) raise<value_error>("train: " + sentence);
    };
    require(samples != 0, "expected at least one input, but none came");
    require(options.epochs >= 1, "expected at least 1 epoch, found .epochs = " + std::to_string(options.epochs));
    require(options.batch >= 1 && static_cast<std::size_t>(options.batch) <= samples,
            "expected a batch from 1 to the " + std::to_string(samples) +
                " inputs that came, found .batch = " + std::to_string(options.batch));
    require(options.block >= 0,
            "expected at least 1 sample a block, or 0, found .block = " + std::to_string(options.block));
    require(options.clip_norm >= 0, "expected .clip_norm above 0, or 0 for none");
    require(!options.resume || !options.checkpoint.empty(), ".resume needs the name of the file in .checkpoint");
    require(options.checkpoint_every >= 0, "expected .checkpoint_every of at least 0");
    require(options.batch_norm_momentum >= 0 && options.batch_norm_momentum <= 1,
            "expected .batch_norm_momentum from 0 to 1");
    require_valid(options.optimizer);
    require_valid(options.schedule, options.start);
}

}  // namespace zp::inline v0
