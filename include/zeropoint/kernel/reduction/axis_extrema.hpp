// SPDX-License-Identifier: BSD-3-Clause
// The largest and the smallest values of NHWC images along any of their axes, which stay as extents of 1.
#pragma once

#include <cstddef>
#include <type_traits>

#include <zeropoint/core/shape.hpp>
#include <zeropoint/kernel/elementwise/max_min.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/reduction/axis_sums.hpp>
#include <zeropoint/kernel/vector/code_lanes.hpp>

namespace zp::inline v0::kernel {

/// The lane of a vector of codes that Choose, larger_of or smaller_of, chooses among all.
template <class Choose, code8 T, class Arch>
[[gnu::always_inline]] inline T chosen_lane(const xsimd::batch<T, Arch>& x) noexcept {
    if constexpr (std::is_same_v<Choose, larger_of>) return largest_lane(x);
    else return smallest_lane(x);
}

/// What Choose chooses among `best` and `count` values one after the other.
template <class Arch, class Choose, class T>
[[gnu::always_inline]] inline T extremum_of_run(const T* x, std::size_t count, T best) noexcept {
    std::size_t i = 0;
    if constexpr (has_vectors<Arch> && code8<T>) {
        using codes = xsimd::batch<T, Arch>;
        if (count >= codes::size) {
            codes chosen(best);
            for (; i + codes::size <= count; i += codes::size) chosen = Choose{}(chosen, codes::load_unaligned(x + i));
            best = chosen_lane<Choose>(chosen);
        }
    }
    for (; i != count; ++i) best = Choose{}(best, x[i]);
    return best;
}

/// y = what Choose, larger_of or smaller_of, chooses among the values of x along each axis whose extent in `out` is 1:
/// PyTorch's amax and amin. `out` has the extents of `in` on all other axes. Codes are copied, on any grid; a NaN is
/// chosen before all numbers. y may not be x.
template <class Arch, class Choose, class T>
void extremum_along(const shape& in, const shape& out, const T* x, T* y) noexcept {
    const reduction_extents e(in, out);
    const auto channels = static_cast<std::size_t>(e.in.channels);
    if (e.out.channels != e.in.channels) {
        for_each_fold(e, x, y, [&](const pool_window<T>& window, T* to) {
            T best = *window.first;
            window.for_each_position(
                [&](const T* from) { best = extremum_of_run<Arch, Choose>(from, channels, best); });
            *to = best;
        });
        return;
    }
    with_fitting_vectors<Arch, T>(channels, [&]<class Fitting>() noexcept {
        for_each_fold(e, x, y, [&](const pool_window<T>& window, T* to) {
            if constexpr (has_ieee_vectors<Fitting> || (has_vectors<Fitting> && code8<T>)) {
                using values = xsimd::batch<T, Fitting>;
                for_each_overlapping(channels, values::size, [&](std::size_t c) {
                    values best = values::load_unaligned(window.first + c);
                    window.for_each_position(
                        [&](const T* from) { best = Choose{}(best, values::load_unaligned(from + c)); });
                    best.store_unaligned(to + c);
                });
            } else {
                for (std::size_t c = 0; c != channels; ++c) {
                    T best = window.first[c];
                    window.for_each_position([&](const T* from) { best = Choose{}(best, from[c]); });
                    to[c] = best;
                }
            }
        });
    });
}

}  // namespace zp::inline v0::kernel
