// SPDX-License-Identifier: BSD-3-Clause
// Gradients of softmax, with a mask or without, and of its logarithm.
#pragma once

#include <cmath>
#include <cstddef>

#include <zeropoint/kernel/elementwise/activations.hpp>
#include <zeropoint/kernel/gradient/batch.hpp>
#include <zeropoint/kernel/vector/ordered_double_sum.hpp>

namespace zp::inline v0::kernel {

/// dx = y * (dy - sum of dy * y) over each of `rows` rows of `channels` floats, y being softmax(x); the sum is in double.
/// dx may be dy or y.
template <class Arch>
void softmax_gradient(const float* y, const float* dy, std::size_t rows, std::size_t channels, float* dx) noexcept {
    for (std::size_t row = 0; row != rows; ++row, y += channels, dy += channels, dx += channels) {
        const auto mean = static_cast<float>(
            sum_in_double<Arch>(channels, [y, dy](std::size_t i) { return double{y[i]} * double{dy[i]}; }));
        for_each_vector<Arch>(
            channels, [=](std::size_t i, auto kind) __attribute__((always_inline)) {
                using Number = decltype(kind);
                const Number distance = load_number<Number>(dy + i) - Number(mean);
                store_number(Number(load_number<Number>(y + i) * distance), dx + i);
            });
    }
}

/// The same behind masked_softmax(): what the mask leaves out gets 0, also in rows that it leaves out altogether. Row r's mask
/// begins at mask + r * mask_pitch: 0 is one row for all.
template <class Arch>
void masked_softmax_gradient(const float* y, const float* dy, std::size_t rows, std::size_t channels, const float* mask,
                             std::size_t mask_pitch, float* dx) noexcept {
    softmax_gradient<Arch>(y, dy, rows, channels, dx);
    for (std::size_t row = 0; row != rows; ++row, dx += channels, mask += mask_pitch)
        for (std::size_t i = 0; i != channels; ++i)
            if (mask[i] == 0) dx[i] = 0;
}

/// dx = dy - exp(y) * sum of dy over each row, y being log_softmax(x); the sum is in double. dx may be dy or y.
template <class Arch>
void log_softmax_gradient(const float* y, const float* dy, std::size_t rows, std::size_t channels, float* dx) noexcept {
    for (std::size_t row = 0; row != rows; ++row, y += channels, dy += channels, dx += channels) {
        const auto sum =
            static_cast<float>(sum_in_double<Arch>(channels, [dy](std::size_t i) { return double{dy[i]}; }));
        for_each_vector<Arch>(
            channels, [=](std::size_t i, auto kind) __attribute__((always_inline)) {
                using Number = decltype(kind);
                const Number share = xsimd::exp(load_number<Number>(y + i));
                store_number(Number(load_number<Number>(dy + i) - share * Number(sum)), dx + i);
            });
    }
}

}  // namespace zp::inline v0::kernel
