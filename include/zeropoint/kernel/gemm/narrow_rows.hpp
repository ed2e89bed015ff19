// SPDX-License-Identifier: BSD-3-Clause
// Convolutions of few input channels to at most a vector of output channels: windows at equal distances, codes from registers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <zeropoint/kernel/arch/operations.hpp>
#include <zeropoint/kernel/epilogue/apply_epilogue.hpp>
#include <zeropoint/kernel/gemm/gemm.hpp>
#include <zeropoint/kernel/vector/unroll.hpp>

//   for each tile of three times four pixels:        multiply_narrow_rows
//       sums = bias
//       for each pair of the depth:
//           load a vector of weights
//           for each of the three: broadcast its four pairs, dot, add, move to the next pair
//       codes = epilogue(sums)
//
// A narrow tile of gemm.hpp has twelve rows, each with an address. Where runs are as short as the taps of a 5x5 window of one channel, twelve
// addresses that processors have no registers for take longer than products. Here four pixels side by side have one.

namespace zp::inline v0::kernel {

/// Whether an architecture takes them: with registers for twelve sums of one vector, and tiles that become codes in them.
template <class Arch, class Out> constexpr bool has_narrow_rows_of_pairs() {
    if constexpr (requires { operations<Arch>::finishes_in_registers; })
        return operations<Arch>::finishes_in_registers && quads_saturate<Arch> && operations<Arch>::vectors == 2 &&
               operations<Arch>::lanes == 8 && sizeof(Out) == 1;
    else return false;
}

/// A window's four neighbours become four pixels of `channels` codes, 4 to 8 of them: eight bytes each, of which those behind a
/// pixel's are overwritten by the next, and the last pixel's two times four.
template <class Out>
[[gnu::always_inline]] inline void store_narrow_pixels(const std::uint8_t (&codes)[32], int channels, Out* y) {
    std::uint64_t pixels[4];
    std::memcpy(pixels, codes, sizeof pixels);
    for (int i = 0; i != 3; ++i) std::memcpy(y + i * channels, &pixels[i], 8);
    std::memcpy(y + 3 * channels, codes + 24, 4);
    std::memcpy(y + 4 * channels - 4, codes + 24 + channels - 4, 4);
}

/// The most pairs of a window that are multiplied so.
inline constexpr int most_narrow_pairs = 128;

/// All pixels of a band, `rows` of them in output rows of `width`, times a panel of widened_pairs of which `channels` exist. Windows begin
/// at band[offsets[pixel]], those of an output row at equal distances. width and rows are at least 4, channels 4 to 8, pairs at most
/// most_narrow_pairs; y has that many codes a pixel and nothing else, and there is no table.
template <class Arch, class Out>
[[gnu::noinline]] void multiply_narrow_rows(const std::int16_t* band, const std::int32_t* offsets, int width, int rows,
                                            const window_runs& runs, const std::int8_t* panel, const std::int32_t* bias,
                                            int channels, const nearest_even& epilogue, Out* y) noexcept {
    using ops = operations<Arch>;
    using int32 = typename ops::int32;
    constexpr int quads = 3, depth = widened_pairs::depth, words = ops::lanes * depth;
    // The pairs of all runs as one list: their weights, and from each to the next. Loops over short runs would end with every one.
    alignas(64) std::int16_t weights[most_narrow_pairs * words];
    std::ptrdiff_t advance[most_narrow_pairs];
    int pairs = 0;
    for (int kernel_row = 0; kernel_row != runs.kernel_rows; ++kernel_row) {
        for (int segment = 0; segment != runs.segments; ++segment) {
            for (int k = 0; k != runs.length; k += depth, panel += ops::vectors * words) {
                ops::store(weights + pairs * words, ops::load_widened(panel));
                advance[pairs++] = depth;
            }
            panel += runs.skipped_pairs * ops::vectors * words;
            advance[pairs - 1] += runs.segment_advance - runs.length;
        }
        advance[pairs - 1] += runs.row_advance - runs.segments * runs.segment_advance;
    }
    const std::ptrdiff_t distance = offsets[1] - offsets[0], distance_of_three = 3 * distance;
    const int row_quads = (width + 3) / 4, last_in_row = width - 4, count = rows / width * row_quads;
    const auto requantize = epilogue.template vector<ops>(0, channels);
    const code_clamp<ops, Out> clamp(epilogue.codes);
    // The next four pixels; the last four of an output row may overlap those before.
    int row_begin = 0, column = 0;
    const auto next = [&]() __attribute__((always_inline)) {
        const int pixel = row_begin + std::min(column, last_in_row);
        column += 4;
        if (column >= width) column = 0, row_begin += width;
        if (row_begin == rows) column = last_in_row, row_begin = rows - width;
        return pixel;
    };
    for (int done = 0; done < count; done += quads) {
        int pixel[quads];
        const std::int16_t* from[quads];
        int32 sums[quads][4];
        unroll<quads>([&](auto q) __attribute__((always_inline)) {
            pixel[q] = next();
            from[q] = band + offsets[pixel[q]];
            repeat<4>([&](int i) __attribute__((always_inline)) { sums[q][i] = ops::template load<int32>(bias); });
        });
        for (int pair = 0; pair != pairs; ++pair) {
            const auto w = ops::template load<typename ops::int16>(weights + pair * words);
            unroll<quads>([&](auto q) __attribute__((always_inline)) {
                const std::int16_t* at = from[q];
                ops::dot2(sums[q][0], ops::broadcast(at), w);
                ops::dot2(sums[q][1], ops::broadcast(at + distance), w);
                ops::dot2(sums[q][2], ops::broadcast(at + 2 * distance), w);
                ops::dot2(sums[q][3], ops::broadcast(at + distance_of_three), w);
                from[q] += advance[pair];
            });
        }
        unroll<quads>([&](auto q) __attribute__((always_inline)) {
            repeat<4>([&](int i) __attribute__((always_inline)) { sums[q][i] = requantize(sums[q][i]); });
            alignas(32) std::uint8_t codes[32];
            clamp.store_pairs(sums[q], reinterpret_cast<Out*>(codes), reinterpret_cast<Out*>(codes + 16));
            store_narrow_pixels(codes, channels, y + std::ptrdiff_t{pixel[q]} * channels);
        });
    }
}

/// Does that where it can, for a convolution of `channels` outputs in all; gives whether it did.
template <class Arch, class Out, class Epilogue>
bool multiplied_narrow_rows(const std::int16_t* band, const std::int32_t* offsets, int width, int rows,
                            const window_runs& runs, const std::int8_t* panel, const std::int32_t* bias, int channels,
                            const Epilogue& epilogue, Out* y) noexcept {
    if constexpr (has_narrow_rows_of_pairs<Arch, Out>()) {
        const int pairs = runs.kernel_rows * runs.segments * runs.length / widened_pairs::depth;
        const nearest_even* nearest = epilogue.nearest();
        if (width < 4 || pairs > most_narrow_pairs || channels < 4 || channels > operations<Arch>::lanes ||
            nearest == nullptr || table_of(*nearest) != nullptr)
            return false;
        multiply_narrow_rows<Arch>(band, offsets, width, rows, runs, panel, bias, channels, *nearest, y);
        return true;
    }
    return false;
}

}  // namespace zp::inline v0::kernel
