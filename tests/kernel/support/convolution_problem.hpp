// SPDX-License-Identifier: BSD-3-Clause
// Random and extreme convolution problems for the kernel tests, in buffers of exact size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/convolution/conv2d.hpp>
#include <zeropoint/kernel/reference/conv2d.hpp>

#include "../../support/extent.hpp"

namespace zp_test {

using zp::kernel::activation_codes;
using zp::kernel::conv2d_algorithm;
using zp::kernel::conv2d_geometry;

/// An architecture of odd sizes, so that loops are tested where no extent is a power of two.
struct odd_architecture {};
}  // namespace zp_test

namespace zp::kernel {
/// Of one vector, and of tiles of two panels.
struct odd_operations : portable_operations<3, 5, 1> {
    static constexpr int paired_rows = 2;
};
template <> struct operations_of<zp_test::odd_architecture> { using type = odd_operations; };
/// The same with two vectors, and with pair sums that saturate, so that every kind of panel is tested everywhere.
struct odd_saturating_operations : portable_operations<2, 3, 2> {
    static constexpr quad_products quads = quad_products::saturating_pairs;
    using portable_operations<2, 3, 2>::dot4;
    static int16 pair_sums(const vector<std::uint8_t, 4>& a, const int8& b) {
        int16 sums;
        for (int i = 0; i != 2 * lanes; ++i) {
            const int first = i % 2 * 2;
            int sum = a.value[first] * b.value[2 * i] + a.value[first + 1] * b.value[2 * i + 1];
            // Clang 19 and 21 make vectors of AVX-512 of these, and of some lanes others' sums.
            asm("" : "+r"(sum));
            sums.value[i] = static_cast<std::int16_t>(sum < -32768 ? -32768 : sum > 32767 ? 32767 : sum);
        }
        return sums;
    }
    static void add_pair_sums(int16& sums, const vector<std::uint8_t, 4>& a, const int8& b) {
        const int16 more = pair_sums(a, b);
        for (int i = 0; i != 2 * lanes; ++i) sums.value[i] = static_cast<std::int16_t>(sums.value[i] + more.value[i]);
    }
    static void dot4(int32& sums, const vector<std::uint8_t, 4>& a, const int8& b) {
        add_widened(sums, pair_sums(a, b));
    }
    static void dot4_flipped(int32& sums, const vector<std::uint8_t, 4>& a, const vector<std::uint8_t, 4>& flips,
                             const std::int8_t* b) {
        int8 flipped = load<int8>(b);
        for (int i = 0; i != 4 * lanes; ++i)
            flipped.value[i] = static_cast<std::int8_t>(flipped.value[i] ^ flips.value[i % 4]);
        dot4(sums, a, flipped);
    }
};
/// The same with signed quads and blocks of a row's elements, as Arm has them.
struct odd_signed_operations : portable_operations<3, 3, 2> {
    static constexpr quad_products quads = quad_products::exact_signed;
    template <class Activation> static constexpr int block_length = 16 / sizeof(Activation);
    template <class Activation> static constexpr int most_rows(int) { return sizeof(Activation) == 1 ? 3 : 2; }
    struct two_sums {
        int32 first, second;
    };
    template <class> using block_sums = two_sums;
    static void clear(two_sums& sums) { sums = {}; }

    static void dot4(int32& sums, const vector<std::uint8_t, 4>& a, const int8& b) {
        for (int i = 0; i != 4 * lanes; ++i)
            add_wrapping(sums.value[i / 4], static_cast<std::int8_t>(a.value[i % 4]) * b.value[i]);
    }
    static void dot4(int32& sums, const uint8& a, const int8& b) {
        for (int i = 0; i != 4 * lanes; ++i)
            add_wrapping(sums.value[i / 4], static_cast<std::int8_t>(a.value[i]) * b.value[i]);
    }
    template <int Rows, int Vectors>
    static void multiply_block(two_sums (&tile)[Rows][Vectors], const std::uint8_t* const (&rows)[Rows],
                               std::ptrdiff_t k, const std::int8_t* panel) {
        for (int i = 0; i != 4 * vectors; ++i)
            for (int row = 0; row != Rows; ++row)
                dot4(i % 3 == 0 ? tile[row][i % vectors].first : tile[row][i % vectors].second,
                     broadcast(rows[row] + k + i / vectors * 4), load<int8>(panel + i * 4 * lanes));
    }
    template <int Rows, int Vectors>
    static void multiply_block(two_sums (&tile)[Rows][Vectors], const std::int16_t* const (&rows)[Rows],
                               std::ptrdiff_t k, const std::int16_t* panel) {
        for (int i = 0; i != 4 * vectors; ++i)
            for (int row = 0; row != Rows; ++row)
                dot2(i % 3 == 0 ? tile[row][i % vectors].first : tile[row][i % vectors].second,
                     broadcast(rows[row] + k + i / vectors * 2), load<int16>(panel + i * 2 * lanes));
    }
    template <int Rows, int Vectors, class Activation, class Weight>
    static void multiply_step(two_sums (&tile)[Rows][Vectors], const Activation* const (&rows)[Rows], std::ptrdiff_t k,
                              const Weight* panel) {
        for (int i = 0; i != Rows * Vectors; ++i) {
            int32& sums = tile[i / Vectors][i % Vectors].first;
            const Activation* from = rows[i / Vectors] + k;
            if constexpr (sizeof(Activation) == 1)
                dot4(sums, broadcast(from), load<int8>(panel + i % Vectors * 4 * lanes));
            else dot2(sums, broadcast(from), load<int16>(panel + i % Vectors * 2 * lanes));
        }
    }
    template <int Rows, int Vectors>
    static void add_blocks(int32 (&tile)[Rows][Vectors], const two_sums (&blocks)[Rows][Vectors]) {
        for (int i = 0; i != Rows * Vectors; ++i) {
            add(tile[i / Vectors][i % Vectors], blocks[i / Vectors][i % Vectors].first);
            add(tile[i / Vectors][i % Vectors], blocks[i / Vectors][i % Vectors].second);
        }
    }
};
/// Exact for codes of seven bits alone, as the relaxed dot products of WebAssembly.
struct odd_seven_bit_operations : portable_operations<2, 3, 2> {
    static constexpr quad_products quads = quad_products::seven_bits;
};
}  // namespace zp::kernel
namespace zp_test {
struct odd_seven_bit_architecture {};
struct odd_saturating_architecture {};
struct odd_signed_architecture {};
}  // namespace zp_test
namespace zp::kernel {
template <> struct operations_of<zp_test::odd_saturating_architecture> { using type = odd_saturating_operations; };
template <> struct operations_of<zp_test::odd_seven_bit_architecture> { using type = odd_seven_bit_operations; };
template <> struct operations_of<zp_test::odd_signed_architecture> { using type = odd_signed_operations; };
}  // namespace zp::kernel

namespace zp_test {

using random_engine = std::mt19937;
inline int uniform(random_engine& random, int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
}

/// How operands are filled.
enum class operands { random, small, highest, lowest, alternating, outlier, count };

template <class T> std::vector<T> fill(random_engine& random, std::size_t count, operands kind, int low, int high) {
    std::vector<T> values(count);
    for (std::size_t i = 0; i != count; ++i) {
        int value = 0;
        switch (kind) {
            case operands::random: value = uniform(random, low, high); break;
            case operands::small: value = uniform(random, low / 2, high / 2); break;
            case operands::highest: value = high; break;
            case operands::lowest: value = low; break;
            case operands::alternating: value = i % 2 == 0 ? high : low; break;
            default: value = low <= 0 ? 0 : low; break;
        }
        values[i] = static_cast<T>(value);
    }
    if (kind == operands::outlier && count != 0)
        values[static_cast<std::size_t>(uniform(random, 0, static_cast<int>(count) - 1))] = static_cast<T>(high);
    return values;
}

/// A convolution with its operands.
template <class In, class Weight> struct problem {
    conv2d_geometry geometry;
    activation_codes codes;
    std::vector<In> x;
    std::vector<Weight> weights;
    std::vector<std::int32_t> zero_points, bias;

    problem(random_engine& random, const conv2d_geometry& g, activation_codes range, operands x_kind,
            operands weight_kind, bool affine)
        : geometry(g), codes(range) {
        using limits = std::numeric_limits<Weight>;
        const auto outputs = static_cast<std::size_t>(g.out.channels);
        x = fill<In>(random, static_cast<std::size_t>(g.in.size()), x_kind, codes.min, codes.max);
        weights = fill<Weight>(random, outputs * static_cast<std::size_t>(g.depth()), weight_kind, limits::min(),
                               limits::max());
        if (affine) {
            for (std::size_t i = 0; i != outputs; ++i) {
                const int ends[] = {limits::min(), limits::max(), uniform(random, limits::min(), limits::max())};
                zero_points.push_back(ends[uniform(random, 0, 2)]);
            }
        }
        if (uniform(random, 0, 3) != 0) bias = fill<std::int32_t>(random, outputs, operands::random, -1000000, 1000000);
    }
    zp::kernel::conv2d_weights<Weight> view() const {
        return {weights.data(), zero_points.empty() ? nullptr : zero_points.data(),
                bias.empty() ? nullptr : bias.data()};
    }
};

/// The ranges and zero points that activations of a storage type can have: full and reduced, zero points at both ends.
template <class In> activation_codes pick_codes(random_engine& random) {
    const bool is_signed = std::numeric_limits<In>::is_signed;
    activation_codes codes{0, std::numeric_limits<In>::min(), std::numeric_limits<In>::max()};
    if (uniform(random, 0, 2) == 0) codes = is_signed ? activation_codes{0, -64, 63} : activation_codes{0, 0, 127};
    const int zero_points[] = {codes.min, codes.max, 0, uniform(random, codes.min, codes.max)};
    codes.zero_point = zero_points[uniform(random, 0, 3)];
    return codes;
}

inline operands pick_operands(random_engine& random) {
    const int kind = uniform(random, 0, 2 * static_cast<int>(operands::count));
    return kind < static_cast<int>(operands::count) ? static_cast<operands>(kind) : operands::random;
}

inline std::string describe(const conv2d_geometry& g) {
    const auto pair = [](int a, int b) { return std::to_string(a) + "x" + std::to_string(b); };
    return to_string(g.in) + " -> " + to_string(g.out) + ", kernel " + pair(g.kernel_height, g.kernel_width) +
           ", stride " + pair(g.stride_height, g.stride_width) + ", padding " + pair(g.padding_top, g.padding_left) +
           ", dilation " + pair(g.dilation_height, g.dilation_width) + ", groups " + std::to_string(g.groups);
}

/// The output of an algorithm, in a buffer of exact size. Scratch and output hold rubbish before.
template <class Arch, class Out, class In, class Weight, class Epilogue>
std::vector<Out> run(const problem<In, Weight>& p, conv2d_algorithm algorithm, const Epilogue& epilogue) {
    using namespace zp::kernel;
    zp::aligned_buffer packed(conv2d_packed_bytes<Arch>(p.geometry, algorithm, p.view().affine()));
    zp::aligned_buffer scratch(conv2d_scratch_bytes<Arch>(p.geometry, algorithm));
    if (scratch.size() != 0) std::memset(scratch.data(), 0xa5, scratch.size());
    std::vector<Out> y(static_cast<std::size_t>(p.geometry.out.size()), static_cast<Out>(77));
    pack_conv2d<Arch>(p.geometry, algorithm, p.view(), p.codes, packed.data());
    conv2d<Arch>(p.geometry, algorithm, p.x.data(), p.codes, packed.data(), epilogue, y.data(), scratch.data());
    return y;
}

template <class Out, class In, class Weight, class Epilogue>
std::vector<Out> expected(const problem<In, Weight>& p, const Epilogue& epilogue) {
    std::vector<Out> y(static_cast<std::size_t>(p.geometry.out.size()));
    const auto weights = p.view();
    zp::kernel::reference::conv2d(p.geometry, p.x.data(), p.codes.zero_point, weights.values, weights.zero_points,
                                  weights.bias, epilogue, y.data());
    return y;
}

/// Checks the raw accumulators of one algorithm against the reference; gives whether they are equal.
template <class Arch, class In, class Weight>
bool accumulates_exactly(const problem<In, Weight>& p, conv2d_algorithm algorithm) {
    const zp::kernel::accumulators raw;
    return run<Arch, std::int32_t>(p, algorithm, raw) == expected<std::int32_t>(p, raw);
}

/// Runs `check(Arch{})` for the vectors this binary was compiled for, and for tiles in plain C++. Narrower vectors of the same
/// machine are rows of scripts/architectures.
template <class Check> void for_each_vector_width(Check check) {
#if !ZEROPOINT_TEST_ONE_ARCHITECTURE
    check(odd_architecture{});
#endif
    check(zp::default_architecture{});
}

/// The same, and for each shape of tile.
template <class Check> void for_each_architecture(Check check) {
#if !ZEROPOINT_TEST_ONE_ARCHITECTURE
    check(zp::portable{});
    check(odd_saturating_architecture{});
    check(odd_signed_architecture{});
#endif
    for_each_vector_width(check);
}

}  // namespace zp_test
