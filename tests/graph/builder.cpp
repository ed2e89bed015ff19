// SPDX-License-Identifier: BSD-3-Clause
// Rows and shapes that the builder makes, against counting windows one by one; and the rules it records.
#include <doctest/doctest.h>

#include <array>
#include <cstdlib>
#include <vector>

#include <zeropoint/operators/common.hpp>

#include "../support/made_up.hpp"

namespace {

/// A builder with room of its own.
struct workbench {
    std::array<zp::node, 32> rows{};
    zp::builder b{rows.data(), 32};
    const zp::node& last() const { return rows[static_cast<std::size_t>(b.size - 1)]; }
    zp::node_view view() const { return {rows.data(), last()}; }
    zp::window2d window() const { return zp::options_of<zp::window2d>(last()); }
    /// Whether files have the columns of a linear layer in another order.
    bool reorders_columns() const { return !zp::parameters_of(view()).arrays[0].order.is_of_files(); }
    zp::rule broken() const { return b.error.broken; }
};

/// Positions of a window along one side. In ceil_mode a window may reach over the padded end, but must begin before
/// the end of the input and its leading padding (PyTorch's pooling_output_shape).
int count_windows(int in, int kernel, int stride, int padding, int dilation, bool ceil_mode) {
    const int reach = dilation * (kernel - 1) + 1;
    int count = 0;
    for (int first = -padding;; first += stride) {
        if (first + reach <= in + padding) ++count;
        else {
            const bool covers_more = first - stride + reach < in + padding && count > 0;
            if (ceil_mode && covers_more && first < in) ++count;
            return count;
        }
    }
}

}  // namespace

TEST_CASE("builder: the output of conv2d has one position for every window that fits") {
    made_up::generator next(7);
    int empty = 0;
    for (int i = 0; i != 3000; ++i) {
        const zp::shape in{next.integer(1, 12), next.integer(1, 12), 2 * next.integer(1, 4)};
        zp::conv options{.out_channels = 2 * next.integer(1, 5), .groups = next.integer(1, 2)};
        options.kernel = {next.integer(1, 5), next.integer(1, 5)};
        options.stride = {next.integer(1, 4), next.integer(1, 4)};
        options.padding = {next.integer(0, 3), next.integer(0, 3)};
        options.dilation = {next.integer(1, 3), next.integer(1, 3)};
        workbench bench;
        const int y = bench.b.conv2d(bench.b.input(in), "c", options);
        const int height = count_windows(in.height, options.kernel.height, options.stride.height,
                                         options.padding.height, options.dilation.height, false);
        const int width = count_windows(in.width, options.kernel.width, options.stride.width, options.padding.width,
                                        options.dilation.width, false);
        if (height == 0 || width == 0) {
            ++empty;
            CHECK(bench.broken() == zp::rule::empty_output);
            continue;
        }
        const zp::node& row = bench.rows[static_cast<std::size_t>(y)];
        REQUIRE(bench.broken() == zp::rule::none);
        CHECK(row.out.extents == zp::shape{height, width, options.out_channels});
        CHECK(row.weights.count ==
              options.out_channels * options.kernel.height * options.kernel.width * in.channels / options.groups);
        CHECK(row.weights.channels == options.out_channels);
        const zp::kernel::conv2d_geometry geometry = row.op->geometry(bench.view());
        CHECK(geometry.in == in);
        CHECK(geometry.out == row.out.extents);
        CHECK(geometry.groups == options.groups);
    }
    CHECK(empty > 100);
    CHECK(empty < 2000);
}

TEST_CASE("builder: pooling counts windows as PyTorch does, with ceil_mode and without") {
    made_up::generator next(8);
    int rounded_up = 0;
    for (int i = 0; i != 3000; ++i) {
        const zp::shape in{next.integer(1, 14), next.integer(1, 14), next.integer(1, 4)};
        zp::pool options;
        options.kernel = {next.integer(1, 5), next.integer(1, 5)};
        options.stride = {next.integer(1, 4), next.integer(1, 4)};
        options.padding = {next.integer(0, options.kernel.height / 2), next.integer(0, options.kernel.width / 2)};
        options.dilation = {next.integer(1, 2), next.integer(1, 2)};
        options.ceil_mode = next.integer(0, 1) == 1;
        workbench bench;
        bench.b.max_pool2d(bench.b.input(in), "", options);
        const auto count = [&](bool ceil_mode) {
            return zp::shape{count_windows(in.height, options.kernel.height, options.stride.height,
                                           options.padding.height, options.dilation.height, ceil_mode),
                             count_windows(in.width, options.kernel.width, options.stride.width, options.padding.width,
                                           options.dilation.width, ceil_mode),
                             in.channels};
        };
        const zp::shape expected = count(options.ceil_mode);
        if (expected.height == 0 || expected.width == 0) continue;
        rounded_up += expected != count(false);
        INFO("in ", zp::to_string(in), ", kernel ", options.kernel.height, "x", options.kernel.width, ", stride ",
             options.stride.height, "x", options.stride.width, ", padding ", options.padding.height, "x",
             options.padding.width);
        CHECK(bench.broken() == zp::rule::none);
        CHECK(bench.last().out.extents == expected);
    }
    CHECK(rounded_up > 200);
}

TEST_CASE("builder: a pool without a stride moves by its kernel") {
    workbench bench;
    bench.b.avg_pool2d(bench.b.input({9, 8, 3}), "", {.kernel = {3, 2}});
    CHECK(bench.last().out.extents == zp::shape{3, 4, 3});
    CHECK(bench.window().stride_height == 3);
    CHECK(bench.window().stride_width == 2);
    CHECK(bench.window().count_include_pad == 1);
}

TEST_CASE("builder: depthwise convolutions take their channels from the input") {
    workbench bench;
    bench.b.conv2d(bench.b.input({6, 6, 12}), "d", {.kernel = 3, .groups = zp::depthwise});
    CHECK(bench.last().out.extents == zp::shape{4, 4, 12});
    CHECK(bench.window().groups == 12);
    CHECK(bench.last().weights.count == 12 * 9);
    bench.b.conv2d(0, "multiplier", {.out_channels = 24, .kernel = 3, .groups = zp::depthwise});
    CHECK(bench.last().out.extents == zp::shape{4, 4, 24});
    CHECK(bench.last().weights.count == 24 * 9);
    CHECK(bench.broken() == zp::rule::none);
}

TEST_CASE("builder: transposed convolutions have PyTorch's extents, depthwise ones their input's channels") {
    workbench bench;
    bench.b.conv_transpose2d(bench.b.input({6, 5, 12}), "d",
                             {.kernel = 3, .stride = {2, 3}, .output_padding = {1, 2}, .groups = zp::depthwise});
    CHECK(bench.last().out.extents == zp::shape{14, 17, 12});
    CHECK(bench.window().groups == 12);
    CHECK(bench.last().weights.count == 12 * 9);
    bench.b.conv_transpose2d(0, "c", {.out_channels = 8, .kernel = {2, 4}, .padding = {0, 1}, .groups = 4});
    CHECK(bench.last().out.extents == zp::shape{7, 6, 8});
    CHECK(bench.last().weights.count == 8 * 8 * 3);
    CHECK(bench.broken() == zp::rule::none);
}

TEST_CASE("builder: every broken rule is recorded, the first one stays") {
    const auto broken_by = [](auto make) {
        workbench bench;
        make(bench.b, bench.b.input({8, 8, 6}));
        return bench.broken();
    };
    using zp::rule;
    CHECK(broken_by([](auto& b, int x) { b.conv2d(x, "c", {.kernel = 3}); }) == rule::out_channels_missing);
    CHECK(broken_by([](auto& b, int x) { b.conv2d(x, "c", {.out_channels = 8, .groups = 4}); }) ==
          rule::channels_not_divisible);
    CHECK(broken_by([](auto& b, int x) { b.conv2d(x, "c", {.out_channels = 7, .groups = 6}); }) ==
          rule::channels_not_divisible);
    CHECK(broken_by([](auto& b, int x) { b.conv2d(x, "c", {.out_channels = 6, .groups = -2}); }) ==
          rule::channels_not_divisible);
    CHECK(broken_by([](auto& b, int x) { b.conv2d(x, "c", {.out_channels = 8, .kernel = 9}); }) == rule::empty_output);
    CHECK(broken_by([](auto& b, int x) { b.conv2d(x, "c", {.out_channels = 8, .stride = 0}); }) ==
          rule::window_not_positive);
    CHECK(broken_by([](auto& b, int x) { b.conv2d(x, "c", {.out_channels = 8, .kernel = 0}); }) ==
          rule::window_not_positive);
    CHECK(broken_by([](auto& b, int x) { b.conv2d(x, "c", {.out_channels = 8, .padding = -1}); }) ==
          rule::window_not_positive);
    CHECK(broken_by([](auto& b, int x) { b.conv2d(x, "c", {.out_channels = 8, .dilation = 0}); }) ==
          rule::window_not_positive);
    CHECK(broken_by([](auto& b, int x) { b.max_pool2d(x, "", {.kernel = 3, .padding = 2}); }) ==
          rule::padding_too_large);
    CHECK(broken_by([](auto& b, int x) { b.adaptive_avg_pool2d(x, "", {0, 1}); }) == rule::empty_output);
    CHECK(broken_by([](auto& b, int x) { b.linear(x, "l", 4); }) == rule::linear_needs_flatten);
    CHECK(broken_by([](auto& b, int x) { b.conv1d(x, "c", {.out_channels = 2}); }) == rule::sequence_expected);
    CHECK(broken_by([](auto& b, int x) { zp::max_pool1d<2>::lower(b, x); }) == rule::sequence_expected);
    CHECK(broken_by([](auto& b, int x) { b.conv_transpose1d(x, "c", {.out_channels = 2}); }) ==
          rule::sequence_expected);
    CHECK(broken_by([](auto& b, int x) { b.conv_transpose2d(x, "c", {}); }) == rule::out_channels_missing);
    CHECK(broken_by([](auto& b, int x) { b.conv_transpose2d(x, "c", {.out_channels = 4, .groups = 3}); }) ==
          rule::channels_not_divisible);
    CHECK(broken_by([](auto& b, int x) { b.conv_transpose2d(x, "c", {.out_channels = 4, .stride = 0}); }) ==
          rule::conv_transpose_options);
    CHECK(broken_by([](auto& b, int x) { b.conv_transpose2d(x, "c", {.out_channels = 4, .output_padding = 1}); }) ==
          rule::conv_transpose_options);
    CHECK(broken_by([](auto& b, int x) { b.conv_transpose2d(x, "c", {.out_channels = 4, .padding = 4}); }) ==
          rule::conv_transpose_options);
    CHECK(broken_by([](auto& b, int x) { b.conv_transpose1d(b.flatten(x), "c", {.out_channels = 4}); }) ==
          rule::flattened_image);
    CHECK(broken_by([](auto& b, int x) { b.linear(b.flatten(x), "l", 0); }) == rule::out_channels_missing);
    CHECK(broken_by([](auto& b, int x) { b.add(x, b.conv2d(x, "c", {.out_channels = 5})); }) ==
          rule::branch_shapes_differ);
    CHECK(broken_by([](auto& b, int x) {
              const int xs[] = {x, b.conv2d(x, "c", {.out_channels = 6, .kernel = 3})};
              b.concat(xs);
          }) == rule::branch_shapes_differ);
    CHECK(broken_by([](auto& b, int x) {
              const std::vector<int> xs(zp::max_inputs + 1, x);
              b.concat(xs);
          }) == rule::too_many_inputs);
    CHECK(broken_by([](auto& b, int x) {
              for (int i = 0; i != 32; ++i) x = zp::relu::lower(b, x);
          }) == rule::too_many_nodes);
    CHECK(broken_by([](auto& b, int x) {
              b.linear(x, "first", 4);
              b.conv2d(x, "second", {});
          }) == rule::linear_needs_flatten);
}

TEST_CASE("builder: the diagnostic names the row and the shapes that explain it") {
    workbench bench;
    const int x = bench.b.input({8, 8, 6});
    const int a = bench.b.conv2d(x, "a", {.out_channels = 4, .kernel = 3});
    bench.b.add(a, x, "sum");
    CHECK(bench.b.error.row == 2);
    CHECK(bench.b.error.a == zp::shape{6, 6, 4});
    CHECK(bench.b.error.b == zp::shape{8, 8, 6});
}

TEST_CASE("builder: what a flatten was made of reaches the linear layer behind it") {
    workbench bench;
    const int x = bench.b.input({2, 3, 4});
    int y = zp::relu::lower(bench.b, zp::dropout::lower(bench.b, bench.b.flatten(x)));
    bench.b.linear(y, "a", 5);
    CHECK(bench.view().x_type().flattened == zp::shape{2, 3, 4});
    CHECK(bench.reorders_columns());
    bench.b.linear(bench.b.flatten(y), "again", 5);
    CHECK(bench.view().x_type().flattened == zp::shape{2, 3, 4});
    bench.b.linear(bench.b.linear(y, "b", 24), "c", 5);
    CHECK_FALSE(bench.reorders_columns());
    CHECK(bench.broken() == zp::rule::none);
}

TEST_CASE(
    "builder: a flattened image, whose values stand in another order than in PyTorch, goes nowhere but into a linear "
    "layer") {
    const auto broken_by = [](auto make) {
        workbench bench;
        const int x = bench.b.input({2, 2, 3});
        make(bench.b, bench.b.flatten(x), bench.b.flatten(bench.b.adaptive_avg_pool2d(x, "", {1, 1})));
        return bench.broken();
    };
    using zp::rule;
    CHECK(broken_by([](auto& b, int image, int vector) {
              const int xs[] = {image, vector};
              b.concat(xs);
          }) == rule::flattened_image);
    CHECK(broken_by([](auto& b, int image, int vector) { b.add(image, b.linear(vector, "l", 12)); }) ==
          rule::flattened_image);
    CHECK(broken_by([](auto& b, int image, int) { b.batch_norm(image, "n", 1e-5f, true); }) == rule::flattened_image);
    CHECK(broken_by([](auto& b, int image, int) { b.add(image, image); }) == rule::none);
    CHECK(broken_by([](auto& b, int, int vector) { b.batch_norm(vector, "n", 1e-5f, true); }) == rule::none);
    CHECK(broken_by([](auto& b, int, int vector) {
              const int xs[] = {vector, vector};
              b.linear(b.concat(xs), "l", 2);
          }) == rule::none);
}

TEST_CASE("builder: conv3d has one position for every window that fits, along depth too") {
    made_up::generator next(8);
    for (int i = 0; i != 1000; ++i) {
        const zp::shape in{next.integer(1, 8), next.integer(1, 8), 2 * next.integer(1, 4), next.integer(1, 8)};
        zp::volume_conv options{.out_channels = 2 * next.integer(1, 5), .groups = next.integer(1, 2)};
        for (int zp::volume_extent::*along :
             {&zp::volume_extent::depth, &zp::volume_extent::height, &zp::volume_extent::width}) {
            options.kernel.*along = next.integer(1, 4);
            options.stride.*along = next.integer(1, 3);
            options.padding.*along = next.integer(0, 2);
            options.dilation.*along = next.integer(1, 2);
        }
        workbench bench;
        const zp::node& row = bench.rows[static_cast<std::size_t>(bench.b.conv3d(bench.b.input(in), "c", options))];
        const auto count = [&](int extent, int zp::volume_extent::*along) {
            return count_windows(extent, options.kernel.*along, options.stride.*along, options.padding.*along,
                                 options.dilation.*along, false);
        };
        const int depth = count(in.depth, &zp::volume_extent::depth);
        const int height = count(in.height, &zp::volume_extent::height);
        const int width = count(in.width, &zp::volume_extent::width);
        if (depth == 0 || height == 0 || width == 0) {
            CHECK(bench.broken() == zp::rule::empty_output);
            continue;
        }
        CHECK(row.out.extents == zp::shape{height, width, options.out_channels, depth});
        const zp::kernel::conv3d_geometry g = zp::volume_window(bench.view());
        CHECK(g.in_depth == in.depth);
        CHECK(g.out_depth == depth);
        CHECK(g.plane.out == zp::shape{height, width, options.out_channels});
        CHECK(row.weights.count == g.depth() * options.out_channels);
        CHECK(bench.broken() == zp::rule::none);
    }
    for (const int stride : {0, 1}) {
        workbench bench;
        bench.b.conv3d(bench.b.input({4, 4, 2, 4}), "c", {.out_channels = 2, .stride = {stride, 1, 1}});
        CHECK(bench.broken() == (stride == 0 ? zp::rule::window_not_positive : zp::rule::none));
    }
}

TEST_CASE("builder: conv_transpose3d: extents along depth too, options that do not fit") {
    using zp::rule;
    using zp::volume_conv_transpose;
    const auto broken_by = [](const volume_conv_transpose& options) {
        workbench bench;
        const zp::node& row =
            bench.rows[static_cast<std::size_t>(bench.b.conv_transpose3d(bench.b.input({4, 5, 6, 3}), "c", options))];
        if (bench.broken() == rule::none)
            CHECK(row.weights.count == zp::transposed_volume_window(bench.view()).depth() * row.weights.channels);
        return std::pair(bench.broken(), row.out.extents);
    };
    CHECK(broken_by({.out_channels = 2,
                     .kernel = {2, 3, 4},
                     .stride = {3, 2, 1},
                     .padding = {0, 1, 2},
                     .output_padding = {2, 1, 0},
                     .dilation = {1, 1, 2},
                     .groups = 2}) == std::pair(rule::none, zp::shape{8, 7, 2, 10}));
    CHECK(broken_by({.kernel = 2, .groups = zp::depthwise}) == std::pair(rule::none, zp::shape{5, 6, 6, 4}));
    CHECK(broken_by({.kernel = 2}).first == rule::out_channels_missing);
    CHECK(broken_by({.out_channels = 3, .groups = 2}).first == rule::channels_not_divisible);
    for (const auto& options : {volume_conv_transpose{.out_channels = 2, .kernel = {0, 1, 1}},
                                {.out_channels = 2, .stride = {0, 1, 1}},
                                {.out_channels = 2, .padding = {-1, 0, 0}},
                                {.out_channels = 2, .padding = {2, 0, 0}},
                                {.out_channels = 2, .output_padding = {1, 0, 0}},
                                {.out_channels = 2, .output_padding = {0, 0, 1}}})
        CHECK(broken_by(options).first == rule::conv_transpose_options);
}

TEST_CASE("builder: what looks at height and width refuses a volume, what sees pixels alone takes it") {
    using zp::rule;
    const auto broken_by = [](zp::shape in, auto make) {
        workbench bench;
        make(bench.b, bench.b.input(in));
        return bench.broken();
    };
    const zp::shape volume{4, 4, 8, 3}, planes_of_one_row{1, 4, 8, 3};
    CHECK(broken_by(volume, [](auto& b, int x) { b.conv2d(x, "c", {.out_channels = 4}); }) == rule::image_expected);
    CHECK(broken_by(planes_of_one_row, [](auto& b, int x) { b.conv1d(x, "c", {.out_channels = 4}); }) ==
          rule::image_expected);
    CHECK(broken_by(planes_of_one_row, [](auto& b, int x) { b.linear(x, "l", 4); }) == rule::image_expected);
    CHECK(broken_by(volume, [](auto& b, int x) { b.max_pool2d(x, "", {}); }) == rule::image_expected);
    CHECK(broken_by(volume, [](auto& b, int x) { b.adaptive_avg_pool2d(x, "", 1); }) == rule::image_expected);
    CHECK(broken_by({4, 4, 8, 0}, [](auto&, int) {}) == rule::empty_output);
    CHECK(broken_by({1, 46341, 46341}, [](auto&, int) {}) == rule::value_too_large);
    CHECK(broken_by({65536, 65536, 65536, 65536}, [](auto&, int) {}) == rule::value_too_large);
    CHECK(broken_by({1, 65536, 32767}, [](auto&, int) {}) == rule::none);

    workbench bench;
    const int x = bench.b.input(volume);
    const int y = bench.b.clamp(bench.b.batch_norm(zp::relu::lower(bench.b, x), "n", 1e-5f, true), "", 0, 1);
    const int xs[] = {x, bench.b.add(x, y)};
    bench.b.concat(xs);
    CHECK(bench.last().out.extents == zp::shape{4, 4, 16, 3});
    bench.b.flatten(y);
    CHECK(bench.last().out.extents == zp::shape{1, 1, 384});
    CHECK(bench.last().out.flattened == volume);
    CHECK(bench.last().out.is_flattened_image());
    CHECK(bench.broken() == rule::none);
    const int others[] = {x, bench.b.input({4, 4, 8})};
    bench.b.concat(others);
    CHECK(bench.broken() == rule::branch_shapes_differ);
}
