// SPDX-License-Identifier: BSD-3-Clause
// Blocks of bytes by products of matrices: usmmla multiplies two rows of eight uint8 with two channels of eight int8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <zeropoint/kernel/arch/vector_operations.hpp>

namespace zp::inline v0::kernel {

/// 32 products an instruction and 128 bits, into 2 x 2 sums: three pairs of rows of a tile with eight pairs of channels. `Base` is
/// of a family of processors; `Derived` adds, for 16 bytes and each 16 bytes of longer vectors:
///
///     pair_rows<Count>(a, b)          `Count` bytes of a row and of another, up to eight, and zeros
///     pair_octets(a, b, first, second)  their first eight bytes, and their second eight
///     load_two<Offset>(panel, w, v)   weights of the first and the second half of a vector's channels
///     widen_quads(panel, w, v)        quads of weights, made octets by zeros, likewise
///     multiply_matrices(sums, a, w)   usmmla
///     sums_of_row<Odd>(low, high)     those of one row of a pair
template <class Derived, class Base> struct matrix_products : Base {
    using typename Base::int32;
    using typename Base::int8;
    using typename Base::uint8;

    static constexpr quad_products quads = quad_products::exact;
    static constexpr bool octets = true;

    /// Sums of a pair of rows, two channels of both rows in 128 bits: of the first half of a vector's channels, and of the
    /// other. They are in the first row's element of a tile. A last row alone is a pair of its own.
    struct matrix_sums {
        int32 low, high;
    };
    template <class Activation>
    using block_sums =
        std::conditional_t<std::is_same_v<Activation, std::uint8_t>, matrix_sums, typename Base::word_sums>;
    using Base::clear;
    [[gnu::always_inline]] static void clear(matrix_sums& sums) {
        Base::clear(sums.low);
        Base::clear(sums.high);
    }

    using Base::multiply_block;
    template <int Rows, int Vectors>
    [[gnu::always_inline]] static void multiply_block(matrix_sums (&tile)[Rows][Vectors],
                                                      const std::uint8_t* const (&rows)[Rows], std::ptrdiff_t k,
                                                      const std::int8_t* panel) {
        constexpr int octet_of_all = 8 * Base::vectors * Base::lanes;
#if !defined(__clang__)  // g++ has no registers left for both halves of a block
        multiply_octet(tile, rows, k, panel);
        multiply_octet<octet_of_all>(tile, rows, k + 8, panel);
#else
        uint8 first[pairs<Rows>], second[pairs<Rows>];
        repeat<pairs<Rows>>([&](int pair) __attribute__((always_inline)) {
            Derived::pair_octets(rows[2 * pair] + k, rows[second_of<Rows>(pair)] + k, first[pair], second[pair]);
            Base::pin(first[pair]);
            Base::pin(second[pair]);
        });
        multiply_octets<0>(tile, first, panel);
        multiply_octets<octet_of_all>(tile, second, panel);
#endif
    }
    template <int Offset = 0, int Rows, int Vectors>
    [[gnu::always_inline]] static void multiply_octet(matrix_sums (&tile)[Rows][Vectors],
                                                      const std::uint8_t* const (&rows)[Rows], std::ptrdiff_t k,
                                                      const std::int8_t* panel) {
        uint8 a[pairs<Rows>];
        load_pairs<8>(a, rows, k);
        multiply_octets<Offset>(tile, a, panel);
    }
    /// A quad of weights.
    template <int Rows, int Vectors>
    [[gnu::always_inline]] static void multiply_step(matrix_sums (&tile)[Rows][Vectors],
                                                     const std::uint8_t* const (&rows)[Rows], std::ptrdiff_t k,
                                                     const std::int8_t* panel) {
        uint8 a[pairs<Rows>];
        load_pairs<4>(a, rows, k);
        repeat<Vectors>([&](int v) __attribute__((always_inline)) {
            int8 low, high;
            Derived::widen_quads(panel + v * 4 * Base::lanes, low, high);
            repeat<pairs<Rows>>([&](int pair) __attribute__((always_inline)) {
                Derived::multiply_matrices(tile[2 * pair][v].low, a[pair], low);
                Derived::multiply_matrices(tile[2 * pair][v].high, a[pair], high);
            });
        });
    }
    template <int Rows, int Vectors>
    [[gnu::always_inline]] static void add_blocks(int32 (&tile)[Rows][Vectors],
                                                  const matrix_sums (&blocks)[Rows][Vectors]) {
        unroll<Rows * Vectors>([&](auto i) __attribute__((always_inline)) {
            constexpr int row = i / Vectors, v = i % Vectors;
            const matrix_sums& of_pair = blocks[row / 2 * 2][v];
            tile[row][v] += Derived::template sums_of_row<row % 2 != 0>(of_pair.low, of_pair.high);
        });
    }

private:
    template <int Rows> static constexpr int pairs = (Rows + 1) / 2;
    /// The second row of a pair; of a last row alone, that row again.
    template <int Rows> static constexpr int second_of(int pair) {
        return 2 * pair + 1 == Rows ? 2 * pair : 2 * pair + 1;
    }
    template <int Count, int Rows>
    [[gnu::always_inline]] static void load_pairs(uint8 (&a)[pairs<Rows>], const std::uint8_t* const (&rows)[Rows],
                                                  std::ptrdiff_t k) {
        repeat<pairs<Rows>>([&](int pair) __attribute__((always_inline)) {
            a[pair] = Derived::template pair_rows<Count>(rows[2 * pair] + k, rows[second_of<Rows>(pair)] + k);
            Base::pin(a[pair]);
        });
    }
    /// Pairs of rows of eight bytes times all channels, whose weights begin `Offset` bytes behind `panel`.
    template <int Offset, int Rows, int Vectors>
    [[gnu::always_inline]] static void multiply_octets(matrix_sums (&tile)[Rows][Vectors],
                                                       const uint8 (&a)[pairs<Rows>], const std::int8_t* panel) {
        unroll<Vectors>([&](auto v) __attribute__((always_inline)) {
            int8 low, high;
            Derived::template load_two<Offset + v * 8 * Base::lanes>(panel, low, high);
            const auto multiply = [&](int32 matrix_sums::*half, const int8& w) __attribute__((always_inline)) {
                repeat<pairs<Rows>>([&](int pair) __attribute__((always_inline)) {
                    Derived::multiply_matrices(tile[2 * pair][v].*half, a[pair], w);
                });
                repeat<pairs<Rows>>([&](int pair)
                                        __attribute__((always_inline)) { Base::pin(tile[2 * pair][v].*half); });
            };
            multiply(&matrix_sums::low, low);
            multiply(&matrix_sums::high, high);
        });
    }
};

}  // namespace zp::inline v0::kernel
