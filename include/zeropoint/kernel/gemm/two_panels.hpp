// SPDX-License-Identifier: BSD-3-Clause
// Rows of activations times two panels of weights at once: a few rows, or on some processors any number.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <zeropoint/kernel/arch/operations.hpp>
#include <zeropoint/kernel/epilogue/apply_epilogue.hpp>
#include <zeropoint/kernel/gemm/gemm.hpp>
#include <zeropoint/kernel/gemm/panel_formats.hpp>
#include <zeropoint/kernel/gemm/tile_fetches.hpp>

// A row or two are bound by what is loaded of them beside the weights of one panel, and by additions that wait for each other.
//
// Many rows take as many products either way, in fewer instructions: a step of 6 x 64 has 6 broadcasts and 4 loads for 24 products,
// one of 12 x 32 has 12 and 2. That is what a processor is bound by which starts four instructions a cycle, where another program
// runs on the same core and takes every second cycle of them: Cascade Lake in a data center (docs/decisions/0061).

namespace zp::inline v0::kernel {

/// The most rows that are multiplied by two panels at once although an architecture has no paired_rows.
template <class Arch, class Format>
inline constexpr int rows_of_two_panels = [] {
    if constexpr (std::is_same_v<Format, signed_quads>) return 1;
    else if constexpr (requires { operations<Arch>::rows_of_two_panels; })
        return std::is_same_v<Format, byte_quads> ? operations<Arch>::rows_of_two_panels : 0;
    else return 0;
}();

/// Whether so many rows are multiplied by two panels at once, `channels` being those that are left of a group.
template <class Arch, class Format> constexpr bool takes_two_panels(int rows, int channels) {
    constexpr int width = panel_width<Arch>;
    if (rows <= rows_of_two_panels<Arch, Format>) return channels > width;
    return paired_rows<operations<Arch>, Format> != 0 && channels >= 2 * width;
}

/// One tile of two panels, whose sums of the second lie `to_second` behind those of the first.
template <class Arch, class Format, int Rows>
[[gnu::noinline]] void multiply_paired_tile(const typename Format::activation* band, const std::int32_t* offsets,
                                            const window_runs& runs, const typename Format::weight* panels,
                                            const std::int32_t* bias, std::int32_t* sums,
                                            std::ptrdiff_t to_second) noexcept {
    using ops = operations<Arch>;
    constexpr int vectors = 2 * ops::vectors;
    const auto store = [&](int row, const typename ops::int32(&total)[vectors]) __attribute__((always_inline)) {
        std::int32_t* to = sums + row * ops::vectors * ops::lanes;
#pragma GCC unroll 64
        for (int v = 0; v != vectors; ++v)
            ops::store(to + v / ops::vectors * to_second + v % ops::vectors * ops::lanes, total[v]);
    };
    sum_tile<Arch, Format, Rows, vectors>(band, offsets, runs, panels, bias, store);
}
/// Rows of the tallest of them.
template <class Arch, class Format>
inline constexpr int most_paired_rows = std::max(rows_of_two_panels<Arch, Format>,
                                                 paired_rows<operations<Arch>, Format>);
/// The same for 1, 2, ... rows.
template <class Arch, class Format>
inline constexpr auto paired_tiles = []<int... Row>(std::integer_sequence<int, Row...>) {
    return std::array{&multiply_paired_tile<Arch, Format, Row + 1>...};
}
(std::make_integer_sequence<int, most_paired_rows<Arch, Format>>{});

/// All rows of a band times two panels, `channels` counting those of both. Row r begins at band[offsets[r]]; its results go to
/// y + r * y_pitch.
template <class Arch, class Format, class Out, class Epilogue>
void multiply_two_panels(const typename Format::activation* band, const std::int32_t* offsets, int rows,
                         const window_runs& runs, const typename Format::weight* panels, const std::int32_t* bias,
                         int first_channel, int channels, const Epilogue& epilogue, Out* y,
                         std::ptrdiff_t y_pitch) noexcept {
    using ops = operations<Arch>;
    constexpr int width = panel_width<Arch>, most = most_paired_rows<Arch, Format>, tall = paired_rows<ops, Format>;
    constexpr int tiles = tall != 0 ? 4 : 1, most_sums = tiles * most * width;
    alignas(64) std::int32_t sums[2 * most_sums];
    int row = 0;
    if constexpr (tall != 0 && finishes_in_registers<Arch, Format, Out>()) {
        if (channels == 2 * width)
            row = finish_in_registers<Arch, Format, tall, 2 * ops::vectors>(
                band, offsets, rows, runs, panels, bias, first_channel, channels, epilogue, y, y_pitch);
    }
    if (row == rows) return;
    runs_of_tiles<Arch, Format, most, 2 * ops::vectors> of_tiles(runs, rows - row);
    while (row != rows) {
        const int first = row;
        for (int tile = 0; tile != tiles && row != rows; ++tile) {
            const int count = next_tile_rows<Arch>(rows - row, most);
            paired_tiles<Arch, Format>[static_cast<std::size_t>(count - 1)](
                band, offsets + row, *of_tiles, panels, bias, sums + (row - first) * width, most_sums);
            of_tiles.move_on();
            row += count;
        }
        Out* to = y + first * y_pitch;
        finish_rows<Arch>(epilogue, sums, row - first, first_channel, width, to, y_pitch);
        finish_rows<Arch>(epilogue, sums + most_sums, row - first, first_channel + width, channels - width, to + width,
                          y_pitch);
    }
}

}  // namespace zp::inline v0::kernel
