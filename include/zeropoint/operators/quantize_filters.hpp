// Float weights to integer ones, with their scales, as the quantizer of a qconfig says.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <zeropoint/kernel/vector/uncontracted.hpp>
#include <zeropoint/graph/quantized_weights.hpp>
#include <zeropoint/observe/observer.hpp>
#include <zeropoint/scheme/bias.hpp>
#include <zeropoint/scheme/checked_qparams.hpp>
#include <zeropoint/scheme/quantize.hpp>

namespace zp {
inline namespace v0 {

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

/// Quantizes the filters of a layer: weights out x height x width x in, one bias an output channel, x_scale the scale of
/// the layer's input. Quantizer has `dtype`, `qscheme`, `rule` and `observer_type`. A channel whose bias would not fit gets
/// a larger weight scale, and the layer a line in `raised`. With `int16_activations` biases are int64. With `means`,
/// what the quantized weights add to each channel's mean output is taken off its bias. With `given`, scales and zero points are
/// those, and nothing is observed.
template <class Quantizer, class Arch>
quantized_weights quantize_filters(std::span<const float> weights, std::span<const float> bias, float x_scale,
                                   bool keep_float_bias, std::string_view where, std::vector<std::string>& raised,
                                   bool int16_activations = false, const mean_inputs* means = nullptr,
                                   const std::vector<qparams>* given = nullptr) {
    using dtype = typename Quantizer::dtype;
    using storage = typename dtype::storage;
    using scheme = typename Quantizer::qscheme;
    const std::size_t channels = bias.size(), depth = weights.size() / channels;
    const std::string name = std::string(where) + ".weight";
    std::vector<qparams> ranges = [&] {
        if (given != nullptr) return checked_weight_qparams<dtype, scheme::is_symmetric>(*given, channels, name);
        typename Quantizer::observer_type observer{};
        observe_with<Arch>(observer, observation{weights, static_cast<int>(channels), static_cast<int>(depth), name});
        return observer.template calculate_qparams<dtype, scheme, typename Quantizer::rule>(name);
    }();
    if (ranges.size() == 1) ranges.resize(channels, ranges.front());
    quantized_weights result;
    result.codes.resize(weights.size());
    std::size_t raised_channels = 0;
    const bool fixed_point = int16_activations || !keep_float_bias;
    const auto limit = int16_activations ? int64_bias_limit : bias_limit;
    for (std::size_t c = 0; c != channels; ++c) {
        const std::span<const float> filter = weights.subspan(c * depth, depth);
        auto* codes = reinterpret_cast<storage*>(result.codes.data()) + c * depth;
        float own_bias = bias[c];
        bool is_raised = false;
        const auto quantize_filter = [&] {
            if (fixed_point) {
                const bias_fit fit = fit_weight_scale_to_bias(own_bias, x_scale, ranges[c].scale, limit);
                is_raised = is_raised || fit.raised;
                ranges[c].scale = fit.weight_scale;
            }
            quantize<dtype>(filter, ranges[c], std::span(codes, depth));
        };
        quantize_filter();
        if (means != nullptr) {
            own_bias = static_cast<float>(double{own_bias} - mean_error(filter, codes, ranges[c], *means, c));
            const float scale = ranges[c].scale;
            if (fixed_point && fit_weight_scale_to_bias(own_bias, x_scale, scale, limit).raised) quantize_filter();
        }
        raised_channels += is_raised;
        if (int16_activations) result.int64_bias.push_back(quantize_int64_bias(own_bias, x_scale, ranges[c].scale));
        else if (keep_float_bias) result.float_bias.push_back(own_bias);
        else result.bias.push_back(quantize_bias(own_bias, x_scale, ranges[c].scale));
        result.scales.push_back(ranges[c].scale);
        if constexpr (!scheme::is_symmetric || !dtype::is_signed) result.zero_points.push_back(ranges[c].zero_point);
    }
    if (raised_channels != 0)
        raised.push_back(std::string(where) + ": " + std::to_string(raised_channels) + " of " +
                         std::to_string(channels) + " channels");
    return result;
}

}  // namespace v0
}  // namespace zp
