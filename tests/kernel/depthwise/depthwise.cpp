// SPDX-License-Identifier: BSD-3-Clause
// Depthwise convolution, channel multipliers and narrow groups: every remainder, every grid of cells, extreme operands.
#include "../support/convolution_kernels.hpp"

#include <zeropoint/kernel/depthwise/depthwise.hpp>

using namespace zp_test;

namespace {

/// `groups` groups of group_in to group_out channels, padded so that the output has the size of the input / stride.
conv2d_geometry grouped(int extent, int groups, int group_in, int group_out, int kernel, int stride, int dilation) {
    conv2d_geometry g;
    g.kernel_height = g.kernel_width = kernel;
    g.stride_height = g.stride_width = stride;
    g.dilation_height = g.dilation_width = dilation;
    g.padding_top = g.padding_left = (kernel - 1) * dilation / 2;
    g.groups = groups;
    g.in = {extent, extent + 1, groups * group_in};
    g.out = {(extent - 1) / stride + 1, extent / stride + 1, groups * group_out};
    return g;
}
conv2d_geometry depthwise(int extent, int channels, int kernel, int stride, int dilation) {
    return grouped(extent, channels, 1, 1, kernel, stride, dilation);
}

/// The accumulators by the depthwise kernel alone, from buffers of exact size; scratch and output hold rubbish before.
template <class Arch, class In, class Weight> std::vector<std::int32_t> sums_of(const problem<In, Weight>& p) {
    using namespace zp::kernel;
    zp::aligned_buffer packed(depthwise_layout<Arch>(p.geometry).bytes);
    zp::aligned_buffer scratch(depthwise_plan<Arch>(p.geometry).scratch_bytes);
    std::memset(scratch.data(), 0xa5, scratch.size());
    std::vector<std::int32_t> y(static_cast<std::size_t>(p.geometry.out.size()), 77);
    pack_depthwise<Arch>(p.geometry, p.view(), p.codes, packed.data());
    depthwise_conv2d<Arch>(p.geometry, p.x.data(), p.codes, packed.data(), accumulators{}, y.data(), scratch.data());
    return y;
}

template <class In, class Weight> void check(const problem<In, Weight>& p) {
    const std::vector<std::int32_t> sums = expected<std::int32_t>(p, zp::kernel::accumulators{});
    for_each_architecture([&](auto architecture) {
        using arch = decltype(architecture);
        INFO(zp::kernel::operations<arch>::name, " ", zp::kernel::panel_width<arch>, ": ", describe(p.geometry));
        CHECK((sums_of<arch>(p) == sums));
    });
}
/// With weights of all sizes, and with weights of which no pair saturates.
void check_words_and_quads(random_engine& random, const conv2d_geometry& g) {
    for (const operands weights : {operands::random, operands::small})
        check(problem<std::uint8_t, std::int8_t>(random, g, pick_codes<std::uint8_t>(random), operands::random, weights,
                                                 false));
}

}  // namespace

TEST_CASE("depthwise: every remainder in channels and in outputs") {
    random_engine random(41);
    for (int channels = 1; channels <= 49; ++channels)
        check_words_and_quads(random, depthwise(3, channels, 3, 1 + channels % 2, 1));
    for (int extent = 1; extent <= 35; ++extent)
        check_words_and_quads(random, depthwise(extent, 9, 3, 1 + extent % 2, 1));
}

TEST_CASE("depthwise: kernels, strides and dilations") {
    random_engine random(42);
    for (int kernel : {1, 2, 3, 4, 5, 7}) {
        for (int stride : {1, 2, 3}) {
            for (int dilation : {1, 2}) {
                const conv2d_geometry g = depthwise(11, 20, kernel, stride, dilation);
                check_words_and_quads(random, g);
                check(problem<std::int8_t, std::int8_t>(random, g, {127, -128, 127}, operands::random, operands::small,
                                                        false));
            }
        }
    }
    // More panels and columns than the ring has room for at once.
    check_words_and_quads(random, depthwise(90, 40, 3, 1, 1));
}

TEST_CASE("depthwise: a kernel row and a kernel column, windows that lie in the padding") {
    random_engine random(44);
    for (const bool wide : {false, true}) {
        conv2d_geometry g = depthwise(7, 21, 1, 1, 1);
        (wide ? g.kernel_width : g.kernel_height) = 5;
        (wide ? g.padding_left : g.padding_top) = 6;
        (wide ? g.out.width : g.out.height) += 7;
        check_words_and_quads(random, g);
    }
}

TEST_CASE("depthwise: extreme operands, affine weights") {
    random_engine random(43);
    for (int x_kind = 0; x_kind != static_cast<int>(operands::count); ++x_kind) {
        for (int w_kind = 0; w_kind != static_cast<int>(operands::count); ++w_kind) {
            const auto x = static_cast<operands>(x_kind), w = static_cast<operands>(w_kind);
            for (int kernel : {3, 5}) {
                const conv2d_geometry g = depthwise(6, 18, kernel, 1, 1);
                check(problem<std::uint8_t, std::int8_t>(random, g, {255, 0, 255}, x, w, false));
                check(problem<std::int8_t, std::int8_t>(random, g, {-128, -128, 127}, x, w, true));
                check(problem<std::uint8_t, std::uint8_t>(random, g, {0, 0, 255}, x, w, true));
            }
        }
    }
}

TEST_CASE("depthwise: channel multipliers") {
    random_engine random(45);
    for (int multiplier = 2; multiplier <= 9; ++multiplier)
        for (int channels : {1, 3, 16, 19})
            check_words_and_quads(random, grouped(5, channels, 1, multiplier, 3, 1 + channels % 2, 1));
}

TEST_CASE("depthwise: narrow groups") {
    random_engine random(46);
    int checked = 0;
    for (int group_in = 2; group_in <= 13; ++group_in) {
        for (int group_out = 1; group_out <= 9; ++group_out) {
            const conv2d_geometry g =
                grouped(4, uniform(random, 2, 7), group_in, group_out, 1 + group_out % 3, 1 + group_in % 2, 1);
            if (!zp::kernel::supports_depthwise(g)) continue;
            check_words_and_quads(random, g);
            ++checked;
        }
    }
    CHECK(checked > 60);
    for (int group_out : {4, 8, 12}) {  // two cells a kernel row as in 3x3, which neighbouring outputs do not share
        conv2d_geometry g = grouped(6, 4, 3, group_out, 3, 1, 1);
        g.kernel_width = 1;
        g.padding_left = 0;
        check(problem<std::uint8_t, std::int8_t>(random, g, {0, 0, 255}, operands::random, operands::random, false));
    }
    check(problem<std::int8_t, std::uint8_t>(random, grouped(9, 8, 4, 4, 3, 1, 2), {-128, -128, 127}, operands::random,
                                             operands::random, true));
}

TEST_CASE("depthwise: tiles of one group less fill widths of 7, 14 and 28 with exact quads") {
    using namespace zp::kernel;
    using arch = zp::default_architecture;
    if constexpr (has_quads<arch> && !quads_saturate<arch> && operations<arch>::has_batches) {
        const auto outputs = [](int width, int stride) {
            const conv2d_geometry g{.in = {width * stride, width * stride, 64},
                                    .out = {width, width, 64},
                                    .kernel_height = 3,
                                    .kernel_width = 3,
                                    .stride_height = stride,
                                    .stride_width = stride,
                                    .padding_top = 1,
                                    .padding_left = 1,
                                    .groups = 64};
            const cell_grid grid(g);
            const cell_kernels kernels = choose_cell_kernels<arch>(g, grid, panel_kernel::byte_quads);
            const auto tiles = kernels.tiles_of(width, grid.phases);
            return (tiles.whole * kernels.groups + tiles.shorter * (kernels.groups - 1)) * grid.phases;
        };
        for (const int width : {14, 28}) CHECK(outputs(width, 1) == width);
        for (const int width : {7, 14, 28}) CHECK(outputs(width, 2) == width);
        CHECK(outputs(7, 1) == 8);  // two share their cells
    }
}
