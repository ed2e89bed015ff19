// SPDX-License-Identifier: BSD-3-Clause
// Packed depthwise weights: which kernel a panel takes and why, what is stored, and that unpacking gives it back.
#include "../support/convolution_kernels.hpp"

#include <zeropoint/kernel/depthwise/packed_cells.hpp>

using namespace zp_test;
using zp::kernel::panel_kernel;

namespace {

conv2d_geometry depthwise(int channels, int kernel, int stride) {
    return {.in = {8, 8, channels},
            .out = {8 / stride, 8 / stride, channels},
            .kernel_height = kernel,
            .kernel_width = kernel,
            .stride_height = stride,
            .stride_width = stride,
            .padding_top = kernel / 2,
            .padding_left = kernel / 2,
            .groups = channels};
}

/// Pairs of products saturate, as on x86; panels are six channels wide.
using arch = odd_saturating_architecture;

panel_kernel kernel_of(const conv2d_geometry& g, const std::vector<std::int8_t>& weights, activation_codes codes,
                       int panel) {
    zp::aligned_buffer packed(zp::kernel::depthwise_layout<arch>(g).bytes);
    zp::kernel::pack_depthwise<arch>(g, zp::kernel::conv2d_weights<std::int8_t>{weights.data()}, codes, packed.data());
    return zp::kernel::packed_depthwise<arch>(g, packed.data()).kernel(panel);
}

/// All weights 1 but a row of one channel.
std::vector<std::int8_t> with_row(int channels, int channel, int left, int middle, int right) {
    std::vector<std::int8_t> weights(static_cast<std::size_t>(9 * channels), 1);
    const int row[] = {left, middle, right};
    for (int i = 0; i != 3; ++i)
        weights[static_cast<std::size_t>(9 * channel + 3 + i)] = static_cast<std::int8_t>(row[i]);
    return weights;
}

}  // namespace

TEST_CASE("depthwise_cells: quads where the outer taps of a row cannot saturate") {
    const activation_codes full{0, 0, 255}, reduced{0, 0, 127};
    for (int stride : {1, 2}) {
        const conv2d_geometry g = depthwise(13, 3, stride);
        CHECK(kernel_of(g, with_row(13, 7, 1, 127, 1), full, 1) == panel_kernel::byte_quads);
        CHECK(kernel_of(g, with_row(13, 7, 64, 127, 64), full, 1) == panel_kernel::byte_quads);
        CHECK(kernel_of(g, with_row(13, 7, 64, 127, 65), full, 1) == panel_kernel::word_pairs);
        CHECK(kernel_of(g, with_row(13, 7, 64, 127, 65), full, 0) == panel_kernel::byte_quads);
        CHECK(kernel_of(g, with_row(13, 7, 127, 127, -128), full, 1) == panel_kernel::byte_quads);
        CHECK(kernel_of(g, with_row(13, 7, -64, -128, -64), full, 1) == panel_kernel::byte_quads);
        CHECK(kernel_of(g, with_row(13, 7, -64, -128, -65), full, 1) == panel_kernel::word_pairs);
        CHECK(kernel_of(g, with_row(13, 7, 127, 127, 127), reduced, 1) == panel_kernel::byte_quads);
        CHECK(kernel_of(g, with_row(13, 7, 127, 127, 127), {255, 0, 127}, 1) == panel_kernel::word_pairs);
    }
    // The last panel has one channel, its last.
    CHECK(kernel_of(depthwise(13, 3, 1), with_row(13, 12, 127, 0, 127), full, 2) == panel_kernel::word_pairs);
}

TEST_CASE("depthwise_cells: quads of seven bits are for codes that have no more") {
    const auto exact = [](activation_codes codes) {
        const std::int8_t quads[] = {-128, -128, -128, -128};
        return zp::kernel::quads_are_exact<odd_seven_bit_architecture>(quads, 4, codes);
    };
    CHECK(exact({0, 0, 127}));
    CHECK_FALSE(exact({0, 0, 128}));
    CHECK_FALSE(exact({128, 0, 127}));
    CHECK_FALSE(exact({0, -64, 63}));  // 64 higher would do, but cells are made unsigned by 128
}

TEST_CASE("depthwise_cells: five taps a row are words") {
    const conv2d_geometry g = depthwise(6, 5, 1);
    const std::vector<std::int8_t> weights(6 * 25, 1);
    CHECK(kernel_of(g, weights, {0, 0, 255}, 0) == panel_kernel::word_pairs);
    CHECK_FALSE(zp::kernel::cell_grid(g).quads_pay(g, 3));
    CHECK(zp::kernel::cell_grid(g).quads_pay(g, 1));
    CHECK(zp::kernel::cell_grid(depthwise(6, 7, 1)).quads_pay(depthwise(6, 7, 1), 3));
}

TEST_CASE("depthwise_cells: the grid") {
    using zp::kernel::cell_grid;
    constexpr conv2d_geometry one = {.in = {8, 8, 6},
                                     .out = {8, 8, 6},
                                     .kernel_height = 3,
                                     .kernel_width = 3,
                                     .padding_top = 1,
                                     .padding_left = 1,
                                     .groups = 6};
    static_assert(cell_grid(one).phases == 2 && cell_grid(one).column_step == 2 && cell_grid(one).group_step == 1);
    static_assert(cell_grid(one).row_cells(one, 2) == 2 && cell_grid(one).row_cells(one, 4) == 1);
    const conv2d_geometry two = depthwise(6, 3, 2);
    CHECK(cell_grid(two).phases == 1);
    CHECK(cell_grid(two).column_step == 2);
    const conv2d_geometry groups = {
        .in = {8, 8, 12}, .out = {8, 8, 16}, .kernel_height = 3, .kernel_width = 3, .groups = 4};
    CHECK(cell_grid(groups).planes(groups, 2) == 2);
    CHECK(cell_grid(groups).row_cells(groups, 4) == 3);
    CHECK(zp::kernel::supports_depthwise(groups));
    // Groups of 16 channels to one: four lanes would have to look 48 bytes apart.
    CHECK_FALSE(zp::kernel::supports_depthwise({.in = {8, 8, 64}, .out = {8, 8, 4}, .groups = 4}));
}

TEST_CASE("depthwise_cells: unpacking gives back what was packed") {
    random_engine random(51);
    const conv2d_geometry geometries[] = {
        depthwise(13, 3, 1), depthwise(7, 5, 2), depthwise(6, 7, 1),
        conv2d_geometry{.in = {8, 8, 12}, .out = {8, 8, 20}, .kernel_width = 3, .groups = 4}};
    for (const conv2d_geometry& g : geometries) {
        for_each_architecture([&](auto architecture) {
            using a = decltype(architecture);
            const auto round_trip = [&](const auto& p) {
                using weight = std::remove_cvref_t<decltype(p.weights[0])>;
                zp::aligned_buffer packed(zp::kernel::depthwise_layout<a>(g).bytes);
                zp::kernel::pack_depthwise<a>(g, p.view(), p.codes, packed.data());
                std::vector<weight> weights(p.weights.size());
                std::vector<std::int32_t> bias(static_cast<std::size_t>(g.out.channels), 5);
                zp::kernel::unpack_depthwise<a>(g, p.view().zero_points, p.codes, packed.data(), weights.data(),
                                                bias.data());
                CHECK((weights == p.weights));
                CHECK((bias == (p.bias.empty() ? std::vector<std::int32_t>(bias.size()) : p.bias)));
            };
            for (const operands kind : {operands::small, operands::random, operands::lowest}) {
                round_trip(problem<std::uint8_t, std::int8_t>(random, g, {200, 0, 255}, operands::lowest, kind, false));
                round_trip(
                    problem<std::int8_t, std::uint8_t>(random, g, {-5, -128, 127}, operands::lowest, kind, true));
            }
        });
    }
}
