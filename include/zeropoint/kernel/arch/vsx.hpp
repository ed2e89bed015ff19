// SPDX-License-Identifier: BSD-3-Clause
// The primitives of the integer kernels on the VSX of POWER8 and later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <altivec.h>

#include <zeropoint/kernel/arch/vector_operations.hpp>

namespace zp::inline v0::kernel {

/// vmsummbm multiplies signed by unsigned bytes and adds four products to each sum, modulo 2^32; vmsumshm does so for two
/// int16. Both take the 32 registers of VMX only: a tile is 6 x 16, of 24 accumulators, four vectors of weights and
/// broadcasts.
struct vsx_operations : vector_operations<vsx_operations, xsimd::vsx> {
private:
    using base = vector_operations<vsx_operations, xsimd::vsx>;
    using signed_bytes = __vector signed char;
    using bytes = __vector unsigned char;
    using words = __vector signed short;
    using sums = __vector signed int;

public:
    static constexpr const char* name = "vsx";
    static constexpr int tile_rows = 6, vectors = 4;
    static constexpr quad_products quads = quad_products::exact;
    static constexpr bool has_byte_lookup = true;
    static constexpr double byte_products = 90, word_products = 45;

    template <class T> [[gnu::always_inline]] static int16 load_widened(const T* from) {
        std::uint64_t eight;
        std::memcpy(&eight, from, sizeof eight);
        return widen_first<T>(reinterpret_cast<signed_bytes>(vec_splats(static_cast<unsigned long long>(eight))));
    }
    template <class T> [[gnu::always_inline]] static int32 load_lanes(const T* from) {
        const words wide = widen_first<T>(reinterpret_cast<signed_bytes>(vec_splats(base::four_bytes(from)))).data;
        if constexpr (std::is_signed_v<T>) return int32(vec_unpackh(wide));
        else return int32(reinterpret_cast<sums>(vec_mergeh(wide, words{})));
    }

    [[gnu::always_inline]] static void dot2(int32& sums, const int16& a, const int16& b) {
        sums = int32(vec_msum(a.data, b.data, sums.data));
        hold(sums, b);
    }
    [[gnu::always_inline]] static void dot4(int32& sums, const uint8& a, const int8& b) {
        sums = int32(vec_msum(b.data, a.data, sums.data));
        hold(sums, b);
    }

#ifndef __POWER9_VECTOR__
    /// POWER8 has no load that broadcasts: one of sixteen bytes and a splat of each word are fewer instructions. Panels lie
    /// at multiples of 16 bytes, as lvx needs it.
    template <class Activation> static constexpr int block_length = 16 / sizeof(Activation);
    template <int Rows, int Vectors, class Activation, class Weight>
        requires(sizeof(Activation) == sizeof(Weight))
    [[gnu::always_inline]] static void multiply_block(int32 (&tile)[Rows][Vectors],
                                                      const Activation* const (&rows)[Rows], std::ptrdiff_t k,
                                                      const Weight* panel) {
        sums four[Rows];
        unroll<Rows>([&](auto row) __attribute__((always_inline)) {
            four[row] = vec_xl_be(0, reinterpret_cast<const int*>(rows[row] + k));
        });
        unroll<4>([&](auto word) __attribute__((always_inline)) {
            xsimd::batch<Weight, xsimd::vsx> w[Vectors];
            unroll<Vectors>([&](auto v) __attribute__((always_inline)) {
                w[v] = vec_ld(0, panel + (word * vectors + v) * (16 / sizeof(Weight)));
            });
            unroll<Rows>([&](auto row) __attribute__((always_inline)) {
                const auto a = base::bits<xsimd::batch<Activation, xsimd::vsx>>(splat<word>(four[row]));
                unroll<Vectors>([&](auto v) __attribute__((always_inline)) {
                    if constexpr (sizeof(Weight) == 1) dot4(tile[row][v], a, w[v]);
                    else dot2(tile[row][v], a, w[v]);
                });
            });
        });
    }
#endif

    template <class Batch, int Count> [[gnu::always_inline]] static void fence(Batch (&)[Count]) {}

    [[gnu::always_inline]] static uint8 pack(const int32 (&v)[4], const int16& offset) {
        const words low = vec_adds(vec_packs(v[0].data, v[1].data), offset.data),
                    high = vec_adds(vec_packs(v[2].data, v[3].data), offset.data);
        return uint8(vec_packsu(low, high));
    }
    [[gnu::always_inline]] static void multiply_wide(const int32& a, const int32& b, int32& high, int32& low) {
        const auto even = reinterpret_cast<sums>(vec_mule(a.data, b.data)),
                   odd = reinterpret_cast<sums>(vec_mulo(a.data, b.data));
        constexpr int lower = std::endian::native == std::endian::little ? 0 : 1;
        low = int32(lower == 0 ? vec_mergee(even, odd) : vec_mergeo(even, odd));
        high = int32(lower == 0 ? vec_mergeo(even, odd) : vec_mergee(even, odd));
    }

    /// vperm takes five bits of an index: 255 is the last byte of the zeros.
    [[gnu::always_inline]] static bytes16 shuffle_bytes(const bytes16& table, const bytes16& index) {
        return base::bits<bytes16>(vec_perm(base::bits<bytes>(table), bytes{}, base::bits<bytes>(index)));
    }
    [[gnu::always_inline]] static uint8 broadcast16(const std::uint8_t* from) { return base::load<uint8>(from); }
    [[gnu::always_inline]] static uint8 shuffle16(const uint8& table, const uint8& index) {
        return uint8(vec_perm(table.data, table.data, index.data));
    }

private:
    /// A word of a vector that vec_xl_be has loaded. The instruction takes words from registers that accumulators cannot
    /// lie in, which g++ does not use for it.
    template <int Word> [[gnu::always_inline]] static sums splat(const sums& words) {
        sums splat;
        asm("xxspltw %x0,%x1,%2" : "=v"(splat) : "wa"(words), "n"(Word));
        return splat;
    }
    /// Keeps g++ from adding up in the register of an operand that it is done with, which costs a copy.
    template <class Sums, class Operand>
    [[gnu::always_inline]] static void hold([[maybe_unused]] Sums& sums, [[maybe_unused]] const Operand& b) {
#if defined(__GNUC__) && !defined(__clang__)
        asm volatile("" : "+v"(sums.data) : "v"(b.data));
#endif
    }
    /// The first eight bytes as int16.
    template <class T> [[gnu::always_inline]] static int16 widen_first(const signed_bytes& from) {
        if constexpr (std::is_signed_v<T>) return int16(vec_unpackh(from));
        else return int16(reinterpret_cast<words>(vec_mergeh(reinterpret_cast<bytes>(from), bytes{})));
    }
};

}  // namespace zp::inline v0::kernel
