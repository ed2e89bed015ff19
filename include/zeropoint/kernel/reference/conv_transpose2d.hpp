// SPDX-License-Identifier: BSD-3-Clause
// The oracle of the transposed 2-D convolutions: that of volumes of one plane.
#pragma once

#include <cstdint>

#include <zeropoint/kernel/geometry/conv_transpose2d.hpp>
#include <zeropoint/kernel/reference/conv_transpose3d.hpp>

namespace zp::inline v0::kernel::reference {

/// conv_transpose3d() of x in NHWC and weights in OHWI, with in.channels / groups innermost.
template <class In, class Weight, class Out, class Finish>
void conv_transpose2d(const conv_transpose2d_geometry& g, const In* x, std::int32_t x_zero_point, const Weight* weights,
                      const std::int32_t* zero_points, const std::int32_t* bias, Finish finish, Out* y) {
    conv_transpose3d(conv_transpose3d_geometry{g}, x, x_zero_point, weights, zero_points, bias, finish, y);
}

}  // namespace zp::inline v0::kernel::reference
