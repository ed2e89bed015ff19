// SPDX-License-Identifier: BSD-3-Clause
// 8-bit codes in and out of 32-bit lanes, through xsimd alone: what every elementwise kernel on codes is made of.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include <zeropoint/kernel/machine/architecture.hpp>

namespace zp::inline v0::kernel {

/// The storage of an 8-bit code.
template <class T> concept code8 = std::same_as<T, std::uint8_t> || std::same_as<T, std::int8_t>;

/// Four vectors of 32-bit lanes: as many values as one vector has bytes.
template <class T, class Arch> using batch_quad = std::array<xsimd::batch<T, Arch>, 4>;

/// The architecture with vectors half as wide that `Arch` includes, or `portable` where there is none. Kernels that
/// vectorize over channels use it for layers with fewer channels than a vector has lanes.
template <class Arch>
using narrower_architecture =
    std::conditional_t<std::is_base_of_v<xsimd::avx512f, Arch>, xsimd::fma3<xsimd::avx2>,
                       std::conditional_t<std::is_base_of_v<xsimd::avx, Arch>, xsimd::sse4_2, portable>>;

/// How many values of type `T` a vector holds; 1 without vectors.
template <class T, class Arch>
inline constexpr std::size_t vector_size = [] {
    if constexpr (has_vectors<Arch>) return std::size_t{xsimd::batch<T, Arch>::size};
    else return std::size_t{1};
}();

/// The architecture within `Arch` whose vectors have 16 bytes, or fewer: what xsimd 14.3 zips and transposes bytes with.
template <class Arch>
struct sixteen_bytes_of : std::conditional_t<(vector_size<std::uint8_t, Arch> <= 16), std::type_identity<Arch>,
                                             sixteen_bytes_of<narrower_architecture<Arch>>> {};

// The helpers are always inlined: a kernel for one architecture calls them with the vectors of a narrower one, and an
// out-of-line copy compiled with its flags must not end up in a translation unit for the narrower one.

/// How many bytes of a 32-bit lane are less significant than byte t in memory. Its own inverse.
constexpr std::size_t significance(std::size_t t) { return std::endian::native == std::endian::little ? t : 3 - t; }

/// Vector at `x` of 4 * size codes, of which lane i of part t gets code 4 * i + t. Shifts only, no shuffle: the
/// cheapest way in, for kernels whose result goes out through store_interleaved.
template <class Arch, code8 T>
[[gnu::always_inline]] inline batch_quad<std::int32_t, Arch> load_interleaved(const T* x) noexcept {
    using lanes = std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>;
    const auto quad = xsimd::bitwise_cast<lanes>(xsimd::batch<T, Arch>::load_unaligned(x));
    const batch_quad<lanes, Arch> bytes = {(quad << 24) >> 24, (quad << 16) >> 24, (quad << 8) >> 24, quad >> 24};
    return {xsimd::bitwise_cast<std::int32_t>(bytes[significance(0)]),
            xsimd::bitwise_cast<std::int32_t>(bytes[significance(1)]),
            xsimd::bitwise_cast<std::int32_t>(bytes[significance(2)]),
            xsimd::bitwise_cast<std::int32_t>(bytes[significance(3)])};
}

/// The parts of load_interleaved as one vector of codes. Every lane must lie in the range of `T`.
template <class T, class Arch>
[[gnu::always_inline]] inline xsimd::batch<T, Arch> combine_interleaved(
    const batch_quad<std::int32_t, Arch>& parts) noexcept {
    const xsimd::batch<std::int32_t, Arch> low_byte(255);
    return xsimd::bitwise_cast<T>((parts[significance(0)] & low_byte) | ((parts[significance(1)] & low_byte) << 8) |
                                  ((parts[significance(2)] & low_byte) << 16) | (parts[significance(3)] << 24));
}

/// Inverse of load_interleaved.
template <class Arch, code8 T>
[[gnu::always_inline]] inline void store_interleaved(T* y, const batch_quad<std::int32_t, Arch>& parts) noexcept {
    combine_interleaved<T, Arch>(parts).store_unaligned(y);
}

/// The integers of a vector in lanes twice as wide, in two vectors: the lower half first.
template <class T, class Arch> [[gnu::always_inline]] inline auto widened(const xsimd::batch<T, Arch>& x) noexcept {
    auto halves = xsimd::widen(x);
    if constexpr (std::is_base_of_v<xsimd::vsx, Arch>)
        std::swap(halves[0], halves[1]);  // xsimd 14.3 has the upper first
    return halves;
}

/// The smallest code of a vector. With AVX-512 xsimd 14.3's reduce_min and reduce_max leave out eight of the 64.
template <code8 T, class Arch> [[gnu::always_inline]] inline T smallest_lane(const xsimd::batch<T, Arch>& x) noexcept {
    if constexpr (std::is_base_of_v<xsimd::avx512f, Arch>) {
        using half = xsimd::batch<T, narrower_architecture<Arch>>;
        alignas(64) std::array<T, 64> lanes;
        x.store_aligned(lanes.data());
        return xsimd::reduce_min(xsimd::min(half::load_aligned(lanes.data()), half::load_aligned(lanes.data() + 32)));
    } else {
        return xsimd::reduce_min(x);
    }
}

/// The largest code of a vector: complements are in the opposite order, signed or not.
template <code8 T, class Arch> [[gnu::always_inline]] inline T largest_lane(const xsimd::batch<T, Arch>& x) noexcept {
    return static_cast<T>(~smallest_lane(~x));
}

/// Vector at `x` of 4 * size codes, of which lane i of part t gets code t * size + i.
template <class Arch, code8 T>
[[gnu::always_inline]] inline batch_quad<std::int32_t, Arch> load_consecutive(const T* x) noexcept {
    const auto halves = widened(xsimd::batch<T, Arch>::load_unaligned(x));
    const auto low = widened(halves[0]), high = widened(halves[1]);
    return {xsimd::bitwise_cast<std::int32_t>(low[0]), xsimd::bitwise_cast<std::int32_t>(low[1]),
            xsimd::bitwise_cast<std::int32_t>(high[0]), xsimd::bitwise_cast<std::int32_t>(high[1])};
}

/// Four vectors of values of 32 bits, as they are in memory.
template <class Arch, class Value>
    requires(sizeof(Value) == 4)
[[gnu::always_inline]] inline batch_quad<Value, Arch> load_consecutive(const Value* x) noexcept {
    using values = xsimd::batch<Value, Arch>;
    return {values::load_unaligned(x), values::load_unaligned(x + values::size),
            values::load_unaligned(x + 2 * values::size), values::load_unaligned(x + 3 * values::size)};
}
template <class Arch, class Value>
    requires(sizeof(Value) == 4)
[[gnu::always_inline]] inline void store_consecutive(Value* y, const batch_quad<Value, Arch>& parts) noexcept {
    for (const auto& part : parts) {
        part.store_unaligned(y);
        y += part.size;
    }
}

/// One such vector alone: of codes as integers, or of values as they are.
template <class Arch, class T> [[gnu::always_inline]] inline auto load_lanes(const T* x) noexcept {
    if constexpr (code8<T>) {
        using ints = xsimd::batch<std::int32_t, Arch>;
        alignas(64) std::int32_t codes[ints::size];
        for (std::size_t i = 0; i != ints::size; ++i) codes[i] = x[i];
        return ints::load_aligned(codes);
    } else {
        return xsimd::batch<T, Arch>::load_unaligned(x);
    }
}
/// Masks of the shuffles below.
namespace interleaving {

/// Within each 16 bytes, byte 4 * i + t goes to byte 4 * t + i.
struct transpose_bytes {
    static constexpr std::uint8_t get(unsigned to, unsigned) {
        return static_cast<std::uint8_t>((to & ~15u) | (to & 3) << 2 | (to >> 2 & 3));
    }
};
/// Groups of 16 bytes hold 4 bytes each of parts 0, 1, 2, 3: brings together those of each part.
struct gather_parts {
    static constexpr std::uint32_t get(unsigned to, unsigned size) {
        const unsigned groups = size / 4;
        return to % groups * 4 + to / groups;
    }
};
/// The neighbour at distance `Distance`, a power of two.
template <unsigned Distance> struct neighbour {
    static constexpr std::uint32_t get(unsigned to, unsigned) { return to ^ Distance; }
};
template <unsigned Distance> struct is_upper {
    static constexpr bool get(unsigned lane, unsigned) { return (lane & Distance) != 0; }
};

/// Swaps the upper parts (`bits` wide) of lanes with the lower parts of their neighbours at `Distance`.
template <unsigned Distance, class Arch>
[[gnu::always_inline]] inline xsimd::batch<std::uint32_t, Arch> swap_parts(const xsimd::batch<std::uint32_t, Arch>& x,
                                                                           int bits, std::uint32_t lower) noexcept {
    const auto other = xsimd::swizzle(x, xsimd::make_batch_constant<std::uint32_t, neighbour<Distance>, Arch>());
    const auto upper_lane = xsimd::make_batch_bool_constant<std::uint32_t, is_upper<Distance>, Arch>();
    return xsimd::select(upper_lane.as_batch_bool(), (x & ~lower) | ((other >> bits) & lower),
                         (x & lower) | ((other << bits) & ~lower));
}

}  // namespace interleaving

/// Inverse of load_consecutive. Every lane must lie in the range of `T`.
template <class Arch, code8 T>
[[gnu::always_inline]] inline void store_consecutive(T* y, const batch_quad<std::int32_t, Arch>& parts) noexcept {
    using bytes = xsimd::batch<std::uint8_t, Arch>;
    const auto mixed = combine_interleaved<std::uint8_t, Arch>(parts);  // byte 4 * i + t is to be byte t * size + i
    if constexpr (bytes::size == 16 && !std::is_base_of_v<xsimd::vxe, Arch>) {  // whose slide_right xsimd gets wrong
        const auto half = xsimd::zip_lo(mixed, xsimd::slide_right<8>(mixed));
        xsimd::bitwise_cast<T>(xsimd::zip_lo(half, xsimd::slide_right<8>(half))).store_unaligned(y);
    } else {
        xsimd::batch<std::uint32_t, Arch> transposed;
        if constexpr (bytes::size <= 32 || std::is_base_of_v<xsimd::avx512vbmi, Arch>) {
            transposed = xsimd::bitwise_cast<std::uint32_t>(
                xsimd::swizzle(mixed, xsimd::make_batch_constant<std::uint8_t, interleaving::transpose_bytes, Arch>()));
        } else {  // AVX-512 below VBMI shuffles no bytes: the same transposition by exchanging parts of lanes
            transposed = interleaving::swap_parts<1>(xsimd::bitwise_cast<std::uint32_t>(mixed), 8, 0x00ff00ffu);
            transposed = interleaving::swap_parts<2>(transposed, 16, 0x0000ffffu);
        }
        transposed =
            xsimd::swizzle(transposed, xsimd::make_batch_constant<std::uint32_t, interleaving::gather_parts, Arch>());
        xsimd::bitwise_cast<T>(transposed).store_unaligned(y);
    }
}

/// Inverse of load_lanes. Every lane must lie in the range of `T`.
template <class T, class Value, class Arch>
[[gnu::always_inline]] inline void store_lanes(T* y, const xsimd::batch<Value, Arch>& part) noexcept {
    if constexpr (code8<T>) {
        const xsimd::batch<std::int32_t, Arch> none(0);
        alignas(64) T codes[4 * xsimd::batch<Value, Arch>::size];
        store_consecutive<Arch>(codes, {part, none, none, none});
        std::memcpy(y, codes, part.size);
    } else {
        part.store_unaligned(y);
    }
}

/// Calls `body(first)` for vectors of `size` values that cover [0, count), count >= size; the last one may overlap the
/// one before it, so `body` must not read what it writes.
template <class Body>
[[gnu::always_inline]] inline void for_each_overlapping(std::size_t count, std::size_t size, Body&& body) noexcept {
    std::size_t i = 0;
    for (; i + size < count; i += size) body(i);
    body(count - size);
}

/// Calls `kernel.operator()<A>()` once, with the widest architecture A within `Arch` of which `count` values of type
/// `T` fill a vector, or with `portable`. `kernel` is a closure of its own Arch, which keeps its instantiations apart.
template <class Arch, class T, class Kernel>
[[gnu::always_inline]] inline void with_fitting_vectors(std::size_t count, Kernel&& kernel) noexcept {
    if constexpr (has_vectors<Arch>) {
        if (count >= vector_size<T, Arch>) kernel.template operator()<Arch>();
        else with_fitting_vectors<narrower_architecture<Arch>, T>(count, kernel);
    } else {
        kernel.template operator()<portable>();
    }
}

}  // namespace zp::inline v0::kernel
