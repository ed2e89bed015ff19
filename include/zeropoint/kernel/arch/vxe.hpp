// SPDX-License-Identifier: BSD-3-Clause
// The primitives of the integer kernels on the vector facility of IBM z14 and later, a big-endian machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <zeropoint/kernel/arch/vector_operations.hpp>  // and xsimd's vecintrin.h: Clang 19's must not be included twice

namespace zp::inline v0::kernel {

/// vmae and vmao multiply the even and the odd elements of two vectors and add the products to elements twice as wide.
/// There is none for unsigned by signed bytes, so quads are signed. A tile is 5 x 16: twenty accumulators, four vectors of
/// weights, a broadcast, constants and the products in flight of the 32 registers; with 6 x 16 g++ spills.
struct vxe_operations : vector_operations<vxe_operations, xsimd::vxe> {
private:
    using base = vector_operations<vxe_operations, xsimd::vxe>;
    using signed_bytes = __vector signed char;
    using bytes = __vector unsigned char;
    using words = __vector signed short;

public:
    static constexpr const char* name = "vxe";
    static constexpr int tile_rows = 5, vectors = 4;
    static constexpr quad_products quads = quad_products::exact_signed;
    static constexpr bool has_byte_lookup = true;
    static constexpr double byte_products = 40, word_products = 36;

    template <class T> [[gnu::always_inline]] static int16 load_widened(const T* from) {
        unsigned long long eight;
        std::memcpy(&eight, from, sizeof eight);
        return int16(widen_first<T>(base::bits<bytes>(vec_splats(eight))));
    }
    template <class T> [[gnu::always_inline]] static int32 load_lanes(const T* from) {
        return int32(vec_unpackh(widen_first<T>(base::bits<bytes>(vec_splats(base::four_bytes(from))))));
    }

    [[gnu::always_inline]] static void dot2(int32& sums, const int16& a, const int16& b) {
        sums = int32(vec_moadd(a.data, b.data, vec_meadd(a.data, b.data, sums.data)));
    }
    /// Sums of two products lie in [-32512, 32768]; one less, they fit int16.
    [[gnu::always_inline]] static void dot4(int32& sums, const uint8& a, const int8& b) {
        const auto x = base::bits<signed_bytes>(a);
        const words less = vec_moadd(x, b.data, vec_meadd(x, b.data, vec_splats(static_cast<short>(-1))));
        dot2(sums, int16(less), int16(1));
        sums += int32(2);
    }

    /// Whether no pair of products can be 32768: that needs two weights of -128. `panel` is [count][channel][4].
    static bool takes_quads(const std::int8_t* panel, int count) {
        for (int i = 0; i < count * vectors * 16; i += 2)
            if (panel[i] == -128 && panel[i + 1] == -128) return false;
        return true;
    }
    template <class> static constexpr int block_length = 4;
    /// The same as dot4, for panels whose pairs of products fit int16 as they are.
    template <int Rows, int Vectors>
    [[gnu::always_inline]] static void multiply_block(int32 (&tile)[Rows][Vectors],
                                                      const std::uint8_t* const (&rows)[Rows], std::ptrdiff_t k,
                                                      const std::int8_t* panel) {
        int8 w[Vectors];
        repeat<Vectors>([&](int v) __attribute__((always_inline)) { w[v] = base::load<int8>(panel + v * 16); });
        repeat<Rows>([&](int row) __attribute__((always_inline)) {
            const auto a = base::bits<signed_bytes>(base::broadcast(rows[row] + k));
            repeat<Vectors>([&](int v) __attribute__((always_inline)) {
                dot2(tile[row][v], int16(vec_moadd(a, w[v].data, vec_mule(a, w[v].data))), int16(1));
            });
            base::fence(tile[row]);
        });
    }

    [[gnu::always_inline]] static uint8 pack(const int32 (&v)[4], const int16& offset) {
        const int32 added = xsimd::bitwise_cast<std::int32_t>(offset) >> 16;
        const int32 lowest = -added, highest = int32(255) - added;
        const auto clamp = [&](int i) __attribute__((always_inline)) {
            return xsimd::min(xsimd::max(v[i], lowest), highest).data;
        };
        const words low = vec_pack(clamp(0), clamp(1)) + offset.data, high = vec_pack(clamp(2), clamp(3)) + offset.data;
        return uint8(base::bits<bytes>(vec_pack(low, high)));
    }
    [[gnu::always_inline]] static void multiply_wide(const int32& a, const int32& b, int32& high, int32& low) {
        high = int32(vec_mulh(a.data, b.data));
        low = a * b;
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
    /// The first eight bytes as int16.
    template <class T> [[gnu::always_inline]] static words widen_first(const bytes& from) {
        if constexpr (std::is_signed_v<T>) return vec_unpackh(base::bits<signed_bytes>(from));
        else return base::bits<words>(vec_unpackh(from));
    }
};

}  // namespace zp::inline v0::kernel
