// SPDX-License-Identifier: BSD-3-Clause
// The tiles and the loop nest: every depth, every remainder in rows and channels, extreme operands.
#include "../support/convolution_kernels.hpp"

using namespace zp_test;

namespace {

conv2d_geometry matrix(int rows, int channels, int depth) {
    return {.in = {rows, 1, depth}, .out = {rows, 1, channels}};
}

template <class In, class Weight> void check_all(const problem<In, Weight>& p) {
    const std::vector<std::int32_t> sums = expected<std::int32_t>(p, zp::kernel::accumulators{});
    for_each_architecture([&](auto architecture) {
        using arch = decltype(architecture);
        INFO(zp::kernel::operations<arch>::name, " ", zp::kernel::panel_width<arch>, ": ", describe(p.geometry));
        CHECK((run<arch, std::int32_t>(p, conv2d_algorithm::implicit_gemm, zp::kernel::accumulators{}) == sums));
    });
}

}  // namespace

TEST_CASE("gemm: every depth from 1 to two tiles, and around longer ones") {
    random_engine random(1);
    for (int depth = 1; depth <= 33; ++depth)
        check_all(problem<std::uint8_t, std::int8_t>(random, matrix(7, 17, depth), {3, 0, 255}, operands::random,
                                                     operands::random, false));
    for (int depth : {63, 64, 65, 255, 256, 257, 511, 512, 1024}) {
        check_all(problem<std::uint8_t, std::int8_t>(random, matrix(7, 17, depth), {255, 0, 255}, operands::random,
                                                     operands::random, false));
        check_all(problem<std::int8_t, std::int8_t>(random, matrix(7, 17, depth), {-128, -128, 127}, operands::random,
                                                    operands::small, false));
    }
}

TEST_CASE("gemm: every remainder in rows and in channels") {
    random_engine random(2);
    for (int rows = 1; rows <= 19; ++rows) {
        for (int channels : {1, 2, 5, 7, 8, 15, 16, 17, 31, 32, 33, 40}) {
            const conv2d_geometry g = matrix(rows, channels, 12);
            check_all(problem<std::uint8_t, std::int8_t>(random, g, pick_codes<std::uint8_t>(random), operands::random,
                                                         operands::small, false));
        }
    }
    check_all(problem<std::uint8_t, std::int8_t>(random, matrix(500, 18, 40), {7, 0, 255}, operands::random,
                                                 operands::random, false));
}

TEST_CASE("gemm: rows of several panels, which may be multiplied by twos") {
    random_engine random(7);
    for (int rows : {1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 25}) {
        for (int channels : {47, 64, 65, 96, 100, 130}) {
            for (int depth : {1, 6, 15, 16, 100}) {
                const conv2d_geometry g = matrix(rows, channels, depth);
                check_all(problem<std::uint8_t, std::int8_t>(random, g, pick_codes<std::uint8_t>(random),
                                                             operands::random, operands::random, false));
            }
        }
        conv2d_geometry grouped = matrix(rows, 140, 24);
        grouped.groups = 2;
        check_all(problem<std::uint8_t, std::int8_t>(random, grouped, {9, 0, 255}, operands::random, operands::random,
                                                     false));
    }
}

TEST_CASE("gemm: extreme operands, all types, zero points at both ends") {
    random_engine random(3);
    for (int x_kind = 0; x_kind != static_cast<int>(operands::count); ++x_kind) {
        for (int w_kind = 0; w_kind != static_cast<int>(operands::count); ++w_kind) {
            const auto x = static_cast<operands>(x_kind), w = static_cast<operands>(w_kind);
            const conv2d_geometry g = matrix(7, 18, uniform(random, 1, 70));
            for (int zero_point : {0, 128, 255}) {
                check_all(problem<std::uint8_t, std::int8_t>(random, g, {zero_point, 0, 255}, x, w, false));
                check_all(problem<std::int8_t, std::int8_t>(random, g, {zero_point - 128, -128, 127}, x, w, false));
            }
            check_all(problem<std::uint8_t, std::int8_t>(random, g, {127, 0, 127}, x, w, false));
            check_all(problem<std::int8_t, std::int8_t>(random, g, {-64, -64, 63}, x, w, true));
            check_all(problem<std::uint8_t, std::uint8_t>(random, g, {255, 0, 255}, x, w, true));
            check_all(problem<std::int8_t, std::uint8_t>(random, g, {127, -128, 127}, x, w, false));
        }
    }
}

TEST_CASE("gemm: narrow weights, windows of every length") {
    random_engine random(5);
    for (int magnitude : {1, 3, 7, 15, 31, 63}) {
        for (int depth : {8, 12, 60, 64, 68, 200}) {
            problem<std::uint8_t, std::int8_t> p(random, matrix(depth % 3 == 0 ? 2 : 7, 18, depth), {9, 0, 255},
                                                 operands::random, operands::random, false);
            for (auto& w : p.weights) w = static_cast<std::int8_t>(uniform(random, -magnitude - 1, magnitude));
            check_all(p);
            for (auto& w : p.weights) w = static_cast<std::int8_t>(-magnitude - 1);  // the bound itself
            for (auto& x : p.x) x = 255;
            check_all(p);
        }
    }
}

TEST_CASE("gemm: int8 storage whose codes are not negative") {
    random_engine random(4);
    check_all(problem<std::int8_t, std::int8_t>(random, matrix(9, 20, 36), {5, 0, 127}, operands::highest,
                                                operands::highest, false));
    check_all(problem<std::int8_t, std::int8_t>(random, matrix(9, 20, 35), {0, 0, 127}, operands::random,
                                                operands::random, false));
}

TEST_CASE("gemm: tiles of the rest are balanced") {
    using zp::kernel::next_tile_rows;
    using arch = zp_test::odd_architecture;
    static_assert(zp::kernel::operations<arch>::tile_rows == 3);
    CHECK(next_tile_rows<arch>(7) == 3);
    CHECK(next_tile_rows<arch>(4) == 2);
    CHECK(next_tile_rows<arch>(3) == 3);
    CHECK(next_tile_rows<arch>(1) == 1);
}

TEST_CASE("gemm: whole tiles as codes, rows before and behind them, multipliers below 1 and not") {
    random_engine random(7);
    using arch = zp::default_architecture;
    constexpr int width = zp::kernel::panel_width<arch>, tile = zp::kernel::operations<arch>::tile_rows;
    const int problems = fewer_problems == 1 ? 60 : 12;
    for (int i = 0; i != problems; ++i) {
        const int depths[] = {4, 12, 17, 64, 64, 96, 256, 512, 516};
        const conv2d_geometry g = matrix(uniform(random, 1, 5 * tile), width * uniform(random, 1, 5) + (i % 2) * 3,
                                         depths[uniform(random, 0, 8)]);
        const problem<std::uint8_t, std::int8_t> p(random, g, pick_codes<std::uint8_t>(random), operands::random,
                                                   operands::random, false);
        std::vector<float> multiplier;
        for (int c = 0; c != g.out.channels; ++c)
            multiplier.push_back(static_cast<float>(uniform(random, 1, 1000)) * 3e-6f);
        if (i % 5 == 0) multiplier[static_cast<std::size_t>(uniform(random, 0, g.out.channels - 1))] = 1.5f;
        const zp::kernel::nearest_even whole{multiplier.data(), {uniform(random, 0, 255), 0, 255, nullptr}},
            part{multiplier.data(), {uniform(random, 0, 255), 10, 250, nullptr}};
        for (const auto& epilogue : {whole, part}) {
            INFO(describe(g), ", codes ", epilogue.codes.min, " to ", epilogue.codes.max);
            CHECK((run<arch, std::uint8_t>(p, conv2d_algorithm::implicit_gemm, epilogue) ==
                   expected<std::uint8_t>(p, epilogue)));
        }
    }
}
