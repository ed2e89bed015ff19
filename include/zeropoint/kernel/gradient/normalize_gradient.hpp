// SPDX-License-Identifier: BSD-3-Clause
// Gradients of layer, root mean square, group and instance normalization, and of vectors divided by their length.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <zeropoint/kernel/gradient/batch.hpp>
#include <zeropoint/kernel/vector/ordered_double_sum.hpp>

// With h = (x - mean) * f, f = 1 / sqrt(variance + epsilon), y = weight * h + bias over n values, and g = dy * weight:
//
//     dx = f * (g - mean of g - h * mean of (g * h)),   dweight += dy * h,   dbias += dy
//
// Mean and f are computed again from x, as forward does; sums are in double.

namespace zp::inline v0::kernel {

/// The gradients of layer_norm(): of x, written, and of weight and bias, which are added to and may be null. A null weight is
/// ones. dx may be dy or x.
template <class Arch>
void layer_norm_gradient(const float* x, const float* dy, std::size_t rows, std::size_t channels, float epsilon,
                         const float* weight, float* dx, float* dweight, float* dbias) noexcept {
    const double count = static_cast<double>(channels);
    for (std::size_t row = 0; row != rows; ++row, x += channels, dy += channels, dx += channels) {
        const auto mean =
            static_cast<float>(sum_in_double<Arch>(channels, [x](std::size_t i) { return double{x[i]}; }) / count);
        const double squares = sum_in_double<Arch>(channels, [x, mean](std::size_t i) {
            const double distance = double{x[i] - mean};
            return distance * distance;
        });
        const double factor = 1 / std::sqrt(squares / count + double{epsilon});
        const auto given = [=](std::size_t i) {
            return weight == nullptr ? double{dy[i]} : double{dy[i]} * double{weight[i]};
        };
        const double shift = sum_in_double<Arch>(channels, given) / count;
        const double lean =
            sum_in_double<Arch>(channels, [=](std::size_t i) { return given(i) * double{x[i] - mean}; }) / count *
            factor * factor;
        const auto scale = static_cast<float>(factor), shifts = static_cast<float>(shift),
                   leans = static_cast<float>(lean);
        for_each_vector<Arch>(
            channels, [=](std::size_t i, auto kind) __attribute__((always_inline)) {
                using Number = decltype(kind);
                const Number passed = load_number<Number>(dy + i);
                const Number distance = load_number<Number>(x + i) - Number(mean);
                if (dweight != nullptr)
                    store_number(Number(load_number<Number>(dweight + i) + passed * (distance * Number(scale))),
                                 dweight + i);
                if (dbias != nullptr) store_number(Number(load_number<Number>(dbias + i) + passed), dbias + i);
                const Number own = weight == nullptr ? passed : Number(passed * load_number<Number>(weight + i));
                store_number(Number((own - Number(shifts) - distance * Number(leans)) * Number(scale)), dx + i);
            });
    }
}

/// The gradients of rms_norm(): dx = f * (g - x * f^2 * mean of (g * x)), dweight += dy * x * f, f = 1 / sqrt(mean of x^2 +
/// epsilon). dweight may be null. dx may be dy or x.
template <class Arch>
void rms_norm_gradient(const float* x, const float* dy, std::size_t rows, std::size_t channels, float epsilon,
                       const float* weight, float* dx, float* dweight) noexcept {
    const double count = static_cast<double>(channels);
    for (std::size_t row = 0; row != rows; ++row, x += channels, dy += channels, dx += channels) {
        const double squares =
            sum_in_double<Arch>(channels, [x](std::size_t i) { return double{x[i]} * double{x[i]}; });
        const double factor = 1 / std::sqrt(squares / count + double{epsilon});
        const double lean = sum_in_double<Arch>(channels,
                                                [=](std::size_t i) {
                                                    const double own = weight == nullptr ? 1.0 : double{weight[i]};
                                                    return double{dy[i]} * own * double{x[i]};
                                                }) /
                            count * factor * factor;
        const auto scale = static_cast<float>(factor), leans = static_cast<float>(lean);
        for_each_vector<Arch>(
            channels, [=](std::size_t i, auto kind) __attribute__((always_inline)) {
                using Number = decltype(kind);
                const Number passed = load_number<Number>(dy + i), value = load_number<Number>(x + i);
                if (dweight != nullptr)
                    store_number(Number(load_number<Number>(dweight + i) + passed * (value * Number(scale))),
                                 dweight + i);
                const Number own = weight == nullptr ? passed : Number(passed * load_number<Number>(weight + i));
                store_number(Number((own - value * Number(leans)) * Number(scale)), dx + i);
            });
    }
}

/// The gradients of group_norm() of one image of `pixels` x `channels`: as layer_norm_gradient() over the pixels and
/// channels of each of `groups` groups, weight and bias being those of channels. dx may be dy or x.
template <class Arch>
void group_norm_gradient(const float* x, const float* dy, std::size_t pixels, std::size_t channels, std::size_t groups,
                         float epsilon, const float* weight, float* dx, float* dweight, float* dbias) noexcept {
    const std::size_t size = channels / groups;
    const double count = static_cast<double>(pixels) * static_cast<double>(size);
    for (std::size_t group = 0; group != groups; ++group) {
        const std::size_t first = group * size;
        /// value(channel, index) over the group, pixel by pixel.
        const auto sum = [=](const auto& value) {
            double total = 0;
            for (std::size_t at = first; at < pixels * channels; at += channels)
                total += sum_in_double<Arch>(size, [&](std::size_t c) { return value(first + c, at + c); });
            return total;
        };
        const auto own = [=](std::size_t c) { return weight == nullptr ? 1.0f : weight[c]; };
        const auto mean = static_cast<float>(sum([=](std::size_t, std::size_t i) { return double{x[i]}; }) / count);
        const double squares = sum([=](std::size_t, std::size_t i) {
            const double distance = double{x[i] - mean};
            return distance * distance;
        });
        const double factor = 1 / std::sqrt(squares / count + double{epsilon});
        const auto shift = static_cast<float>(
            sum([=](std::size_t c, std::size_t i) { return double{dy[i]} * double{own(c)}; }) / count);
        const auto lean = static_cast<float>(
            sum([=](std::size_t c, std::size_t i) { return double{dy[i]} * double{own(c)} * double{x[i] - mean}; }) /
            count * factor * factor);
        const auto scale = static_cast<float>(factor);
        for (std::size_t at = first; at < pixels * channels; at += channels)
            for_each_vector<Arch>(
                size, [=](std::size_t c, auto kind) __attribute__((always_inline)) {
                    using Number = decltype(kind);
                    const std::size_t channel = first + c;
                    const Number passed = load_number<Number>(dy + at + c);
                    const Number distance = load_number<Number>(x + at + c) - Number(mean);
                    if (dweight != nullptr)
                        store_number(
                            Number(load_number<Number>(dweight + channel) + passed * (distance * Number(scale))),
                            dweight + channel);
                    if (dbias != nullptr)
                        store_number(Number(load_number<Number>(dbias + channel) + passed), dbias + channel);
                    const Number scaled =
                        weight == nullptr ? passed : Number(passed * load_number<Number>(weight + channel));
                    store_number(Number((scaled - Number(shift) - distance * Number(lean)) * Number(scale)),
                                 dx + at + c);
                });
    }
}

/// The gradient of l2_normalize(): dx = (dy - y * sum of dy * y) / length, y = x / length; where the length is below
/// 1e-12, dy / 1e-12. dx may be dy or x.
template <class Arch>
void l2_normalize_gradient(const float* x, const float* dy, std::size_t pixels, std::size_t channels,
                           float* dx) noexcept {
    for (std::size_t pixel = 0; pixel != pixels; ++pixel, x += channels, dy += channels, dx += channels) {
        const double squares =
            sum_in_double<Arch>(channels, [x](std::size_t c) { return double{x[c]} * double{x[c]}; });
        const double length = std::max(std::sqrt(squares), 1e-12);
        const double along =
            length > 1e-12
                ? sum_in_double<Arch>(channels, [=](std::size_t c) { return double{x[c]} * double{dy[c]}; }) / squares
                : 0;
        for (std::size_t c = 0; c != channels; ++c)
            dx[c] = static_cast<float>((double{dy[c]} - double{x[c]} * along) / length);
    }
}

}  // namespace zp::inline v0::kernel
