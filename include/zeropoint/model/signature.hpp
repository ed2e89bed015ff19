// A number that two networks share only if their rows are the same: what ties an int8 file to its type.
#pragma once

#include <bit>
#include <cstdint>
#include <string>

#include <zeropoint/layer/operator_description.hpp>
#include <zeropoint/model/graph.hpp>

namespace zp {
inline namespace v0 {

/// Hash of everything that gives a file's integers their meaning: operators with their parameter, names, extents, windows, dtypes with their
/// ranges, who shares a scale, how many entries fused tables have, and the requantization policy. Not of the architecture, nor of where things lie in memory.
/// With `other_table_bits`, what it would be with fused tables of so many bits.
template <int N>
constexpr std::uint64_t signature_of(const graph<N>& g, const char* requantization, int other_table_bits = 0) {
    std::uint64_t hash = 14695981039346656037ull;  // FNV-1a over 32-bit words
    const auto mix = [&](std::int64_t value) {
        hash = (hash ^ (static_cast<std::uint64_t>(value) & 0xffffffffu)) * 1099511628211ull;
    };
    const auto mix_text = [&](const char* text) {
        for (; *text != 0; ++text) mix(static_cast<unsigned char>(*text));
        mix(-1);
    };
    mix_text(requantization);
    for (int i = 0; i != g.size; ++i) {
        const node& row = g.nodes[i];
        mix_text(name_of(row.kind));
        mix_text(name_of(row.activation));
        mix_text(row.name);
        for (int k = 0; k != row.input_count; ++k) mix(row.inputs[k]);
        const kernel::conv2d_geometry& w = row.window;
        const int numbers[] = {row.out.height,
                               row.out.width,
                               row.out.channels,
                               w.kernel_height,
                               w.kernel_width,
                               w.stride_height,
                               w.stride_width,
                               w.padding_top,
                               w.padding_left,
                               w.dilation_height,
                               w.dilation_width,
                               w.groups,
                               static_cast<int>(row.type),
                               static_cast<int>(row.weight_type),
                               row.affine_weights,
                               row.count_include_pad,
                               row.slot,
                               row.table_slot,
                               row.quant_min,
                               row.quant_max,
                               row.weight_min,
                               row.weight_max};
        for (const int number : numbers) mix(number);
        if (row.out.is_volume()) mix(row.out.depth);  // files of images keep their signatures
        if (row.kind == op::conv3d || row.kind == op::conv_transpose3d)
            for (const int number : {row.depth.kernel, row.depth.stride, row.depth.padding, row.depth.dilation})
                mix(number);
        const int table_bits =
            other_table_bits != 0 && is_table(row.activation) ? other_table_bits : int{row.table_bits};
        if (table_bits != 8) mix(table_bits);  // files of 8 bits keep their signatures
        mix(std::bit_cast<std::int32_t>(row.parameter));
        if (row.kind == op::activation || row.activation == op::activation) {
            mix_text(row.function->kind);
            for (const float value : row.function->constants) mix(std::bit_cast<std::int32_t>(value));
        }
        if (row.described != nullptr) {
            mix_text(row.described->kind);
            for (const int option : row.described->options) mix(option);
        }
        if (row.kind == op::clamp || row.activation == op::clamp) {
            mix(std::bit_cast<std::int32_t>(row.lowest));
            mix(std::bit_cast<std::int32_t>(row.highest));
        }
    }
    return hash;
}

/// Sixteen hexadecimal digits.
inline std::string signature_text(std::uint64_t signature) {
    std::string text(16, '0');
    for (std::size_t i = 0; i != 16; ++i) text[15 - i] = "0123456789abcdef"[signature >> (4 * i) & 15];
    return text;
}

}  // namespace v0
}  // namespace zp
