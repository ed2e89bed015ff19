// SPDX-License-Identifier: BSD-3-Clause
// Normalization of floats: over rows, and over groups of channels.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/vector/number.hpp>
#include <zeropoint/kernel/vector/ordered_double_sum.hpp>
#include <zeropoint/kernel/vector/uncontracted.hpp>

// Two sweeps over the values: the mean first, in double, then the squares of the distances from it. A distance is
// rounded to float, so that its square is exact in double, and what is summed up, in a fixed order, is the same on
// every architecture.

namespace zp::inline v0::kernel {

/// factor = 1 / sqrt(squares / count + epsilon), where `squares` is the sum of the squared distances from the mean.
template <class Arch> float factor_of(double squares, std::size_t count, float epsilon) noexcept {
    return static_cast<float>(1 / std::sqrt(squares / static_cast<double>(count) + double{epsilon}));
}

/// y[i] = (x[i] - mean) * factor * weight[i] + bias[i]; weight and bias may be null: 1 and 0. `moments(i, number)`
/// gives mean and factor of value i on as a pair of numbers of that type. y may be x.
template <class Arch, class Moments>
void normalize_floats(const float* x, std::size_t count, const float* weight, const float* bias, Moments&& moments,
                      float* y) noexcept {
    for_each_number<Arch>(
        count, [&](std::size_t i, auto number) __attribute__((always_inline)) {
            using Number = decltype(number);
            const auto [mean, factor] = moments(i, number);
            Number value = (load_number<Number>(x + i) - mean) * factor;
            if (weight != nullptr) value = value * load_number<Number>(weight + i);
            if (bias != nullptr) value = rounded(value) + load_number<Number>(bias + i);
            store_number(value, y + i);
        });
}

/// Layer normalization of each of `rows` rows of `channels` floats: y = (x - mean) / sqrt(variance + epsilon) * weight
/// + bias, the variance being that of the row (divided by the count). weight and bias have `channels` numbers or are
/// null. y may be x.
template <class Arch>
void layer_norm(const float* x, std::size_t rows, std::size_t channels, float epsilon, const float* weight,
                const float* bias, float* y) noexcept {
    for (std::size_t row = 0; row != rows; ++row, x += channels, y += channels) {
        const double sum = sum_in_double<Arch>(channels, [x](std::size_t i) { return double{x[i]}; });
        const auto mean = static_cast<float>(sum / static_cast<double>(channels));
        const double squares = sum_in_double<Arch>(channels, [x, mean](std::size_t i) {
            const double distance = double{x[i] - mean};
            return distance * distance;
        });
        const float factor = factor_of<Arch>(squares, channels, epsilon);
        normalize_floats<Arch>(
            x, channels, weight, bias,
            [=](std::size_t, auto number) __attribute__((always_inline)) {
                using Number = decltype(number);
                return std::pair<Number, Number>(Number(mean), Number(factor));
            },
            y);
    }
}

/// Root mean square normalization of each of `rows` rows of `channels` floats: y = x / sqrt(mean of x^2 + epsilon) *
/// weight, which has `channels` numbers or is null. The squares are exact in double. y may be x.
template <class Arch>
void rms_norm(const float* x, std::size_t rows, std::size_t channels, float epsilon, const float* weight,
              float* y) noexcept {
    for (std::size_t row = 0; row != rows; ++row, x += channels, y += channels) {
        const double squares =
            sum_in_double<Arch>(channels, [x](std::size_t i) { return double{x[i]} * double{x[i]}; });
        const float factor = factor_of<Arch>(squares, channels, epsilon);
        normalize_floats<Arch>(
            x, channels, weight, nullptr,
            [=](std::size_t, auto number) __attribute__((always_inline)) {
                using Number = decltype(number);
                return std::pair<Number, Number>(Number(0.0f), Number(factor));
            },
            y);
    }
}

/// Group normalization of one image of `pixels` x `channels` floats, of which the channels form `groups` groups of
/// equal size: as layer_norm() over the pixels and channels of a group, weight and bias having a number for each
/// channel, or being null. With as many groups as channels it is instance normalization. y may be x.
template <class Arch>
void group_norm(const float* x, std::size_t pixels, std::size_t channels, std::size_t groups, float epsilon,
                const float* weight, const float* bias, float* y) noexcept {
    constexpr std::size_t most = 64;                                    // channels and groups that are held at a time
    const std::size_t size = channels / groups;                         // of a group
    const std::size_t span = size <= most ? most / size * size : size;  // whole groups
    for (std::size_t first = 0; first < channels; first += span) {
        const std::size_t last = std::min(first + span, channels);
        const auto for_each_block = [=](auto&& body) {
            for (std::size_t block = first; block < last; block += most) body(block, std::min(most, last - block));
        };
        std::array<float, most> mean{}, factor{};
        // totals[group] = the sum of value(x, group), pixel by pixel and then channel by channel
        const auto sum_groups = [&](std::array<double, most>& totals, auto&& value) {
            totals.fill(0);
            for_each_block([&](std::size_t block, std::size_t width) {
                std::array<double, most> sums{};
                std::array<float, most> means;
                for (std::size_t c = 0; c != width; ++c) means[c] = mean[(block - first + c) / size];
                for (std::size_t pixel = 0; pixel != pixels; ++pixel)
                    for (std::size_t c = 0; c != width; ++c)
                        sums[c] += value(x[pixel * channels + block + c], means[c]);
                for (std::size_t c = 0; c != width; ++c) totals[(block - first + c) / size] += sums[c];
            });
        };
        std::array<double, most> totals;
        sum_groups(totals, [](float value, float) { return double{value}; });
        for (std::size_t group = 0; group != most; ++group)
            mean[group] = static_cast<float>(totals[group] / static_cast<double>(pixels * size));
        sum_groups(totals, [](float value, float middle) {
            const double distance = double{value - middle};
            return distance * distance;
        });
        for (std::size_t group = 0; group != most; ++group)
            factor[group] = factor_of<Arch>(totals[group], pixels * size, epsilon);
        for_each_block([&](std::size_t block, std::size_t width) {
            std::array<float, most> means, factors;
            for (std::size_t c = 0; c != width; ++c) {
                means[c] = mean[(block - first + c) / size];
                factors[c] = factor[(block - first + c) / size];
            }
            for (std::size_t at = block; at < pixels * channels; at += channels)
                normalize_floats<Arch>(
                    x + at, width, weight == nullptr ? nullptr : weight + block,
                    bias == nullptr ? nullptr : bias + block,
                    [&](std::size_t i, auto number) __attribute__((always_inline)) {
                        using Number = decltype(number);
                        return std::pair<Number, Number>(load_number<Number>(means.data() + i),
                                                         load_number<Number>(factors.data() + i));
                    },
                    y + at);
        });
    }
}

}  // namespace zp::inline v0::kernel
