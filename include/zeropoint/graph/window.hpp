// SPDX-License-Identifier: BSD-3-Clause
// The window of a convolution or pooling node: its numbers as options, and with the extents around it the geometry of kernels.
#pragma once

#include <zeropoint/graph/node.hpp>
#include <zeropoint/kernel/geometry/conv3d.hpp>
#include <zeropoint/kernel/geometry/conv_transpose2d.hpp>
#include <zeropoint/kernel/geometry/conv_transpose3d.hpp>

namespace zp::inline v0 {

/// Options of conv2d, conv_transpose2d and the pools over images.
struct window2d {
    int kernel_height = 1, kernel_width = 1;
    int stride_height = 1, stride_width = 1;
    int padding_top = 0, padding_left = 0;
    int dilation_height = 1, dilation_width = 1;
    int groups = 1;
    int count_include_pad = 1;  // avg_pool2d
    int one_dimensional = 0;    // conv1d, conv_transpose1d: the weight has no height in files

    static constexpr const char* names[] = {"kernel_height", "kernel_width",      "stride_height",   "stride_width",
                                            "padding_top",   "padding_left",      "dilation_height", "dilation_width",
                                            "groups",        "count_include_pad", "one_dimensional"};
};

/// Options of conv3d and conv_transpose3d: the window over a plane, and the same along depth.
struct window3d {
    int kernel_height = 1, kernel_width = 1;
    int stride_height = 1, stride_width = 1;
    int padding_top = 0, padding_left = 0;
    int dilation_height = 1, dilation_width = 1;
    int groups = 1;
    int kernel_depth = 1, stride_depth = 1, padding_front = 0, dilation_depth = 1;

    static constexpr const char* names[] = {"kernel_height", "kernel_width", "stride_height",   "stride_width",
                                            "padding_top",   "padding_left", "dilation_height", "dilation_width",
                                            "groups",        "kernel_depth", "stride_depth",    "padding_front",
                                            "dilation_depth"};
};

/// Options of what keeps the last positions of a stream for a window over them: see operators/stream_window.hpp. Its input has those of
/// one step, its output what is read of `history` positions before and of these.
struct stream_window_options {
    int dilation = 1;  // positions from one value of the output to the next, of which the first is the oldest
    int history = 0;   // positions that are kept
    int lowest = 0;    // before the sequence the first of these are what a maximum does not see. Others are zeros
    static constexpr const char* names[] = {"dilation", "history", "lowest"};
};

namespace detail {
/// A window2d or window3d over a plane.
template <class Window>
constexpr kernel::conv2d_geometry plane_geometry(const Window& window, const shape& in, const shape& out) {
    kernel::conv2d_geometry g;
    g.in = in, g.out = out;
    g.in.depth = g.out.depth = 1;
    g.kernel_height = window.kernel_height, g.kernel_width = window.kernel_width;
    g.stride_height = window.stride_height, g.stride_width = window.stride_width;
    g.padding_top = window.padding_top, g.padding_left = window.padding_left;
    g.dilation_height = window.dilation_height, g.dilation_width = window.dilation_width;
    g.groups = window.groups;
    return g;
}
}  // namespace detail

/// What a conv2d or a pool computes. A conv_transpose2d has the same numbers under the same names.
constexpr kernel::conv2d_geometry geometry_of_window(const node_view& v) {
    return detail::plane_geometry(options_of<window2d>(v.n), v.x_shape(), v.y_shape());
}
/// What a conv_transpose2d computes.
constexpr kernel::conv_transpose2d_geometry transposed_window(const node_view& v) {
    return kernel::as_transposed(geometry_of_window(v));
}
/// What a conv3d computes.
constexpr kernel::conv3d_geometry volume_window(const node_view& v) {
    const auto window = options_of<window3d>(v.n);
    return {detail::plane_geometry(window, v.x_shape(), v.y_shape()),
            v.x_shape().depth,
            v.y_shape().depth,
            window.kernel_depth,
            window.stride_depth,
            window.padding_front,
            window.dilation_depth};
}
/// What a conv_transpose3d computes.
constexpr kernel::conv_transpose3d_geometry transposed_volume_window(const node_view& v) {
    const kernel::conv3d_geometry g = volume_window(v);
    return {kernel::as_transposed(g.plane),
            g.in_depth,
            g.out_depth,
            g.kernel_depth,
            g.stride_depth,
            g.padding_front,
            g.dilation_depth};
}

}  // namespace zp::inline v0
