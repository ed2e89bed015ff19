// SPDX-License-Identifier: BSD-3-Clause
// The channel with the largest value, in every pixel.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/vector/code_lanes.hpp>

namespace zp::inline v0::kernel {

// 0, 1, 2, ...
template <class T, std::size_t N>
inline constexpr std::array<T, N> lane_numbers = [] {
    std::array<T, N> numbers{};
    for (std::size_t i = 0; i != N; ++i) numbers[i] = static_cast<T>(i);
    return numbers;
}();

/// The first of `channels` values that no other exceeds; a NaN exceeds every number, as in PyTorch.
template <class Arch, class T>
[[gnu::always_inline]] inline std::size_t index_of_largest(const T* x, std::size_t channels) noexcept {
    if constexpr (has_vectors<Arch> && code8<T>) {
        using codes = xsimd::batch<T, Arch>;
        codes best = codes::load_unaligned(x);
        for_each_overlapping(channels, codes::size,
                             [&](std::size_t c) { best = xsimd::max(best, codes::load_unaligned(x + c)); });
        const codes largest(largest_lane(best)), nowhere(static_cast<T>(codes::size));
        const codes lanes = codes::load_unaligned(lane_numbers<T, codes::size>.data());
        for (std::size_t c = 0;; c += codes::size) {
            if (c + codes::size > channels) c = channels - codes::size;
            const T lane = smallest_lane(xsimd::select(codes::load_unaligned(x + c) == largest, lanes, nowhere));
            if (lane != static_cast<T>(codes::size)) return c + static_cast<std::size_t>(lane);
        }
    } else {
        std::size_t best = 0;
        for (std::size_t c = 1; c != channels; ++c) {
            bool larger = x[c] > x[best];
            if constexpr (std::is_floating_point_v<T>) larger = larger || (x[c] != x[c] && x[best] == x[best]);
            if (larger) best = c;
        }
        return best;
    }
}

/// y[p] = first + the index of the largest of x[p * channels], ... x[p * channels + channels - 1], the first of equals.
/// `Index` may be an integer, a code (then `first` is the code of index 0) or float, and must hold first + channels - 1.
template <class Arch, class T, class Index>
void argmax(const T* x, std::size_t pixels, std::size_t channels, Index first, Index* y) noexcept {
    with_fitting_vectors<Arch, T>(channels, [=]<class Fitting>() noexcept {
        for (std::size_t p = 0; p != pixels; ++p)
            y[p] =
                static_cast<Index>(first + static_cast<Index>(index_of_largest<Fitting>(x + p * channels, channels)));
    });
}

}  // namespace zp::inline v0::kernel
