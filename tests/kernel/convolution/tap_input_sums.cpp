// SPDX-License-Identifier: BSD-3-Clause
// Sums of what each tap of a window meets, against loops over outputs.
#include <cstddef>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/convolution/tap_input_sums.hpp>

#include "../../support/generator.hpp"

using namespace zp::kernel;

namespace {

std::vector<float> values(int count) {
    zp_test::generator next(5);
    std::vector<float> all(static_cast<std::size_t>(count));
    for (float& value : all) value = next.real(-2, 3);
    return all;
}

void check(const std::vector<double>& sums, const std::vector<double>& wanted) {
    REQUIRE(sums.size() == wanted.size());
    for (std::size_t i = 0; i != sums.size(); ++i) CHECK(sums[i] == doctest::Approx(wanted[i]).epsilon(1e-12));
}

}  // namespace

TEST_CASE("tap_sums: a convolution of volumes with strides, padding, dilation and groups") {
    conv3d_geometry g;
    g.plane = {.in = {7, 6, 4}, .out = {4, 7, 6}};
    g.plane.kernel_height = 3, g.plane.kernel_width = 2, g.plane.stride_height = 2, g.plane.padding_top = 1;
    g.plane.padding_left = 2, g.plane.dilation_width = 3, g.plane.groups = 2;
    g.in_depth = 5, g.out_depth = 3, g.kernel_depth = 2, g.stride_depth = 2, g.padding_front = 1;
    const std::vector<float> x = values(5 * 7 * 6 * 4);
    const auto taps = static_cast<std::size_t>(2 * 3 * 2);
    std::vector<double> sums(taps * 4, 0.25), wanted = sums;
    add_tap_sums(g, x.data(), sums.data());
    for (int z = 0; z != 3; ++z)
        for (int y = 0; y != 4; ++y)
            for (int column = 0; column != 7; ++column)
                for (int tap = 0; tap != 12; ++tap) {
                    const int iz = 2 * z - 1 + tap / 6, iy = 2 * y - 1 + tap / 2 % 3, ix = column - 2 + 3 * (tap % 2);
                    if (iz < 0 || iz > 4 || iy < 0 || iy > 6 || ix < 0 || ix > 5) continue;
                    for (int c = 0; c != 4; ++c)
                        wanted[static_cast<std::size_t>(tap * 4 + c)] +=
                            double{x[static_cast<std::size_t>(((iz * 7 + iy) * 6 + ix) * 4 + c)]};
                }
    check(sums, wanted);
}

TEST_CASE("tap_sums: a transposed convolution with strides, a cut and dilation") {
    conv_transpose2d_geometry g;
    g.in = {4, 5, 3}, g.out = {9, 7, 2};
    g.kernel_height = 3, g.kernel_width = 2, g.stride_height = 2, g.stride_width = 1, g.padding_top = 1;
    g.dilation_width = 2;
    const std::vector<float> x = values(4 * 5 * 3);
    std::vector<double> sums(6 * 3), wanted(6 * 3);
    add_tap_sums(g, x.data(), sums.data());
    for (int y = 0; y != 9; ++y)
        for (int column = 0; column != 7; ++column)
            for (int tap = 0; tap != 6; ++tap) {
                const int up = y + 1 - tap / 2, ix = column - 2 * (tap % 2);
                if (up % 2 != 0 || up < 0 || up / 2 > 3 || ix < 0 || ix > 4) continue;
                for (int c = 0; c != 3; ++c)
                    wanted[static_cast<std::size_t>(tap * 3 + c)] +=
                        double{x[static_cast<std::size_t>((up / 2 * 5 + ix) * 3 + c)]};
            }
    check(sums, wanted);
}

TEST_CASE("tap_sums: a transposed convolution of volumes") {
    conv_transpose3d_geometry g;
    g.plane.in = {3, 4, 2}, g.plane.out = {6, 4, 2};
    g.plane.kernel_height = 2, g.plane.stride_height = 2;
    g.in_depth = 3, g.out_depth = 5, g.kernel_depth = 3, g.stride_depth = 2, g.padding_front = 1;
    const std::vector<float> x = values(3 * 3 * 4 * 2);
    std::vector<double> sums(6 * 2), wanted(6 * 2);
    add_tap_sums(g, x.data(), sums.data());
    for (int z = 0; z != 5; ++z)
        for (int y = 0; y != 6; ++y)
            for (int column = 0; column != 4; ++column)
                for (int tap = 0; tap != 6; ++tap) {
                    const int front = z + 1 - tap / 2, up = y - tap % 2;
                    if (front % 2 != 0 || front < 0 || front / 2 > 2 || up % 2 != 0 || up < 0 || up / 2 > 2) continue;
                    for (int c = 0; c != 2; ++c)
                        wanted[static_cast<std::size_t>(tap * 2 + c)] +=
                            double{x[static_cast<std::size_t>(((front / 2 * 3 + up / 2) * 4 + column) * 2 + c)]};
                }
    check(sums, wanted);
}
