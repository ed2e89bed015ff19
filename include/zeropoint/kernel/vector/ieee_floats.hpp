// SPDX-License-Identifier: BSD-3-Clause
// What the floats of vectors do otherwise than IEEE 754 asks, which 32-bit NEON's do, and how kernels cope with it.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include <zeropoint/kernel/machine/architecture.hpp>

namespace zp::inline v0::kernel {

/// Whether `Arch` is 32-bit NEON, not the one of 64-bit machines.
template <class Arch>
inline constexpr bool is_neon32 = std::is_base_of_v<xsimd::neon, Arch> && !std::is_base_of_v<xsimd::neon64, Arch>;

/// Whether `Arch` has vectors whose floats are those of scalars, bit by bit. 32-bit NEON takes every denormal for zero
/// and has no division: kernels whose results would show it do without its vectors.
template <class Arch> inline constexpr bool has_ieee_vectors = has_vectors<Arch> && !is_neon32<Arch>;
/// `Arch`, or `portable` where its floats are others.
template <class Arch> using ieee_vectors = std::conditional_t<has_ieee_vectors<Arch>, Arch, portable>;

/// a / b, the float nearest to the quotient. xsimd 14.3 approximates it on every NEON, though 64-bit machines can divide.
template <class Arch>
[[gnu::always_inline]] inline xsimd::batch<float, Arch> divide(const xsimd::batch<float, Arch>& a,
                                                               const xsimd::batch<float, Arch>& b) noexcept {
    if constexpr (std::is_base_of_v<xsimd::neon, Arch>) return xsimd::batch<float, Arch>(a.data / b.data);
    else return a / b;
}

/// The float nearest to the square root. xsimd 14.3 approximates it on every NEON; 64-bit machines have an instruction,
/// which compilers find in the loop.
template <class Arch>
[[gnu::always_inline]] inline xsimd::batch<float, Arch> square_root(const xsimd::batch<float, Arch>& x) noexcept {
    if constexpr (std::is_base_of_v<xsimd::neon, Arch>) {
        float lanes[xsimd::batch<float, Arch>::size];
        x.store_unaligned(lanes);
        for (float& lane : lanes) lane = std::sqrt(lane);
        return xsimd::batch<float, Arch>::load_unaligned(lanes);
    } else {
        return xsimd::sqrt(x);
    }
}

/// The integers nearest to `x`, halves to even, as the processor rounds by default; x < 2^31, and what is below -2^31
/// gives -2^31. 32-bit NEON only truncates, and xsimd 14.3 then adds a half first, which is wrong next to halves
/// (0.49999997 gives 1) and above 2^23.
template <class Arch>
[[gnu::always_inline]] inline xsimd::batch<std::int32_t, Arch> round_to_nearest(
    const xsimd::batch<float, Arch>& x) noexcept {
    if constexpr (is_neon32<Arch>) {
        using floats = xsimd::batch<float, Arch>;
        using ints = xsimd::batch<std::int32_t, Arch>;
        const floats bounded = xsimd::max(x, floats(-0x1p31f));
        const ints whole = xsimd::to_int(bounded);
        const floats rest = xsimd::abs(bounded - xsimd::to_float(whole)), half(0.5f);  // exact
        const auto is_odd = (whole & ints(1)) != ints(0);
        const auto is_off = xsimd::batch_bool_cast<std::int32_t>(rest > half) |
                            (xsimd::batch_bool_cast<std::int32_t>(rest == half) & is_odd);
        const ints away = xsimd::select(xsimd::batch_bool_cast<std::int32_t>(x < floats(0.0f)), ints(-1), ints(1));
        return whole + xsimd::select(is_off, away, ints(0));
    } else {
        return xsimd::nearbyint_as_int(x);
    }
}

}  // namespace zp::inline v0::kernel
