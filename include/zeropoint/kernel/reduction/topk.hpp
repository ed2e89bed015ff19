// SPDX-License-Identifier: BSD-3-Clause
// The largest or the smallest values of each pixel's channels, in order.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/vector/code_lanes.hpp>

namespace zp::inline v0::kernel {

/// Whether `a` stands before `b`; a NaN is above all numbers, as PyTorch sorts it.
template <bool Largest> struct comes_before {
    template <class T> bool operator()(T a, T b) const noexcept {
        const auto exceeds = [](T above, T below) { return above > below || (above != above && below == below); };
        return Largest ? exceeds(a, b) : exceeds(b, a);
    }
};

/// y[p * k], ... y[p * k + k - 1] = the `k` largest of the `channels` values from x[p * channels] on, the largest first, or
/// the smallest, the smallest first; 1 <= k <= channels, and k = channels sorts. Many codes are counted, not compared. y
/// may not be x.
template <class Arch, bool Largest, class T>
void topk(const T* x, std::size_t pixels, std::size_t channels, std::size_t k, T* y) noexcept {
    for (std::size_t p = 0; p != pixels; ++p, x += channels, y += k) {
        if constexpr (code8<T>) {
            if (channels >= 128) {
                std::array<std::uint32_t, 256> counts{};
                constexpr int lowest = std::numeric_limits<T>::min();
                for (std::size_t c = 0; c != channels; ++c) ++counts[static_cast<std::size_t>(x[c] - lowest)];
                std::size_t left = k;
                T* to = y;
                for (int i = 0; left != 0; ++i) {
                    const int place = Largest ? 255 - i : i;
                    const std::size_t run = std::min<std::size_t>(counts[static_cast<std::size_t>(place)], left);
                    to = std::fill_n(to, run, static_cast<T>(place + lowest));
                    left -= run;
                }
                continue;
            }
        }
        std::partial_sort_copy(x, x + channels, y, y + k, comes_before<Largest>{});
    }
}

}  // namespace zp::inline v0::kernel
