// SPDX-License-Identifier: BSD-3-Clause
// Depthwise 3x3 convolution without cells in memory: quads of the rows of one column, made and used in registers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <zeropoint/kernel/arch/operations.hpp>
#include <zeropoint/kernel/depthwise/packed_cells.hpp>
#include <zeropoint/kernel/epilogue/apply_epilogue.hpp>
#include <zeropoint/kernel/geometry/conv2d.hpp>
#include <zeropoint/kernel/vector/unroll.hpp>

// Four input rows y to y + 3 of 64 bytes become four vectors of quads, one channel a lane, by eight instructions. With
// stride 1 a quad serves two output rows, the second with its weights one place further on, and three columns each; with
// stride 2 it serves one row, its fourth byte being multiplied by zero, and one column or two:
//
//     rows y, y+1, y+2, y+3 of a column:  a b c d     output row y:      w0 w1 w2 0
//                                                     output row y+1:    0  w0 w1 w2     (stride 1)
//
// The instructions put bytes in turns within 16 bytes of a vector, which those that pack sums to codes undo: codes leave
// in the order in which they came, and everything between, weights, biases and multipliers, lies in the order of quads.
//
// 64 bytes are 64 channels of one pixel, 32 of two or 16 of four: where fewer channels are left, a row of outputs is cut
// into as many parts, which are computed side by side. Blocks of channels may overlap, and so may parts and pairs of rows:
// what is computed twice is written twice.

namespace zp::inline v0::kernel {

/// Whether an architecture has what makes such quads: vectors of 64 bytes and exact products.
template <class Arch>
inline constexpr bool has_column_quads = operations<Arch>::quads == quad_products::exact&& requires {
    operations<Arch>::quarters;
};

/// Whether a convolution can be computed so. Pieces of four channels must lie in one panel.
constexpr bool suits_column_quads(const conv2d_geometry& g) {
    const int stride = g.stride_height;
    return g.group_in() == 1 && g.group_out() == 1 && g.kernel_height == 3 && g.kernel_width == 3 &&
           g.dilation_height == 1 && g.dilation_width == 1 && stride == g.stride_width &&
           (stride == 1 || stride == 2) && g.out.height >= 3 - stride && g.in.channels >= 16 && g.in.channels % 4 == 0;
}

/// Channels [first, first + 64 / pixels).
struct channel_block {
    int first, pixels;
};
/// How `channels` channels, 16 or more, are cut into blocks: of 64, and of what is left.
struct channel_blocks {
    int channels;

    constexpr int whole() const { return channels / 64; }
    constexpr int left() const { return channels % 64; }
    /// Whether what is left is more than one block: there is none before it to overlap.
    constexpr bool splits() const { return channels < 64 && left() > 16 && left() != 32; }
    constexpr int count() const { return whole() + (left() == 0 ? 0 : splits() ? 2 : 1); }
    constexpr channel_block operator[](int index) const {
        if (index < whole()) return {64 * index, 1};
        const int size = splits() ? (left() < 32 ? 16 : 32) : left() <= 16 ? 16 : left() <= 32 ? 32 : 64;
        return {splits() && index == 0 ? 0 : channels - size, 64 / size};
    }
};

/// Weights, biases and multipliers of a block, in the order of quads.
struct column_operands {
    std::int32_t weights[2][3][64];  ///< of an output row, a column and a lane: four bytes
    std::int32_t bias[64];
    float multiplier[64];
};

/// Scratch: a row of zero points, and operands of so many blocks at a time as stay in the first-level cache.
struct column_plan {
    static constexpr int most_blocks = 8;
    std::size_t border_begin, scratch_bytes;

    constexpr explicit column_plan(const conv2d_geometry& g)
        : border_begin(most_blocks * sizeof(column_operands)),
          scratch_bytes(border_begin +
                        align_up(static_cast<std::size_t>(g.in.width) * static_cast<std::size_t>(g.in.channels))) {}
};

/// Sixteen numbers from a channel on, which lie by panels: those of panel i begin at from(i).
template <class Arch, class From> [[gnu::always_inline]] inline auto load_of_panels(int channel, const From& from) {
    using ops = operations<Arch>;
    constexpr int width = panel_width<Arch>, count = 16;
    const int panel = channel / width, lane = channel % width, here = width - lane;
    const std::int32_t* numbers = from(panel) + lane;
    if (here >= count) return ops::template load<typename ops::int32>(numbers);
    std::int32_t both[count];
    std::copy_n(numbers, here, both);
    std::copy_n(from(panel + 1), count - here, both + here);
    return ops::template load<typename ops::int32>(both);
}

/// The operands of a block of channels, from packed byte cells.
template <class Arch>
[[gnu::noinline]] void list_operands(const packed_depthwise<Arch>& panels, const channel_block& block,
                                     const float* multiplier, column_operands& to) noexcept {
    using ops = operations<Arch>;
    using int32 = typename ops::int32;
    constexpr int width = panel_width<Arch>;
    const int phases = panels.layout.grid.phases, pieces = 4 / block.pixels;
    const auto store_as_quads = [](int32(&numbers)[4], std::int32_t * place) __attribute__((always_inline)) {
        ops::transpose_quarters(numbers);
        unroll<4>([&](auto v) __attribute__((always_inline)) { ops::store(place + 16 * v, numbers[v]); });
    };
    int32 bias[4], columns[3][4];
    const int32 byte(255);
    unroll<4>([&](auto quarter) __attribute__((always_inline)) {
        const int channel = block.first + 16 * (quarter % pieces);
        bias[quarter] = load_of_panels<Arch>(channel, [&](int panel) { return panels.bias(panel); });
        int32 rows[3];  // of the kernel: weights of columns 0, 2 and 1
        unroll<3>([&](auto row) __attribute__((always_inline)) {
            rows[row] = load_of_panels<Arch>(channel, [&](int panel) {
                return reinterpret_cast<const std::int32_t*>(panels.weights(panel)) + row * phases * width;
            });
        });
        columns[0][quarter] = (rows[0] & byte) | ((rows[1] & byte) << 8) | ((rows[2] & byte) << 16);
        columns[1][quarter] =
            ((rows[0] >> 16) & byte) | ((rows[1] >> 8) & int32(255 << 8)) | (rows[2] & int32(255 << 16));
        columns[2][quarter] =
            ((rows[0] >> 8) & byte) | (rows[1] & int32(255 << 8)) | ((rows[2] & int32(255 << 8)) << 8);
    });
    store_as_quads(bias, to.bias);
    int32 factors[4];
    unroll<4>([&](auto quarter) __attribute__((always_inline)) {
        const int channel = block.first + 16 * (quarter % pieces);
        factors[quarter] =
            xsimd::bitwise_cast<std::int32_t>(ops::template load<typename ops::real>(multiplier + channel));
    });
    ops::transpose_quarters(factors);
    unroll<4>([&](auto v) __attribute__((always_inline)) {
        ops::store(to.multiplier + 16 * v, xsimd::bitwise_cast<float>(factors[v]));
    });
    unroll<3>([&](auto column) __attribute__((always_inline)) {
        store_as_quads(columns[column], to.weights[0][column]);
        unroll<4>([&](auto v) __attribute__((always_inline)) {
            ops::store(to.weights[1][column] + 16 * v, columns[column][v] << 8);
        });
    });
}

/// One output row, or two with stride 1, of one block: rows[i] is where the i-th input row under the window has the first
/// channel of column 0, `border` a row of zero points, y the first codes of the output rows. `Flips` where codes are
/// signed.
template <class Arch, int Stride, int Pixels, bool Flips, class Out>
[[gnu::noinline]] void multiply_columns(const conv2d_geometry& g, const column_operands& operands,
                                        const std::uint8_t* const (&rows)[5 - Stride], const std::uint8_t* border,
                                        const output_codes& codes, Out* const (&y)[3 - Stride]) noexcept {
    using ops = operations<Arch>;
    using uint8 = typename ops::uint8;
    using int32 = typename ops::int32;
    constexpr int outputs = 3 - Stride;
    const std::ptrdiff_t channels = g.in.channels;
    const int count = (g.out.width + Pixels - 1) / Pixels;  // of a part
    std::ptrdiff_t begin[Pixels];                           // of each part, in columns of the output
    repeat<Pixels>([&](int part)
                       __attribute__((always_inline)) { begin[part] = std::min(part * count, g.out.width - count); });
    const std::ptrdiff_t last_begin = begin[Pixels - 1] * Stride;
    // Quads of the column `column` columns right of the leftmost one of a part's first window.
    const auto load_column = [&](std::ptrdiff_t column, uint8(&quads)[4]) __attribute__((always_inline)) {
        const std::ptrdiff_t x = column - g.padding_left;
        uint8 bytes[4];
        if (x >= 0 && x + last_begin < g.in.width) {
            unroll<5 - Stride>([&](auto row) __attribute__((always_inline)) {
                const std::uint8_t* parts[Pixels];
                unroll<Pixels>([&](auto part) __attribute__((always_inline)) {
                    parts[part] = rows[row] + (x + begin[part] * Stride) * channels;
                });
                bytes[row] = ops::load_parts(parts);
            });
        } else {
            unroll<5 - Stride>([&](auto row) __attribute__((always_inline)) {
                const std::uint8_t* parts[Pixels];
                unroll<Pixels>([&](auto part) __attribute__((always_inline)) {
                    const std::ptrdiff_t place = x + begin[part] * Stride;
                    parts[part] = place >= 0 && place < g.in.width ? rows[row] + place * channels : border;
                });
                bytes[row] = ops::load_parts(parts);
            });
        }
        if constexpr (Stride == 2) bytes[3] = bytes[2];
        if constexpr (Flips)
            unroll<5 - Stride>([&](auto row) __attribute__((always_inline)) { bytes[row] = bytes[row] ^ uint8(128); });
        ops::stack_rows(bytes, quads);
    };
    const code_clamp<ops, Out> clamp(codes);
    typename ops::real scales[4];
    int32 biases[4];
    unroll<4>([&](auto v) __attribute__((always_inline)) {
        scales[v] = ops::template load<typename ops::real>(operands.multiplier + 16 * v);
        biases[v] = ops::template load<int32>(operands.bias + 16 * v);
        ops::keep(scales[v]);
        ops::keep(biases[v]);
    });
    uint8 left[4], middle[4], right[4];
    load_column(0, left);
    if constexpr (Stride == 1) load_column(1, middle);
    for (int x = 0; x != count; ++x) {
        if constexpr (Stride == 2) load_column(2 * x + 1, middle);
        load_column(Stride * x + 2, right);
        unroll<outputs>([&](auto output) __attribute__((always_inline)) {
            int32 sums[4];
            unroll<4>([&](auto v) __attribute__((always_inline)) {
                sums[v] = biases[v];
                const auto add = [&](const uint8& quads, int column) __attribute__((always_inline)) {
                    const std::int32_t* weights = operands.weights[output][column] + 16 * v;
                    ops::dot4(sums[v], quads,
                              ops::template load<typename ops::int8>(reinterpret_cast<const std::int8_t*>(weights)));
                };
                add(left[v], 0);
                add(middle[v], 1);
                add(right[v], 2);
                sums[v] = round_to_nearest(xsimd::to_float(sums[v]) * scales[v]);
            });
            Out* parts[Pixels];
            unroll<Pixels>([&](auto part) __attribute__((always_inline)) {
                parts[part] = y[output] + (begin[part] + x) * channels;
            });
            ops::store_parts(parts, clamp.in_quarters(sums));
        });
        unroll<4>([&](auto v) __attribute__((always_inline)) {
            left[v] = Stride == 1 ? middle[v] : right[v];
            if constexpr (Stride == 1) middle[v] = right[v];
        });
    }
}

/// The whole convolution: of panels [g.panels.begin, end) whose cells are all bytes, and of epilogues that shrink sums to
/// all codes of a byte without a table.
template <class Arch, class In, class Out>
[[gnu::noinline]] void column_conv2d(const conv2d_geometry& g, const In* x, activation_codes codes,
                                     const packed_depthwise<Arch>& panels, int end, const nearest_even& epilogue,
                                     Out* y, std::byte* scratch) noexcept {
    constexpr bool flips = std::is_signed_v<In>;
    constexpr int width = panel_width<Arch>;
    const column_plan plan(g);
    const int first = g.panels.begin * width;
    const channel_blocks blocks{std::min(end * width, g.out.channels) - first};
    const std::ptrdiff_t in_pitch = std::ptrdiff_t{g.in.width} * g.in.channels,
                         out_pitch = std::ptrdiff_t{g.out.width} * g.out.channels;
    auto* operands = reinterpret_cast<column_operands*>(scratch);
    auto* border = reinterpret_cast<std::uint8_t*>(scratch + plan.border_begin);
    std::memset(border, codes.zero_point, static_cast<std::size_t>(in_pitch));
    const auto* input = reinterpret_cast<const std::uint8_t*>(x);

    const auto compute_rows = [&]<int Stride>(std::integral_constant<int, Stride>, int from, int to) {
        constexpr int outputs = 3 - Stride;
        for (int row = 0; row < g.out.height; row += outputs) {
            const int top = std::min(row, g.out.height - outputs);
            const std::uint8_t* rows[5 - Stride];
            Out* out[outputs];
            for (int i = 0; i != 5 - Stride; ++i) {
                const int source = top * Stride + i - g.padding_top;
                rows[i] = source < 0 || source >= g.in.height ? border : input + source * in_pitch;
            }
            for (int i = 0; i != outputs; ++i) out[i] = y + (top + i) * out_pitch;
            for (int block = from; block != to; ++block) {
                channel_block of = blocks[block];
                const std::uint8_t* block_rows[5 - Stride];
                Out* block_out[outputs];
                for (int i = 0; i != 5 - Stride; ++i) block_rows[i] = rows[i] + first + of.first;
                for (int i = 0; i != outputs; ++i) block_out[i] = out[i] + first + of.first;
                const auto multiply = of.pixels == 1   ? &multiply_columns<Arch, Stride, 1, flips, Out>
                                      : of.pixels == 2 ? &multiply_columns<Arch, Stride, 2, flips, Out>
                                                       : &multiply_columns<Arch, Stride, 4, flips, Out>;
                multiply(g, operands[block - from], block_rows, border, epilogue.codes, block_out);
            }
        }
    };
    for (int from = 0; from < blocks.count(); from += plan.most_blocks) {
        const int to = std::min(from + plan.most_blocks, blocks.count());
        for (int block = from; block != to; ++block) {
            channel_block of = blocks[block];
            of.first += first;
            list_operands(panels, of, epilogue.multiplier, operands[block - from]);
        }
        if (g.stride_height == 1) compute_rows(std::integral_constant<int, 1>{}, from, to);
        else compute_rows(std::integral_constant<int, 2>{}, from, to);
    }
}

/// Whether column_conv2d() computes what is asked for.
template <class Arch, class Epilogue>
bool takes_column_quads(const conv2d_geometry& g, const packed_depthwise<Arch>& panels, int end,
                        const Epilogue& epilogue) noexcept {
    if constexpr (std::is_same_v<Epilogue, nearest_even>) {
        const int first = g.panels.begin * panel_width<Arch>,
                  channels = std::min(end * panel_width<Arch>, g.out.channels) - first;
        if (!suits_column_quads(g) || channels < 16 || epilogue.codes.table != nullptr ||
            epilogue.codes.max - epilogue.codes.min != 255)
            return false;
        for (int panel = g.panels.begin; panel != end; ++panel)
            if (panels.kernel(panel) != panel_kernel::byte_quads) return false;
        for (int c = 0; c < channels; c += operations<Arch>::lanes)
            if (!epilogue.template shrinks<operations<Arch>>(first + c, channels - c)) return false;
        return true;
    } else {
        return false;
    }
}

}  // namespace zp::inline v0::kernel
