// The primitives of the integer kernels on SVE with vectors of fixed length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <arm_neon.h>
#include <arm_sve.h>

#include <zeropoint/kernel/arch/vector_operations.hpp>

// Products by one element take it from each 128 bits of a vector: 16 bytes of a row, repeated in each of them, serve four
// quads of weights. Words are multiplied four at a time into int64 sums, there being no products of words into int32;
// their low halves are the sums.

namespace zp {
inline namespace v0 {
namespace kernel {

/// A tile is 6 rows by four vectors: 24 sums, six of a row, two of weights. Of words it is 3 rows at a time.
template <class Derived, std::size_t Bits> struct sve_base : vector_operations<Derived, xsimd::detail::sve<Bits>> {
    using base = vector_operations<Derived, xsimd::detail::sve<Bits>>;
    using typename base::int16;
    using typename base::int32;
    using typename base::int8;
    using typename base::real;
    using typename base::uint8;
    using int64 = typename base::template batch<std::int64_t>;
    using base::lanes;

    static constexpr int tile_rows = 6, vectors = 4;
    static constexpr int sums_in_flight = 8;
    static constexpr bool has_byte_lookup = true;
    template <class Activation> static constexpr int block_length = 16 / sizeof(Activation);
    template <class Activation> static constexpr int most_rows(int vectors_used) {
        return sizeof(Activation) == 1 ? 6 : 12 / vectors_used;
    }

    /// As keep(), and for Clang too: where it would move work up until it spills.
    template <class Batch> [[gnu::always_inline]] static void pin(Batch& operand) {
        xsimd::types::detail::sizeless_sve_vector_type<typename Batch::value_type> held = operand;
        asm volatile("" : "+w"(held));
        operand = Batch(held);
    }
    /// A zero that compilers do not know to be one: Clang would keep a register for each of them.
    template <class Batch> [[gnu::always_inline]] static void clear_vector(Batch& sums) {
        xsimd::types::detail::sizeless_sve_vector_type<typename Batch::value_type> zero = Batch(0);
        asm("" : "+w"(zero));
        sums = Batch(zero);
    }

    template <class T> [[gnu::always_inline]] static int16 load_widened(const T* from) {
        if constexpr (std::is_signed_v<T>) return int16(svld1sb_s16(svptrue_b16(), from));
        else return int16(svld1ub_s16(svptrue_b16(), from));
    }
    template <class T> [[gnu::always_inline]] static int32 load_lanes(const T* from) {
        if constexpr (std::is_signed_v<T>) return int32(svld1sb_s32(svptrue_b32(), from));
        else return int32(svld1ub_s32(svptrue_b32(), from));
    }

    [[gnu::always_inline]] static void dot2(int32& sums, const int16& a, const int16& b) {
        const svbool_t all = svptrue_b32();
        const svint32_t x = svreinterpret_s32_s16(a), y = svreinterpret_s32_s16(b);
        const svint32_t low = svmla_s32_x(all, sums, svexth_s32_x(all, x), svexth_s32_x(all, y));
        sums = int32(svmla_s32_x(all, low, svasr_n_s32_x(all, x, 16), svasr_n_s32_x(all, y, 16)));
    }

    struct long_sums {
        int64 low, high;  ///< of the lower and the upper half of the channels
    };
    [[gnu::always_inline]] static void clear(long_sums& sums) {
        clear_vector(sums.low);
        clear_vector(sums.high);
    }
    /// Words.
    template <int Rows, int Vectors, class Weight>
    [[gnu::always_inline]] static void multiply_block(long_sums (&tile)[Rows][Vectors],
                                                      const std::int16_t* const (&rows)[Rows], std::ptrdiff_t k,
                                                      const Weight* panel) {
        multiply_pairs<4>(tile, rows, k, panel);
    }
    template <int Rows, int Vectors, class Weight>
    [[gnu::always_inline]] static void multiply_step(long_sums (&tile)[Rows][Vectors],
                                                     const std::int16_t* const (&rows)[Rows], std::ptrdiff_t k,
                                                     const Weight* panel) {
        multiply_pairs<1>(tile, rows, k, panel);
    }
    template <int Rows, int Vectors>
    [[gnu::always_inline]] static void add_blocks(int32 (&tile)[Rows][Vectors],
                                                  const long_sums (&blocks)[Rows][Vectors]) {
        unroll<Rows * Vectors>([&](auto i) __attribute__((always_inline)) {
            const long_sums& block = blocks[i / Vectors][i % Vectors];
            tile[i / Vectors][i % Vectors] +=
                int32(svuzp1_s32(svreinterpret_s32_s64(block.low), svreinterpret_s32_s64(block.high)));
        });
    }

    [[gnu::always_inline]] static int32 load_first(const std::int32_t* from, int count) {
        return int32(svld1_s32(svwhilelt_b32_s32(0, count), from));
    }
    [[gnu::always_inline]] static real load_first(const float* from, int count) {
        return real(svld1_f32(svwhilelt_b32_s32(0, count), from));
    }
    [[gnu::always_inline]] static uint8 pack(const int32 (&v)[4], const int16& offset) {
        const int32 added = xsimd::bitwise_cast<std::int32_t>(offset) >> 16;
        const int32 low = -added, high = int32(255) - added;
        const auto code = [&](int i) __attribute__((always_inline)) {
            const int32 codes = xsimd::min(xsimd::max(v[i], low), high) + added;
            return xsimd::bitwise_cast<std::int16_t>(codes);
        };
        const svint16_t first = svuzp1_s16(code(0), code(1)), second = svuzp1_s16(code(2), code(3));
        return uint8(svuzp1_u8(svreinterpret_u8_s16(first), svreinterpret_u8_s16(second)));
    }
    [[gnu::always_inline]] static void store_halves(void* low, void* high, const uint8& from) {
        const svbool_t half = svwhilelt_b8_s32(0, 2 * lanes);
        svst1_u8(half, static_cast<std::uint8_t*>(low), from);
        svst1_u8(half, static_cast<std::uint8_t*>(high), svext_u8(from, from, 2 * lanes));
    }
    [[gnu::always_inline]] static void multiply_wide(const int32& a, const int32& b, int32& high, int32& low) {
        high = int32(svmulh_s32_x(svptrue_b32(), a, b));
        low = int32(svmul_s32_x(svptrue_b32(), a, b));
    }

    [[gnu::always_inline]] static bytes16 shuffle_bytes(const bytes16& table, const bytes16& index) {
        return base::template bits<bytes16>(
            vqtbl1q_u8(base::template bits<uint8x16_t>(table), base::template bits<uint8x16_t>(index)));
    }
    [[gnu::always_inline]] static uint8 broadcast16(const std::uint8_t* from) {
        return uint8(svld1rq_u8(svptrue_b8(), from));
    }
    [[gnu::always_inline]] static uint8 shuffle16(const uint8& table, const uint8& index) {
        if constexpr (lanes == 4) {
            return uint8(svtbl_u8(table, index));
        } else {
            const svbool_t all = svptrue_b8();
            return uint8(svtbl_u8(table, svorr_u8_x(all, index, svand_n_u8_x(all, svindex_u8(0, 1), 0xf0))));
        }
    }

private:
    /// Four words of a row by element; of a single pair, the other two are zero.
    template <int Pairs, int Rows, int Vectors, class Weight>
    [[gnu::always_inline]] static void multiply_pairs(long_sums (&tile)[Rows][Vectors],
                                                      const std::int16_t* const (&rows)[Rows], std::ptrdiff_t k,
                                                      const Weight* panel) {
        constexpr int halves = (Pairs + 1) / 2;
        const svbool_t loaded = Pairs == 4 ? svptrue_b16() : svptrue_pat_b16(SV_VL2);
        int16 a[Rows];
        unroll<Rows>([&](auto row)
                         __attribute__((always_inline)) { a[row] = int16(svld1rq_s16(loaded, rows[row] + k)); });
        unroll<halves * Vectors>([&](auto i) __attribute__((always_inline)) {
            constexpr int half = i / Vectors, v = i % Vectors;
            const auto load_pair = [&](int pair) __attribute__((always_inline)) {
                if (pair >= Pairs) return int32(0);
                return xsimd::bitwise_cast<std::int32_t>(load_words(panel + (pair * vectors + v) * 2 * lanes));
            };
            const int32 first = load_pair(2 * half), second = load_pair(2 * half + 1);
            const int16 low(svreinterpret_s16_s32(svzip1_s32(first, second))),
                high(svreinterpret_s16_s32(svzip2_s32(first, second)));
            unroll<Rows>([&](auto row) __attribute__((always_inline)) {
                long_sums& sums = tile[row][v];
                sums.low = int64(svdot_lane_s64(sums.low, low, a[row], half));
                sums.high = int64(svdot_lane_s64(sums.high, high, a[row], half));
                pin(sums.low);
                pin(sums.high);
            });
        });
    }
    [[gnu::always_inline]] static int16 load_words(const std::int16_t* from) {
        return int16(svld1_s16(svptrue_b16(), from));
    }
    [[gnu::always_inline]] static int16 load_words(const std::int8_t* from) { return load_widened(from); }
};

/// With sdot, which is a part of SVE.
template <std::size_t Bits> struct sve_operations : sve_base<sve_operations<Bits>, Bits> {
    using base = sve_base<sve_operations, Bits>;
    using base::lanes;
    using typename base::int32;
    using typename base::int8;
    using typename base::uint8;

    static constexpr const char* name = "sve";
    static constexpr quad_products quads = quad_products::exact_signed;
    static constexpr double byte_products = 0.9 * Bits, word_products = 0.4 * Bits;

    [[gnu::always_inline]] static void dot4(int32& sums, const uint8& a, const int8& b) {
        sums = int32(svdot_s32(sums, svreinterpret_s8_u8(a), b));
    }

    template <class Activation>
    using block_sums = std::conditional_t<std::is_same_v<Activation, std::uint8_t>, int32, typename base::long_sums>;

    using base::multiply_block;
    template <int Rows, int Vectors>
    [[gnu::always_inline]] static void multiply_block(int32 (&tile)[Rows][Vectors],
                                                      const std::uint8_t* const (&rows)[Rows], std::ptrdiff_t k,
                                                      const std::int8_t* panel) {
        int8 a[Rows];
        unroll<Rows>([&](auto row) __attribute__((always_inline)) {
            a[row] = int8(svreinterpret_s8_u8(svld1rq_u8(svptrue_b8(), rows[row] + k)));
        });
        unroll<4 * Vectors>([&](auto i) __attribute__((always_inline)) {
            constexpr int quad = i / Vectors, v = i % Vectors;
            const int8 w(svld1_s8(svptrue_b8(), panel + (quad * base::vectors + v) * 4 * lanes));
            unroll<Rows>([&](auto row) __attribute__((always_inline)) { keep_low(a[row]); });
            unroll<Rows>([&](auto row) __attribute__((always_inline)) {
                tile[row][v] = int32(svdot_lane_s32(tile[row][v], w, a[row], quad));
            });
            base::keep(tile[Rows - 1][v]);
        });
    }

private:
    /// Products by element take the element from one of eight registers, which g++ would copy it to each time.
    [[gnu::always_inline]] static void keep_low([[maybe_unused]] int8& a) {
#if !defined(__clang__)
        asm volatile("" : "+y"(a.data));
#endif
    }
};

#if defined(__ARM_FEATURE_SVE_MATMUL_INT8)
/// usmmla multiplies, in each 128 bits, two rows of eight uint8 with two channels of eight int8, into 2 x 2 sums: three
/// pairs of rows of a tile with pairs of channels.
template <std::size_t Bits> struct sve_i8mm_operations : sve_base<sve_i8mm_operations<Bits>, Bits> {
    using base = sve_base<sve_i8mm_operations, Bits>;
    using base::lanes;
    using typename base::int32;
    using typename base::int8;
    using typename base::uint8;

    static constexpr const char* name = "sve_i8mm";
    static constexpr quad_products quads = quad_products::exact;
    static constexpr bool octets = true;
    static constexpr double byte_products = 1.5 * Bits, word_products = 0.4 * Bits;

    [[gnu::always_inline]] static void dot4(int32& sums, const uint8& a, const int8& b) {
        sums = int32(svusdot_s32(sums, a, b));
    }

    /// Sums of a pair of rows, two channels of both rows in 128 bits: of the first half of a vector's channels, and of the
    /// other. They are in the first row's element of a tile. A last row alone is a pair of its own.
    struct matrix_sums {
        int32 low, high;
    };
    template <class Activation>
    using block_sums =
        std::conditional_t<std::is_same_v<Activation, std::uint8_t>, matrix_sums, typename base::long_sums>;
    using base::clear;
    [[gnu::always_inline]] static void clear(matrix_sums& sums) {
        base::clear_vector(sums.low);
        base::clear_vector(sums.high);
    }

    using base::add_blocks;
    using base::multiply_block;
    using base::multiply_step;
    template <int Rows, int Vectors>
    [[gnu::always_inline]] static void multiply_block(matrix_sums (&tile)[Rows][Vectors],
                                                      const std::uint8_t* const (&rows)[Rows], std::ptrdiff_t k,
                                                      const std::int8_t* panel) {
        multiply_octet(tile, rows, k, panel);
        multiply_octet(tile, rows, k + 8, panel + 8 * base::vectors * lanes);
    }
    template <int Rows, int Vectors>
    [[gnu::always_inline]] static void multiply_octet(matrix_sums (&tile)[Rows][Vectors],
                                                      const std::uint8_t* const (&rows)[Rows], std::ptrdiff_t k,
                                                      const std::int8_t* panel) {
        constexpr int pairs = (Rows + 1) / 2;
        uint8 a[pairs];
        load_pairs<8>(a, rows, k);
        multiply_octets(tile, a, panel);
    }
    /// A quad of weights, made octets by zeros.
    template <int Rows, int Vectors>
    [[gnu::always_inline]] static void multiply_step(matrix_sums (&tile)[Rows][Vectors],
                                                     const std::uint8_t* const (&rows)[Rows], std::ptrdiff_t k,
                                                     const std::int8_t* panel) {
        constexpr int pairs = (Rows + 1) / 2;
        uint8 a[pairs];
        load_pairs<4>(a, rows, k);
        const svint32_t zero = svdup_n_s32(0);
        unroll<Vectors>([&](auto v) __attribute__((always_inline)) {
            const svint32_t w = svreinterpret_s32_s8(svld1_s8(svptrue_b8(), panel + v * 4 * lanes));
            const int8 low(svreinterpret_s8_s32(svzip1_s32(w, zero))), high(svreinterpret_s8_s32(svzip2_s32(w, zero)));
            unroll<pairs>([&](auto pair) __attribute__((always_inline)) {
                matrix_sums& sums = tile[2 * pair][v];
                sums.low = int32(svusmmla_s32(sums.low, a[pair], low));
                sums.high = int32(svusmmla_s32(sums.high, a[pair], high));
            });
        });
    }
    template <int Rows, int Vectors>
    [[gnu::always_inline]] static void add_blocks(int32 (&tile)[Rows][Vectors],
                                                  const matrix_sums (&blocks)[Rows][Vectors]) {
        unroll<Rows * Vectors>([&](auto i) __attribute__((always_inline)) {
            constexpr int row = i / Vectors, v = i % Vectors;
            const svint64_t low = svreinterpret_s64_s32(blocks[row / 2 * 2][v].low),
                            high = svreinterpret_s64_s32(blocks[row / 2 * 2][v].high);
            tile[row][v] += int32(svreinterpret_s32_s64(row % 2 == 0 ? svuzp1_s64(low, high) : svuzp2_s64(low, high)));
        });
    }

private:
    /// The second row of a pair; of a last row alone, that row again.
    template <int Rows> static constexpr int second_of(int pair) {
        return 2 * pair + 1 == Rows ? 2 * pair : 2 * pair + 1;
    }

    [[gnu::always_inline]] static svuint64_t load_row(svbool_t loaded, const std::uint8_t* from) {
        return svreinterpret_u64_u8(svld1rq_u8(loaded, from));
    }
    /// `Count` bytes of both rows of pairs, up to eight, and zeros.
    template <int Count, int Rows, int Pairs>
    [[gnu::always_inline]] static void load_pairs(uint8 (&a)[Pairs], const std::uint8_t* const (&rows)[Rows],
                                                  std::ptrdiff_t k) {
        const svbool_t loaded = svptrue_pat_b8(Count == 8 ? SV_VL8 : SV_VL4);
        unroll<Pairs>([&](auto pair) __attribute__((always_inline)) {
            a[pair] = uint8(svreinterpret_u8_u64(
                svtrn1_u64(load_row(loaded, rows[2 * pair] + k), load_row(loaded, rows[second_of<Rows>(pair)] + k))));
            base::pin(a[pair]);
        });
    }
    /// Pairs of rows of eight bytes times all channels.
    template <int Rows, int Vectors, int Pairs>
    [[gnu::always_inline]] static void multiply_octets(matrix_sums (&tile)[Rows][Vectors], const uint8 (&a)[Pairs],
                                                       const std::int8_t* panel) {
        unroll<2 * Vectors>([&](auto i) __attribute__((always_inline)) {
            const int8 w(svld1_s8(svptrue_b8(), panel + i * 4 * lanes));
            unroll<Pairs>([&](auto pair) __attribute__((always_inline)) {
                int32& sums = i % 2 == 0 ? tile[2 * pair][i / 2].low : tile[2 * pair][i / 2].high;
                sums = int32(svusmmla_s32(sums, a[pair], w));
            });
            unroll<Pairs>([&](auto pair) __attribute__((always_inline)) {
                base::pin(i % 2 == 0 ? tile[2 * pair][i / 2].low : tile[2 * pair][i / 2].high);
            });
        });
    }
};
#endif

}  // namespace kernel
}  // namespace v0
}  // namespace zp
