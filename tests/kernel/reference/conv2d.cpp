// SPDX-License-Identifier: BSD-3-Clause
// The oracle itself, against numbers worked out by hand and against another way to write a convolution.
#include "../support/convolution_problem.hpp"

using namespace zp_test;
namespace reference = zp::kernel::reference;

TEST_CASE("reference: a 2x2 kernel over 3x3, by hand") {
    const conv2d_geometry g{.in = {3, 3, 1}, .out = {2, 2, 1}, .kernel_height = 2, .kernel_width = 2};
    const std::uint8_t x[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    const std::int8_t w[] = {1, -1, 2, 3};
    const std::int32_t bias[] = {100};
    std::int32_t y[4];
    reference::conv2d(g, x, 0, w, nullptr, bias, zp::kernel::accumulators{}, y);
    CHECK(y[0] == 100 + 1 - 2 + 8 + 15);
    CHECK(y[1] == 100 + 2 - 3 + 10 + 18);
    CHECK(y[2] == 100 + 4 - 5 + 14 + 24);
    CHECK(y[3] == 100 + 5 - 6 + 16 + 27);
}

TEST_CASE("reference: padding is the zero point, zero points are subtracted, groups see their channels") {
    const conv2d_geometry g{
        .in = {1, 2, 2}, .out = {1, 2, 2}, .kernel_height = 1, .kernel_width = 3, .padding_left = 1, .groups = 2};
    const std::int8_t x[] = {10, -5, 20, 7};
    const std::uint8_t w[] = {1, 2, 3, 4, 5, 6};  // channel 0: 1 2 3, channel 1: 4 5 6
    const std::int32_t zero_points[] = {2, 0};
    std::int32_t y[4];
    reference::conv2d(g, x, 10, w, zero_points, static_cast<const std::int32_t*>(nullptr), zp::kernel::accumulators{},
                      y);
    CHECK(y[0] == 0 * 0 + 10 * 1);  // (10 - 10) * (2 - 2) + (20 - 10) * (3 - 2)
    CHECK(y[1] == -15 * 5 + -3 * 6);
    CHECK(y[2] == 0 * -1 + 10 * 0);
    CHECK(y[3] == -15 * 4 + -3 * 5);
}

TEST_CASE("reference: equals scattering each input into the outputs it reaches") {
    random_engine random(51);
    for (int i = 0; i != 50; ++i) {
        conv2d_geometry g;
        g.kernel_height = uniform(random, 1, 4), g.kernel_width = uniform(random, 1, 4);
        g.stride_height = uniform(random, 1, 2), g.stride_width = uniform(random, 1, 3);
        g.padding_top = uniform(random, 0, 2), g.padding_left = uniform(random, 0, 2);
        g.dilation_height = uniform(random, 1, 2), g.groups = uniform(random, 1, 3);
        g.in = {uniform(random, 1, 6), uniform(random, 1, 6), g.groups * uniform(random, 1, 3)};
        g.out = {uniform(random, 1, 6), uniform(random, 1, 6), g.groups * uniform(random, 1, 3)};
        const problem<std::uint8_t, std::int8_t> p(random, g, pick_codes<std::uint8_t>(random), operands::random,
                                                   operands::random, true);

        std::vector<std::int32_t> y(static_cast<std::size_t>(g.out.size()));
        for (std::size_t at = 0; at != y.size(); ++at) y[at] = p.bias.empty() ? 0 : p.bias[at % p.bias.size()];
        for (int input = 0; input != g.in.size(); ++input) {
            const int channel = input % g.in.channels, column = input / g.in.channels % g.in.width,
                      row = input / g.in.channels / g.in.width;
            for (int out_channel = 0; out_channel != g.out.channels; ++out_channel) {
                if (out_channel / g.group_out() != channel / g.group_in()) continue;
                for (int tap = 0; tap != g.taps(); ++tap) {
                    const int ky = tap / g.kernel_width, kx = tap % g.kernel_width;
                    const int y_times = row + g.padding_top - ky * g.dilation_height,
                              x_times = column + g.padding_left - kx * g.dilation_width;
                    if (y_times < 0 || y_times % g.stride_height != 0 || x_times < 0 || x_times % g.stride_width != 0)
                        continue;
                    const int out_row = y_times / g.stride_height, out_column = x_times / g.stride_width;
                    if (out_row >= g.out.height || out_column >= g.out.width) continue;
                    const std::size_t from = static_cast<std::size_t>((out_channel * g.taps() + tap) * g.group_in() +
                                                                      channel % g.group_in());
                    const std::size_t to =
                        static_cast<std::size_t>((out_row * g.out.width + out_column) * g.out.channels + out_channel);
                    y[to] += (p.x[static_cast<std::size_t>(input)] - p.codes.zero_point) *
                             (p.weights[from] - p.zero_points[static_cast<std::size_t>(out_channel)]);
                }
            }
        }
        INFO(describe(g));
        CHECK((expected<std::int32_t>(p, zp::kernel::accumulators{}) == y));
    }
}
