// Float weights to integer ones, with their scales, as the quantizer of a qconfig says.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <zeropoint/layer/quantized_weights.hpp>
#include <zeropoint/observe/observer.hpp>
#include <zeropoint/scheme/bias.hpp>
#include <zeropoint/scheme/quantize.hpp>

namespace zp {
inline namespace v0 {

/// Quantizes the filters of a layer: weights out x height x width x in, one bias an output channel, x_scale the scale of
/// the layer's input. Quantizer has `dtype`, `qscheme`, `rule` and `observer_type`. A channel whose bias would not fit gets
/// a larger weight scale, and the layer a line in `raised`. `wide` for activations of 16 bits: biases are int64.
template <class Quantizer, class Arch>
quantized_weights quantize_filters(std::span<const float> weights, std::span<const float> bias, float x_scale,
                                   bool keep_float_bias, std::string_view where, std::vector<std::string>& raised,
                                   bool wide = false) {
    using dtype = typename Quantizer::dtype;
    using storage = typename dtype::storage;
    using scheme = typename Quantizer::qscheme;
    const std::size_t channels = bias.size(), depth = weights.size() / channels;
    typename Quantizer::observer_type observer{};
    const std::string name = std::string(where) + ".weight";
    observe_with<Arch>(observer, observation{weights, static_cast<int>(channels), static_cast<int>(depth), name});
    std::vector<qparams> ranges = observer.template calculate_qparams<dtype, scheme, typename Quantizer::rule>(name);
    if (ranges.size() == 1) ranges.resize(channels, ranges.front());
    quantized_weights result;
    result.codes.resize(weights.size());
    std::size_t raised_channels = 0;
    for (std::size_t c = 0; c != channels; ++c) {
        if (wide || !keep_float_bias) {
            const bias_fit fit =
                fit_weight_scale_to_bias(bias[c], x_scale, ranges[c].scale, wide ? wide_bias_limit : bias_limit);
            raised_channels += fit.raised;
            ranges[c].scale = fit.weight_scale;
            if (wide) result.wide_bias.push_back(quantize_wide_bias(bias[c], x_scale, ranges[c].scale));
            else result.bias.push_back(quantize_bias(bias[c], x_scale, ranges[c].scale));
        } else {
            result.float_bias.push_back(bias[c]);
        }
        result.scales.push_back(ranges[c].scale);
        if constexpr (!scheme::is_symmetric || !dtype::is_signed) result.zero_points.push_back(ranges[c].zero_point);
        quantize<dtype>(weights.subspan(c * depth, depth), ranges[c],
                        std::span(reinterpret_cast<storage*>(result.codes.data()) + c * depth, depth));
    }
    if (raised_channels != 0)
        raised.push_back(std::string(where) + ": " + std::to_string(raised_channels) + " of " +
                         std::to_string(channels) + " channels");
    return result;
}

}  // namespace v0
}  // namespace zp
