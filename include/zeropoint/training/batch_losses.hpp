// SPDX-License-Identifier: BSD-3-Clause
// The losses of a batch: of one output or of several, each with its targets, weight and number of rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <zeropoint/graph/ports.hpp>
#include <zeropoint/training/training_data.hpp>
#include <zeropoint/training/training_options.hpp>

namespace zp::inline v0::detail {

/// What a worker gathers for a block.
struct gathered_targets {
    std::vector<std::int32_t> labels;
    std::vector<float> values;    // of targets or a teacher
    std::vector<float> gradient;  // of a loss of an output that another has written
    std::vector<const void*> inputs;
};

/// Each is the mean of its rows, times its weight; what is trained on is their sum.
class batch_losses {
public:
    batch_losses() = default;
    /// `targets` has one entry an output. Raises value_error where losses and data do not belong together.
    batch_losses(const training_options& options, std::vector<training_targets> targets,
                 std::span<const port> outputs) {
        if (options.losses.empty()) add(0, options.loss, 1, outputs, targets);
        for (const output_loss& one : options.losses)
            add(output_number(outputs, one.output), one.loss, one.weight, outputs, targets);
        for (std::size_t k = 0; k != targets.size(); ++k)
            if (!targets[k].empty())
                raise<value_error>("train: targets came for the output \"" + std::string(outputs[k].name) +
                                   "\", of which there is no loss: name it in .losses");
    }

    /// Before the blocks of a batch run.
    void begin(std::span<const std::uint32_t> batch) {
        for (term& one : terms_) {
            one.rows = static_cast<double>(rows_of(one, batch));
            one.factor = one.weight / one.rows;
        }
    }
    /// The loss of a batch from the sum of its blocks'.
    double mean(double sum) const { return sum / terms_.front().rows; }
    /// The loss of a block that has run forward, before the mean; its gradient is written.
    template <class Arch, class Runner>
    double backward(Runner& runner, std::span<const std::uint32_t> samples, gathered_targets& room) const {
        double sum = 0;
        for (std::size_t k = 0; k != terms_.size(); ++k) {
            const term& one = terms_[k];
            const std::size_t size = runner.output_size(one.output);
            const std::span<const float> outputs(runner.output(one.output, 0), samples.size() * size);
            std::span<float> gradient(runner.output_gradient(one.output, 0), outputs.size());
            float* const shared = gradient.data();
            const bool adds = is_written(runner, k);
            if (adds) {
                room.gradient.resize(outputs.size());
                gradient = room.gradient;
            }
            gather(one, runner, samples, size, room);
            const double own = loss_of<Arch>(one, samples.size(), outputs, room, gradient);
            sum += k == 0 ? own * one.weight : own * one.factor * terms_.front().rows;
            for (std::size_t i = 0; adds && i != gradient.size(); ++i) shared[i] += gradient[i];
        }
        return sum;
    }
    /// Whether an output has a loss, which writes its gradient.
    bool has(std::size_t output) const {
        return std::any_of(terms_.begin(), terms_.end(), [&](const term& one) { return one.output == output; });
    }
    /// Of all targets, for processes that compare theirs.
    template <class Digest> std::uint64_t digest(std::uint64_t seed, const Digest& digest_of) const {
        for (const term& one : terms_) {
            seed = digest_of(std::as_bytes(std::span(one.targets.labels)), seed);
            seed = digest_of(std::as_bytes(one.targets.values), seed);
        }
        return seed;
    }

private:
    struct term {
        std::size_t output = 0, pixels = 1, channels = 1;
        any_loss loss;
        double weight = 1, rows = 1, factor = 1;
        training_targets targets;
    };

    static std::size_t output_number(std::span<const port> outputs, const std::string& name) {
        for (std::size_t k = 0; k != outputs.size(); ++k)
            if (name == outputs[k].name) return k;
        raise<value_error>("train: .losses names the output \"" + name +
                           "\", which the network has not: mark it with zp::output<\"" + name + "\">");
    }
    void add(std::size_t output, const any_loss& loss, double weight, std::span<const port> outputs,
             std::vector<training_targets>& targets) {
        term one;
        one.output = output;
        one.pixels = static_cast<std::size_t>(outputs[output].extents.pixels());
        one.channels = static_cast<std::size_t>(outputs[output].extents.channels);
        one.loss = loss;
        one.weight = weight;
        if (!(weight > 0)) raise<value_error>("train: expected a weight above 0 of each of .losses");
        one.targets = std::exchange(targets[output], {});
        check(one);
        terms_.push_back(std::move(one));
    }
    static void check(const term& one) {
        const training_targets& targets = one.targets;
        const bool needs_labels = std::holds_alternative<cross_entropy>(one.loss);
        const bool needs_values =
            std::holds_alternative<mean_squared_error>(one.loss) || std::holds_alternative<kl_divergence>(one.loss);
        if (needs_labels && targets.labels.empty())
            raise<value_error>(
                "train: cross_entropy needs a class for each input: train with zp::labelled(inputs, labels)");
        if (needs_values && targets.values.empty())
            raise<value_error>("train: this loss needs target values: train with zp::paired(inputs, targets)");
        const std::int32_t ignored = needs_labels ? std::get<cross_entropy>(one.loss).ignored : cross_entropy{}.ignored;
        for (std::size_t i = 0; i != targets.labels.size(); ++i) {
            const std::int32_t label = targets.labels[i];
            if (label != ignored && (label < 0 || static_cast<std::size_t>(label) >= one.channels))
                raise<value_error>("train: label " + std::to_string(i) + " is " + std::to_string(label) +
                                   ", but the network has the classes 0 to " + std::to_string(one.channels - 1));
        }
    }
    /// Of which a loss is the mean: samples, or labels that count.
    static std::size_t rows_of(const term& one, std::span<const std::uint32_t> batch) {
        if (const auto* classes = std::get_if<cross_entropy>(&one.loss)) {
            std::size_t rows = 0;
            for (const std::uint32_t i : batch) rows += classes->counted(labels_of(one, i));
            return std::max<std::size_t>(rows, 1);
        }
        if (std::holds_alternative<own_loss>(one.loss)) return batch.size();
        return batch.size() * one.pixels;
    }
    static std::span<const std::int32_t> labels_of(const term& one, std::size_t sample) {
        return std::span(one.targets.labels).subspan(sample * one.targets.each, one.targets.each);
    }
    template <class Runner> bool is_written(const Runner& runner, std::size_t k) const {
        for (std::size_t before = 0; before != k; ++before)
            if (runner.output(terms_[before].output, 0) == runner.output(terms_[k].output, 0)) return true;
        return false;
    }
    /// Labels, targets or a teacher's outputs of a block.
    template <class Runner>
    static void gather(const term& one, Runner& runner, std::span<const std::uint32_t> samples, std::size_t size,
                       gathered_targets& room) {
        room.labels.clear();
        room.values.clear();
        const training_targets& targets = one.targets;
        for (const std::uint32_t i : samples) {
            if (!targets.labels.empty()) {
                const auto own = labels_of(one, i);
                room.labels.insert(room.labels.end(), own.begin(), own.end());
            } else if (!targets.values.empty()) {
                const auto own = targets.values.subspan(i * targets.each, targets.each);
                room.values.insert(room.values.end(), own.begin(), own.end());
            }
        }
        const auto* from = std::get_if<distilled>(&one.loss);
        if (from == nullptr) return;
        room.values.resize(samples.size() * size);
        for (std::size_t i = 0; i != samples.size(); ++i) {
            for (std::size_t port = 0; port != room.inputs.size(); ++port)
                room.inputs[port] = runner.input(static_cast<int>(port), static_cast<int>(i));
            from->teacher(room.inputs.data(), room.values.data() + i * size);
        }
    }
    template <class Arch>
    static double loss_of(const term& one, std::size_t samples, std::span<const float> outputs,
                          const gathered_targets& room, std::span<float> gradient) {
        return std::visit(
            [&](const auto& loss) -> double {
                using type = std::remove_cvref_t<decltype(loss)>;
                if constexpr (std::is_same_v<type, cross_entropy>)
                    return loss.template backward<Arch>(outputs, one.channels, room.labels, one.factor, gradient);
                else if constexpr (std::is_same_v<type, distilled>)
                    return loss.by.template backward<Arch>(outputs, one.channels, room.values, room.labels, one.factor,
                                                           gradient);
                else if constexpr (std::is_same_v<type, own_loss>)
                    return loss({outputs, samples, room.labels, room.values, one.factor, gradient});
                else return loss.template backward<Arch>(outputs, one.channels, room.values, one.factor, gradient);
            },
            one.loss);
    }

    std::vector<term> terms_;
};

}  // namespace zp::inline v0::detail
