// SPDX-License-Identifier: BSD-3-Clause
// Gradients of sums, means, extrema, variances and products along axes of one NHWC image.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <zeropoint/core/shape.hpp>
#include <zeropoint/kernel/elementwise/broadcast.hpp>
#include <zeropoint/kernel/gradient/batch.hpp>
#include <zeropoint/kernel/reduction/axis_moments.hpp>
#include <zeropoint/kernel/reduction/axis_sums.hpp>

namespace zp::inline v0::kernel {

/// Calls body(positions, dy) for every output of a reduction of `in` to `out`: positions(visit) calls visit(index) for
/// each value of x that the output is made of, in the order of rows, columns and channels.
template <class Body>
void for_each_reduced(const shape& in, const shape& out, const float* x, const float* dy, const Body& body) noexcept {
    const reduction_extents e(in, out);
    const bool folds = e.out.channels != e.in.channels;
    for_each_fold(e, x, dy, [&](const pool_window<float>& window, const float* from) {
        for (int c = 0; c != e.out.channels; ++c)
            body(
                [&](const auto& visit) {
                    window.for_each_position([&](const float* at) {
                        for (int k = 0; k != (folds ? e.in.channels : 1); ++k) visit(at - x + c + k);
                    });
                },
                from[c]);
    });
}

/// dx = dy / divisor, spread over the axes along which `out` has the extent 1: the gradient of sum_axes() without bounds.
template <class Arch>
void sum_axes_gradient(const shape& in, const shape& out, int divisor, const float* dy, float* dx) noexcept {
    const float share = 1.0f / static_cast<float>(divisor);
    broadcast_operand<Arch, float> spread(dy, out, in);
    constexpr std::size_t room = broadcast_operand<Arch, float>::room;
    const auto count = static_cast<std::size_t>(in.size());
    for (std::size_t first = 0; first < count; first += room) {
        const std::size_t run = std::min(room, count - first);
        const float* const values = spread(first, run);
        for (std::size_t i = 0; i != run; ++i) dx[first + i] = values[i] * share;
    }
}

/// dx = the gradient of extremum_along(), largest or smallest values y: equal ones share dy, as PyTorch's amax and amin say.
template <class Arch>
void extremum_gradient(const shape& in, const shape& out, const float* x, const float* y, const float* dy,
                       float* dx) noexcept {
    std::size_t output = 0;
    std::fill_n(dx, in.size(), 0.0f);
    for_each_reduced(in, out, x, dy, [&](const auto& positions, float given) {
        const float chosen = y[output++];
        int equal = 0;
        positions([&](std::ptrdiff_t i) { equal += x[i] == chosen; });
        positions([&](std::ptrdiff_t i) {
            if (x[i] == chosen) dx[i] = given / static_cast<float>(equal);
        });
    });
}

/// dx = the gradient of moments_along(), the variance or its root, without bounds. Where a standard deviation is 0 it has none:
/// dx is 0 there, where PyTorch gives NaN.
template <class Arch, moment Which>
void moment_gradient(const shape& in, const shape& out, int correction, const float* x, const float* dy,
                     float* dx) noexcept {
    for_each_reduced(in, out, x, dy, [&](const auto& positions, float given) {
        double sum = 0, squares = 0, count = 0;
        positions([&](std::ptrdiff_t i) { sum += double{x[i]}, count += 1; });
        const double mean = sum / count;
        positions([&](std::ptrdiff_t i) { squares += (double{x[i]} - mean) * (double{x[i]} - mean); });
        double slope = 2 * double{given} / (count - correction);
        if (Which == moment::standard_deviation)
            slope = squares == 0 ? 0 : slope / (2 * std::sqrt(squares / (count - correction)));
        positions([&](std::ptrdiff_t i) { dx[i] = static_cast<float>(slope * (double{x[i]} - mean)); });
    });
}

/// dx = the gradient of product_along() without bounds: dy times the product of all other values, also where one of them is 0.
template <class Arch>
void product_gradient(const shape& in, const shape& out, const float* x, const float* dy, float* dx) noexcept {
    for_each_reduced(in, out, x, dy, [&](const auto& positions, float given) {
        int zeros = 0;
        double product = 1;
        positions([&](std::ptrdiff_t i) {
            if (x[i] == 0) ++zeros;
            else product *= double{x[i]};
        });
        positions([&](std::ptrdiff_t i) {
            double others = 0;
            if (zeros == 0) others = product / double{x[i]};
            else if (zeros == 1 && x[i] == 0) others = product;
            dx[i] = static_cast<float>(double{given} * others);
        });
    });
}

}  // namespace zp::inline v0::kernel
