// SPDX-License-Identifier: BSD-3-Clause
// Transposed convolutions as ordinary ones: their extents, and the phases into which a stride divides the output.
#pragma once

#include <algorithm>
#include <numeric>

#include <zeropoint/core/shape.hpp>
#include <zeropoint/kernel/geometry/conv2d.hpp>

// A transposed convolution adds w[tap] * x[i] to the output at i * stride - padding + tap * dilation. Seen from an output
// it is a sum over the taps for which (output + padding - tap * dilation) is a multiple of the stride. Outputs `stride`
// apart have the same taps, and read inputs 1 apart:
//
//     stride 2, kernel 4, padding 1:   y[0], y[2], y[4], ...   taps 1 and 3   one phase
//                                      y[1], y[3], y[5], ...   taps 0 and 2   another
//
// So each phase is an ordinary convolution of stride 1 with a part of the kernel, turned around, whose outputs lie
// `stride` apart.

namespace zp::inline v0::kernel {

/// One transposed 2-D convolution over one NHWC image, of height 1 in one dimension. `padding_top` and `padding_left` are
/// rows and columns that are cut off the full result; where it ends at the bottom and at the right follows from `out`.
struct conv_transpose2d_geometry {
    shape in, out;
    int kernel_height = 1, kernel_width = 1;
    int stride_height = 1, stride_width = 1;
    int padding_top = 0, padding_left = 0;
    int dilation_height = 1, dilation_width = 1;
    int groups = 1;

    constexpr int taps() const { return kernel_height * kernel_width; }
    /// Input and output channels of one group.
    constexpr int group_in() const { return in.channels / groups; }
    constexpr int group_out() const { return out.channels / groups; }
    /// Weights of one output channel: no output sums more products than these.
    constexpr int depth() const { return taps() * group_in(); }
    constexpr bool operator==(const conv_transpose2d_geometry&) const = default;
};

/// A transposed convolution of the numbers of an ordinary one, as tables keep them.
constexpr conv_transpose2d_geometry as_transposed(const conv2d_geometry& window) {
    conv_transpose2d_geometry g;
    g.in = window.in, g.out = window.out;
    g.kernel_height = window.kernel_height, g.kernel_width = window.kernel_width;
    g.stride_height = window.stride_height, g.stride_width = window.stride_width;
    g.padding_top = window.padding_top, g.padding_left = window.padding_left;
    g.dilation_height = window.dilation_height, g.dilation_width = window.dilation_width;
    g.groups = window.groups;
    return g;
}

/// The output extent of a transposed convolution along one axis, as PyTorch defines it.
constexpr int conv_transpose_extent(int in, int kernel, int stride, int padding, int dilation, int output_padding) {
    return (in - 1) * stride - 2 * padding + dilation * (kernel - 1) + output_padding + 1;
}

/// One phase along one axis: outputs phase, phase + stride, ...
struct transposed_axis {
    int taps = 0;                     ///< of the kernel; 0: these outputs are the bias
    int first_tap = 0, tap_step = 1;  ///< the taps in the kernel, the last of which the window begins with
    int dilation = 1, padding = 0;    ///< of the ordinary convolution; a negative padding leaves inputs out
    int outputs = 0;

    constexpr transposed_axis() = default;
    constexpr transposed_axis(int phase, int out, int kernel, int stride, int cut, int kernel_dilation)
        : tap_step(stride / std::gcd(stride, kernel_dilation)),
          dilation(kernel_dilation / std::gcd(stride, kernel_dilation)),
          outputs((out - phase + stride - 1) / stride) {
        const int reach = phase + cut;
        while (first_tap != tap_step && (reach - first_tap * kernel_dilation) % stride != 0) ++first_tap;
        if (first_tap >= std::min(kernel, tap_step)) return;
        taps = (kernel - first_tap + tap_step - 1) / tap_step;
        padding = (taps - 1) * dilation - (reach - first_tap * kernel_dilation) / stride;
    }
    /// The tap of the kernel that position `at` of the window is.
    constexpr int tap(int at) const { return first_tap + (taps - 1 - at) * tap_step; }
};

/// One of the stride_height * stride_width phases.
struct transposed_phase {
    int row, column;  ///< of its first output
    transposed_axis rows, columns;
    conv2d_geometry
        window;  ///< the convolution that computes it; `out` is at least 1x1, also where there are no outputs

    constexpr transposed_phase(const conv_transpose2d_geometry& g, int first_row, int first_column)
        : row(first_row),
          column(first_column),
          rows(row, g.out.height, g.kernel_height, g.stride_height, g.padding_top, g.dilation_height),
          columns(column, g.out.width, g.kernel_width, g.stride_width, g.padding_left, g.dilation_width) {
        window.in = g.in;
        window.out = {std::max(rows.outputs, 1), std::max(columns.outputs, 1), g.out.channels};
        window.kernel_height = std::max(rows.taps, 1);
        window.kernel_width = std::max(columns.taps, 1);
        window.padding_top = rows.padding;
        window.padding_left = columns.padding;
        window.dilation_height = rows.dilation;
        window.dilation_width = columns.dilation;
        window.groups = g.groups;
    }
    constexpr bool has_taps() const { return rows.taps != 0 && columns.taps != 0; }
    constexpr bool has_outputs() const { return rows.outputs != 0 && columns.outputs != 0; }
    /// The tap of the whole kernel, row by row, that a tap of the window is.
    constexpr int tap(const conv_transpose2d_geometry& g, int window_tap) const {
        return rows.tap(window_tap / window.kernel_width) * g.kernel_width +
               columns.tap(window_tap % window.kernel_width);
    }
};

/// Calls visit(transposed_phase) for each phase, in order.
template <class Visit> constexpr void for_each_phase(const conv_transpose2d_geometry& g, Visit visit) {
    for (int row = 0; row != g.stride_height; ++row)
        for (int column = 0; column != g.stride_width; ++column) visit(transposed_phase(g, row, column));
}

/// Whether windows lie side by side, so that each output is one tap of one pixel: all phases then read the same pixels, and are one convolution of
/// joined_taps().
constexpr bool has_joined_taps(const conv_transpose2d_geometry& g) {
    return g.groups == 1 && g.taps() != 1 && g.kernel_height == g.stride_height && g.kernel_width == g.stride_width &&
           (g.dilation_height == 1 || g.kernel_height == 1) && (g.dilation_width == 1 || g.kernel_width == 1) &&
           g.padding_top == 0 && g.padding_left == 0 && g.out.height == g.in.height * g.stride_height &&
           g.out.width == g.in.width * g.stride_width;
}
/// It: of one pixel, with the output channels of the first tap, then those of the next, row by row.
constexpr conv2d_geometry joined_taps(const conv_transpose2d_geometry& g) {
    return {.in = g.in, .out = {g.in.height, g.in.width, g.taps() * g.out.channels}};
}

}  // namespace zp::inline v0::kernel
