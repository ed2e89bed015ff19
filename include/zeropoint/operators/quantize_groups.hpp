// SPDX-License-Identifier: BSD-3-Clause
// Float weights to integer ones with a scale for each group of an output's inputs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <zeropoint/core/error.hpp>
#include <zeropoint/core/float_values.hpp>
#include <zeropoint/core/number_text.hpp>
#include <zeropoint/graph/quantized_weights.hpp>
#include <zeropoint/operators/quantize_filters.hpp>
#include <zeropoint/scheme/qparams.hpp>
#include <zeropoint/scheme/quantize.hpp>

namespace zp::inline v0 {

/// Whether a quantizer of weights has scales for groups of inputs: that of a weight_only_policy.
template <class Quantizer> concept quantizes_groups = requires { Quantizer::group_size; };

/// Of weights outputs x inputs with one bias an output: symmetric int8 codes, outputs x groups scales, and the bias as it is.
/// Quantizer has `dtype`, `rule` and `group_size`, 0 for all inputs of an output; the last group may have fewer. Raises
/// calibration_error, with the layer's name `where`, where weights are not finite. With `given` scales are those, of each group of each
/// output or one for all.
template <class Quantizer>
quantized_weights quantize_groups(std::span<const float> weights, std::span<const float> bias, std::string_view where,
                                  const std::vector<qparams>* given = nullptr) {
    using dtype = typename Quantizer::dtype;
    const std::size_t inputs = weights.size() / bias.size(),
                      group = Quantizer::group_size == 0 ? inputs : std::size_t{Quantizer::group_size};
    quantized_weights result;
    result.codes.resize(weights.size());
    result.float_bias.assign(bias.begin(), bias.end());
    auto* codes = reinterpret_cast<std::int8_t*>(result.codes.data());
    std::vector<qparams> own_ranges;
    if (given != nullptr)
        own_ranges = checked_weight_qparams<dtype, true>(*given, bias.size() * ((inputs + group - 1) / group),
                                                         std::string(where) + ".weight");
    for (std::size_t first = 0; first != weights.size(); first += inputs)
        for (std::size_t k = 0; k < inputs; k += group) {
            const std::span<const float> own = weights.subspan(first + k, std::min(group, inputs - k));
            float low = 0, high = 0;
            for (const float weight : own) {
                if (!is_finite(weight))
                    raise<calibration_error>(std::string(where) + ": expected finite weights, found " +
                                             number_text(weight));
                low = std::min(low, weight);
                high = std::max(high, weight);
            }
            const qparams range = own_ranges.empty() ? Quantizer::rule::template choose<dtype, true>(low, high)
                                                     : own_ranges[own_ranges.size() == 1 ? 0 : result.scales.size()];
            for (const float weight : own) *codes++ = quantize<dtype>(weight, range);
            result.scales.push_back(range.scale);
        }
    return result;
}

}  // namespace zp::inline v0
