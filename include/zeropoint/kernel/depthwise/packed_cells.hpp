// SPDX-License-Identifier: BSD-3-Clause
// How depthwise and narrow grouped convolutions are cut into cells of four bytes a lane, and their packed weights.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/arch/operations.hpp>
#include <zeropoint/kernel/gemm/bands.hpp>
#include <zeropoint/kernel/gemm/pack_panels.hpp>
#include <zeropoint/kernel/geometry/conv2d.hpp>

// Where a group has few channels, every output channel needs inputs of its own: nothing can be broadcast. The input is
// staged in cells: four bytes for each output channel of a panel, which one dot2 or dot4 multiplies with the four bytes
// of weights of the same lane.
//
//   word_pairs    a cell is two products, as int16: any weights, affine ones too
//   byte_quads    a cell is four products, as uint8 and int8: panels in which no pair of weights can saturate
//
// The products of a cell lie side by side in a kernel row: neighbouring columns where a group has one input channel,
// else channels of the group at one column. A byte cell of columns holds them as (0, 2, 1, 3): the outer taps of a
// 3-wide kernel share a pair, and the middle one, often the largest, has a pair of its own.
//
// With stride 1 cells lie at every second column, and two outputs are computed from the same ones, the second with its
// weights one place further right:
//
//                  columns      x   x+1 | x+2 x+3 | x+4        (word_pairs, three taps)
//                  output x    w0   w1  | w2   0  |
//                  output x+1   0   w0  | w1  w2  |
//
// Packed:
//
//   kernel tag of each panel | bias of each panel, zero point folded in | panel 0 | panel 1 | ...
//
// each part at a 64-byte boundary; a panel is [cell][phase][channel][4 bytes], cells in the order of kernel rows, phases
// being the outputs that share cells.

namespace zp::inline v0::kernel {

/// Whether cells can be staged: four lanes must find their channels within 16 bytes, which one shuffle reads.
constexpr bool supports_depthwise(const conv2d_geometry& g) {
    if (g.group_in() == 1) return true;
    const int groups_crossed = g.group_out() % 4 == 0 ? 0 : (g.group_out() + 2) / g.group_out();
    return g.groups > 1 && groups_crossed * g.group_in() + 4 <= 16 && g.group_in() <= 64;
}

/// How a kernel row is cut into cells.
struct cell_grid {
    bool of_columns;  ///< the products of a cell are columns, else channels of a group
    int column_step;  ///< columns from one staged cell to the next
    int phases;       ///< outputs computed from the same cells
    int group_step;   ///< staged cells from the first cell of `phases` outputs to that of the next ones

    constexpr explicit cell_grid(const conv2d_geometry& g)
        : of_columns(g.group_in() == 1),
          column_step(g.kernel_width == 1                                          ? g.stride_width
                      : of_columns && g.dilation_width == 1 && g.stride_width <= 2 ? 2
                                                                                   : 1),
          phases(column_step > g.stride_width ? 2 : 1),
          group_step(phases * g.stride_width / column_step) {}

    /// Cells at one column; `slots`, products of a cell, is 2 or 4.
    constexpr int planes(const conv2d_geometry& g, int slots) const {
        return of_columns ? 1 : (g.group_in() + slots - 1) / slots;
    }
    /// Cells of a kernel row.
    constexpr int row_cells(const conv2d_geometry& g, int slots) const {
        return of_columns ? (g.kernel_width + phases - 1 + slots - 1) / slots : g.kernel_width * planes(g, slots);
    }
    /// Where cell `index` of a kernel row lies among the staged cells of that row.
    constexpr int position(const conv2d_geometry& g, int slots, int index) const {
        if (of_columns) return index * slots * g.dilation_width / column_step;
        const int count = planes(g, slots);
        return index / count * g.dilation_width * count + index % count;
    }
    /// Staged columns for all outputs of a row, those of a last incomplete group of phases too.
    constexpr int columns(const conv2d_geometry& g) const {
        const int groups = (g.out.width + phases - 1) / phases;
        return (groups - 1) * group_step + (g.kernel_width - 1) * g.dilation_width / column_step + phases;
    }
    /// Word cells take two instructions for two products, byte cells `quad_instructions` for four: where that is three,
    /// five taps a row are better off as words.
    constexpr bool quads_pay(const conv2d_geometry& g, int quad_instructions) const {
        return quad_instructions * row_cells(g, 4) < 2 * row_cells(g, 2);
    }
};

/// Where the parts of packed depthwise weights lie.
template <class Arch> struct depthwise_layout {
    static constexpr int width = panel_width<Arch>;

    cell_grid grid;
    int panels;
    std::size_t bias_begin, panels_begin, panel_bytes, bytes;

    constexpr explicit depthwise_layout(const conv2d_geometry& g)
        : grid(g), panels((g.out.channels + width - 1) / width) {
        const auto count = static_cast<std::size_t>(panels), lanes = static_cast<std::size_t>(width);
        const auto cells = static_cast<std::size_t>(g.kernel_height) * static_cast<std::size_t>(grid.row_cells(g, 2)) *
                           static_cast<std::size_t>(grid.phases);
        bias_begin = align_up(count);
        panels_begin = bias_begin + align_up(count * lanes * sizeof(std::int32_t));
        panel_bytes = align_up(cells * lanes * 4);
        bytes = panels_begin + count * panel_bytes;
    }
    constexpr std::size_t panel_begin(int panel) const {
        return panels_begin + static_cast<std::size_t>(panel) * panel_bytes;
    }
    /// Calls visit(place in the panel, index in OHWI, phase) for each weight of a channel, the `lane`-th of its panel.
    template <class Visit>
    void for_each_weight(const conv2d_geometry& g, int channel, int lane, int slots, Visit visit) const {
        const int row_cells = grid.row_cells(g, slots), row_length = g.kernel_width * g.group_in();
        std::ptrdiff_t from = std::ptrdiff_t{channel} * g.depth();
        for (int row = 0; row != g.kernel_height; ++row, from += row_length) {
            for (int phase = 0; phase != grid.phases; ++phase) {
                for (int i = 0; i != row_length; ++i) {
                    int cell = 0, slot = 0;
                    if (grid.of_columns) {
                        cell = (i + phase) / slots;
                        slot = (i + phase) % slots;
                        if (slots == 4) slot = slot % 2 * 2 + slot / 2;
                    } else {
                        cell = i / g.group_in() * grid.planes(g, slots) + i % g.group_in() / slots;
                        slot = i % g.group_in() % slots;
                    }
                    const std::ptrdiff_t vector = std::ptrdiff_t{row * row_cells + cell} * grid.phases + phase;
                    visit((vector * width + lane) * slots + slot, from + i, phase);
                }
            }
        }
    }
};

/// Set in the tag of a panel whose biases the epilogue adds.
inline constexpr std::byte int64_bias_flag{0x80};

/// Reading packed depthwise weights.
template <class Arch> struct packed_depthwise {
    depthwise_layout<Arch> layout;
    const std::byte* data;

    packed_depthwise(const conv2d_geometry& g, const std::byte* packed) : layout(g), data(packed) {}

    panel_kernel kernel(int panel) const { return static_cast<panel_kernel>(data[panel] & ~int64_bias_flag); }
    /// Codes of 16 bits: whether the epilogue adds the biases, int32 having no room for them.
    bool has_int64_bias(int panel) const { return (data[panel] & int64_bias_flag) != std::byte{0}; }
    const std::int32_t* bias(int panel) const {
        return reinterpret_cast<const std::int32_t*>(data + layout.bias_begin) + std::ptrdiff_t{panel} * layout.width;
    }
    const std::byte* weights(int panel) const { return data + layout.panel_begin(panel); }
};

/// What staged cells of a kind add to codes. Words are unsigned codes, bytes are what dot4 takes.
template <class Arch> constexpr std::int32_t cell_shift(activation_codes codes, panel_kernel kernel) {
    const bool is_signed = kernel == panel_kernel::byte_quads && operations<Arch>::quads == quad_products::exact_signed;
    return unsigned_shift(codes) - (is_signed ? 128 : 0);
}

/// Whether dot4 is exact for quads of int8 weights and the codes that an input can hold.
template <class Arch>
bool quads_are_exact([[maybe_unused]] const std::int8_t* quads, [[maybe_unused]] std::size_t count,
                     [[maybe_unused]] activation_codes codes) {
    const std::int32_t shift = unsigned_shift(codes), high = std::max(codes.max, codes.zero_point) + shift;
    if (!quads_hold<Arch>(high)) return false;
    if constexpr (quads_saturate<Arch>) {
        const std::int32_t low = std::min(codes.min, codes.zero_point) + shift;
        for (std::size_t i = 0; i != count; i += 2)
            if (!pair_fits_int16(low, high, quads[i], quads[i + 1])) return false;
    }
    return true;
}

/// Packs weights and bias. `packed` has depthwise_layout::bytes bytes, 64-byte aligned. The kernel of each panel is
/// chosen from its weights and from `codes`.
template <class Arch, class Weight>
void pack_depthwise(const conv2d_geometry& g, const conv2d_weights<Weight>& weights, activation_codes codes,
                    std::byte* packed) {
    const depthwise_layout<Arch> layout(g);
    std::fill_n(packed, layout.bytes, std::byte{0});
    for (int panel = 0; panel != layout.panels; ++panel) {
        const int first = panel * layout.width, channels = std::min(g.out.channels - first, layout.width);
        auto* bias = reinterpret_cast<std::int32_t*>(packed + layout.bias_begin) + first;
        auto* quads = reinterpret_cast<std::int8_t*>(packed + layout.panel_begin(panel));
        auto* words = reinterpret_cast<std::int16_t*>(packed + layout.panel_begin(panel));
        panel_kernel kernel = panel_kernel::word_pairs;
        if (!codes.are_int16() && !weights.affine() && layout.grid.quads_pay(g, quads_saturate<Arch> ? 3 : 1)) {
            for (int c = 0; c != channels; ++c) {
                layout.for_each_weight(g, first + c, c, 4, [&](std::ptrdiff_t to, std::ptrdiff_t from, int) {
                    quads[to] = static_cast<std::int8_t>(weights.values[from]);
                });
            }
            if (quads_are_exact<Arch>(quads, layout.panel_bytes, codes)) kernel = panel_kernel::byte_quads;
            else std::fill_n(quads, layout.panel_bytes, std::int8_t{0});
        }
        for (int c = 0; c != channels; ++c) {
            const std::int32_t zero_point = weights.zero_points == nullptr ? 0 : weights.zero_points[first + c];
            std::int32_t sum = 0;
            layout.for_each_weight(g, first + c, c, 2, [&](std::ptrdiff_t to, std::ptrdiff_t from, int phase) {
                const std::int32_t weight = weights.values[from] - zero_point;
                if (kernel == panel_kernel::word_pairs) words[to] = static_cast<std::int16_t>(weight);
                if (phase == 0) sum += weight;
            });
            bias[c] = add_product_wrapping(weights.bias == nullptr ? 0 : weights.bias[first + c],
                                           -(codes.zero_point + cell_shift<Arch>(codes, kernel)), sum);
        }
        packed[panel] = static_cast<std::byte>(kernel);
        if (!codes.are_int16()) continue;
        for (int c = 0; c != channels; ++c)
            if (!int16_sums_fit(weights, g.depth(), first + c)) packed[panel] |= int64_bias_flag;
        if ((packed[panel] & int64_bias_flag) == std::byte{0})
            for (int c = 0; c != channels; ++c) bias[c] = static_cast<std::int32_t>(weights.int64_bias_of(first + c));
    }
}

/// The exact inverse of pack_depthwise, given the same zero points and codes. `bias` receives zeros where there was
/// none.
template <class Arch, class Weight>
void unpack_depthwise(const conv2d_geometry& g, const std::int32_t* zero_points, activation_codes codes,
                      const std::byte* packed, Weight* values, std::int32_t* bias) {
    const packed_depthwise<Arch> from(g, packed);
    for (int channel = 0; channel != g.out.channels; ++channel) {
        const int panel = channel / from.layout.width, lane = channel % from.layout.width;
        const bool quads = from.kernel(panel) == panel_kernel::byte_quads;
        auto* bytes = reinterpret_cast<const std::int8_t*>(from.weights(panel));
        auto* words = reinterpret_cast<const std::int16_t*>(from.weights(panel));
        const std::int32_t zero_point = zero_points == nullptr ? 0 : zero_points[channel];
        std::int32_t sum = 0;
        from.layout.for_each_weight(g, channel, lane, quads ? 4 : 2,
                                    [&](std::ptrdiff_t place, std::ptrdiff_t to, int phase) {
                                        if (phase != 0) return;
                                        const std::int32_t weight = quads ? bytes[place] : words[place];
                                        values[to] = static_cast<Weight>(weight + zero_point);
                                        sum += weight;
                                    });
        bias[channel] = add_product_wrapping(from.bias(panel)[lane],
                                             codes.zero_point + cell_shift<Arch>(codes, from.kernel(panel)), sum);
    }
}

}  // namespace zp::inline v0::kernel
