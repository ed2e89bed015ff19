// SPDX-License-Identifier: BSD-3-Clause
// The transforms of Winograd's convolutions F(4x4, 3x3) and F(2x2, 3x3) in integers, with the proof that they are exact.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <zeropoint/kernel/arch/operations.hpp>
#include <zeropoint/kernel/vector/unroll.hpp>

// F(m, 3) computes m neighbouring outputs of a 3-tap filter g from m + 2 inputs d with m + 2 products in place of 3 m:
//
//     scale * y = A [(G g) * (B d)]
//
// and nested over both axes, m x m outputs from (m + 2)^2 products. Lavin and Gray, "Fast Algorithms for Convolutional
// Neural Networks" (2015), have fractions in G. Here each row of G is scaled to integers and A makes up for it, so
// that every output comes out multiplied by scale^2 = 576 or 4, or by a half of it for each time that its row or column of
// A is even. Nothing is ever rounded:
//   - B d and G g fit int16, whatever the codes and the weights (`winograd_proof` below);
//   - sums of their products, and A of them, may wrap modulo 2^32, where additions still agree;
//   - scale^2 is odd * 2^shift: the odd factor has an inverse modulo 2^32, and what is left is y * 2^shift modulo 2^32, or
//     y times a smaller power of two.
// So an arithmetic shift gives y for every |y| < 2^(31 - shift): 2^25 for 4x4, 2^29 for 2x2. Weights for which a sum
// could be larger are found when they are packed, and their input channels split (winograd/pack_winograd.hpp).

namespace zp::inline v0::kernel {

/// What packing has to know of a method, as values.
struct winograd_method {
    int outputs, inputs;       ///< of one tile along an axis: m and m + 2
    int scale;                 ///< of the outputs, along each axis
    int shift;                 ///< scale^2 = odd * 2^shift
    std::uint32_t reciprocal;  ///< of that odd factor, modulo 2^32
    int halvings[4];           ///< how often the scale of each output along an axis is halved

    /// The reciprocal times what makes up for the halvings of a row of outputs.
    constexpr std::int32_t factor(int row) const { return static_cast<std::int32_t>(reciprocal << halvings[row]); }

    constexpr int positions() const { return inputs * inputs; }
    /// Every |sum| below this comes out exact.
    constexpr std::int64_t limit() const { return std::int64_t{1} << (31 - shift); }
};

/// The most inputs of a tile along an axis.
inline constexpr int most_winograd_inputs = 6;

/// F(4x4, 3x3): 36 products for 144, interpolated at 0, 1, -1, 2, -2 and infinity.
struct winograd_4x4 {
    static constexpr winograd_method method{
        .outputs = 4, .inputs = 6, .scale = 24, .shift = 6, .reciprocal = 954437177, .halvings = {0, 1, 2, 2}};

    /// u = G g, given 6
    template <class T>
    [[gnu::always_inline]] static constexpr void transform_kernel(const T (&g)[3], T (&u)[6], T six) {
        const T ends = g[0] + g[2], outer = g[0] + (g[2] << 2), twice = g[1] + g[1];
        u[0] = g[0] * six;
        u[2] = g[1] - ends;
        u[1] = u[2] - twice;
        u[3] = outer + twice;
        u[4] = outer - twice;
        u[5] = g[2] * six;
    }
    /// v = B d
    template <class T> [[gnu::always_inline]] static constexpr void transform_input(const T (&d)[6], T (&v)[6]) {
        const T c = d[4] - d[2], e = d[3] - d[1], twice = e + e;
        const T a = d[4] - (d[2] << 2), b = d[3] - (d[1] << 2);
        v[0] = ((d[0] - d[2]) << 2) + c;
        v[1] = a + b;
        v[2] = a - b;
        v[3] = c + twice;
        v[4] = c - twice;
        v[5] = d[5] - d[3] - (twice + twice);
    }
    /// y = A m, halved
    template <class T> [[gnu::always_inline]] static constexpr void transform_output(const T (&m)[6], T (&y)[4]) {
        const T p = m[1] + m[2], q = m[1] - m[2], r = m[3] + m[4], s = m[3] - m[4];
        y[0] = m[0] + (p << 2) + r;
        y[1] = q + q + s;
        y[2] = p + r;
        y[3] = q + (s + s) + m[5];
    }
};

/// F(2x2, 3x3): 16 products for 36, interpolated at 0, 1, -1 and infinity.
struct winograd_2x2 {
    static constexpr winograd_method method{
        .outputs = 2, .inputs = 4, .scale = 2, .shift = 2, .reciprocal = 1, .halvings = {}};

    /// u = G g
    template <class T> [[gnu::always_inline]] static constexpr void transform_kernel(const T (&g)[3], T (&u)[4], T) {
        const T ends = g[0] + g[2];
        u[0] = g[0] + g[0];
        u[1] = ends + g[1];
        u[2] = ends - g[1];
        u[3] = g[2] + g[2];
    }
    template <class T> [[gnu::always_inline]] static constexpr void transform_input(const T (&d)[4], T (&v)[4]) {
        v[0] = d[0] - d[2];
        v[1] = d[1] + d[2];
        v[2] = d[2] - d[1];
        v[3] = d[1] - d[3];
    }
    template <class T> [[gnu::always_inline]] static constexpr void transform_output(const T (&m)[4], T (&y)[2]) {
        y[0] = m[0] + m[1] + m[2];
        y[1] = m[1] - m[2] - m[3];
    }
};

/// Proofs by enumeration of unit vectors, which linear maps allow.
template <class Winograd> struct winograd_proof {
    static constexpr winograd_method method = Winograd::method;
    static constexpr int outputs = method.outputs, inputs = method.inputs;

    /// scale * y[i], halved, = the sum over k of g[k] * d[i + k], for the k-th unit filter and the j-th unit input.
    static constexpr bool convolves() {
        for (int j = 0; j != inputs; ++j) {
            std::uint32_t d[inputs]{}, v[inputs]{};
            d[j] = 1;
            Winograd::transform_input(d, v);
            for (int k = 0; k != 3; ++k) {
                std::uint32_t g[3]{}, u[inputs]{}, m[inputs]{}, y[outputs]{};
                g[k] = 1;
                Winograd::transform_kernel(g, u, std::uint32_t{6});
                for (int i = 0; i != inputs; ++i) m[i] = v[i] * u[i];
                Winograd::transform_output(m, y);
                for (int i = 0; i != outputs; ++i) {
                    const int scale = method.scale >> method.halvings[i];
                    if (scale << method.halvings[i] != method.scale) return false;
                    if (method.reciprocal == 1 && method.halvings[i] != 0) return false;
                    if (y[i] != (i + k == j ? static_cast<std::uint32_t>(scale) : 0)) return false;
                }
            }
        }
        return true;
    }
    static constexpr bool divides() {
        const auto square = static_cast<std::uint32_t>(method.scale * method.scale);
        return (square >> method.shift << method.shift) == square && (square >> method.shift) * method.reciprocal == 1;
    }
    /// The largest sum of magnitudes in a row of the matrix of a transform: of what it makes, per unit of what it takes.
    template <int Taken, class Transform> static constexpr int growth(Transform transform) {
        int rows[inputs]{}, most = 0;
        for (int j = 0; j != Taken; ++j) {
            std::uint32_t unit[Taken]{}, column[inputs]{};
            unit[j] = 1;
            transform(unit, column);
            for (int i = 0; i != inputs; ++i) {
                const auto entry = static_cast<std::int32_t>(column[i]);
                rows[i] += entry < 0 ? -entry : entry;
            }
        }
        for (const int row : rows) most = row > most ? row : most;
        return most;
    }
    /// Of B along an axis, per unit of |x - x_zero_point|, and of G, per unit of |w - w_zero_point|.
    static constexpr int input_growth() {
        return growth<inputs>([](const auto& d, auto& v) { Winograd::transform_input(d, v); });
    }
    static constexpr int kernel_growth() {
        return growth<3>([](const auto& g, auto& u) { Winograd::transform_kernel(g, u, std::uint32_t{6}); });
    }
    /// 8-bit codes differ by at most 255 from their zero point. A product pair of int16 operands of these sizes stays
    /// within int32, so that dot2 wraps nowhere but in its sum.
    static constexpr int largest_input = 255 * input_growth() * input_growth();
    static constexpr int largest_kernel = 255 * kernel_growth() * kernel_growth();
    static constexpr bool fits() {
        return largest_input <= 32767 && largest_kernel <= 32767 &&
               std::int64_t{2} * largest_input * largest_kernel <= 2147483647;
    }
};

/// All of it, for a method.
template <class Winograd>
inline constexpr bool proven =
    winograd_proof<Winograd>::convolves() && winograd_proof<Winograd>::divides() && winograd_proof<Winograd>::fits();
static_assert(proven<winograd_4x4> && winograd_proof<winograd_4x4>::largest_input == 25500 &&
              winograd_proof<winograd_4x4>::largest_kernel == 12495);
static_assert(proven<winograd_2x2> && winograd_proof<winograd_2x2>::largest_input == 1020 &&
              winograd_proof<winograd_2x2>::largest_kernel == 2295);

/// The values that transforms compute with: vectors, or where there are none, unsigned integers that wrap.
template <class Arch, bool = operations<Arch>::has_batches> struct winograd_lanes {
    using ops = operations<Arch>;
    using words = typename ops::int16;
    using sums = typename ops::int32;
    static constexpr int word_count = 2 * ops::lanes, sum_count = ops::lanes;

    [[gnu::always_inline]] static words load(const std::int16_t* from) { return words::load_unaligned(from); }
    template <class Code> [[gnu::always_inline]] static words load(const Code* from) {
        static_assert(sizeof(Code) == 1);
        return ops::load_widened(from);
    }
    [[gnu::always_inline]] static words word(std::int32_t x) { return words(static_cast<std::int16_t>(x)); }
    [[gnu::always_inline]] static sums sum(std::int32_t x) { return sums(x); }
    [[gnu::always_inline]] static void store(std::int16_t* to, words from) { from.store_unaligned(to); }
    [[gnu::always_inline]] static sums load(const std::int32_t* from) { return sums::load_unaligned(from); }
    [[gnu::always_inline]] static void store(std::int32_t* to, sums from) { from.store_unaligned(to); }
    [[gnu::always_inline]] static sums shift_right(sums x, int bits) { return x >> bits; }

    /// x * method.factor(row) modulo 2^32, given that factor.
    template <class Winograd>
    [[gnu::always_inline]] static sums multiply(sums x, sums factor, [[maybe_unused]] int row) {
        using arch = typename sums::arch_type;
        constexpr std::uint32_t reciprocal = Winograd::method.reciprocal;
        if constexpr (reciprocal == 1) {
            return x;  // without halvings
        } else if constexpr (std::is_base_of_v<xsimd::sse2, arch> && !std::is_base_of_v<xsimd::sse4_1, arch>) {
            // No 32-bit multiplication: 1 / 9 = (1 - 8) (1 + 2^6) (1 + 2^12) (1 + 2^24) modulo 2^32.
            static_assert(reciprocal == (1u - 8) * (1u + (1u << 6)) * (1u + (1u << 12)) * (1u + (1u << 24)));
            x = x - (x << 3);
            x = x + (x << 6);
            x = x + (x << 12);
            return (x + (x << 24)) << Winograd::method.halvings[row];
        } else {
            return x * factor;
        }
    }
};
template <class Arch> struct winograd_lanes<Arch, false> {
    using words = std::uint32_t;
    using sums = std::uint32_t;
    static constexpr int word_count = 1, sum_count = 1;

    static words load(const std::int16_t* from) { return static_cast<words>(*from); }
    static words load(const std::int8_t* from) { return static_cast<words>(*from); }
    static words load(const std::uint8_t* from) { return *from; }
    static words word(std::int32_t x) { return static_cast<words>(x); }
    static sums sum(std::int32_t x) { return static_cast<sums>(x); }
    static void store(std::int16_t* to, words from) { *to = static_cast<std::int16_t>(from); }
    static sums load(const std::int32_t* from) { return static_cast<sums>(*from); }
    static void store(std::int32_t* to, sums from) { *to = static_cast<std::int32_t>(from); }
    static sums shift_right(sums x, int bits) { return static_cast<sums>(static_cast<std::int32_t>(x) >> bits); }
    template <class> static sums multiply(sums x, sums factor, int) { return x * factor; }
};

/// B applied to ones: what a zero point adds, which most rows of B take away themselves.
template <class Winograd> struct winograd_ones {
    std::int32_t transformed[Winograd::method.inputs]{};

    constexpr winograd_ones() {
        std::uint32_t ones[Winograd::method.inputs]{}, sums[Winograd::method.inputs]{};
        for (std::uint32_t& one : ones) one = 1;
        Winograd::transform_input(ones, sums);
        for (int i = 0; i != Winograd::method.inputs; ++i) transformed[i] = static_cast<std::int32_t>(sums[i]);
    }
};

/// The vertical half of the input transform for one column of pixels and `channels` channels (a multiple of word_count):
/// of x - zero_point, from the codes of each of its `inputs` pixels to as many rows of words, `pitch` elements apart.
template <class Arch, class Winograd, class In>
[[gnu::noinline]] void transform_input_column(const In* const* pixels, std::int32_t zero_point, std::ptrdiff_t channels,
                                              std::int16_t* column, std::ptrdiff_t pitch) noexcept {
    using lanes = winograd_lanes<Arch>;
    using value = typename lanes::words;
    constexpr int inputs = Winograd::method.inputs;
    constexpr winograd_ones<Winograd> ones;
    for (std::ptrdiff_t channel = 0; channel != channels; channel += lanes::word_count) {
        value d[inputs], v[inputs];
        unroll<inputs>([&](auto i) __attribute__((always_inline)) { d[i] = lanes::load(pixels[i] + channel); });
        Winograd::transform_input(d, v);
        unroll<inputs>([&](auto i) __attribute__((always_inline)) {
            if constexpr (ones.transformed[i] != 0) v[i] = v[i] - lanes::word(zero_point * ones.transformed[i]);
            lanes::store(column + i * pitch + channel, v[i]);
        });
    }
}

/// The horizontal half for one tile: from its `inputs` columns, as transform_input_column() made them, to a row of each
/// position's operand matrix.
template <class Arch, class Winograd>
[[gnu::noinline]] void transform_input_tile(const std::int16_t* const* columns, std::ptrdiff_t pitch,
                                            std::ptrdiff_t channels, std::int16_t* operands,
                                            std::ptrdiff_t position_pitch) noexcept {
    using lanes = winograd_lanes<Arch>;
    constexpr int inputs = Winograd::method.inputs;
    for (int row = 0; row != inputs; ++row, operands += inputs * position_pitch) {
        const std::int16_t* from[inputs];
        repeat<inputs>([&](int i) __attribute__((always_inline)) { from[i] = columns[i] + row * pitch; });
        for (std::ptrdiff_t channel = 0; channel != channels; channel += lanes::word_count) {
            typename lanes::words d[inputs], v[inputs];
            repeat<inputs>([&](int i) __attribute__((always_inline)) { d[i] = lanes::load(from[i] + channel); });
            Winograd::transform_input(d, v);
            repeat<inputs>([&](int i) __attribute__((always_inline)) {
                lanes::store(operands + i * position_pitch + channel, v[i]);
            });
        }
    }
}

/// G w G^T for `channels` input channels (an even number) of one panel: from [channel / 2][tap][lane][2] codes to
/// [channel / 2][lane][2] operands of each position, whose first elements lie `position_pitch` apart. `zero_points` has
/// those of [lane][2].
template <class Arch, class Winograd>
[[gnu::noinline]] void transform_filters(const std::int8_t* filters, const std::int16_t* zero_points, int channels,
                                         std::int16_t* weights, std::ptrdiff_t position_pitch) noexcept {
    using lanes = winograd_lanes<Arch>;
    using value = typename lanes::words;
    constexpr int inputs = Winograd::method.inputs, row = 2 * panel_width<Arch>, count = lanes::word_count;
    value six(6);
    operations<Arch>::keep(six);  // else shifts and additions would multiply
    for (int channel = 0; channel < channels; channel += 2, filters += 9 * row, weights += row) {
        // Two vectors at a time, because two stores to one cache line take as long as one.
        for (int lane = 0; lane != row; lane += 2 * count) {
            alignas(64) std::int16_t columns[inputs][3][2 * count];
            repeat<3>([&](int k) __attribute__((always_inline)) {
                value u[2][inputs];
                repeat<2>([&](int v) __attribute__((always_inline)) {
                    const value zero_point = lanes::load(zero_points + lane + v * count);
                    value g[3];
                    repeat<3>([&](int i) __attribute__((always_inline)) {
                        g[i] = lanes::load(filters + (3 * i + k) * row + lane + v * count) - zero_point;
                    });
                    Winograd::transform_kernel(g, u[v], six);
                });
                repeat<2 * inputs>([&](int i) __attribute__((always_inline)) {
                    lanes::store(columns[i / 2][k] + i % 2 * count, u[i % 2][i / 2]);
                });
            });
            std::int16_t* to = weights + lane;
#pragma GCC unroll 1
            for (int i = 0; i != inputs; ++i, to += inputs * position_pitch) {  // unrolled, it would need 36 addresses
                value u[2][inputs];
                repeat<2>([&](int v) __attribute__((always_inline)) {
                    value g[3];
                    repeat<3>([&](int k)
                                  __attribute__((always_inline)) { g[k] = lanes::load(columns[i][k] + v * count); });
                    Winograd::transform_kernel(g, u[v], six);
                });
                repeat<2 * inputs>([&](int x) __attribute__((always_inline)) {
                    lanes::store(to + x / 2 * position_pitch + x % 2 * count, u[x % 2][x / 2]);
                });
            }
        }
    }
}

/// The sums of one tile and panel from its products, row by row of the tile, `row_pitch` elements apart. They are added
/// to `bias`, one a channel, or to what `sums` holds where that is null.
template <class Arch, class Winograd>
[[gnu::noinline]] void transform_output_tile(const std::int32_t* products, std::ptrdiff_t position_pitch,
                                             const std::int32_t* bias, std::int32_t* sums,
                                             std::ptrdiff_t row_pitch) noexcept {
    using lanes = winograd_lanes<Arch>;
    using value = typename lanes::sums;
    constexpr winograd_method method = Winograd::method;
    constexpr int outputs = method.outputs, inputs = method.inputs, width = panel_width<Arch>;
    static constexpr std::int32_t factors[] = {method.factor(0), method.factor(1), method.factor(2), method.factor(3)};
    // The same loads for both: from one vector of biases, or from every sum.
    const std::int32_t* start = bias != nullptr ? bias : sums;
    const std::ptrdiff_t start_row = bias != nullptr ? 0 : row_pitch, start_pixel = bias != nullptr ? 0 : width;
    for (int channel = 0; channel != width; channel += lanes::sum_count) {
        value columns[outputs][inputs];
        for (int x = 0; x != inputs; ++x) {
            value m[inputs], y[outputs];
            repeat<inputs>([&](int i) __attribute__((always_inline)) {
                m[i] = lanes::load(products + (i * inputs + x) * position_pitch + channel);
            });
            Winograd::transform_output(m, y);
            repeat<outputs>([&](int i) __attribute__((always_inline)) { columns[i][x] = y[i]; });
        }
        for (int row = 0; row != outputs; ++row) {
            value y[outputs];
            Winograd::transform_output(columns[row], y);
            const value factor = lanes::sum(factors[row]);
            repeat<outputs>([&](int i) __attribute__((always_inline)) {
                const value exact = lanes::shift_right(lanes::template multiply<Winograd>(y[i], factor, row),
                                                       method.shift - method.halvings[i]);
                lanes::store(sums + row * row_pitch + i * width + channel,
                             exact + lanes::load(start + row * start_row + i * start_pixel + channel));
            });
        }
    }
}

}  // namespace zp::inline v0::kernel
