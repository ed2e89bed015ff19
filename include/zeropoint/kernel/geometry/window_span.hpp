// SPDX-License-Identifier: BSD-3-Clause
// Which rows or columns of an input lie under one window: the geometry that pooling and float convolution share.
#pragma once

#include <algorithm>
#include <cstdint>

#include <zeropoint/kernel/geometry/conv2d.hpp>

namespace zp::inline v0::kernel {

/// Along one axis, the positions of one window that lie inside the input.
struct window_span {
    int first = 0;    ///< the first row or column of input inside
    int skipped = 0;  ///< positions of the window before it, which lie in the padding
    int count = 0;    ///< how many are inside
    int step = 1;     ///< from one to the next
    int padded = 0;   ///< how many lie inside the input with its padding
};

/// The window of output `index`: positions index * stride - padding + k * dilation for k in [0, kernel), of which those
/// in [0, extent) are inside. The padding is taken to be the same at both ends for `padded`, which is for dilation 1:
/// windows that hang over the padding, as PyTorch's ceil_mode lets them, are clipped to it.
constexpr window_span span_of_window(int index, int kernel, int stride, int padding, int dilation, int extent) {
    const int start = index * stride - padding;
    const int before = start < 0 ? std::min((-start + dilation - 1) / dilation, kernel) : 0;
    const int until = start < extent ? std::clamp((extent - start + dilation - 1) / dilation, before, kernel) : before;
    return {start + before * dilation, before, until - before, dilation, std::min(kernel, extent + padding - start)};
}

/// The rows, resp. columns, of input under an output of a convolution or a pooling. `dilation` is the geometry's, or the
/// constant 1 where that is known: spans divide by it.
constexpr window_span rows_under(const conv2d_geometry& g, int row, int dilation) {
    return span_of_window(row, g.kernel_height, g.stride_height, g.padding_top, dilation, g.in.height);
}
constexpr window_span columns_under(const conv2d_geometry& g, int column, int dilation) {
    return span_of_window(column, g.kernel_width, g.stride_width, g.padding_left, dilation, g.in.width);
}

/// The cell of output `index` of an adaptive pooling: from floor(index * extent / out) up to
/// ceil((index + 1) * extent / out), PyTorch's rule.
constexpr window_span span_of_cell(int index, int extent, int out) {
    const int first = static_cast<int>(std::int64_t{index} * extent / out);
    const int last = static_cast<int>(((std::int64_t{index} + 1) * extent + out - 1) / out);
    return {first, 0, last - first, 1, last - first};
}

}  // namespace zp::inline v0::kernel
