// SPDX-License-Identifier: BSD-3-Clause
// Panels of signed quads: any weights and activations at their ends, in all geometries, and the primitives behind them.
#include <array>

#include "../support/convolution_kernels.hpp"

using namespace zp_test;
using zp::kernel::panel_kernel;

namespace {

/// Compares every architecture with the reference; gives how many panels were signed_quads, of all where there are such.
template <class In> std::array<int, 2> check(const problem<In, std::int8_t>& p) {
    std::array<int, 2> seen{};
    const std::vector<std::int32_t> sums = expected<std::int32_t>(p, zp::kernel::accumulators{});
    for_each_architecture([&](auto architecture) {
        using arch = decltype(architecture);
        INFO(zp::kernel::operations<arch>::name, " ", zp::kernel::panel_width<arch>, ": ", describe(p.geometry));
        zp::aligned_buffer packed(zp::kernel::panel_layout<arch>(p.geometry, false).bytes);
        zp::aligned_buffer scratch(zp::kernel::implicit_gemm_plan<arch>(p.geometry).scratch_bytes);
        std::memset(scratch.data(), 0xa5, scratch.size());
        zp::kernel::pack_panels<arch>(p.geometry, p.view(), p.codes, packed.data());
        std::vector<std::int32_t> y(sums.size(), 77);
        zp::kernel::implicit_gemm<arch>(p.geometry, p.x.data(), p.codes, packed.data(), zp::kernel::accumulators{},
                                        y.data(), scratch.data());
        CHECK((y == sums));
        const zp::kernel::packed_panels<arch> panels(p.geometry, packed.data());
        for (int panel = 0; zp::kernel::quads_saturate<arch> && panel != panels.layout.panels; ++panel, ++seen[1])
            seen[0] += panels.kernel(panel) == panel_kernel::signed_quads;
        std::vector<std::int8_t> weights(p.weights.size());
        std::vector<std::int32_t> bias(static_cast<std::size_t>(p.geometry.out.channels), 123);
        zp::kernel::unpack_panels<arch>(p.geometry, nullptr, p.codes, packed.data(), weights.data(), bias.data());
        CHECK((weights == p.weights));
        CHECK((bias == (p.bias.empty() ? std::vector<std::int32_t>(bias.size()) : p.bias)));
    });
    return seen;
}

/// The primitives behind the panels: codes are split, and flipped magnitudes added up.
template <class Operations> void check_primitives() {
    using ops = Operations;
    std::vector<std::uint8_t> codes(256);
    for (std::size_t i = 0; i != codes.size(); ++i) codes[i] = static_cast<std::uint8_t>(i);
    INFO(ops::name);
    for (const int flip : {0, 128}) {
        for (const std::ptrdiff_t count : {256, 250, 33, 31, 3, 0}) {
            std::vector<std::uint8_t> split(600, std::uint8_t{7});
            ops::split_signs(codes.data(), count, static_cast<std::uint8_t>(flip), split.data(), split.data() + 300);
            bool right = true;
            for (std::size_t i = 0; i != 300; ++i) {
                const int value =
                    i >= static_cast<std::size_t>(count) ? 7 : static_cast<std::int8_t>(static_cast<int>(i) ^ flip);
                const bool inside = i < static_cast<std::size_t>(count);
                right = right && split[i] == (inside ? std::abs(value) : 7) &&
                        split[300 + i] == (inside ? (value < 0 ? 255 : 0) : 7);
            }
            CHECK(right);
        }
    }
    random_engine random(45);
    for (const std::ptrdiff_t count : {4, 12, 28, 32, 36, 60, 64, 100}) {
        for (const std::ptrdiff_t windows : {1, 2, 3, 4, 5, 9}) {
            const std::ptrdiff_t step = uniform(random, 1, 40);
            const auto size = static_cast<std::size_t>((windows - 1) * step + count + 32);
            std::vector<std::uint8_t> bytes(2 * size);
            for (std::size_t i = 0; i != size; ++i) {
                bytes[i] = static_cast<std::uint8_t>(uniform(random, 0, 128));
                bytes[size + i] = random() % 2 == 0 ? std::uint8_t{255} : std::uint8_t{0};
            }
            std::vector<std::int32_t> sums(static_cast<std::size_t>(windows), 1000), right = sums;
            for (std::ptrdiff_t i = 0; i != windows; ++i)
                for (std::ptrdiff_t k = 0; k != count; ++k) {
                    const auto at = static_cast<std::size_t>(i * step + k);
                    if (bytes[size + at] != 0) right[static_cast<std::size_t>(i)] += bytes[at];
                }
            ops::sum_flipped(bytes.data(), static_cast<std::ptrdiff_t>(size), count, step, windows, sums.data());
            CHECK((sums == right));
        }
    }
}

}  // namespace

TEST_CASE("signed_quads: all weights and activations at their ends") {
    random_engine random(41);
    const operands ends[] = {operands::random, operands::highest, operands::lowest, operands::alternating};
    for (int depth : {3, 4, 8, 63, 64, 128, 131, 1024}) {
        for (int rows : {1, 2, 3, 13}) {
            const conv2d_geometry g{.in = {rows, 1, depth}, .out = {rows, 1, 19}};
            for (operands x : ends) {
                for (operands w : ends) {
                    if (depth > 100 && (x == operands::random) == (w == operands::random)) continue;
                    check(
                        problem<std::uint8_t, std::int8_t>(random, g, {uniform(random, 0, 255), 0, 255}, x, w, false));
                    check(problem<std::int8_t, std::int8_t>(random, g, {-128, -128, 127}, x, w, false));
                }
            }
        }
    }
}

TEST_CASE("signed_quads: rows around those of a tile, and panels of few channels") {
    random_engine random(42);
    for (int rows : {1, 2, 5, 6, 7, 11, 12, 13, 23, 24, 25, 48, 49, 257}) {
        for (int channels : {1, 4, 8, 9, 16, 24}) {
            const conv2d_geometry g{.in = {rows, 1, 36}, .out = {rows, 1, channels}};
            check(
                problem<std::uint8_t, std::int8_t>(random, g, {99, 0, 255}, operands::random, operands::random, false));
        }
    }
}

TEST_CASE("signed_quads: convolutions") {
    random_engine random(43);
    const conv2d_geometry geometries[] = {
        {.in = {9, 8, 32},
         .out = {9, 8, 20},
         .kernel_height = 3,
         .kernel_width = 3,
         .padding_top = 1,
         .padding_left = 1},
        {.in = {13, 13, 24},
         .out = {6, 6, 40},
         .kernel_height = 3,
         .kernel_width = 3,
         .stride_height = 2,
         .stride_width = 2},
        {.in = {33, 33, 48}, .out = {17, 17, 33}, .stride_height = 2, .stride_width = 2},
        {.in = {5, 7, 1024}, .out = {3, 4, 24}, .stride_height = 2, .stride_width = 2},
        {.in = {3, 3, 1024}, .out = {2, 2, 16}, .kernel_height = 2, .kernel_width = 2},
        {.in = {12, 11, 20},
         .out = {8, 7, 40},
         .kernel_height = 3,
         .kernel_width = 3,
         .dilation_height = 2,
         .dilation_width = 2},
        {.in = {8, 8, 6}, .out = {4, 4, 17}, .kernel_height = 5, .kernel_width = 5},
        {.in = {6, 6, 60},
         .out = {6, 6, 60},
         .kernel_height = 3,
         .kernel_width = 3,
         .padding_top = 1,
         .padding_left = 1,
         .groups = 3},
        {.in = {3, 1, 3072},
         .out = {3, 1, 4096},
         .groups = 1024},  // a gap behind each pixel, and quads that reach into it
    };
    int flipped = 0, panels = 0;
    for (const conv2d_geometry& g : geometries) {
        for (const int zero_point : {0, 127, 128, 255}) {
            const auto seen = check(problem<std::uint8_t, std::int8_t>(random, g, {zero_point, 0, 255},
                                                                       operands::random, operands::random, false));
            flipped += seen[0], panels += seen[1];
            check(problem<std::int8_t, std::int8_t>(random, g, {zero_point - 128, -128, 127}, pick_operands(random),
                                                    operands::random, false));
        }
    }
    CHECK(flipped >= panels / 4);
    CHECK((flipped != 0) == (panels != 0));
}

TEST_CASE("signed_quads: panels of every kind side by side") {
    random_engine random(44);
    for (int i = 0; i != 20; ++i) {
        const conv2d_geometry g{.in = {9, 8, 64}, .out = {9, 8, 80}};
        problem<std::uint8_t, std::int8_t> p(random, g, {17, 0, 255}, operands::random, operands::random, false);
        const std::size_t filter = static_cast<std::size_t>(g.depth());
        for (std::size_t c = 0; c != 80; ++c) {
            const int kind = static_cast<int>(c / 6 * 7 + static_cast<std::size_t>(i)) % 4;
            for (std::size_t k = 0; k != filter; ++k) {
                std::int8_t& w = p.weights[c * filter + k];
                if (kind == 0) w = static_cast<std::int8_t>(w / 20);
                if (kind == 1) w = static_cast<std::int8_t>(w / 2);
            }
        }
        check(p);
    }
}

TEST_CASE("signed_quads: codes are split, and flipped magnitudes added up") {
    for_each_architecture([](auto architecture) {
        if constexpr (zp::kernel::quads_saturate<decltype(architecture)>)
            check_primitives<zp::kernel::operations<decltype(architecture)>>();
    });
}
