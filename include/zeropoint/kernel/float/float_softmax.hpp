// SPDX-License-Identifier: BSD-3-Clause
// Softmax and its logarithm in float.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <type_traits>

#include <zeropoint/kernel/elementwise/activations.hpp>
#include <zeropoint/kernel/float/float_elementwise.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/vector/number.hpp>
#include <zeropoint/kernel/vector/ordered_double_sum.hpp>

namespace zp::inline v0::kernel {

/// Sum of exp(x[i] - largest) over a row, in double and in one order everywhere. Not the same bits on every
/// architecture: the exponentials are not.
template <class Arch> double sum_exponentials(const float* x, std::size_t count, float largest) noexcept {
    constexpr std::size_t most = 64;
    std::array<float, most> powers;
    double sum = 0;
    for (std::size_t i = 0; i < count; i += most) {
        const std::size_t length = std::min(most, count - i);
        map_floats<Arch>(x + i, length, powers.data(), [=](const auto& value) {
            using number = std::decay_t<decltype(value)>;
            return number(xsimd::exp(number(value - number(largest))));
        });
        sum += sum_in_double<Arch>(length, [&](std::size_t k) { return double{powers[k]}; });
    }
    return sum;
}

/// y[i] = exp(x[i]) / (sum of exp(x)) over each of `rows` rows of `channels` floats, as exp(x[i] - max(x)), which
/// cannot overflow. channels > 0; y may be x.
template <class Arch> void softmax(const float* x, std::size_t rows, std::size_t channels, float* y) noexcept {
    for (std::size_t row = 0; row != rows; ++row, x += channels, y += channels) {
        const float largest = *std::max_element(x, x + channels);
        const auto sum = static_cast<float>(sum_exponentials<Arch>(x, channels, largest));
        map_floats<Arch>(x, channels, y, [=](const auto& value) {
            using number = std::decay_t<decltype(value)>;
            return number(divide_numbers<number>(xsimd::exp(number(value - number(largest))), number(sum)));
        });
    }
}

/// y[i] = x[i] - log(sum of exp(x)) over each of `rows` rows of `channels` floats. channels > 0; y may be x.
template <class Arch> void log_softmax(const float* x, std::size_t rows, std::size_t channels, float* y) noexcept {
    for (std::size_t row = 0; row != rows; ++row, x += channels, y += channels) {
        const float largest = *std::max_element(x, x + channels);
        const auto logarithm = static_cast<float>(std::log(sum_exponentials<Arch>(x, channels, largest)));
        map_floats<Arch>(x, channels, y, [=](const auto& value) {
            using number = std::decay_t<decltype(value)>;
            return number(number(value - number(largest)) - number(logarithm));
        });
    }
}

}  // namespace zp::inline v0::kernel
