// SPDX-License-Identifier: BSD-3-Clause
// The gradient of an SVDF layer over a sequence that begins with a state of zeros.
#pragma once

#include <algorithm>
#include <cstddef>

#include <zeropoint/kernel/gradient/batch.hpp>
#include <zeropoint/kernel/recurrent/svdf.hpp>

// With p[s][f] = feature[f] . x[s] and y[s][u] = bias[u] + sum of time[m][f] * p[s - memory + 1 + m][f] over the filters f of u:
//
//     dtime[m][f] += dy[s][u] * p[s - memory + 1 + m][f],    dp[s - memory + 1 + m][f] += dy[s][u] * time[m][f]
//     dfeature[f] += dp[s][f] * x[s],                        dx[s] = sum of dp[s][f] * feature[f]

namespace zp::inline v0::kernel {

/// How many floats of scratch: p and dp.
constexpr std::size_t svdf_gradient_scratch(const svdf_extents& s, int steps) {
    return 2 * static_cast<std::size_t>(s.filters()) * static_cast<std::size_t>(steps);
}

/// One sample: x steps x inputs, dy steps x units. `feature` is inputs x filters and `time` memory x filters, the oldest step first;
/// their gradients and that of the bias are added to what is there, or null; dx is written, or null.
template <class Arch>
void svdf_gradient(const svdf_extents& s, int steps, int inputs, const float* x, const float* feature,
                   const float* time, const float* dy, float* dx, float* dfeature, float* dtime, float* dbias,
                   float* scratch) noexcept {
    const int filters = s.filters();
    const auto count = static_cast<std::size_t>(filters);
    float *p = scratch, *dp = scratch + std::ptrdiff_t{steps} * filters;
    const auto add = [count](const float* from, float factor, float* to) {
        for_each_vector<Arch>(
            count, [&](std::size_t f, auto kind) __attribute__((always_inline)) {
                using Number = decltype(kind);
                store_number(multiply_add(load_number<Number>(from + f), Number(factor), load_number<Number>(to + f)),
                             to + f);
            });
    };
    std::fill_n(p, 2 * count * static_cast<std::size_t>(steps), 0.0f);
    for (int step = 0; step != steps; ++step)
        for (int i = 0; i != inputs; ++i) add(feature + i * filters, x[step * inputs + i], p + step * filters);
    for (int step = 0; step != steps; ++step, dy += s.units) {
        for (int u = 0; dbias != nullptr && u != s.units; ++u) dbias[u] += dy[u];
        for (int m = std::max(0, s.memory - 1 - step); m != s.memory; ++m) {
            const std::ptrdiff_t then = std::ptrdiff_t{step - s.memory + 1 + m} * filters,
                                 at = std::ptrdiff_t{m} * filters;
            for (int f = 0; f != filters; ++f) {
                const float given = dy[f / s.rank];
                if (dtime != nullptr) dtime[at + f] += given * p[then + f];
                dp[then + f] += given * time[at + f];
            }
        }
    }
    for (int step = 0; step != steps; ++step)
        for (int i = 0; i != inputs; ++i) {
            const float* own = dp + step * filters;
            if (dfeature != nullptr) add(own, x[step * inputs + i], dfeature + i * filters);
            if (dx == nullptr) continue;
            float sum = 0;
            for (int f = 0; f != filters; ++f) sum += own[f] * feature[i * filters + f];
            dx[step * inputs + i] = sum;
        }
}

}  // namespace zp::inline v0::kernel
