// SPDX-License-Identifier: BSD-3-Clause
// The floats that the parameters of an int8 node mean, and gradients on their way from those to the floats that are trained.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <zeropoint/graph/operator_info.hpp>
#include <zeropoint/graph/pairs_of_codes.hpp>
#include <zeropoint/kernel/dynamic/quantize.hpp>

namespace zp::inline v0 {

/// How values of an array lie over its scales: value i has scale (i / inner) % channels.
struct scale_layout {
    std::size_t channels = 1, inner = 1;

    constexpr std::size_t channel_of(std::size_t i) const { return i / inner % channels; }
};

/// Of filters (out x taps x in) and matrices (columns x rows inside, a scale a row) with so many scales.
inline scale_layout layout_of_scales(const parameter_array& array, std::size_t scales) {
    if (scales <= 1) return {};
    const auto size = static_cast<std::size_t>(array.size());
    if (array.role == parameter_role::matrix) return {static_cast<std::size_t>(array.extents[0]), 1};
    return {scales, size / scales};
}

namespace detail {

/// y = scale * (code - zero_point) of `count` codes from number `first` on.
template <class Arch>
void floats_of_run(const std::byte* codes, scalar_type storage, std::size_t first, std::size_t count,
                   const qparams& range, float* y) {
    const auto run = [&]<class Code>(Code) {
        kernel::dequantize<Arch>(reinterpret_cast<const Code*>(codes) + first, count, range.scale, range.zero_point, y);
    };
    if (storage == scalar_type::uint8) run(std::uint8_t{});
    else if (storage == scalar_type::int8) run(std::int8_t{});
    else run(std::int16_t{});
}

/// What codes in the order of files mean, as they lie inside. Without scales they are on the grid of the node's output.
template <class Arch>
void floats_of_codes(const parameter_array& array, const coded_array& coding, const quantized_weights& from,
                     const qparams& own_grid, float* inside) {
    const auto size = static_cast<std::size_t>(array.size());
    const std::size_t scales = std::max<std::size_t>(from.scales.size(), 1);
    const std::size_t rows = coding.has_groups ? static_cast<std::size_t>(array.extents[0]) : scales;
    const std::size_t columns = size / rows;
    const std::size_t group = coding.group == 0 ? columns : static_cast<std::size_t>(coding.group);
    const std::vector<std::byte> apart =
        coding.in_pairs() ? codes_of_pairs(from.codes, array.extents[1], false) : std::vector<std::byte>();
    const std::byte* const codes = coding.in_pairs() ? apart.data() : from.codes.data();
    // Filters stand as blocks have them: out x taps x in.
    std::vector<float> ordered(array.role == parameter_role::filters ? 0 : size);
    float* const values = ordered.empty() ? inside : ordered.data();
    std::size_t at = 0;
    for (std::size_t first = 0; first != size; first += columns)
        for (std::size_t k = 0; k < columns; k += group, ++at) {
            const std::size_t count = std::min(group, columns - k);
            const qparams range = from.scales.empty()
                                      ? own_grid
                                      : qparams{from.scales[at], from.zero_points.empty() ? 0 : from.zero_points[at]};
            floats_of_run<Arch>(codes, coding.storage, first + k, count, range, values + first + k);
            if (from.offsets.empty()) continue;
            for (std::size_t i = 0; i != count; ++i) values[first + k + i] += from.offsets[at];
        }
    if (!ordered.empty()) array_from_file(array, ordered.data(), inside);
}

/// Biases in real units.
inline void floats_of_bias(const quantized_weights& from, float x_scale, float* bias) {
    const auto scaled = [&](std::size_t c, double code) {
        const float scale = from.scales.size() == 1 ? from.scales[0] : from.scales[c];
        return static_cast<float>(code * double{x_scale} * double{scale});
    };
    for (std::size_t c = 0; c != from.bias.size(); ++c) bias[c] = scaled(c, from.bias[c]);
    for (std::size_t c = 0; c != from.int64_bias.size(); ++c)
        bias[c] = scaled(c, static_cast<double>(from.int64_bias[c]));
    std::copy(from.float_bias.begin(), from.float_bias.end(), bias);
}

}  // namespace detail

/// Writes what the parameters of node `v` of an int8 network mean to a block of floats of node `from` of the float stage that it is made
/// of. `x_scale` is that of the node's input, `y` what its output's codes mean.
template <class Arch>
void floats_of_parameters(const node_view& v, const node_view& from, const node_parameters& coded, float x_scale,
                          const qparams& y, float* block) {
    const parameter_list list = parameters_of(from);
    std::size_t matrices = 0, vectors = 0;
    for (int i = 0; i != list.count; ++i) {
        const parameter_array& array = list.arrays[i];
        float* to = block + list.offset_of(i);
        const coded_array coding = coding_of(v, array);
        if (coding.is_float()) {
            const std::vector<float>& values = coded.vectors[vectors++];
            std::copy(values.begin(), values.end(), to);
            continue;
        }
        const quantized_weights& weights = coded.matrices[matrices++];
        detail::floats_of_codes<Arch>(array, coding, weights, y, to);
        if (array.role != parameter_role::filters) continue;
        detail::floats_of_bias(weights, x_scale, block + list.offset_of(i + 1));
        ++i;
    }
}

}  // namespace zp::inline v0
