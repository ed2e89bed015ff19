// SPDX-License-Identifier: BSD-3-Clause
// A 3-D convolution as ordinary ones: the planes under a window become channels of one image.
#pragma once

#include <zeropoint/kernel/geometry/conv2d.hpp>

namespace zp::inline v0::kernel {

/// One 3-D convolution over in_depth planes, each an NHWC image. What lies behind the last plane is padding as in front.
struct conv3d_geometry {
    conv2d_geometry plane;  ///< of one input plane and one output plane, with the kernel's height and width
    int in_depth = 1, out_depth = 1;
    int kernel_depth = 1, stride_depth = 1, padding_front = 0, dilation_depth = 1;

    constexpr int in_size() const { return in_depth * plane.in.size(); }
    constexpr int out_size() const { return out_depth * plane.out.size(); }
    constexpr int taps() const { return kernel_depth * plane.taps(); }
    /// Products summed for one output.
    constexpr int depth() const { return kernel_depth * plane.depth(); }
    /// The plane of input that a tap of an output plane reads, which may be outside.
    constexpr int in_plane(int out_plane, int tap) const {
        return out_plane * stride_depth - padding_front + tap * dilation_depth;
    }
    /// The convolution of one output plane: its input has the channels of kernel_depth planes, [group][tap][channel].
    constexpr conv2d_geometry stacked() const {
        conv2d_geometry g = plane;
        g.in.channels *= kernel_depth;
        return g;
    }
    constexpr bool operator==(const conv3d_geometry&) const = default;
};

}  // namespace zp::inline v0::kernel
