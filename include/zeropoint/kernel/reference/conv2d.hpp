// SPDX-License-Identifier: BSD-3-Clause
// The oracle of the 2-D convolutions: that of volumes of one plane.
#pragma once

#include <cstdint>

#include <zeropoint/kernel/geometry/conv2d.hpp>
#include <zeropoint/kernel/reference/conv3d.hpp>

namespace zp::inline v0::kernel::reference {

/// accumulate() of x in NHWC and weights in OHWI, with in.channels / groups innermost.
template <class In, class Weight>
std::int64_t accumulate(const conv2d_geometry& g, const In* x, std::int32_t x_zero_point, const Weight* weights,
                        const std::int32_t* zero_points, const std::int32_t* bias, int row, int column, int channel) {
    return accumulate(conv3d_geometry{g}, x, x_zero_point, weights, zero_points, bias, 0, row, column, channel);
}

/// conv3d() of them.
template <class In, class Weight, class Out, class Finish>
void conv2d(const conv2d_geometry& g, const In* x, std::int32_t x_zero_point, const Weight* weights,
            const std::int32_t* zero_points, const std::int32_t* bias, Finish finish, Out* y) {
    conv3d(conv3d_geometry{g}, x, x_zero_point, weights, zero_points, bias, finish, y);
}

}  // namespace zp::inline v0::kernel::reference
