// SPDX-License-Identifier: BSD-3-Clause
// Elementwise operators on floats, for calibration and training: the float twins of tables, clamps and sums of codes.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/vector/code_lanes.hpp>
#include <zeropoint/kernel/vector/ieee_floats.hpp>
#include <zeropoint/kernel/vector/map_codes.hpp>

namespace zp::inline v0::kernel {

/// y[i] = function(x[i]) for `count` floats; y may be x. `function` takes a vector, or a float where Arch has none.
/// Values behind the last full vector go through a vector of their own, so that a result depends on its value alone.
template <class Arch, class Function>
void map_floats(const float* x, std::size_t count, float* y, Function&& function) noexcept {
    if constexpr (has_vectors<Arch>) {
        using floats = xsimd::batch<float, Arch>;
        std::size_t i = 0;
        for (; i + floats::size <= count; i += floats::size)
            function(floats::load_unaligned(x + i)).store_unaligned(y + i);
        if (i == count) return;
        std::array<float, floats::size> rest{};
        std::copy(x + i, x + count, rest.begin());
        function(floats::load_unaligned(rest.data())).store_unaligned(rest.data());
        std::copy_n(rest.begin(), count - i, y + i);
    } else {
        for (std::size_t i = 0; i != count; ++i) y[i] = function(x[i]);
    }
}

/// y[i] = min(max(a[i] + b[i], low), high): residual sums with a fused activation; -infinity and infinity for none.
/// y may be a or b.
template <class Arch>
void add_float(const float* a, const float* b, std::size_t count, float low, float high, float* y) noexcept {
    const auto sum = [ low, high ](const auto& x, const auto& z) __attribute__((always_inline)) {
        return clamp_number(x + z, low, high);
    };
    map_values<Arch>(count, y, sum, a, b);
}

/// Batch normalization at inference as one multiplication and one addition a channel: multiplier = gamma /
/// sqrt(variance + epsilon) and offset = beta - mean * multiplier, computed in double. gamma and beta may be null: 1
/// and 0.
template <class Arch>
void make_batch_norm(std::size_t channels, const float* gamma, const float* beta, const float* mean,
                     const float* variance, float epsilon, float* multiplier, float* offset) noexcept {
    for (std::size_t c = 0; c != channels; ++c) {
        const double factor =
            (gamma == nullptr ? 1.0 : double{gamma[c]}) / std::sqrt(double{variance[c]} + double{epsilon});
        multiplier[c] = static_cast<float>(factor);
        offset[c] = static_cast<float>((beta == nullptr ? 0.0 : double{beta[c]}) - double{mean[c]} * factor);
    }
}

/// y[pixel][c] = x[pixel][c] * multiplier[c] + offset[c] for NHWC values; y may be x.
template <class Arch>
void batch_norm(const float* x, std::size_t pixels, std::size_t channels, const float* multiplier, const float* offset,
                float* y) noexcept {
    const auto scaled = [](const auto& value, const auto& factor, const auto& added) __attribute__((always_inline)) {
        return value * factor + added;
    };
    for (std::size_t pixel = 0; pixel != pixels; ++pixel, x += channels, y += channels)
        map_values<Arch>(channels, y, scaled, x, multiplier, offset);
}

}  // namespace zp::inline v0::kernel
