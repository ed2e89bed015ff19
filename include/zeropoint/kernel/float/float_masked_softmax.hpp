// SPDX-License-Identifier: BSD-3-Clause
// Softmax in float of which a mask leaves columns out.
#pragma once

#include <cstddef>
#include <limits>

#include <zeropoint/kernel/float/float_softmax.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/vector/number.hpp>

namespace zp::inline v0::kernel {

/// y[i] = mask[i] != 0 ? x[i] : left_out; y may be x.
template <class Arch>
void mask_row(const float* x, const float* mask, std::size_t count, float left_out, float* y) noexcept {
    for_each_number<Arch>(
        count, [&](std::size_t i, auto number) __attribute__((always_inline)) {
            using Number = decltype(number);
            const auto counts = load_number<Number>(mask + i) != Number(0.0f);
            store_number(Number(choose_number(counts, load_number<Number>(x + i), Number(left_out))), y + i);
        });
}

/// softmax() of rows in which the columns whose mask is 0 count as the lowest float: their share is exactly 0. A row whose
/// columns are all left out has equal shares, as that float plus a score is that float: what Hugging Face's additive masks
/// give. Row r's mask begins at mask + r * mask_pitch: 0 is one row for all. y may be x.
template <class Arch>
void masked_softmax(const float* x, std::size_t rows, std::size_t channels, const float* mask, std::size_t mask_pitch,
                    float* y) noexcept {
    for (std::size_t row = 0; row != rows; ++row, x += channels, y += channels, mask += mask_pitch)
        mask_row<Arch>(x, mask, channels, std::numeric_limits<float>::lowest(), y);
    y -= rows * channels;
    softmax<Arch>(y, rows, channels, y);
}

}  // namespace zp::inline v0::kernel
