// SPDX-License-Identifier: BSD-3-Clause
// The parameters of a quantized node beside the floats that they were made of.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include <zeropoint/graph/form.hpp>
#include <zeropoint/graph/pairs_of_codes.hpp>
#include <zeropoint/scheme/quantize.hpp>

namespace zp::inline v0 {

/// One array of a node that is kept as codes: filters, a matrix or a table. All values stand channel by channel: filters as out x
/// taps x in, matrices as rows x columns, tables as rows x columns.
struct coded_values {
    parameter_array array;
    int number = 0;              // in the list of the operator's arrays
    std::size_t channels = 1;    // output channels, or rows
    std::vector<float> floats;   // what was quantized
    std::vector<float> rounded;  // what the codes stand for
    std::vector<int> codes;      // as many
    std::int32_t quant_min = 0, quant_max = 0;
    std::vector<float> scales;              // channels x groups; one where all have the same
    std::vector<std::int32_t> zero_points;  // as many as channels; empty where they are 0
    std::vector<float> float_bias, bias;    // of filters: as it was, and as it is added to the sums

    std::size_t depth() const { return floats.size() / channels; }
    std::span<const float> floats_of(std::size_t c) const { return std::span(floats).subspan(c * depth(), depth()); }
    std::span<const float> rounded_of(std::size_t c) const { return std::span(rounded).subspan(c * depth(), depth()); }
};

namespace detail {

/// Code i of those that have a byte each, or two.
inline int code_at(const std::byte* codes, scalar_type storage, std::size_t i) {
    if (storage == scalar_type::int16) {
        std::int16_t code;
        std::memcpy(&code, codes + i * sizeof code, sizeof code);
        return code;
    }
    const auto byte = std::to_integer<unsigned char>(codes[i]);
    return storage == scalar_type::int8 ? static_cast<signed char>(byte) : byte;
}

/// Bias c of filters in real numbers. The sums it is added to are in units of x_scale * scale.
inline float real_bias(const quantized_weights& from, std::size_t c, float x_scale) {
    if (!from.float_bias.empty()) return from.float_bias[c];
    const double unit = double{x_scale} * double{from.scales[c]};
    if (!from.int64_bias.empty()) return static_cast<float>(unit * static_cast<double>(from.int64_bias[c]));
    return from.bias.empty() ? 0.0f : static_cast<float>(unit * from.bias[c]);
}

/// Codes, scales and real values of one array. `range` is that of the node's output.
inline void fill_coded(coded_values& made, const quantized_weights& from, const coded_array& how,
                       const qparams& range) {
    const std::size_t depth = made.depth(), count = made.floats.size();
    const std::size_t groups = std::max<std::size_t>(1, from.scales.size() / made.channels);
    const std::size_t group = how.group == 0 ? depth : static_cast<std::size_t>(how.group);
    made.quant_min = how.quant_min;
    made.quant_max = how.quant_max;
    made.scales = from.scales;
    made.zero_points = from.zero_points;
    if (made.scales.empty()) {  // a table on the grid of the output
        made.scales.assign(1, range.scale);
        made.zero_points.assign(1, range.zero_point);
    }
    const std::vector<std::byte> apart =
        how.in_pairs() ? codes_of_pairs(from.codes, static_cast<int>(depth), false) : std::vector<std::byte>();
    const std::byte* const codes = how.in_pairs() ? apart.data() : from.codes.data();
    made.codes.resize(count);
    made.rounded.resize(count);
    for (std::size_t i = 0; i != count; ++i) {
        const int code = code_at(codes, how.storage, i);
        const std::size_t c = i / depth;
        made.codes[i] = code;
        const std::size_t at = made.scales.size() == 1 ? 0 : c * groups + (groups == 1 ? 0 : i % depth / group);
        if (!from.offsets.empty()) {
            made.rounded[i] = from.scales[at] * static_cast<float>(code) + from.offsets[at];
        } else {
            const std::size_t zero = made.zero_points.size() == 1 ? 0 : c;
            made.rounded[i] =
                dequantize(code, {made.scales[at], made.zero_points.empty() ? 0 : made.zero_points[zero]});
        }
    }
}

}  // namespace detail

/// The arrays of node `v` of a quantized network that are codes, from its unpacked parameters, beside those of the float node
/// `from` that it was made of, whose block is `floats`. `ranges` are those of the quantized network.
inline std::vector<coded_values> coded_arrays(const node_view& v, const qparams* ranges,
                                              const node_parameters& unpacked, const node_view& from,
                                              const float* floats) {
    std::vector<coded_values> all;
    const parameter_list list = parameters_of(from);
    std::size_t matrix = 0;
    for (int i = 0; i != list.count; ++i) {
        const parameter_array& array = list.arrays[i];
        const coded_array how = coding_of(v, array);
        if (how.is_float()) continue;
        const quantized_weights& codes = unpacked.matrices[matrix++];
        coded_values made;
        made.array = array;
        made.number = i;
        made.floats.resize(static_cast<std::size_t>(array.size()));
        const float* values = floats + list.offset_of(i);
        if (array.role == parameter_role::matrix) array_to_file(array, values, made.floats.data());
        else std::copy_n(values, array.size(), made.floats.data());
        const bool is_filters = array.role == parameter_role::filters;
        made.channels = static_cast<std::size_t>(is_filters ? from.n.weights.channels : array.extents[0]);
        detail::fill_coded(made, codes, how, v.n.is_float() ? qparams{} : ranges[v.n.out.qparams_id]);
        if (is_filters) {
            const float* bias = floats + list.offset_of(++i);
            made.float_bias.assign(bias, bias + made.channels);
            const float x_scale = v.x_type().is_codes() ? ranges[v.x_type().qparams_id].scale : 1.0f;
            for (std::size_t c = 0; c != made.channels; ++c) made.bias.push_back(detail::real_bias(codes, c, x_scale));
        }
        all.push_back(std::move(made));
    }
    return all;
}

/// Puts what codes stand for in place of the floats of a float node's block.
inline void write_rounded(const std::vector<coded_values>& arrays, const node_view& from, float* block) {
    const parameter_list list = parameters_of(from);
    for (const coded_values& one : arrays) {
        float* values = block + list.offset_of(one.number);
        if (one.array.role == parameter_role::matrix) array_from_file(one.array, one.rounded.data(), values);
        else std::copy(one.rounded.begin(), one.rounded.end(), values);
        if (!one.bias.empty()) std::copy(one.bias.begin(), one.bias.end(), block + list.offset_of(one.number + 1));
    }
}

}  // namespace zp::inline v0
