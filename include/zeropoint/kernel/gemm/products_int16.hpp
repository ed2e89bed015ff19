// SPDX-License-Identifier: BSD-3-Clause
// Rows of 16-bit codes times a panel whose sums may leave int32: in parts that cannot, added up in int64.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <zeropoint/kernel/gemm/gemm.hpp>
#include <zeropoint/kernel/gemm/sums_int16.hpp>

namespace zp::inline v0::kernel {

/// multiply_panel() with an epilogue of int64 sums (epilogue/requantize_int16.hpp). Format is one of pairs.
template <class Arch, class Format, class Out, class Epilogue>
[[gnu::noinline]] void multiply_panel_in_parts(const std::int16_t* band, const std::int32_t* offsets, int rows,
                                               const window_runs& runs, const typename Format::weight* panel,
                                               int first_channel, int channels, const Epilogue& epilogue, Out* y,
                                               std::ptrdiff_t y_pitch) noexcept {
    static_assert(Format::depth == 2 && most_int16_products % 2 == 0, "multiply_panel_in_parts: parts are whole pairs");
    constexpr int width = panel_width<Arch>, most = operations<Arch>::tile_rows;
    alignas(64) static constexpr std::int32_t no_bias[width] = {};
    alignas(64) std::int32_t sums[most * width];
    alignas(64) std::int64_t whole[most * width];
    for (int row = 0; row != rows;) {
        const int count = next_tile_rows<Arch>(rows - row);
        std::fill_n(whole, count * width, std::int64_t{0});
        const typename Format::weight* weights = panel;
        for (int run = 0; run != runs.kernel_rows * runs.segments; ++run) {
            const std::int16_t* from =
                band + run / runs.segments * runs.row_advance + run % runs.segments * runs.segment_advance;
            for (int done = 0; done < runs.length; done += most_int16_products) {
                window_runs part;
                part.length = std::min(most_int16_products, runs.length - done);
                tile_kernels<Arch, Format>[static_cast<std::size_t>(count - 1)](from + done, offsets + row, part,
                                                                                weights, no_bias, sums);
                weights += part.length * width;
                for (int i = 0; i != count * width; ++i) whole[i] += sums[i];
            }
            weights += runs.skipped_pairs * 2 * width;
        }
        epilogue.template finish_int64_tile<Arch>(whole, count, first_channel, channels, y + row * y_pitch, y_pitch);
        row += count;
    }
}

}  // namespace zp::inline v0::kernel
