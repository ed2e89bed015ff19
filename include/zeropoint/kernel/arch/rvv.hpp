// SPDX-License-Identifier: BSD-3-Clause
// The primitives of the integer kernels on RISC-V vectors of a length that the compiler knows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <riscv_vector.h>

#include <zeropoint/kernel/arch/vector_operations.hpp>

namespace zp::inline v0::kernel {

/// vwmacc.vx multiplies two registers of int16 by a scalar and adds the products to four of int32: there is nothing to
/// broadcast, and one instruction does the work of four vectors. Bytes would need two, as they widen to int16 only. A tile
/// is six rows of such groups, 6 x 16 with 128 bits; eight registers are left for weights.
struct rvv_operations : vector_operations<rvv_operations, xsimd::rvv> {
private:
    using base = vector_operations<rvv_operations, xsimd::rvv>;
    static constexpr std::size_t bits = XSIMD_RVV_BITS, words = bits / 16, channels = 4 * bits / 32;

public:
    static constexpr const char* name = "rvv";
    static constexpr int tile_rows = 6, vectors = 4;
    static constexpr quad_products quads = quad_products::none;
    static constexpr bool has_byte_lookup = true;
    static constexpr double byte_products = 20.0 * lanes / 4, word_products = 20.0 * lanes / 4;

    template <class T> [[gnu::always_inline]] static int16 load_widened(const T* from) {
        if constexpr (std::is_signed_v<T>) {
            return int16(__riscv_vsext_vf2_i16m1(__riscv_vle8_v_i8mf2(from, words), words));
        } else {
            return int16(
                __riscv_vreinterpret_v_u16m1_i16m1(__riscv_vzext_vf2_u16m1(__riscv_vle8_v_u8mf2(from, words), words)));
        }
    }
    template <class T> [[gnu::always_inline]] static int32 load_lanes(const T* from) {
        if constexpr (std::is_signed_v<T>) {
            return int32(__riscv_vsext_vf4_i32m1(__riscv_vle8_v_i8mf4(from, lanes), lanes));
        } else {
            return int32(
                __riscv_vreinterpret_v_u32m1_i32m1(__riscv_vzext_vf4_u32m1(__riscv_vle8_v_u8mf4(from, lanes), lanes)));
        }
    }

    struct scalar_pair {
        std::int16_t first, second;
    };
    [[gnu::always_inline]] static scalar_pair broadcast(const std::int16_t* from) { return {from[0], from[1]}; }
    [[gnu::always_inline]] static void dot2(int32& sums, const scalar_pair& a, const int16& b) {
        const vuint32m1_t pairs = __riscv_vreinterpret_v_i32m1_u32m1(__riscv_vreinterpret_v_i16m1_i32m1(b.data));
        const vint16mf2_t first = __riscv_vreinterpret_v_u16mf2_i16mf2(__riscv_vnsrl_wx_u16mf2(pairs, 0, lanes)),
                          second = __riscv_vreinterpret_v_u16mf2_i16mf2(__riscv_vnsrl_wx_u16mf2(pairs, 16, lanes));
        const vint32m1_t half = __riscv_vwmacc_vx_i32m1(sums.data, a.first, first, lanes);
        sums = int32(__riscv_vwmacc_vx_i32m1(half, a.second, second, lanes));
    }
    [[gnu::always_inline]] static void dot2(int32& sums, const int16& a, const int16& b) {
        const vuint64m2_t products = __riscv_vreinterpret_v_u32m2_u64m2(
            __riscv_vreinterpret_v_i32m2_u32m2(__riscv_vwmul_vv_i32m2(a.data, b.data, words)));
        const vint32m1_t first = __riscv_vreinterpret_v_u32m1_i32m1(__riscv_vnsrl_wx_u32m1(products, 0, lanes)),
                         second = __riscv_vreinterpret_v_u32m1_i32m1(__riscv_vnsrl_wx_u32m1(products, 32, lanes));
        sums += int32(__riscv_vadd_vv_i32m1(first, second, lanes));
    }

    /// The sums of a row, in the first element of a row of the tile.
    struct row_sums {
        typedef vint32m4_t type __attribute__((riscv_rvv_vector_bits(4 * XSIMD_RVV_BITS)));
        type values;
    };
    template <class Activation> using block_sums = row_sums;
    template <class Activation> static constexpr int block_length = 8;
    template <class Activation> static constexpr int most_rows(int) { return tile_rows; }

    [[gnu::always_inline]] static void clear(row_sums& sums) { sums.values = __riscv_vmv_v_x_i32m4(0, channels); }
    template <int Rows, int Vectors, class Weight>
    [[gnu::always_inline]] static void multiply_step(row_sums (&tile)[Rows][Vectors],
                                                     const std::int16_t* const (&rows)[Rows], std::ptrdiff_t k,
                                                     const Weight* panel) {
        const auto pairs = load_pairs(panel);
        multiply_weights(tile, rows, k, first_of(pairs));
        multiply_weights(tile, rows, k + 1, second_of(pairs));
    }
    template <int Rows, int Vectors, class Weight>
    [[gnu::always_inline]] static void multiply_block(row_sums (&tile)[Rows][Vectors],
                                                      const std::int16_t* const (&rows)[Rows], std::ptrdiff_t k,
                                                      const Weight* panel) {
        constexpr int pair_weights = 2 * static_cast<int>(channels);
        repeat<4>([&](int pair) __attribute__((always_inline)) {
            multiply_step(tile, rows, k + 2 * pair, panel + pair * pair_weights);
            base::memory_fence();  // or g++ loads the weights of several pairs ahead and spills them
        });
    }
    template <int Rows, int Vectors>
    [[gnu::always_inline]] static void add_blocks(int32 (&tile)[Rows][Vectors],
                                                  const row_sums (&blocks)[Rows][Vectors]) {
        repeat<Rows>([&](int row) __attribute__((always_inline)) {
            const vint32m4_t values = blocks[row][0].values;
            tile[row][0] += int32(__riscv_vget_v_i32m4_i32m1(values, 0));
            tile[row][1] += int32(__riscv_vget_v_i32m4_i32m1(values, 1));
            if constexpr (Vectors == 4) {
                tile[row][2] += int32(__riscv_vget_v_i32m4_i32m1(values, 2));
                tile[row][3] += int32(__riscv_vget_v_i32m4_i32m1(values, 3));
            }
        });
    }

    [[gnu::always_inline]] static int32 load_first(const std::int32_t* from, int count) {
        return int32(__riscv_vle32_v_i32m1_tu(__riscv_vmv_v_x_i32m1(0, lanes), from, first_lanes(count)));
    }
    [[gnu::always_inline]] static real load_first(const float* from, int count) {
        return real(__riscv_vle32_v_f32m1_tu(__riscv_vfmv_v_f_f32m1(0, lanes), from, first_lanes(count)));
    }
    [[gnu::always_inline]] static real load_halves(const std::uint16_t* from) {
        return base::widened_halves(int32(
            __riscv_vreinterpret_v_u32m1_i32m1(__riscv_vzext_vf2_u32m1(__riscv_vle16_v_u16mf2(from, lanes), lanes))));
    }
    [[gnu::always_inline]] static uint8 pack(const int32 (&v)[4], const int16& offset) {
        const vint32m4_t sums = __riscv_vcreate_v_i32m1_i32m4(v[0].data, v[1].data, v[2].data, v[3].data);
        const vint16m2_t narrow = __riscv_vnclip_wx_i16m2(sums, 0, __RISCV_VXRM_RDN, channels);
        const vint16m2_t codes = __riscv_vsadd_vx_i16m2(narrow, __riscv_vmv_x_s_i16m1_i16(offset.data), channels);
        const vuint16m2_t positive = __riscv_vreinterpret_v_i16m2_u16m2(__riscv_vmax_vx_i16m2(codes, 0, channels));
        return uint8(__riscv_vnclipu_wx_u8m1(positive, 0, __RISCV_VXRM_RDN, channels));
    }
    [[gnu::always_inline]] static void store_halves(void* low, void* high, const uint8& from) {
        __riscv_vse8_v_u8m1(static_cast<std::uint8_t*>(low), from.data, channels / 2);
        __riscv_vse8_v_u8m1(static_cast<std::uint8_t*>(high),
                            __riscv_vslidedown_vx_u8m1(from.data, channels / 2, channels / 2), channels / 2);
    }
    [[gnu::always_inline]] static void multiply_wide(const int32& a, const int32& b, int32& high, int32& low) {
        high = int32(__riscv_vmulh_vv_i32m1(a.data, b.data, lanes));
        low = a * b;
    }

    /// vrgather gives 0 for indices from the length of a vector on.
    [[gnu::always_inline]] static void gather(const std::uint8_t* from, const std::uint8_t* index, std::uint32_t flip,
                                              std::byte* to) {
        const vuint8m1_t gathered =
            __riscv_vrgather_vv_u8m1(__riscv_vle8_v_u8m1(from, 16), __riscv_vle8_v_u8m1(index, 16), 16);
        const vuint32m1_t cells = __riscv_vxor_vx_u32m1(__riscv_vreinterpret_v_u8m1_u32m1(gathered), flip, 4);
        __riscv_vse8_v_u8m1(reinterpret_cast<std::uint8_t*>(to), __riscv_vreinterpret_v_u32m1_u8m1(cells), 16);
    }
    [[gnu::always_inline]] static uint8 shuffle16(const uint8& table, const uint8& index) {
        return uint8(__riscv_vrgather_vv_u8m1(table.data, index.data, channels));
    }

private:
    /// Weights of all channels for the two activations of a pair, side by side.
    [[gnu::always_inline]] static vint16m2_t load_pairs(const std::int8_t* panel) {
        return __riscv_vle16_v_i16m2(reinterpret_cast<const std::int16_t*>(panel), channels);
    }
    [[gnu::always_inline]] static vint16m2_t first_of(vint16m2_t pairs) {
        return __riscv_vsra_vx_i16m2(__riscv_vsll_vx_i16m2(pairs, 8, channels), 8, channels);
    }
    [[gnu::always_inline]] static vint16m2_t second_of(vint16m2_t pairs) {
        return __riscv_vsra_vx_i16m2(pairs, 8, channels);
    }
    [[gnu::always_inline]] static vuint32m4_t load_pairs(const std::int16_t* panel) {
        return __riscv_vle32_v_u32m4(reinterpret_cast<const std::uint32_t*>(panel), channels);
    }
    [[gnu::always_inline]] static vint16m2_t first_of(vuint32m4_t pairs) {
        return __riscv_vreinterpret_v_u16m2_i16m2(__riscv_vnsrl_wx_u16m2(pairs, 0, channels));
    }
    [[gnu::always_inline]] static vint16m2_t second_of(vuint32m4_t pairs) {
        return __riscv_vreinterpret_v_u16m2_i16m2(__riscv_vnsrl_wx_u16m2(pairs, 16, channels));
    }
    /// tile += an activation of each row * weights
    template <int Rows, int Vectors>
    [[gnu::always_inline]] static void multiply_weights(row_sums (&tile)[Rows][Vectors],
                                                        const std::int16_t* const (&rows)[Rows], std::ptrdiff_t k,
                                                        vint16m2_t weights) {
        repeat<Rows>([&](int row) __attribute__((always_inline)) {
            row_sums& sums = tile[row][0];
            sums.values = __riscv_vwmacc_vx_i32m4(sums.values, rows[row][k], weights, channels);
        });
    }
    [[gnu::always_inline]] static std::size_t first_lanes(int count) {
        return static_cast<std::size_t>(count < 0 ? 0 : count > lanes ? lanes : count);
    }
};

}  // namespace zp::inline v0::kernel
