// SPDX-License-Identifier: BSD-3-Clause
// Float weights to integer ones, with their scales, as the quantizer of a qconfig says.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <zeropoint/kernel/dynamic/quantize.hpp>
#include <zeropoint/kernel/vector/uncontracted.hpp>
#include <zeropoint/graph/quantized_weights.hpp>
#include <zeropoint/observe/observer.hpp>
#include <zeropoint/scheme/bias.hpp>
#include <zeropoint/scheme/checked_qparams.hpp>
#include <zeropoint/scheme/quantize.hpp>

namespace zp::inline v0 {

/// The mean of what each weight of a layer is multiplied with.
struct mean_inputs {
    std::vector<double> values;  // [taps][channels]
    int channels = 1, group_in = 1, group_out = 1;

    /// That of weight k of output channel c: k = tap * group_in + channel in the group.
    double at(std::size_t c, std::size_t k) const {
        const auto in = static_cast<std::size_t>(group_in), out = static_cast<std::size_t>(group_out);
        return values[k / in * static_cast<std::size_t>(channels) + c / out * in + k % in];
    }
};

/// What quantized weights add to the mean output of channel c: the sum of (scale * (code - zero_point) - weight) * mean, in
/// double, one after another.
template <class Storage>
double mean_error(std::span<const float> weights, const Storage* codes, const qparams& range, const mean_inputs& means,
                  std::size_t c) {
    double error = 0;
    for (std::size_t k = 0; k != weights.size(); ++k) {
        const double quantized = double{range.scale} * (static_cast<std::int32_t>(codes[k]) - range.zero_point);
        error += kernel::rounded((quantized - double{weights[k]}) * means.at(c, k));
    }
    return error;
}

/// Scales and zero points that were given for weights: one for all, or one for each of `count` channels or groups. Raises
/// value_error with the layer's name where there are others, or where codes of DType cannot have them.
template <class DType, bool IsSymmetric>
std::vector<qparams> checked_weight_qparams(const std::vector<qparams>& given, std::size_t count,
                                            std::string_view where) {
    if (given.size() != 1 && given.size() != count)
        raise<value_error>(std::string(where) + ": expected one scale or " + std::to_string(count) + ", but " +
                           std::to_string(given.size()) + " were given");
    for (const qparams& one : given) static_cast<void>(checked_qparams<DType, IsSymmetric>(one, where));
    return given;
}

/// How the filters of a node are quantized. The default is that of products with floats, whose biases stay what they are.
struct filter_quantization {
    float x_scale = 1;             // of the layer's input
    bool keeps_float_bias = true;  // else biases are int32, with int16_inputs int64
    bool int16_inputs = false;
    double most_steps = std::numeric_limits<double>::max();  // that a bias may be, of x_scale * weight scale
    double least_step = 0;                                   // that x_scale * weight scale may be
    const mean_inputs* means = nullptr;                      // with them, biases are corrected
    const std::vector<qparams>* given = nullptr;             // scales and zero points in place of what is observed
};

/// Quantizes the filters of a layer: weights out x height x width x in, one bias an output channel. Quantizer has `dtype`,
/// `qscheme`, `rule` and `observer_type`. A channel whose bias would have too many steps, or whose step would be too small, gets
/// a larger weight scale, and the layer a line in `raised`. With `how.means`, what the quantized weights add to each
/// channel's mean output is taken off its bias. Raises calibration_error where a weight is not finite.
template <class Quantizer, class Arch>
quantized_weights quantize_filters(std::span<const float> weights, std::span<const float> bias,
                                   const filter_quantization& how, std::string_view where,
                                   std::vector<std::string>& raised) {
    using dtype = typename Quantizer::dtype;
    using storage = typename dtype::storage;
    using scheme = typename Quantizer::qscheme;
    const std::size_t channels = bias.size(), depth = weights.size() / channels;
    const std::string name = std::string(where) + ".weight";
    std::vector<qparams> ranges = [&] {
        if (how.given != nullptr)
            return checked_weight_qparams<dtype, scheme::is_symmetric>(*how.given, channels, name);
        typename Quantizer::observer_type observer{};
        observe_with<Arch>(observer, observation{weights, static_cast<int>(channels), static_cast<int>(depth), name});
        return observer.template calculate_qparams<dtype, scheme, typename Quantizer::rule>(name);
    }();
    if (ranges.size() == 1) ranges.resize(channels, ranges.front());
    quantized_weights result;
    result.codes.resize(weights.size());
    std::size_t raised_channels = 0;
    for (std::size_t c = 0; c != channels; ++c) {
        const std::span<const float> filter = weights.subspan(c * depth, depth);
        auto* codes = reinterpret_cast<storage*>(result.codes.data()) + c * depth;
        float own_bias = bias[c];
        bool is_raised = false;
        const auto quantize_filter = [&] {
            const bias_fit fit =
                fit_weight_scale_to_bias(own_bias, how.x_scale, ranges[c].scale, how.most_steps, how.least_step);
            is_raised = is_raised || fit.raised;
            ranges[c].scale = fit.weight_scale;
            kernel::quantize<Arch>(filter.data(), depth, ranges[c].scale, ranges[c].zero_point, dtype::quant_min,
                                   dtype::quant_max, codes);
        };
        quantize_filter();
        if (how.means != nullptr) {
            own_bias = static_cast<float>(double{own_bias} - mean_error(filter, codes, ranges[c], *how.means, c));
            if (fit_weight_scale_to_bias(own_bias, how.x_scale, ranges[c].scale, how.most_steps).raised)
                quantize_filter();
        }
        raised_channels += is_raised;
        if (how.int16_inputs) result.int64_bias.push_back(quantize_int64_bias(own_bias, how.x_scale, ranges[c].scale));
        else if (how.keeps_float_bias) result.float_bias.push_back(own_bias);
        else result.bias.push_back(quantize_bias(own_bias, how.x_scale, ranges[c].scale));
        result.scales.push_back(ranges[c].scale);
        if constexpr (!scheme::is_symmetric || !dtype::is_signed) result.zero_points.push_back(ranges[c].zero_point);
    }
    if (raised_channels != 0)
        raised.push_back(std::string(where) + ": " + std::to_string(raised_channels) + " of " +
                         std::to_string(channels) + " channels");
    return result;
}

}  // namespace zp::inline v0
