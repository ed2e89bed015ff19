// SPDX-License-Identifier: BSD-3-Clause
// Matrix products of two activations against the definition: odd extents, both orders of b, gaps between rows, heads.
#include <zeropoint/kernel/float/float_matmul.hpp>
#include <zeropoint/kernel/gemm/matmul.hpp>
#include <zeropoint/kernel/reference/matmul.hpp>

#include "../support/convolution_problem.hpp"

using namespace zp_test;

namespace {

namespace kernel = zp::kernel;
using kernel::matmul_geometry;

// Values that matrices of this layout span.
std::size_t span_of(const kernel::matrix_layout& layout, int batches, int rows, int columns) {
    return static_cast<std::size_t>((batches - 1) * layout.batch_pitch + (rows - 1) * layout.row_pitch + columns);
}
std::size_t size_of_a(const matmul_geometry& g) { return span_of(g.a, g.batches, g.rows, g.depth); }
std::size_t size_of_b(const matmul_geometry& g) {
    return g.transposed ? span_of(g.b, g.batches, g.columns, g.depth) : span_of(g.b, g.batches, g.depth, g.columns);
}
std::size_t size_of_y(const matmul_geometry& g) { return span_of(g.y, g.batches, g.rows, g.columns); }

// Dense, with gaps, heads side by side in a row, or one b for all batches.
matmul_geometry random_geometry(random_engine& random) {
    const auto extent = [&] { return uniform(random, 0, 3) == 0 ? uniform(random, 1, 4) : uniform(random, 1, 70); };
    matmul_geometry g = kernel::dense_matmul(extent(), extent(), extent(), uniform(random, 0, 1) == 1,
                                             uniform(random, 0, 1) == 0 ? 1 : uniform(random, 2, 4));
    if (uniform(random, 0, 9) == 0) g = kernel::dense_matmul(uniform(random, 1, 3), 1024, 5, g.transposed, 1);
    const int kind = uniform(random, 0, 3);
    if (kind == 1) {
        g.a.row_pitch += 3, g.b.row_pitch += 1, g.y.row_pitch += 2;
        g.a.batch_pitch = 71 * g.a.row_pitch, g.b.batch_pitch = 1025 * g.b.row_pitch;
        g.y.batch_pitch = 73 * g.y.row_pitch;
    }
    if (kind == 2) {
        for (kernel::matrix_layout* layout : {&g.a, &g.b, &g.y}) {
            layout->batch_pitch = layout->row_pitch;
            layout->row_pitch *= g.batches;
        }
    }
    if (kind == 3) g.b.batch_pitch = 0;
    return g;
}

std::string describe(const matmul_geometry& g) {
    return std::to_string(g.batches) + " x " + std::to_string(g.rows) + " x " + std::to_string(g.depth) + " x " +
           std::to_string(g.columns) + (g.transposed ? ", transposed" : "");
}

template <class Arch, class A, class B, class Out, class Epilogue>
std::vector<Out> run_matmul(const matmul_geometry& g, const std::vector<A>& a, std::int32_t a_zero,
                            const std::vector<B>& b, std::int32_t b_zero, const Epilogue& epilogue, Out untouched) {
    zp::aligned_buffer scratch(kernel::matmul_plan<Arch>(g).scratch_bytes);
    std::memset(scratch.data(), 0xa5, scratch.size());
    std::vector<Out> y(size_of_y(g), untouched);
    kernel::matmul<Arch>(g, a.data(), a_zero, b.data(), b_zero, epilogue, y.data(), scratch.data());
    return y;
}

template <class A, class B> void check_sums(int count, unsigned seed) {
    random_engine random(seed);
    for (int i = 0; i != zp_test::fewer(count); ++i) {
        const matmul_geometry g = random_geometry(random);
        const activation_codes left = pick_codes<A>(random), right = pick_codes<B>(random);
        const auto a = fill<A>(random, size_of_a(g), pick_operands(random), std::numeric_limits<A>::min(),
                               std::numeric_limits<A>::max());
        const auto b = fill<B>(random, size_of_b(g), pick_operands(random), std::numeric_limits<B>::min(),
                               std::numeric_limits<B>::max());
        std::vector<std::int32_t> expected(size_of_y(g), -7);
        kernel::reference::matmul(g, a.data(), left.zero_point, b.data(), right.zero_point, kernel::accumulators{},
                                  expected.data());
        for_each_architecture([&](auto architecture) {
            using arch = decltype(architecture);
            INFO(kernel::operations<arch>::name, " ", kernel::panel_width<arch>, ": ", describe(g));
            CHECK(
                (run_matmul<arch>(g, a, left.zero_point, b, right.zero_point, kernel::accumulators{}, -7) == expected));
        });
    }
}

template <class T> void check_codes(unsigned seed) {
    random_engine random(seed);
    for (int i = 0; i != zp_test::fewer(500); ++i) {
        const matmul_geometry g = random_geometry(random);
        const std::int32_t left = pick_codes<T>(random).zero_point, right = pick_codes<T>(random).zero_point;
        using limits = std::numeric_limits<T>;
        const auto a = fill<T>(random, size_of_a(g), operands::random, limits::min(), limits::max());
        const auto b = fill<T>(random, size_of_b(g), operands::random, limits::min(), limits::max());
        const kernel::nearest_even_per_tensor epilogue{
            static_cast<float>(uniform(random, 1, 2000)) * 1e-6f,
            {uniform(random, limits::min(), limits::max()), limits::min() + 3, limits::max() - 5, nullptr}};
        const std::vector<float> scales(static_cast<std::size_t>(g.columns), 0.37f);
        const kernel::dequantize_to_float to_float{scales.data()};
        std::vector<T> expected(size_of_y(g), T{77});
        std::vector<float> real(size_of_y(g), -1.0f);
        kernel::reference::matmul(g, a.data(), left, b.data(), right, epilogue, expected.data());
        kernel::reference::matmul(g, a.data(), left, b.data(), right, to_float, real.data());
        for_each_vector_width([&](auto architecture) {
            using arch = decltype(architecture);
            INFO(kernel::operations<arch>::name, " ", kernel::panel_width<arch>, ": ", describe(g));
            CHECK((run_matmul<arch>(g, a, left, b, right, epilogue, T{77}) == expected));
            CHECK((run_matmul<arch>(g, a, left, b, right, to_float, -1.0f) == real));
        });
    }
}

}  // namespace

TEST_CASE("matmul: random problems, uint8 times int8") { check_sums<std::uint8_t, std::int8_t>(500, 41); }
TEST_CASE("matmul: random problems, int8 times uint8") { check_sums<std::int8_t, std::uint8_t>(500, 42); }
TEST_CASE("matmul: codes and floats through an epilogue of one multiplier") {
    check_codes<std::uint8_t>(43);
    check_codes<std::int8_t>(44);
}

TEST_CASE("matmul: the largest depth does not overflow") {
    const matmul_geometry g = kernel::dense_matmul(2, kernel::largest_matmul_depth, 3);
    const std::vector<std::uint8_t> a(size_of_a(g), 255), b(size_of_b(g), 255);
    const std::vector<std::int32_t> sums(6, 255 * 255 * kernel::largest_matmul_depth);
    using arch = zp::default_architecture;
    CHECK(run_matmul<arch>(g, a, 0, b, 0, kernel::accumulators{}, 0) == sums);
}

TEST_CASE("matmul_float: the same bits on every architecture") {
    random_engine random(45);
    for (int i = 0; i != zp_test::fewer(500); ++i) {
        const matmul_geometry g = random_geometry(random);
        const auto reals = [&](std::size_t count) {
            std::vector<float> values(count);
            for (float& value : values) value = static_cast<float>(uniform(random, -100000, 100000)) * 1.1e-3f;
            return values;
        };
        const auto a = reals(size_of_a(g)), b = reals(size_of_b(g));
        std::vector<float> expected(size_of_y(g), -1.0f);
        kernel::reference::matmul_float(g, a.data(), b.data(), expected.data());
        for_each_vector_width([&](auto architecture) {
            using arch = std::conditional_t<std::is_same_v<decltype(architecture), odd_architecture>, zp::portable,
                                            decltype(architecture)>;
            INFO(zp::name_of<arch>(), ": ", describe(g));
            std::vector<float> y(size_of_y(g), -1.0f), scratch(kernel::matmul_float_scratch<arch>(g), -1e9f);
            kernel::matmul_float<arch>(g, a.data(), b.data(), y.data(), scratch.data());
            CHECK((y == expected));
        });
    }
}
