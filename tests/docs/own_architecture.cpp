// SPDX-License-Identifier: BSD-3-Clause
// The code of the page on architectures: the primitives of a new one, on the vectors of the machine that runs the tests.
#include <cstdint>

#include <doctest/doctest.h>
#include <zeropoint/kernel/convolution/conv2d.hpp>

#include "../kernel/support/convolution_problem.hpp"

struct my_tag : xsimd::default_arch {};
// [operations]
struct my_operations : zp::kernel::vector_operations<my_operations, xsimd::default_arch> {
    static constexpr const char* name = "my_tag";
    static constexpr int tile_rows = 3, vectors = 4;  // sums, one row of weights, two more <= registers
    static constexpr zp::kernel::quad_products quads = zp::kernel::quad_products::exact;
    static constexpr double byte_products = 100, word_products = 50;  // measured: bench_gemm, GOPS / 2

    [[gnu::always_inline]] static void dot2(int32& sums, const int16& a, const int16& b) {
        // Your instruction here. This is what it computes:
        const int32 x = xsimd::bitwise_cast<std::int32_t>(a), y = xsimd::bitwise_cast<std::int32_t>(b);
        sums += ((x << 16) >> 16) * ((y << 16) >> 16) + (x >> 16) * (y >> 16);
    }
};
// [/operations]
template <> struct zp::kernel::operations_of<my_tag> { using type = my_operations; };

TEST_CASE("architectures: the least that a new one needs multiplies exactly") {
    zp_test::random_engine random(5);
    const zp_test::conv2d_geometry geometries[] = {
        {.in = {7, 1, 70}, .out = {7, 1, 45}},
        {.in = {9, 8, 13}, .out = {7, 6, 33}, .kernel_height = 3, .kernel_width = 3},
    };
    for (const zp_test::conv2d_geometry& g : geometries) {
        const zp_test::problem<std::uint8_t, std::int8_t> p(random, g, {99, 0, 255}, zp_test::operands::random,
                                                            zp_test::operands::random, true);
        CHECK(zp_test::accumulates_exactly<my_tag>(p, zp_test::conv2d_algorithm::implicit_gemm));
    }
}
