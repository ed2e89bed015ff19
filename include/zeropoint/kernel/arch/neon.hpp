// SPDX-License-Identifier: BSD-3-Clause
// The primitives of the integer kernels that all of NEON has, of 32 and of 64 bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <arm_neon.h>

#include <zeropoint/kernel/arch/vector_operations.hpp>

// Words are multiplied by one element of a row for all channels (smlal by element), so that one load of a row serves
// eight products; ld2 takes the pairs of a panel apart.

namespace zp::inline v0::kernel {

#if defined(__aarch64__)
inline constexpr bool is_arm64 = true;
#else
inline constexpr bool is_arm64 = false;
#endif

/// `Derived` adds name, tile_rows, vectors and rates; and blocks of bytes, or takes those of neon_bytes.hpp.
template <class Derived, class Arch> struct neon_base : vector_operations<Derived, Arch> {
    using base = vector_operations<Derived, Arch>;
    using typename base::int16;
    using typename base::int32;
    using typename base::int8;
    using typename base::uint8;
    using word_sums = int32;

    static constexpr quad_products quads = quad_products::exact_signed;
    static constexpr bool has_byte_lookup = is_arm64;

    /// As keep(), and for Clang too: where it would move work up until it spills.
    template <class Batch> [[gnu::always_inline]] static void pin(Batch& operand) {
        asm volatile("" : "+w"(operand.data));
    }
    /// A zero that compilers do not know to be one: Clang would keep a register for each of them.
    [[gnu::always_inline]] static void clear(int32& sums) {
        sums = int32(vdupq_n_s32(0));
        asm("" : "+w"(sums.data));
    }

    template <class T> [[gnu::always_inline]] static int16 load_widened(const T* from) {
        if constexpr (std::is_signed_v<T>) return int16(vmovl_s8(vld1_s8(from)));
        else return int16(vreinterpretq_s16_u16(vmovl_u8(vld1_u8(from))));
    }
    template <class T> [[gnu::always_inline]] static int32 load_lanes(const T* from) {
        const int32x2_t four = vdup_n_s32(base::four_bytes(from));
        if constexpr (std::is_signed_v<T>) {
            return int32(vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_s32(four)))));
        } else {
            return int32(vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(vmovl_u8(vreinterpret_u8_s32(four))))));
        }
    }

    [[gnu::always_inline]] static void dot2(int32& sums, const int16& a, const int16& b) {
        const int32x4_t low = vmull_s16(vget_low_s16(a), vget_low_s16(b));
        sums += int32(add_neighbours(low, multiply_high(a, b)));
    }
    [[gnu::always_inline]] static void dot4(int32& sums, const uint8& a, const int8& b) {
        const int8x16_t x = vreinterpretq_s8_u8(a), y = b;
        const int16x8_t low = vmull_s8(vget_low_s8(x), vget_low_s8(y));
        sums += int32(add_neighbours(vpaddlq_s16(low), vpaddlq_s16(multiply_high(x, y))));
    }

    template <class Activation> static constexpr int block_length = 16 / sizeof(Activation);

    /// Words: lane k of a row times both halves of eight channels' weights.
    template <int Rows, int Vectors, class Weight>
    [[gnu::always_inline]] static void multiply_block(int32 (&tile)[Rows][Vectors],
                                                      const std::int16_t* const (&rows)[Rows], std::ptrdiff_t k,
                                                      const Weight* panel) {
        int16x8_t a[Rows];
        unroll<Rows>([&](auto row) __attribute__((always_inline)) { a[row] = vld1q_s16(rows[row] + k); });
        unroll<4>([&](auto pair) __attribute__((always_inline)) {
            constexpr int at_once = Vectors == 1 ? 1 : 2;
            unroll<Vectors / at_once>([&](auto part) __attribute__((always_inline)) {
                constexpr int v = part * at_once;
                const Weight* from = panel + (pair * Derived::vectors + v) * 8;
                if constexpr (at_once == 1) {
                    const int16x4x2_t w = load_four_pairs(from);
                    unroll<2>([&](auto i) __attribute__((always_inline)) {
                        unroll<Rows>([&](auto row) __attribute__((always_inline)) {
                            add_products<2 * pair + i>(tile[row][v], w.val[i], a[row]);
                        });
                    });
                } else {
                    const int16x8x2_t w = load_eight_pairs(from);
                    unroll<2>([&](auto i) __attribute__((always_inline)) {
                        unroll<Rows>([&](auto row) __attribute__((always_inline)) {
                            add_products<2 * pair + i>(tile[row][v], vget_low_s16(w.val[i]), a[row]);
                            add_high_products<2 * pair + i>(tile[row][v + 1], w.val[i], a[row]);
                            pin(tile[row][v]);
                            pin(tile[row][v + 1]);
                        });
                    });
                }
            });
        });
    }

    [[gnu::always_inline]] static uint8 pack(const int32 (&v)[4], const int16& offset) {
        const int16x8_t low = vcombine_s16(vqmovn_s32(v[0]), vqmovn_s32(v[1]));
        const int16x8_t high = vcombine_s16(vqmovn_s32(v[2]), vqmovn_s32(v[3]));
        return uint8(vcombine_u8(vqmovun_s16(vqaddq_s16(low, offset)), vqmovun_s16(vqaddq_s16(high, offset))));
    }
    [[gnu::always_inline]] static void store_halves(void* low, void* high, const uint8& from) {
        vst1_u8(static_cast<std::uint8_t*>(low), vget_low_u8(from));
        vst1_u8(static_cast<std::uint8_t*>(high), vget_high_u8(from));
    }
    [[gnu::always_inline]] static void multiply_wide(const int32& a, const int32& b, int32& high, int32& low) {
        const int32x4_t first = vreinterpretq_s32_s64(vmull_s32(vget_low_s32(a), vget_low_s32(b)));
        const int32x4_t second = vreinterpretq_s32_s64(vmull_s32(vget_high_s32(a), vget_high_s32(b)));
        const int32x4x2_t halves = vuzpq_s32(first, second);
        low = int32(halves.val[0]);
        high = int32(halves.val[1]);
    }

    /// The table instructions give 0 for indices past the table.
    [[gnu::always_inline]] static bytes16 shuffle_bytes(const bytes16& table, const bytes16& index) {
        const auto entries = base::template bits<uint8x16_t>(table), places = base::template bits<uint8x16_t>(index);
#if defined(__aarch64__)
        return base::template bits<bytes16>(vqtbl1q_u8(entries, places));
#else
        const uint8x8x2_t both = {{vget_low_u8(entries), vget_high_u8(entries)}};
        return base::template bits<bytes16>(
            vcombine_u8(vtbl2_u8(both, vget_low_u8(places)), vtbl2_u8(both, vget_high_u8(places))));
#endif
    }
    [[gnu::always_inline]] static uint8 broadcast16(const std::uint8_t* from) { return uint8(vld1q_u8(from)); }
    [[gnu::always_inline]] static uint8 shuffle16(const uint8& table, const uint8& index) {
        return base::template bits<uint8>(
            shuffle_bytes(base::template bits<bytes16>(table), base::template bits<bytes16>(index)));
    }

    static constexpr int word_part = 4;
    [[gnu::always_inline]] static void widen_words(const int16& a, int32& first, int32& second) {
        first = int32(vmovl_s16(vget_low_s16(a)));
        second = int32(vmovl_s16(vget_high_s16(a)));
    }
    [[gnu::always_inline]] static void pair_words(const int16& a, const int16& b, int16& first, int16& second) {
        const int16x8x2_t pairs = vzipq_s16(a, b);
        first = int16(pairs.val[0]);
        second = int16(pairs.val[1]);
    }
    [[gnu::always_inline]] static void multiply_words(const int16& a, const int16& b, int32& first, int32& second) {
        first = int32(vmull_s16(vget_low_s16(a), vget_low_s16(b)));
        second = int32(vmull_s16(vget_high_s16(a), vget_high_s16(b)));
    }
    [[gnu::always_inline]] static int16 pack_words(const int32& first, const int32& second) {
        return int16(vcombine_s16(vqmovn_s32(first), vqmovn_s32(second)));
    }
    [[gnu::always_inline]] static int16 multiply_q15(const int16& a, const int16& b) {
        return int16(vqrdmulhq_s16(a, b));
    }
    [[gnu::always_inline]] static void store_codes(std::int8_t* to, const int16& words) {
        vst1_s8(to, vqmovn_s16(words));
    }

    /// Of the lower and the upper two lanes.
    struct wide_sums {
        int64x2_t low, high;
    };
    static void put_wide(std::int32_t* to, int lane, std::int64_t value) {
        std::memcpy(to + 2 * lane, &value, sizeof value);
    }
    [[gnu::always_inline]] static wide_sums load_wide(const std::int32_t* from) {
        return {vreinterpretq_s64_s32(vld1q_s32(from)), vreinterpretq_s64_s32(vld1q_s32(from + 4))};
    }
    [[gnu::always_inline]] static void add_scaled(wide_sums& to, const int32& sums, const std::int32_t* multipliers) {
        const int32x4_t by = vld1q_s32(multipliers);
        to.low = vmlal_s32(to.low, vget_low_s32(sums), vget_low_s32(by));
        to.high = vmlal_s32(to.high, vget_high_s32(sums), vget_high_s32(by));
    }
    [[gnu::always_inline]] static int32 shift_wide(const wide_sums& sums, int shift) {
        const int64x2_t right = vdupq_n_s64(-shift);
        return int32(vcombine_s32(vmovn_s64(vshlq_s64(sums.low, right)), vmovn_s64(vshlq_s64(sums.high, right))));
    }

protected:
    /// a[0] + a[1], a[2] + a[3], b[0] + b[1], b[2] + b[3]
    [[gnu::always_inline]] static int32x4_t add_neighbours(int32x4_t a, int32x4_t b) {
#if defined(__aarch64__)
        return vpaddq_s32(a, b);
#else
        return vcombine_s32(vpadd_s32(vget_low_s32(a), vget_high_s32(a)), vpadd_s32(vget_low_s32(b), vget_high_s32(b)));
#endif
    }
    /// The products of upper halves.
#if defined(__aarch64__)
    [[gnu::always_inline]] static int16x8_t multiply_high(int8x16_t a, int8x16_t b) { return vmull_high_s8(a, b); }
    [[gnu::always_inline]] static int32x4_t multiply_high(int16x8_t a, int16x8_t b) { return vmull_high_s16(a, b); }
    template <int Lane> [[gnu::always_inline]] static void add_products(int32& sums, int16x4_t w, int16x8_t a) {
        sums = int32(vmlal_laneq_s16(sums, w, a, Lane));
    }
    template <int Lane> [[gnu::always_inline]] static void add_high_products(int32& sums, int16x8_t w, int16x8_t a) {
        sums = int32(vmlal_high_laneq_s16(sums, w, a, Lane));
    }
#else
    [[gnu::always_inline]] static int16x8_t multiply_high(int8x16_t a, int8x16_t b) {
        return vmull_s8(vget_high_s8(a), vget_high_s8(b));
    }
    [[gnu::always_inline]] static int32x4_t multiply_high(int16x8_t a, int16x8_t b) {
        return vmull_s16(vget_high_s16(a), vget_high_s16(b));
    }
    template <int Lane> [[gnu::always_inline]] static void add_products(int32& sums, int16x4_t w, int16x8_t a) {
        const int16x4_t half = Lane < 4 ? vget_low_s16(a) : vget_high_s16(a);
        sums = int32(vmlal_lane_s16(sums, w, half, Lane % 4));
    }
    template <int Lane> [[gnu::always_inline]] static void add_high_products(int32& sums, int16x8_t w, int16x8_t a) {
        add_products<Lane>(sums, vget_high_s16(w), a);
    }
#endif

private:
    /// The first and the second of eight pairs of weights.
    [[gnu::always_inline]] static int16x8x2_t load_eight_pairs(const std::int16_t* from) { return vld2q_s16(from); }
    [[gnu::always_inline]] static int16x8x2_t load_eight_pairs(const std::int8_t* from) {
        const int8x8x2_t pairs = vld2_s8(from);
        return {{vmovl_s8(pairs.val[0]), vmovl_s8(pairs.val[1])}};
    }
    [[gnu::always_inline]] static int16x4x2_t load_four_pairs(const std::int16_t* from) { return vld2_s16(from); }
    [[gnu::always_inline]] static int16x4x2_t load_four_pairs(const std::int8_t* from) {
        const int16x8_t pairs = vmovl_s8(vld1_s8(from));
        return vuzp_s16(vget_low_s16(pairs), vget_high_s16(pairs));
    }
};

}  // namespace zp::inline v0::kernel
