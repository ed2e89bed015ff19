// SPDX-License-Identifier: BSD-3-Clause
// Float weights to codes of 4 bits, with a float16 scale for each group of an output's inputs, and perhaps an offset.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <zeropoint/core/error.hpp>
#include <zeropoint/core/half_float.hpp>
#include <zeropoint/core/number_text.hpp>
#include <zeropoint/core/rounding.hpp>
#include <zeropoint/graph/quantized_weights.hpp>
#include <zeropoint/kernel/dynamic/nibble_quads.hpp>
#include <zeropoint/operators/quantize_filters.hpp>
#include <zeropoint/scheme/qparams.hpp>

namespace zp::inline v0 {

/// Scale and offset of a group, weights being scale * code + offset: float16 numbers, the offset 0 or below.
struct half_group {
    float scale = kernel::least_group_scale, offset = 0;

    /// The nearest to these that a group may have.
    static half_group nearest(float scale, float offset) {
        const float least = kernel::least_group_scale, most = kernel::largest_group_scale;
        half_group result;
        result.scale = std::clamp(rounded_to_float16(std::min(scale, most)), least, most);
        result.offset = rounded_to_float16(std::clamp(offset, -most, 0.0f));
        if (result.offset > -least) result.offset = 0;
        return result;
    }
    /// clamp(rne((weight - offset) * (1 / scale)), quant_min, quant_max)
    template <class DType> int code_of(float weight) const {
        const float steps = (weight - offset) * (1.0f / scale);
        return round_half_even(std::clamp(steps, float{DType::quant_min}, float{DType::quant_max}));
    }
};

/// The group of min and max: scale = largest magnitude / 7.5, or of unsigned codes (high - low) / 15 from low on, where
/// low <= 0 <= high.
template <class DType> half_group half_group_of_range(float low, float high) {
    constexpr float half_span = (DType::quant_max - DType::quant_min) / 2.0f;
    if constexpr (DType::is_signed) return half_group::nearest(std::max(-low, high) / half_span, 0);
    else {
        const float offset = half_group::nearest(1, low).offset;
        return half_group::nearest((high - offset) / (2 * half_span), offset);
    }
}

/// The group with the least sum of squared errors among those whose ends are drawn in by steps of 1/32 to a half, or out by up to
/// six, since signed codes reach -8: each as it is, and with the scale (and offset) that fits its codes best, by linear regression.
template <class DType> half_group least_squares_group(std::span<const float> weights, float low, float high) {
    half_group best = half_group_of_range<DType>(low, high);
    const auto count = static_cast<double>(weights.size());
    double w = 0, ww = 0, least = -1;
    for (const float weight : weights) {
        w += double{weight};
        ww += double{weight} * double{weight};
    }
    for (int step = -6; step <= 16; ++step) {
        const float inner = 1 - static_cast<float>(step) / 32;
        const half_group group = half_group_of_range<DType>(low * inner, high * inner);
        const float inverse = 1.0f / group.scale;
        int code_sum = 0, square_sum = 0;
        double wc = 0;
        for (const float weight : weights) {
            const float steps = (weight - group.offset) * inverse;
            const float inside = std::clamp(steps, float{DType::quant_min}, float{DType::quant_max});
            const int code = static_cast<int>(inside + 8.5f) - 8;  // halves go up: a candidate is as good with either
            code_sum += code;
            square_sum += code * code;
            wc += double{weight} * code;
        }
        const double c = code_sum, cc = square_sum;
        const auto consider = [&](const half_group& one) {  // with these codes
            const double scale = double{one.scale}, offset = double{one.offset};
            const double error = scale * (scale * cc + 2 * (offset * c - wc)) + offset * (count * offset - 2 * w) + ww;
            if (least >= 0 && error >= least) return;
            least = error;
            best = one;
        };
        consider(group);
        if constexpr (DType::is_signed) {
            if (wc > 0) consider(half_group::nearest(static_cast<float>(wc / cc), 0));
        } else if (const double spread = count * cc - c * c; spread > 0) {
            const double scale = (count * wc - c * w) / spread;
            if (scale > 0)
                consider(half_group::nearest(static_cast<float>(scale), static_cast<float>((w - scale * c) / count)));
        }
    }
    return best;
}

/// Of weights outputs x inputs with one bias an output: codes, outputs x groups scales, of unsigned codes as many offsets, and the bias
/// as it is. Quantizer has `dtype` (zp::qint4 or zp::quint4), `group_size` and `searches`; the last group may have fewer inputs. Raises
/// calibration_error, with the layer's name `where`, where weights are not finite or beyond what float16 scales reach. With `given`
/// scales and zero points are those nearest to them, of each group of each output or one for all.
template <class Quantizer>
quantized_weights quantize_half_groups(std::span<const float> weights, std::span<const float> bias,
                                       std::string_view where, const std::vector<qparams>* given = nullptr) {
    using dtype = typename Quantizer::dtype;
    const std::size_t inputs = weights.size() / bias.size(), group = std::size_t{Quantizer::group_size};
    quantized_weights result;
    result.codes.resize(weights.size());
    result.float_bias.assign(bias.begin(), bias.end());
    auto* codes = result.codes.data();
    std::vector<qparams> own_ranges;
    if (given != nullptr)
        own_ranges = checked_weight_qparams<dtype, dtype::is_signed>(
            *given, bias.size() * ((inputs + group - 1) / group), std::string(where) + ".weight");
    for (std::size_t first = 0; first != weights.size(); first += inputs)
        for (std::size_t k = 0; k < inputs; k += group) {
            const std::span<const float> own = weights.subspan(first + k, std::min(group, inputs - k));
            float low = 0, high = 0;
            for (const float weight : own) {
                if (!(std::abs(weight) <= kernel::largest_group_scale))
                    raise<calibration_error>(
                        std::string(where) +
                        ": expected finite weights of at most 65504, which float16 scales reach, found " +
                        number_text(weight));
                low = std::min(low, weight);
                high = std::max(high, weight);
            }
            half_group chosen;
            if (!own_ranges.empty()) {
                const qparams& range = own_ranges[own_ranges.size() == 1 ? 0 : result.scales.size()];
                const float scale = half_group::nearest(range.scale, 0).scale;
                chosen = half_group::nearest(scale, -scale * static_cast<float>(range.zero_point));
            } else if constexpr (Quantizer::searches) {
                chosen = least_squares_group<dtype>(own, low, high);
            } else {
                chosen = half_group_of_range<dtype>(low, high);
            }
            for (const float weight : own) *codes++ = static_cast<std::byte>(chosen.template code_of<dtype>(weight));
            result.scales.push_back(chosen.scale);
            if constexpr (!dtype::is_signed) result.offsets.push_back(chosen.offset);
        }
    return result;
}

}  // namespace zp::inline v0
