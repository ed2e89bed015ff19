// SPDX-License-Identifier: BSD-3-Clause
// The choice of an algorithm: it can compute the geometry, and it is the one that was measured to be fast.
#include "../support/convolution_problem.hpp"

using namespace zp_test;
using namespace zp::kernel;

namespace {

constexpr conv2d_geometry window_3x3(int size, int in_channels, int out_channels, int groups = 1) {
    return {.in = {size, size, in_channels},
            .out = {size, size, out_channels},
            .kernel_height = 3,
            .kernel_width = 3,
            .padding_top = 1,
            .padding_left = 1,
            .groups = groups};
}
constexpr conv2d_geometry window_1x1(int size, int in_channels, int out_channels, int groups = 1) {
    return {.in = {size, size, in_channels}, .out = {size, size, out_channels}, .groups = groups};
}

}  // namespace

TEST_CASE("conv2d_choice: what networks have, on every architecture") {
    for_each_architecture([](auto architecture) {
        using arch = decltype(architecture);
        INFO(operations<arch>::name, " ", panel_width<arch>);
        // Winograd's products are of words, and four times fewer.
        constexpr bool words_keep_up = operations<arch>::word_products * 2.5 >= operations<arch>::byte_products;
        constexpr conv2d_algorithm of_3x3 =
            words_keep_up ? conv2d_algorithm::winograd_4x4 : conv2d_algorithm::implicit_gemm;
        CHECK(choose_conv2d_algorithm<arch>(window_3x3(56, 64, 64)) == of_3x3);
        CHECK(choose_conv2d_algorithm<arch>(window_3x3(28, 128, 128)) == of_3x3);
        CHECK(choose_conv2d_algorithm<arch>(window_1x1(56, 64, 256)) == conv2d_algorithm::implicit_gemm);
        CHECK(choose_conv2d_algorithm<arch>(window_1x1(1, 1024, 1024)) == conv2d_algorithm::implicit_gemm);
        CHECK(choose_conv2d_algorithm<arch>(window_3x3(28, 1, 6)) == conv2d_algorithm::implicit_gemm);
        constexpr conv2d_algorithm of_depthwise =
            operations<arch>::has_batches ? conv2d_algorithm::depthwise : conv2d_algorithm::direct;
        CHECK(choose_conv2d_algorithm<arch>(window_3x3(56, 144, 144, 144)) == of_depthwise);
    });
}

#if XSIMD_WITH_AVX2
TEST_CASE("conv2d_choice: on AVX2") {
    using arch = xsimd::fma3<xsimd::avx2>;
    CHECK(choose_conv2d_algorithm<arch>(window_3x3(14, 256, 256)) == conv2d_algorithm::winograd_4x4);
    // Few tiles for many weights, which are transformed in each call.
    CHECK(choose_conv2d_algorithm<arch>(window_3x3(7, 512, 512)) == conv2d_algorithm::winograd_4x4);
    // Transforms of few channels take longer than their products.
    CHECK(choose_conv2d_algorithm<arch>(window_3x3(224, 3, 64)) == conv2d_algorithm::implicit_gemm);
    CHECK(choose_conv2d_algorithm<arch>(window_3x3(112, 3, 32)) == conv2d_algorithm::implicit_gemm);
    CHECK(choose_conv2d_algorithm<arch>(window_3x3(5, 8, 8)) == conv2d_algorithm::implicit_gemm);
    CHECK(choose_conv2d_algorithm<arch>(window_3x3(3, 64, 64)) == conv2d_algorithm::implicit_gemm);
    // Groups that fill panels are as good as whole layers; narrow ones are not.
    CHECK(choose_conv2d_algorithm<arch>(window_3x3(28, 256, 256, 4)) == conv2d_algorithm::winograd_4x4);
    CHECK(choose_conv2d_algorithm<arch>(window_3x3(28, 128, 128, 32)) == conv2d_algorithm::depthwise);
}
#endif

#if XSIMD_WITH_AVX512VNNI_AVX512VBMI2
TEST_CASE("conv2d_choice: with VNNI") {
    using arch = xsimd::avx512vnni<xsimd::avx512vbmi2>;
    const auto microseconds = [](const conv2d_geometry& g) {
        return cost_of_conv2d<arch>(g, conv2d_algorithm::winograd_4x4, false).nanoseconds / 1000;
    };
    // Measured: 216, 190 and 276, where direct products take 242 each.
    CHECK(std::abs(microseconds(window_3x3(56, 64, 64)) - 216) < 11);
    CHECK(std::abs(microseconds(window_3x3(28, 128, 128)) - 190) < 11);
    CHECK(std::abs(microseconds(window_3x3(14, 256, 256)) - 276) < 11);
    CHECK(choose_conv2d_algorithm<arch>(window_3x3(56, 64, 64)) == conv2d_algorithm::winograd_4x4);
    CHECK(choose_conv2d_algorithm<arch>(window_3x3(28, 128, 128)) == conv2d_algorithm::winograd_4x4);
    CHECK(choose_conv2d_algorithm<arch>(window_3x3(14, 256, 256)) == conv2d_algorithm::implicit_gemm);
    CHECK(choose_conv2d_algorithm<arch>(window_3x3(7, 512, 512)) == conv2d_algorithm::implicit_gemm);
}
#endif
#if XSIMD_WITH_AVX512VNNI_AVX512BW
TEST_CASE("conv2d_choice: with VNNI, four instructions a cycle") {
    using arch = xsimd::avx512vnni<xsimd::avx512bw>;
    for (const auto& [pixels, channels] : {std::pair{112, 64}, {56, 64}, {28, 128}, {28, 256}, {14, 256}, {7, 512}})
        CHECK(choose_conv2d_algorithm<arch>(window_3x3(pixels, channels, channels)) == conv2d_algorithm::implicit_gemm);
}
#endif

TEST_CASE("conv2d_choice: the chosen algorithm supports its geometry, and its cost is that of its name") {
    random_engine random(61);
    for (int i = 0; i != 300; ++i) {
        conv2d_geometry g = window_3x3(uniform(random, 1, 30), uniform(random, 1, 64), uniform(random, 1, 64));
        g.stride_width = uniform(random, 1, 2);
        g.dilation_height = uniform(random, 1, 2);
        g.out.height = uniform(random, 1, 30);
        for_each_architecture([&](auto architecture) {
            using arch = decltype(architecture);
            const conv2d_algorithm chosen = choose_conv2d_algorithm<arch>(g);
            CHECK(chosen != conv2d_algorithm::automatic);
            CHECK(supports(g, chosen));
            for (const auto algorithm :
                 {conv2d_algorithm::implicit_gemm, conv2d_algorithm::depthwise, conv2d_algorithm::direct,
                  conv2d_algorithm::winograd_4x4, conv2d_algorithm::winograd_2x2}) {
                if (!supports(g, algorithm)) continue;
                const conv2d_cost cost = cost_of_conv2d<arch>(g, algorithm, i % 2 == 0);
                CHECK(cost.nanoseconds > 0);
                CHECK(cost.packed_bytes == conv2d_packed_bytes<arch>(g, algorithm, i % 2 == 0));
            }
        });
    }
}
