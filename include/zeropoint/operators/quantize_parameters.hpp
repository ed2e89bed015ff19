// SPDX-License-Identifier: BSD-3-Clause
// The parameters of a node from floats to what its form packs: codes by the roles of its arrays, floats as they are.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <zeropoint/graph/given_qparams.hpp>
#include <zeropoint/graph/operator_info.hpp>
#include <zeropoint/operators/quantize_filters.hpp>
#include <zeropoint/operators/quantize_groups.hpp>
#include <zeropoint/operators/quantize_half_groups.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/observe/per_channel_observer.hpp>

namespace zp::inline v0 {

/// Weights that an operator keeps in a way of its own: int8, symmetric, a scale a row, whatever the qconfig says.
struct own_weight_quantizer {
    using dtype = qint8;
    using qscheme = per_channel_symmetric;
    using rule = pytorch_rule;
    using observer_type = per_channel_min_max_observer;
};

/// How the parameters of a node are quantized: its filters, and what somebody chose for any of its arrays.
struct parameter_quantization : filter_quantization {
    const given_qparams* chosen = nullptr;  // for the weights of prepared rows,
    int row = -1;                           // of which this is the node's

    const std::vector<qparams>* given_of(int array) const {
        return chosen == nullptr ? nullptr : chosen->weights_of(row, array);
    }
};

/// An array of role matrix, whose floats are columns x rows: its codes and scales. Raises calibration_error where a weight is
/// not finite.
template <class Quantizer, class Arch>
quantized_weights quantize_matrix(const parameter_array& array, const float* floats, std::string_view where,
                                  const std::vector<qparams>* given = nullptr) {
    std::vector<float> ordered(static_cast<std::size_t>(array.size()));
    array_to_file(array, floats, ordered.data());
    const std::vector<float> none(static_cast<std::size_t>(array.extents[0]));
    std::vector<std::string> raised;  // stays empty: only an integer bias can ask for it
    const std::string name = std::string(where) + "." + array.name;
    quantized_weights result;
    if constexpr (quantizes_groups<Quantizer>) result = quantize_groups<Quantizer>(ordered, none, name, given);
    else result = quantize_filters<Quantizer, Arch>(ordered, none, {.given = given}, name, raised);
    result.float_bias.clear();
    return result;
}

/// What the form of node `v` is packed from, of a float node `from` of the same operator, whose block is `floats`. Quantizer is
/// that of weights: `dtype`, `qscheme`, `rule` and `observer_type`, or what quantize_groups takes. `quantize_tables(array, values)` makes codes of a table.
/// A channel whose bias would not fit gets a larger weight scale, and the layer a line in `raised`. Raises calibration_error,
/// with the layer's name `where`, where weights are not finite.
template <class Quantizer, class Arch, class QuantizeTable>
node_parameters quantize_parameters(const node_view& v, const node_view& from, const float* floats,
                                    const parameter_quantization& how, std::string_view where,
                                    std::vector<std::string>& raised, QuantizeTable&& quantize_table_of) {
    const parameter_list list = parameters_of(from);
    node_parameters result;
    for (int i = 0; i != list.count; ++i) {
        const parameter_array& array = list.arrays[i];
        const std::span<const float> values(floats + list.offset_of(i), static_cast<std::size_t>(array.size()));
        const coded_array coding = coding_of(v, array);
        const bool is_coded = !coding.is_float();
        if (is_coded && array.role == parameter_role::filters) {
            const std::span<const float> bias(floats + list.offset_of(i + 1),
                                              static_cast<std::size_t>(list.arrays[i + 1].size()));
            if constexpr (requires { typename Quantizer::groups; })
                if (coding.has_groups) {
                    result.matrices.push_back(
                        quantize_half_groups<typename Quantizer::groups>(values, bias, where, how.given_of(i++)));
                    continue;
                }
            if constexpr (quantizes_groups<Quantizer>)
                result.matrices.push_back(quantize_groups<Quantizer>(values, bias, where, how.given_of(i)));
            else {
                filter_quantization filters = how;
                filters.given = how.given_of(i);
                result.matrices.push_back(quantize_filters<Quantizer, Arch>(values, bias, filters, where, raised));
            }
            ++i;
        } else if (is_coded && array.role == parameter_role::matrix) {
            if constexpr (!std::is_same_v<Quantizer, own_weight_quantizer>)
                if (!v.n.is_float()) {
                    result.matrices.push_back(
                        quantize_matrix<own_weight_quantizer, Arch>(array, values.data(), where, how.given_of(i)));
                    continue;
                }
            result.matrices.push_back(quantize_matrix<Quantizer, Arch>(array, values.data(), where, how.given_of(i)));
        } else if (is_coded) {
            result.matrices.push_back(quantize_table_of(array, values));
        } else {
            result.vectors.emplace_back(values.begin(), values.end());
        }
    }
    return result;
}

}  // namespace zp::inline v0
