// SPDX-License-Identifier: BSD-3-Clause
// Whole tiles that become codes in registers: panels of every kind, numbers of rows around those of tiles, and epilogues that
// do not qualify.
#include <array>

#include "../support/convolution_kernels.hpp"

using namespace zp_test;
using zp::kernel::panel_kernel;

namespace {

using arch = zp::default_architecture;

/// Compares codes with the reference's, and counts panels by kind.
template <class Out, class In>
void check(const problem<In, std::int8_t>& p, zp::kernel::output_codes codes, float multiplier,
           std::array<int, 5>& seen) {
    std::vector<float> multipliers(static_cast<std::size_t>(p.geometry.out.channels));
    for (std::size_t c = 0; c != multipliers.size(); ++c)
        multipliers[c] = multiplier * (1 + static_cast<float>(c) / 64) * (c % 5 == 4 ? -1.0f : 1.0f);
    const zp::kernel::nearest_even epilogue{multipliers.data(), codes};
    const std::vector<Out> right = expected<Out>(p, epilogue);
    INFO(describe(p.geometry));
    zp::aligned_buffer packed(zp::kernel::panel_layout<arch>(p.geometry, false).bytes);
    zp::aligned_buffer scratch(zp::kernel::implicit_gemm_plan<arch>(p.geometry).scratch_bytes);
    zp::kernel::pack_panels<arch>(p.geometry, p.view(), p.codes, packed.data());
    std::vector<Out> y(right.size() + 16, Out{77});
    zp::kernel::implicit_gemm<arch>(p.geometry, p.x.data(), p.codes, packed.data(), epilogue, y.data(), scratch.data());
    CHECK((std::vector<Out>(y.end() - 16, y.end()) == std::vector<Out>(16, Out{77})));
    y.resize(right.size());
    CHECK((y == right));
    const zp::kernel::packed_panels<arch> panels(p.geometry, packed.data());
    for (int panel = 0; panel != panels.layout.panels; ++panel) ++seen[static_cast<std::size_t>(panels.kernel(panel))];
}

template <class In> void check_epilogues(const problem<In, std::int8_t>& p, std::array<int, 5>& seen) {
    const float below_one = 1 / (40.0f * static_cast<float>(p.geometry.depth()));
    check<std::uint8_t>(p, {.zero_point = 128, .min = 0, .max = 255}, below_one, seen);
    check<std::int8_t>(p, {.zero_point = -3, .min = -128, .max = 127}, below_one, seen);
    check<std::uint8_t>(p, {.zero_point = 0, .min = 0, .max = 255}, 0.5f, seen);       // far beyond all codes
    check<std::uint8_t>(p, {.zero_point = 7, .min = 7, .max = 200}, below_one, seen);  // not all codes of a byte
    check<std::uint8_t>(p, {.zero_point = 128, .min = 0, .max = 255}, 1.5f, seen);     // not below 1
}

}  // namespace

TEST_CASE("tile codes: rows around those of tiles, and panels that are not full") {
    random_engine random(71);
    std::array<int, 5> seen{};
    for (int rows : {1, 5, 6, 7, 11, 12, 13, 18, 24, 67, 72}) {  // 65 pixels and more take pairs at small depths
        for (int depth : {3, 16, 31, 64}) {
            const conv2d_geometry g{.in = {rows, 1, depth}, .out = {rows, 1, depth == 31 ? 48 : 41}};
            const operands w = depth == 16 && rows % 2 == 0 ? operands::lowest : operands::random;
            check_epilogues(problem<std::uint8_t, std::int8_t>(random, g, {200, 0, 255}, operands::random, w, false),
                            seen);
            check_epilogues(problem<std::uint8_t, std::int8_t>(random, g, {9, 0, 127}, operands::random, w, false),
                            seen);
        }
    }
    for (int channels = 1; channels <= 32; ++channels) {  // parts of a panel, which some architectures store as such
        const conv2d_geometry g{.in = {10 + channels, 1, 16}, .out = {10 + channels, 1, channels}};
        check_epilogues(
            problem<std::uint8_t, std::int8_t>(random, g, {9, 0, 255}, operands::random, operands::random, false),
            seen);
    }
    if (zp::kernel::quads_saturate<arch>) {
        CHECK(seen[static_cast<std::size_t>(panel_kernel::widened_pairs)] != 0);
        CHECK(seen[static_cast<std::size_t>(panel_kernel::signed_quads)] != 0);
        CHECK(seen[static_cast<std::size_t>(panel_kernel::byte_quads)] != 0);
    }
}

TEST_CASE("tile codes: windows of several runs, groups, and more products than are finished in registers") {
    random_engine random(72);
    std::array<int, 5> seen{};
    const conv2d_geometry geometries[] = {
        {.in = {11, 13, 3},
         .out = {6, 7, 32},
         .kernel_height = 3,
         .kernel_width = 3,
         .stride_height = 2,
         .stride_width = 2,
         .padding_top = 1,
         .padding_left = 1},
        {.in = {12, 14, 1},
         .out = {12, 14, 16},
         .kernel_height = 5,
         .kernel_width = 5,
         .padding_top = 2,
         .padding_left = 2},
        {.in = {9, 9, 40},
         .out = {9, 9, 33},
         .kernel_height = 3,
         .kernel_width = 3,
         .padding_top = 1,
         .padding_left = 1},
        {.in = {7, 9, 64}, .out = {7, 9, 64}, .groups = 2},
        {.in = {13, 3, 513}, .out = {13, 3, 16}},
        {.in = {13, 3, 1152}, .out = {13, 3, 40}},  // as many quads as are listed at most
        {.in = {13, 3, 1153}, .out = {13, 3, 40}},
        {.in = {13, 9, 70}, .out = {11, 7, 40}, .kernel_height = 3, .kernel_width = 3},
        {.in = {17, 15, 10},
         .out = {9, 11, 40},
         .kernel_height = 5,
         .kernel_width = 3,
         .stride_height = 2,
         .padding_top = 2,
         .dilation_width = 2},
    };
    for (const conv2d_geometry& g : geometries) {
        check_epilogues(
            problem<std::uint8_t, std::int8_t>(random, g, {131, 0, 255}, operands::random, operands::random, false),
            seen);
        check_epilogues(
            problem<std::uint8_t, std::int8_t>(random, g, {0, 0, 255}, operands::highest, operands::alternating, false),
            seen);
    }
}

TEST_CASE("tile codes: few channels in, at most a vector of them out") {
    random_engine random(73);
    std::array<int, 5> seen{};
    for (int width : {3, 4, 5, 8, 11, 28}) {
        for (int channels : {1, 3, 4, 5, 6, 7, 8, 9}) {
            const int in = 1 + (width + channels) % 3, kernel = width % 2 == 0 ? 5 : 3, stride = 1 + channels % 2;
            const conv2d_geometry g{.in = {9 * stride, width * stride, in},
                                    .out = {9, width, channels},
                                    .kernel_height = kernel,
                                    .kernel_width = kernel,
                                    .stride_height = stride,
                                    .stride_width = stride,
                                    .padding_top = kernel / 2,
                                    .padding_left = kernel / 2};
            const operands w = channels == 7 ? operands::lowest : operands::random;
            check_epilogues(problem<std::uint8_t, std::int8_t>(random, g, {200, 0, 255}, operands::random, w, false),
                            seen);
        }
    }
    const conv2d_geometry others[] = {
        {.in = {13, 40, 2},
         .out = {9, 36, 6},
         .kernel_height = 3,
         .kernel_width = 3,
         .dilation_height = 2,
         .dilation_width = 2},
        {.in = {70, 1, 16}, .out = {70, 1, 6}},
        {.in = {9, 9, 16}, .out = {9, 9, 5}},
        {.in = {9, 30, 8}, .out = {9, 30, 12}, .groups = 2},
        {.in = {20, 20, 15}, .out = {14, 14, 6}, .kernel_height = 7, .kernel_width = 7},
    };
    for (const conv2d_geometry& g : others)
        check_epilogues(
            problem<std::uint8_t, std::int8_t>(random, g, {131, 0, 255}, operands::random, operands::random, false),
            seen);
    if (zp::kernel::quads_saturate<arch>) CHECK(seen[static_cast<std::size_t>(panel_kernel::widened_pairs)] != 0);
}
