// SPDX-License-Identifier: BSD-3-Clause
// Biases corrected by what quantization does to mean outputs, layer after layer by data, or by batch norms alone.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <zeropoint/core/float_values.hpp>
#include <zeropoint/methods/absorb_biases.hpp>
#include <zeropoint/methods/coded_layers.hpp>

// Nagel et al. 2019, section 4.2. The option zp::correct_biases of a qconfig takes off what the weights' rounding alone adds, with mean inputs
// of the float network. correct_biases_by_data goes on from there: inputs are those of the network as it is quantized so far, so that what
// activations' rounding and clipping in front do to the mean is taken off as well.

namespace zp::inline v0 {

/// The mean of clamp(z, low, high) where z is normal with that mean and deviation: appendix C of the paper.
inline double clipped_normal_mean(double mean, double deviation, double low, double high) {
    const double gamma = std::abs(deviation);
    if (!(gamma > 0)) return std::clamp(mean, low, high);
    const auto density = [](double x) {
        return is_finite(x) ? std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi) : 0.0;
    };
    const auto below = [](double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); };
    const double a = (low - mean) / gamma, d = (high - mean) / gamma;
    double sum = gamma * (density(a) - density(d)) + mean * (below(d) - below(a));
    if (is_finite(low)) sum += low * below(a);
    if (is_finite(high)) sum += high * (1 - below(d));
    return sum;
}

namespace detail {

/// How far each output's mean is off: sum over k of rounded * mean input - weight * mean float input.
inline std::vector<double> mean_shifts(const coded_layer& layer, const window_reader& windows,
                                       std::span<const double> inputs, std::span<const double> float_inputs) {
    const std::size_t depth = layer.grid.depth, group_out = static_cast<std::size_t>(windows.group_out());
    std::vector<double> shifts(layer.bias.size());
    for (std::size_t c = 0; c != shifts.size(); ++c)
        for (std::size_t k = 0; k != depth; ++k) {
            const std::size_t at = c / group_out * depth + k;
            shifts[c] += double{layer.rounded[c * depth + k]} * inputs[at] -
                         double{layer.weights[c * depth + k]} * float_inputs[at];
        }
    return shifts;
}
template <class Layers>
void take_off(Layers& walk, const coded_layer& layer, std::span<const double> shifts,
              std::vector<std::string>* report) {
    std::vector<float> bias = layer.bias;
    double largest = 0;
    for (std::size_t c = 0; c != bias.size(); ++c) {
        bias[c] = static_cast<float>(double{bias[c]} - shifts[c]);
        largest = std::max(largest, std::abs(shifts[c]));
    }
    walk.set_bias(layer, bias);
    if (report != nullptr) report->push_back(layer.name + ": by at most " + number_text(static_cast<float>(largest)));
}
template <class QConfig> constexpr void refuse_twice() {
    static_assert(
        !qconfig_entries<QConfig>::corrects_biases,
        "correct_biases_by_data, correct_biases_by_norms: this qconfig has zp::correct_biases, so that convert would "
        "take off once more what the method takes off: take a qconfig without that option");
}

}  // namespace detail

/// The same calibrated network with the bias of each layer less what its mean outputs are off, over `images`, which are gone through once a
/// layer. Weights stay. Call it behind adaround, gptq or sequential_mse, or without them.
template <class Net, class QConfig, class Arch, class Batches>
calibrated<Net, QConfig, Arch> correct_biases_by_data(const calibrated<Net, QConfig, Arch>& source,
                                                      const Batches& images,
                                                      std::vector<std::string>* report = nullptr) {
    detail::refuse_twice<QConfig>();
    return correct_biases_by_data(source, static_cast<const network<prepared_stage<Net, QConfig, Arch>>&>(source),
                                  images, report);
}
/// The same beside the float network that weights were made of, where a method has put codes in their place.
template <class Net, class QConfig, class Arch, class Stage, class Batches>
calibrated<Net, QConfig, Arch> correct_biases_by_data(const calibrated<Net, QConfig, Arch>& source,
                                                      const network<Stage>& floats, const Batches& images,
                                                      std::vector<std::string>* report = nullptr) {
    detail::refuse_twice<QConfig>();
    static_assert(
        std::is_same_v<typename Stage::net, Net> && Stage::size == prepared_stage<Net, QConfig, Arch>::size,
        "correct_biases_by_data(calibrated, floats, images): floats must be the fused, prepared or calibrated network "
        "of the same model");
    using layers = coded_layers<Net, QConfig, Arch>;
    layers walk(source, floats);
    if (report != nullptr) report->clear();
    for (const int row : layers::rows()) {
        coded_layer layer = walk.layer(row);
        const node_view from = layers::float_view(layer.from);
        const window_reader windows(from);
        const auto size = static_cast<std::size_t>(windows.size());
        std::vector<double> inputs(size), float_inputs(size);
        std::vector<float> window(size);
        std::size_t count = 0;
        walk.visit(layer, images, [&](const float* x, const float* float_x, const float*) {
            for (int position = 0; position != windows.positions(); ++position, ++count) {
                windows.read(x, position, window.data());
                for (std::size_t k = 0; k != size; ++k) inputs[k] += double{window[k]};
                windows.read(float_x, position, window.data());
                for (std::size_t k = 0; k != size; ++k) float_inputs[k] += double{window[k]};
            }
        });
        for (std::size_t k = 0; k != size; ++k) {
            inputs[k] /= static_cast<double>(count);
            float_inputs[k] /= static_cast<double>(count);
        }
        const auto* weights = reinterpret_cast<const float*>(walk.floats.parameters() + from.n.at.parameter_offset);
        layer.weights.assign(weights, weights + layer.weights.size());
        const float* bias = weights + parameters_of(from).offset_of(1);
        std::vector<double> shifts = detail::mean_shifts(layer, windows, inputs, float_inputs);
        for (std::size_t c = 0; c != shifts.size(); ++c) shifts[c] += double{layer.bias[c]} - double{bias[c]};
        detail::take_off(walk, layer, shifts, report);
    }
    return walk.take();
}

/// The same without data, for layers that read what a batch norm was folded into: its channels are taken as normal, with the norm's mean and
/// deviation, in front of their bounds. `statistics` are those of zp::norm_statistics, or of zp::equalize's report. Other layers stay.
template <class Net, class QConfig, class Arch>
calibrated<Net, QConfig, Arch> correct_biases_by_norms(const calibrated<Net, QConfig, Arch>& source,
                                                       std::span<const normal_channels> statistics,
                                                       std::vector<std::string>* report = nullptr) {
    detail::refuse_twice<QConfig>();
    using layers = coded_layers<Net, QConfig, Arch>;
    layers walk(source);
    if (statistics.size() != walk.floats.rows().size())
        raise<value_error>(
            "correct_biases_by_norms: expected statistics of " + std::to_string(walk.floats.rows().size()) +
            " rows, those of zp::norm_statistics for this model, but " + std::to_string(statistics.size()) + " came");
    if (report != nullptr) report->clear();
    for (const int row : layers::rows()) {
        const coded_layer layer = walk.layer(row);
        int made_by = layer.float_input;
        while (walk.floats.rows()[static_cast<std::size_t>(made_by)].op->is_view)
            made_by = walk.floats.rows()[static_cast<std::size_t>(made_by)].inputs[0];
        const normal_channels& of = statistics[static_cast<std::size_t>(made_by)];
        if (of.mean.empty()) continue;
        const epilogue& bounds = walk.floats.rows()[static_cast<std::size_t>(made_by)].fused;
        std::vector<float> x(static_cast<std::size_t>(layers::float_view(layer.from).x_shape().size()));
        for (std::size_t i = 0; i != x.size(); ++i) {
            const std::size_t c = i % of.mean.size();
            x[i] = static_cast<float>(clipped_normal_mean(double{of.mean[c]}, double{of.deviation[c]},
                                                          double{bounds.lowest}, double{bounds.highest}));
        }
        const window_reader windows(layers::float_view(layer.from));
        std::vector<float> window(static_cast<std::size_t>(windows.size()));
        std::vector<double> inputs(window.size());
        for (int position = 0; position != windows.positions(); ++position) {
            windows.read(x.data(), position, window.data());
            for (std::size_t k = 0; k != window.size(); ++k) inputs[k] += double{window[k]} / windows.positions();
        }
        detail::take_off(walk, layer, detail::mean_shifts(layer, windows, inputs, inputs), report);
    }
    return walk.take();
}

}  // namespace zp::inline v0
