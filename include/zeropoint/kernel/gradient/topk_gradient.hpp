// SPDX-License-Identifier: BSD-3-Clause
// The gradient of sorting, and of the largest or smallest values, of each pixel's channels.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include <zeropoint/kernel/reduction/topk.hpp>

namespace zp::inline v0::kernel {

/// dx = the gradient of topk() by x: each dy goes to the value that it is of, of several equal ones to the first that is left. `order` is
/// room for `channels` numbers.
template <class Arch, bool Largest>
void topk_gradient(const float* x, const float* dy, std::size_t pixels, std::size_t channels, std::size_t k, float* dx,
                   std::int32_t* order) noexcept {
    std::fill_n(dx, pixels * channels, 0.0f);
    for (std::size_t p = 0; p != pixels; ++p, x += channels, dy += k, dx += channels) {
        std::iota(order, order + channels, 0);
        const comes_before<Largest> before;
        std::partial_sort(order, order + k, order + channels, [&](std::int32_t a, std::int32_t b) {
            if (before(x[a], x[b])) return true;
            return !before(x[b], x[a]) && a < b;
        });
        for (std::size_t i = 0; i != k; ++i) dx[order[i]] = dy[i];
    }
}

}  // namespace zp::inline v0::kernel
