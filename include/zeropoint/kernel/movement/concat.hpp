// SPDX-License-Identifier: BSD-3-Clause
// Concatenation along channels: the channels of one input go to their place among those of the output.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <zeropoint/kernel/elementwise/elementwise_int16.hpp>
#include <zeropoint/kernel/epilogue/lookup_table.hpp>
#include <zeropoint/kernel/movement/strided_copy.hpp>
#include <zeropoint/kernel/vector/code_lanes.hpp>

namespace zp::inline v0::kernel {

/// y[pixel * out_channels + c] = x[pixel * in_channels + c]: one NHWC input of a concatenation. `y` points at the first
/// channel of this input in the first pixel of the output; the channels of other inputs are not touched.
template <class Arch, class T>
void copy_channels(const T* x, std::size_t pixels, std::size_t in_channels, T* y, std::size_t out_channels) noexcept {
    if (pixels == 0 || in_channels == 0) return;
    if (in_channels == out_channels) {
        std::memcpy(y, x, pixels * in_channels * sizeof(T));
        return;
    }
    copy_runs<Arch>(x, static_cast<std::ptrdiff_t>(in_channels), static_cast<int>(pixels), in_channels, y,
                    static_cast<std::ptrdiff_t>(out_channels));
}

/// The same for an input on another grid than the output: every code goes through `table` (lookup_table.hpp), made with
/// the identity as its function. Of pixels with few channels, as many together as a small buffer holds, because tables are
/// fast over long rows.
template <class Arch, code8 In, class Out>
void copy_channels(const In* x, std::size_t pixels, std::size_t in_channels, const Out* table, Out* y,
                   std::size_t out_channels) noexcept {
    constexpr std::size_t most = 2048;
    if (in_channels > most / 2) {
        for (std::size_t pixel = 0; pixel != pixels; ++pixel)
            lookup_table<Arch>(x + pixel * in_channels, in_channels, table, y + pixel * out_channels);
        return;
    }
    alignas(64) Out codes[most];
    const std::size_t together = in_channels == 0 ? pixels : most / in_channels;
    for (std::size_t pixel = 0; pixel < pixels; pixel += together) {
        const std::size_t count = std::min(together, pixels - pixel);
        lookup_table<Arch>(x + pixel * in_channels, count * in_channels, table, codes);
        copy_channels<Arch>(codes, count, in_channels, y + pixel * out_channels, out_channels);
    }
}

/// The same for codes of 16 bits, by multiplier and shift of their ratio of scales.
template <class Arch>
void copy_channels(const std::int16_t* x, std::size_t pixels, std::size_t in_channels, const rescaling& p,
                   std::int16_t* y, std::size_t out_channels) noexcept {
    for (std::size_t pixel = 0; pixel != pixels; ++pixel)
        requantize_codes<Arch>(x + pixel * in_channels, in_channels, p, y + pixel * out_channels);
}

}  // namespace zp::inline v0::kernel
