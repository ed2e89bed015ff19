// SPDX-License-Identifier: BSD-3-Clause
// How many windows fit an input: the extents of what convolutions and pools give.
#pragma once

#include <zeropoint/graph/builder.hpp>
#include <zeropoint/graph/extent.hpp>
#include <zeropoint/graph/window.hpp>

namespace zp::inline v0 {

/// How many windows there are along an axis.
constexpr int output_extent(int in, int kernel, int stride, int padding, int dilation, bool ceil_mode) {
    const int room = in + 2 * padding - dilation * (kernel - 1) - 1;
    if (room < 0) return 0;
    int out = (room + (ceil_mode ? stride - 1 : 0)) / stride + 1;
    if (ceil_mode && (out - 1) * stride >= in + padding) --out;  // PyTorch: the last window must start inside
    return out;
}

namespace operators {

/// The window over an input as a node's window2d, and the height and width of its output.
constexpr void set_window(builder& b, node& n, const shape& in, extent kernel, extent stride, extent padding,
                          extent dilation, bool ceil_mode) {
    if (kernel.height < 1 || kernel.width < 1 || stride.height < 1 || stride.width < 1 || padding.height < 0 ||
        padding.width < 0 || dilation.height < 1 || dilation.width < 1)
        return b.fail(rule::window_not_positive, in, {kernel.height, kernel.width, 1});
    n.out.extents.height =
        output_extent(in.height, kernel.height, stride.height, padding.height, dilation.height, ceil_mode);
    n.out.extents.width = output_extent(in.width, kernel.width, stride.width, padding.width, dilation.width, ceil_mode);
    window2d window = options_of<window2d>(n);
    window.kernel_height = kernel.height, window.kernel_width = kernel.width;
    window.stride_height = stride.height, window.stride_width = stride.width;
    window.padding_top = padding.height, window.padding_left = padding.width;
    window.dilation_height = dilation.height, window.dilation_width = dilation.width;
    set_options(n, window);
}

}  // namespace operators
}  // namespace zp::inline v0
