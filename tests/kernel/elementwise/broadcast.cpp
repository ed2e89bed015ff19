// SPDX-License-Identifier: BSD-3-Clause
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/elementwise/broadcast.hpp>
#include <zeropoint/kernel/elementwise/div.hpp>
#include <zeropoint/kernel/elementwise/mul.hpp>
#include <zeropoint/kernel/float/float_binary.hpp>
#include <zeropoint/kernel/reference/elementwise.hpp>

#include "../support/binary_problem.hpp"

namespace {

namespace kernel = zp::kernel;

using namespace binary_problem;

/// The value of an operand for a position of the result.
template <class T> T value_at(const std::vector<T>& x, const zp::shape& own, const zp::shape& full, int position) {
    const int c = position % full.channels, column = position / full.channels % full.width,
              row = position / full.channels / full.width;
    const int from =
        ((own.depth * own.height == 1 ? 0 : row) * own.width + (own.width == 1 ? 0 : column)) * own.channels +
        (own.channels == 1 ? 0 : c);
    return x[static_cast<std::size_t>(from)];
}

/// All of `full` laid out as plain loops see it.
template <class T> std::vector<T> spread(const std::vector<T>& x, const zp::shape& own, const zp::shape& full) {
    std::vector<T> values;
    for (int i = 0; i != full.size(); ++i) values.push_back(value_at(x, own, full, i));
    return values;
}

zp::shape random_extents(zp_test::generator& next) {
    const int kind = next.integer(0, 3);
    return {next.integer(1, 7), next.integer(1, 7),
            kind == 0   ? next.integer(500, 600)
            : kind == 1 ? next.integer(60, 130)
                        : next.integer(1, 40),
            next.integer(0, 2) == 0 ? next.integer(2, 4) : 1};
}
/// Some axes of `full`, the others 1: each of the eight kinds. Depth goes with height.
zp::shape part_of(const zp::shape& full, int kind) {
    return {(kind & 1) != 0 ? full.height : 1, (kind & 2) != 0 ? full.width : 1, (kind & 4) != 0 ? full.channels : 1,
            (kind & 1) != 0 ? full.depth : 1};
}
std::size_t size_of(const zp::shape& s) { return static_cast<std::size_t>(s.size()); }

template <class T> void random_codes(std::uint64_t seed) {
    zp_test::generator next(seed);
    for (int i = 0; i != zp_test::fewer(500); ++i) {
        const zp::shape full = random_extents(next);
        const bool swap = next.integer(0, 1) == 1;
        const zp::shape part = part_of(full, i % 8), other = next.integer(0, 3) == 0 ? part_of(full, i / 8 % 8) : full;
        const zp::shape a_shape = swap ? part : other, b_shape = swap ? other : part;
        const auto a = arrays::codes<T>(size_of(a_shape), next()), b = arrays::codes<T>(size_of(b_shape), next());
        const operand_grid of_a = random_grid<T>(next), of_b = random_grid<T>(next);
        const output_grid of_y = random_output<T>(next, 16 * of_a.scale / of_b.scale);
        const auto parameters =
            kernel::make_div_parameters(of_a.scale, of_a.zero_point, of_b.scale, of_b.zero_point, of_y.scale,
                                        of_y.zero_point, of_y.quant_min, of_y.quant_max);
        std::vector<T> expected;
        for (int k = 0; k != full.size(); ++k)
            expected.push_back(static_cast<T>(
                reference::div(value_at(a, a_shape, full, k), of_a, value_at(b, b_shape, full, k), of_b, of_y)));
        arrays::for_each_architecture([&]<class Arch>() {
            const auto run = [&](const T* from, T* to) {
                kernel::for_each_broadcast<Arch>(from, a_shape, b.data(), b_shape, full,
                                                 [&](const T* x, const T* z, std::size_t count, std::size_t first) {
                                                     kernel::div<Arch>(x, z, count, parameters, to + first);
                                                 });
            };
            std::vector<T> y(size_of(full));
            run(a.data(), y.data());
            CHECK(y == expected);
            if (a_shape == full) {
                std::vector<T> in_place = a;
                run(in_place.data(), in_place.data());
                CHECK(in_place == expected);
            }
        });
    }
}

}  // namespace

TEST_CASE("broadcast: which extents spread over which") {
    static_assert(kernel::broadcasts({1, 1, 8}, {4, 5, 8}));
    static_assert(kernel::broadcasts({1, 1, 1}, {4, 5, 8}));
    static_assert(kernel::broadcasts({4, 5, 1}, {4, 5, 8}));
    static_assert(kernel::broadcasts({4, 5, 8}, {4, 5, 8}));
    static_assert(!kernel::broadcasts({1, 1, 4}, {4, 5, 8}));
    static_assert(!kernel::broadcasts({4, 2, 8}, {4, 5, 8}));
    static_assert(!kernel::broadcasts({2, 5, 8}, {1, 5, 8}));
    static_assert(kernel::broadcasts({1, 5, 8}, {4, 5, 8, 3}));
    static_assert(kernel::broadcasts({4, 5, 1, 3}, {4, 5, 8, 3}));
    static_assert(!kernel::broadcasts({4, 5, 8}, {4, 5, 8, 3}));
    static_assert(!kernel::broadcasts({1, 5, 8, 3}, {4, 5, 8, 3}));
}

TEST_CASE("broadcast: codes, either operand smaller along any axes") {
    random_codes<std::uint8_t>(41);
    random_codes<std::int8_t>(42);
}

TEST_CASE("broadcast: the vector of a squeeze-and-excitation times an image") {
    const zp::shape full{5, 3, 72}, vector{1, 1, 72};
    const auto a = arrays::codes<std::uint8_t>(size_of(full), 1), b = arrays::codes<std::uint8_t>(72, 2);
    const auto parameters = kernel::make_mul_parameters(0.05f, 100, 1.0f / 256, 0, 0.04f, 90, 0, 255);
    arrays::for_each_architecture([&]<class Arch>() {
        std::vector<std::uint8_t> y(size_of(full));
        kernel::for_each_broadcast<Arch>(
            a.data(), full, b.data(), vector, full,
            [&](const std::uint8_t* x, const std::uint8_t* z, std::size_t count, std::size_t first) {
                kernel::mul<Arch>(x, z, count, parameters, y.data() + first);
            });
        for (std::size_t i = 0; i != y.size(); ++i)
            CHECK(y[i] == kernel::reference::mul(a[i], 0.05f, 100, b[i % 72], 1.0f / 256, 0, 0.04f, 90, 0, 255));
    });
}

TEST_CASE("broadcast: floats") {
    zp_test::generator next(43);
    for (int i = 0; i != zp_test::fewer(500); ++i) {
        const zp::shape full = random_extents(next), part = part_of(full, i % 8);
        const auto a = arrays::reals(size_of(full), next()), b = arrays::reals(size_of(part), next());
        const auto wide = spread(b, part, full);
        arrays::for_each_architecture([&]<class Arch>() {
            std::vector<float> y(a.size()), expected(a.size());
            kernel::float_binary<Arch, kernel::binary::sub>(a.data(), wide.data(), a.size(), -1.0f, 3.0f,
                                                            expected.data());
            kernel::for_each_broadcast<Arch>(a.data(), full, b.data(), part, full,
                                             [&](const float* x, const float* z, std::size_t count, std::size_t first) {
                                                 kernel::float_binary<Arch, kernel::binary::sub>(
                                                     x, z, count, -1.0f, 3.0f, y.data() + first);
                                             });
            CHECK(arrays::same_bits(y, expected));
        });
    }
}
