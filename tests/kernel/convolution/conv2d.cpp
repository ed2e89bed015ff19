// SPDX-License-Identifier: BSD-3-Clause
// Every algorithm of conv2d against the reference, over random geometries and operands.
#include "../support/convolution_kernels.hpp"

using namespace zp_test;

namespace {

int output_extent(int in, int kernel, int stride, int padding, int dilation) {
    const int reach = in + padding - (kernel - 1) * dilation - 1;
    return reach < 0 ? 0 : reach / stride + 1;
}

/// Kernels of 1 to 5 taps a side, strides and dilations to 3, paddings to beyond the kernel, any group count.
conv2d_geometry random_geometry(random_engine& random) {
    for (;;) {
        conv2d_geometry g;
        g.kernel_height = uniform(random, 1, 5), g.kernel_width = uniform(random, 1, 5);
        if (uniform(random, 0, 2) == 0) g.kernel_height = g.kernel_width = 3;
        g.stride_height = uniform(random, 1, 3), g.stride_width = uniform(random, 1, 3);
        if (uniform(random, 0, 1) == 0) g.stride_height = g.stride_width = 1;
        if (uniform(random, 0, 3) == 0)
            g.dilation_height = uniform(random, 1, 3), g.dilation_width = uniform(random, 1, 3);
        int padding_bottom = 0, padding_right = 0;
        if (uniform(random, 0, 3) != 0) {
            g.padding_top = uniform(random, 0, 3), g.padding_left = uniform(random, 0, 3);
            padding_bottom = uniform(random, 0, 3), padding_right = uniform(random, 0, 3);
        }
        const int group_kind = uniform(random, 0, 3);
        g.groups = group_kind == 0 ? uniform(random, 2, 4) : 1;
        int group_in = uniform(random, 1, 20), group_out = uniform(random, 1, 36);
        if (group_kind == 1) g.groups = uniform(random, 1, 35), group_in = 1, group_out = uniform(random, 1, 3);
        if (group_kind == 2) group_in *= 4;
        g.in = {uniform(random, 1, 12), uniform(random, 1, 12), g.groups * group_in};
        g.out = {
            output_extent(g.in.height, g.kernel_height, g.stride_height, g.padding_top + padding_bottom,
                          g.dilation_height),
            output_extent(g.in.width, g.kernel_width, g.stride_width, g.padding_left + padding_right, g.dilation_width),
            g.groups * group_out};
        if (g.out.height > 0 && g.out.width > 0) return g;
    }
}

template <class In, class Weight> void check_all_algorithms(const problem<In, Weight>& p) {
    const std::vector<std::int32_t> sums = expected<std::int32_t>(p, zp::kernel::accumulators{});
    for (const auto algorithm :
         {conv2d_algorithm::automatic, conv2d_algorithm::implicit_gemm, conv2d_algorithm::depthwise,
          conv2d_algorithm::direct, conv2d_algorithm::winograd_4x4, conv2d_algorithm::winograd_2x2}) {
        if (!zp::kernel::supports(p.geometry, algorithm)) continue;
        for_each_architecture([&](auto architecture) {
            using arch = decltype(architecture);
            INFO(zp::kernel::operations<arch>::name, " ", zp::kernel::panel_width<arch>, " ", name_of(algorithm), ": ",
                 describe(p.geometry));
            CHECK((run<arch, std::int32_t>(p, algorithm, zp::kernel::accumulators{}) == sums));
        });
    }
}

template <class In, class Weight> void check_random(int count, unsigned seed) {
    random_engine random(seed);
    const int problems = std::max(zp_test::fewer(count), 100);
    for (int i = 0; i != problems; ++i) {
        const conv2d_geometry g = random_geometry(random);
        const bool affine = uniform(random, 0, 3) == 0;
        check_all_algorithms(problem<In, Weight>(random, g, pick_codes<In>(random), pick_operands(random),
                                                 pick_operands(random), affine));
    }
}

}  // namespace

TEST_CASE("conv2d: random problems, uint8 activations") { check_random<std::uint8_t, std::int8_t>(700, 11); }
TEST_CASE("conv2d: random problems, int8 activations") { check_random<std::int8_t, std::int8_t>(500, 12); }
TEST_CASE("conv2d: random problems, uint8 weights") {
    check_random<std::uint8_t, std::uint8_t>(200, 13);
    check_random<std::int8_t, std::uint8_t>(100, 14);
}

TEST_CASE("conv2d: geometries of real networks") {
    random_engine random(15);
    const conv2d_geometry geometries[] = {
        {.in = {33, 31, 3},
         .out = {17, 16, 20},
         .kernel_height = 7,
         .kernel_width = 7,
         .stride_height = 2,
         .stride_width = 2,
         .padding_top = 3,
         .padding_left = 3},
        {.in = {14, 14, 64},
         .out = {14, 14, 32},
         .kernel_height = 3,
         .kernel_width = 3,
         .padding_top = 1,
         .padding_left = 1},
        {.in = {7, 7, 512},
         .out = {7, 7, 24},
         .kernel_height = 3,
         .kernel_width = 3,
         .padding_top = 1,
         .padding_left = 1},
        {.in = {6, 6, 1024}, .out = {3, 3, 17}, .stride_height = 2, .stride_width = 2},
        {.in = {1, 1, 1024}, .out = {1, 1, 10}},
        {.in = {57, 57, 24},
         .out = {29, 29, 24},
         .kernel_height = 3,
         .kernel_width = 3,
         .stride_height = 2,
         .stride_width = 2,
         .padding_top = 1,
         .padding_left = 1,
         .groups = 24},
        {.in = {9, 9, 60},
         .out = {9, 9, 60},
         .kernel_height = 3,
         .kernel_width = 3,
         .padding_top = 1,
         .padding_left = 1,
         .groups = 3},
    };
    for (const conv2d_geometry& g : geometries) {
        check_all_algorithms(
            problem<std::uint8_t, std::int8_t>(random, g, {113, 0, 255}, operands::random, operands::random, false));
        check_all_algorithms(
            problem<std::uint8_t, std::int8_t>(random, g, {113, 0, 255}, operands::random, operands::small, false));
    }
}

TEST_CASE("conv2d: codes come out the same for both kinds of activations and outputs") {
    random_engine random(16);
    for (int i = 0; i != 200; ++i) {
        const conv2d_geometry g = random_geometry(random);
        const problem<std::uint8_t, std::int8_t> p(random, g, pick_codes<std::uint8_t>(random), operands::random,
                                                   operands::random, false);
        std::vector<float> multiplier;
        for (int c = 0; c != g.out.channels; ++c)
            multiplier.push_back(static_cast<float>(uniform(random, 1, 1000)) * 1e-6f);
        const zp::kernel::nearest_even epilogue{multiplier.data(), {uniform(random, 0, 255), 10, 250, nullptr}};
        const std::vector<std::uint8_t> codes = expected<std::uint8_t>(p, epilogue);
        for_each_architecture([&](auto architecture) {
            INFO(describe(g));
            CHECK((run<decltype(architecture), std::uint8_t>(p, conv2d_algorithm::automatic, epilogue) == codes));
        });
    }
}

TEST_CASE("conv2d: the choice of algorithm is constexpr, and so are sizes") {
    constexpr conv2d_geometry dense{.in = {8, 8, 16},
                                    .out = {8, 8, 32},
                                    .kernel_height = 3,
                                    .kernel_width = 3,
                                    .padding_top = 1,
                                    .padding_left = 1};
    constexpr conv2d_geometry depthwise{.in = {8, 8, 16},
                                        .out = {8, 8, 16},
                                        .kernel_height = 3,
                                        .kernel_width = 3,
                                        .padding_top = 1,
                                        .padding_left = 1,
                                        .groups = 16};
    constexpr conv2d_geometry multiplied{.in = {8, 8, 16}, .out = {8, 8, 48}, .groups = 16};
    using arch = zp::portable;
    static_assert(zp::kernel::choose_conv2d_algorithm<arch>(dense) == conv2d_algorithm::implicit_gemm);
    static_assert(zp::kernel::choose_conv2d_algorithm<arch>(depthwise) ==
                  conv2d_algorithm::direct);  // which no vector architecture takes
    static_assert(!zp::has_vectors<zp::default_architecture> ||
                  zp::kernel::choose_conv2d_algorithm<zp::default_architecture>(depthwise) ==
                      conv2d_algorithm::depthwise);
    static_assert(zp::kernel::choose_conv2d_algorithm<arch>(multiplied) == conv2d_algorithm::depthwise);
    static_assert(zp::kernel::conv2d_packed_bytes<arch>(dense, conv2d_algorithm::automatic, false) % 64 == 0);
    static_assert(zp::kernel::conv2d_scratch_bytes<arch>(dense, conv2d_algorithm::automatic) % 64 == 0);
    static_assert(zp::kernel::conv2d_packed_bytes<arch>(dense, conv2d_algorithm::implicit_gemm, true) >
                  zp::kernel::conv2d_packed_bytes<arch>(dense, conv2d_algorithm::implicit_gemm, false));
    static_assert(dense.has_padding() && !multiplied.has_padding());
    CHECK(dense.depth() == 144);
}

TEST_CASE("conv2d: a description counts the panels by kernel") {
    using arch = zp_test::odd_saturating_architecture;
    random_engine random(17);
    const conv2d_geometry g{.in = {1, 1, 8}, .out = {1, 1, 13}};
    problem<std::uint8_t, std::int8_t> p(random, g, {0, 0, 255}, operands::highest, operands::lowest, false);
    for (std::size_t i = 0; i != 6 * 8; ++i) p.weights[i] = 1;  // the first of three panels of six
    zp::aligned_buffer packed(zp::kernel::conv2d_packed_bytes<arch>(g, conv2d_algorithm::automatic, false));
    zp::kernel::pack_conv2d<arch>(g, conv2d_algorithm::automatic, p.view(), p.codes, packed.data());
    const auto description = zp::kernel::describe_conv2d<arch>(g, conv2d_algorithm::automatic, packed.data());
    CHECK(description.algorithm == conv2d_algorithm::implicit_gemm);
    for (int kernel = 0; kernel != zp::kernel::panel_kernels; ++kernel) {
        const auto kind = static_cast<zp::kernel::panel_kernel>(kernel);
        const bool windowed = kind == zp::kernel::panel_kernel::windowed_quads,
                   flipped = kind == zp::kernel::panel_kernel::signed_quads;
        CHECK(description.panels[kernel] == (windowed ? 1 : flipped ? 2 : 0));
    }
}
