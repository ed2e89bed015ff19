// SPDX-License-Identifier: BSD-3-Clause
// Whole tiles by a model of tile registers: convolutions, products and panels of an architecture like AMX, on any machine.
#include <vector>

#include <zeropoint/kernel/gemm/matmul.hpp>
#include <zeropoint/kernel/gemm/small_linear.hpp>
#include <zeropoint/kernel/reference/matmul.hpp>

#include "../support/convolution_problem.hpp"
#include "../support/tile_model.hpp"

using namespace zp_test;

namespace {

namespace kernel = zp::kernel;

/// The model, and the machine's own tiles where the tests are compiled for them.
template <class Check> void for_each_tile_architecture(Check check) {
    check(tile_architecture{});
    if constexpr (kernel::has_whole_tiles<zp::default_architecture>) check(zp::default_architecture{});
}

/// A machine with nothing in its registers.
struct fresh_machine {
    fresh_machine() { tile_model::now = tile_machine(); }
    ~fresh_machine() {
        CHECK(tile_model::now.faults == 0);
        CHECK_FALSE(tile_model::now.is_configured);
    }
};

template <class In> void check_sums(const problem<In, std::int8_t>& p) {
    INFO(describe(p.geometry), ", zero point ", p.codes.zero_point);
    const std::vector<std::int32_t> right = expected<std::int32_t>(p, kernel::accumulators{});
    for_each_tile_architecture([&](auto architecture) {
        using arch = decltype(architecture);
        CHECK((run<arch, std::int32_t>(p, conv2d_algorithm::implicit_gemm, kernel::accumulators{}) == right));
    });
}

conv2d_geometry matrix(int rows, int channels, int depth) {
    return {.in = {rows, 1, depth}, .out = {rows, 1, channels}};
}

/// Of one to three taps a side, with all that makes rows lie unequally apart.
conv2d_geometry random_geometry(random_engine& random) {
    for (;;) {
        conv2d_geometry g;
        g.kernel_height = uniform(random, 1, 3), g.kernel_width = uniform(random, 1, 3);
        g.stride_height = uniform(random, 1, 2), g.stride_width = uniform(random, 1, 2);
        if (uniform(random, 0, 2) == 0) g.dilation_height = 2, g.dilation_width = uniform(random, 1, 2);
        if (uniform(random, 0, 1) == 0) g.padding_top = uniform(random, 0, 2), g.padding_left = uniform(random, 0, 2);
        g.groups = uniform(random, 0, 3) == 0 ? 2 : 1;
        const int group_in = uniform(random, 0, 1) == 0 ? 4 * uniform(random, 1, 24) : uniform(random, 1, 70);
        g.in = {uniform(random, 3, 12), uniform(random, 3, 12), g.groups * group_in};
        const int reach_y = g.in.height + 2 * g.padding_top - g.window_height(),
                  reach_x = g.in.width + 2 * g.padding_left - g.window_width();
        if (reach_y < 0 || reach_x < 0) continue;
        g.out = {reach_y / g.stride_height + 1, reach_x / g.stride_width + 1, g.groups * uniform(random, 1, 70)};
        return g;
    }
}

}  // namespace

TEST_CASE("tile products: depths around whole tiles, rows and channels around theirs") {
    const fresh_machine machine;
    random_engine random(1);
    for (const int depth : {4, 29, 33, 60, 63, 64, 65, 68, 125, 128, 192, 200, 1000})
        for (const int rows : {3, 4, 15, 16, 20, 31, 32, 36, 49, 65})  // 4 that are left take a tile, 1 takes none
            check_sums(problem<std::uint8_t, std::int8_t>(random, matrix(rows, uniform(random, 1, 70), depth),
                                                          pick_codes<std::uint8_t>(random), pick_operands(random),
                                                          pick_operands(random), false));
    for (const int channels : {1, 15, 16, 17, 31, 32, 33, 64, 65})
        check_sums(problem<std::int8_t, std::int8_t>(random, matrix(100, channels, 80), pick_codes<std::int8_t>(random),
                                                     operands::random, operands::random, false));
    CHECK(tile_model::now.products > 1000);
}

TEST_CASE("tile products: extreme operands wrap as all sums do") {
    const fresh_machine machine;
    random_engine random(2);
    for (int x = 0; x != static_cast<int>(operands::count); ++x)
        for (int w = 0; w != static_cast<int>(operands::count); ++w) {
            check_sums(problem<std::uint8_t, std::int8_t>(random, matrix(18, 20, 70), {255, 0, 255},
                                                          static_cast<operands>(x), static_cast<operands>(w), false));
            check_sums(problem<std::int8_t, std::int8_t>(random, matrix(18, 20, 64), {-128, -128, 127},
                                                         static_cast<operands>(x), static_cast<operands>(w), false));
        }
    CHECK(tile_model::now.products > 0);
}

TEST_CASE("tile products: random convolutions, where they lie and from copies") {
    const fresh_machine machine;
    random_engine random(3);
    int with_tiles = 0;
    for (int i = 0; i != zp_test::fewer(150); ++i) {
        const conv2d_geometry g = random_geometry(random);
        const int before = tile_model::now.products;
        check_sums(problem<std::uint8_t, std::int8_t>(random, g, pick_codes<std::uint8_t>(random),
                                                      pick_operands(random), pick_operands(random), false));
        check_sums(problem<std::int8_t, std::int8_t>(random, g, pick_codes<std::int8_t>(random), operands::random,
                                                     operands::random, uniform(random, 0, 9) == 0));
        if (tile_model::now.products != before) ++with_tiles;
    }
    CHECK(with_tiles > 0);
}

TEST_CASE("tile products: packed panels unpack to what they were") {
    using arch = tile_architecture;
    random_engine random(4);
    for (const conv2d_geometry& g : {matrix(20, 33, 30), random_geometry(random), random_geometry(random)}) {
        const problem<std::uint8_t, std::int8_t> p(random, g, {7, 0, 255}, operands::random, operands::random, false);
        zp::aligned_buffer packed(kernel::panel_layout<arch>(g, false).bytes);
        kernel::pack_panels<arch>(g, p.view(), p.codes, packed.data());
        std::vector<std::int8_t> weights(p.weights.size());
        std::vector<std::int32_t> bias(static_cast<std::size_t>(g.out.channels));
        kernel::unpack_panels<arch>(g, nullptr, p.codes, packed.data(), weights.data(), bias.data());
        CHECK(weights == p.weights);
        CHECK(bias == (p.bias.empty() ? std::vector<std::int32_t>(bias.size()) : p.bias));
    }
}

TEST_CASE("tile products: matrix products of two activations") {
    const fresh_machine machine;
    random_engine random(5);
    for (int i = 0; i != zp_test::fewer(60); ++i) {
        const kernel::matmul_geometry g = kernel::dense_matmul(
            uniform(random, 1, 70), uniform(random, 1, 200), uniform(random, 1, 70), i % 2 == 1, uniform(random, 1, 2));
        const auto count = [&](int a, int b) {
            return static_cast<std::size_t>(g.batches) * static_cast<std::size_t>(a) * static_cast<std::size_t>(b);
        };
        const auto a = fill<std::uint8_t>(random, count(g.rows, g.depth), pick_operands(random), 0, 255);
        const auto b = fill<std::int8_t>(random, count(g.depth, g.columns), pick_operands(random), -128, 127);
        const int a_zero = uniform(random, 0, 255), b_zero = i % 3 == 0 ? 0 : uniform(random, -128, 127);
        std::vector<std::int32_t> right(count(g.rows, g.columns)), y(right.size());
        INFO(g.rows, " x ", g.depth, " x ", g.columns, ", transposed ", g.transposed);
        kernel::reference::matmul(g, a.data(), a_zero, b.data(), b_zero, kernel::accumulators{}, right.data());
        for_each_tile_architecture([&](auto architecture) {
            using arch = decltype(architecture);
            zp::aligned_buffer scratch(kernel::matmul_plan<arch>(g).scratch_bytes);
            std::memset(scratch.data(), 0xa5, scratch.size());
            kernel::matmul<arch>(g, a.data(), a_zero, b.data(), b_zero, kernel::accumulators{}, y.data(),
                                 scratch.data());
            CHECK((y == right));
        });
    }
    CHECK(tile_model::now.products > 0);
}

TEST_CASE("tile products: where tiles are refused, dot products give the same") {
    const fresh_machine machine;
    tile_model::now.is_refused = true;
    random_engine random(6);
    check_sums(problem<std::uint8_t, std::int8_t>(random, matrix(40, 40, 100), {7, 0, 255}, operands::random,
                                                  operands::random, false));
    CHECK(tile_model::now.sessions == 0);
    CHECK(tile_model::now.products == 0);
}

TEST_CASE("tile products: small products read the same panels") {
    using arch = tile_architecture;
    random_engine random(7);
    constexpr int rows = 3, depth = 30, channels = 37;
    const problem<std::uint8_t, std::int8_t> p(random, matrix(rows, channels, depth), {7, 0, 255}, operands::random,
                                               operands::random, false);
    zp::aligned_buffer packed(kernel::panel_layout<arch>(p.geometry, false).bytes);
    zp::aligned_buffer scratch(kernel::implicit_gemm_plan<arch>(p.geometry).scratch_bytes);
    kernel::pack_panels<arch>(p.geometry, p.view(), p.codes, packed.data());
    std::vector<std::int32_t> y(std::size_t{rows} * channels);
    kernel::small_linear<arch, rows, depth, channels, false>::run(p.x.data(), p.codes, packed.data(),
                                                                  kernel::accumulators{}, y.data(), scratch.data());
    CHECK(y == expected<std::int32_t>(p, kernel::accumulators{}));
}
