// SPDX-License-Identifier: BSD-3-Clause
// Options of a transposed convolution, and what they come to for an input.
#pragma once

#include <zeropoint/kernel/geometry/conv_transpose3d.hpp>
#include <zeropoint/graph/extent.hpp>

namespace zp::inline v0 {

/// Options of a transposed convolution, with PyTorch's defaults. out_channels may be left out of a depthwise one. The
/// output has (in - 1) * stride - 2 * padding + dilation * (kernel - 1) + output_padding + 1 rows and columns.
struct conv_transpose {
    int out_channels = 0;       // channels of the output
    extent kernel = 1;          // rows and columns of the window
    extent stride = 1;          // how far windows of neighbouring inputs are apart in the output
    extent padding = 0;         // rows and columns that are cut off on each side of the output
    extent output_padding = 0;  // rows and columns more at the bottom and on the right
    extent dilation = 1;        // from one value of a window to the next
    int groups = 1;             // groups of channels that are convolved apart; zp::depthwise is one an input channel
    bool bias = true;           // whether there is a "name.bias"
};

/// The options with their groups counted: of `depthwise` one an input channel, and as many output channels if none are given.
constexpr conv_transpose with_channels(conv_transpose options, const shape& in) {
    if (options.groups != depthwise) return options;
    options.groups = in.channels;
    if (options.out_channels == 0) options.out_channels = in.channels;
    return options;
}

constexpr bool divides_channels(const conv_transpose& options, const shape& in) {
    const int groups = with_channels(options, in).groups;
    return groups > 0 && in.channels % groups == 0 && with_channels(options, in).out_channels % groups == 0;
}

/// The extents of the output, which are none where the padding leaves nothing of it.
constexpr shape extents_of(const conv_transpose& o, const shape& in) {
    return {kernel::conv_transpose_extent(in.height, o.kernel.height, o.stride.height, o.padding.height,
                                          o.dilation.height, o.output_padding.height),
            kernel::conv_transpose_extent(in.width, o.kernel.width, o.stride.width, o.padding.width, o.dilation.width,
                                          o.output_padding.width),
            with_channels(o, in).out_channels};
}

/// Whether options make sense for an input: groups divide both channel counts, output_padding is below the stride or the
/// dilation, and the padding leaves something of the output.
constexpr bool fits(const conv_transpose& options, const shape& in) {
    const auto axis = [](int taps, int stride, int padding, int extra, int dilation) {
        return taps > 0 && stride > 0 && padding >= 0 && dilation > 0 && extra >= 0 &&
               (extra < stride || extra < dilation);
    };
    const conv_transpose& o = options;
    const shape out = extents_of(o, in);
    return out.height > 0 && out.width > 0 && out.channels > 0 && divides_channels(o, in) &&
           axis(o.kernel.height, o.stride.height, o.padding.height, o.output_padding.height, o.dilation.height) &&
           axis(o.kernel.width, o.stride.width, o.padding.width, o.output_padding.width, o.dilation.width);
}

/// The geometry of options that fit; else one of a single value, so that one error is not followed by others.
constexpr kernel::conv_transpose2d_geometry geometry_of(const conv_transpose& options, const shape& in) {
    if (!fits(options, in)) return {};
    kernel::conv_transpose2d_geometry g;
    g.in = in;
    g.out = extents_of(options, in);
    g.kernel_height = options.kernel.height, g.kernel_width = options.kernel.width;
    g.stride_height = options.stride.height, g.stride_width = options.stride.width;
    g.padding_top = options.padding.height, g.padding_left = options.padding.width;
    g.dilation_height = options.dilation.height, g.dilation_width = options.dilation.width;
    g.groups = with_channels(options, in).groups;
    return g;
}

/// Options of a transposed convolution over a volume.
struct volume_conv_transpose {
    int out_channels = 0;              // channels of the output
    volume_extent kernel = 1;          // planes, rows and columns of the window
    volume_extent stride = 1;          // how far windows of neighbouring inputs are apart in the output
    volume_extent padding = 0;         // what is cut off on both sides of each axis of the output
    volume_extent output_padding = 0;  // what is added at the far end of each axis
    volume_extent dilation = 1;        // from one value of a window to the next
    int groups = 1;    // groups of channels that are convolved apart; zp::depthwise is one an input channel
    bool bias = true;  // whether there is a "name.bias"

    /// Of one plane.
    constexpr conv_transpose plane() const {
        const auto both = [](const volume_extent& e) { return extent(e.height, e.width); };
        return {out_channels,         both(kernel),   both(stride), both(padding),
                both(output_padding), both(dilation), groups,       bias};
    }
    /// Along depth, as a sequence.
    constexpr conv_transpose along_depth() const {
        const auto deep = [](const volume_extent& e, int height) { return extent(height, e.depth); };
        return {out_channels,
                deep(kernel, 1),
                deep(stride, 1),
                deep(padding, 0),
                deep(output_padding, 0),
                deep(dilation, 1),
                groups,
                bias};
    }
};

constexpr shape plane_of(const shape& volume) { return {volume.height, volume.width, volume.channels}; }
constexpr shape depth_of(const shape& volume) { return {1, volume.depth, volume.channels}; }

constexpr bool fits(const volume_conv_transpose& options, const shape& in) {
    return fits(options.plane(), plane_of(in)) && fits(options.along_depth(), depth_of(in));
}
constexpr shape extents_of(const volume_conv_transpose& options, const shape& in) {
    shape out = extents_of(options.plane(), plane_of(in));
    out.depth = extents_of(options.along_depth(), depth_of(in)).width;
    return out;
}
/// The geometry of options that fit; else one of a single value.
constexpr kernel::conv_transpose3d_geometry geometry_of(const volume_conv_transpose& options, const shape& in) {
    kernel::conv_transpose3d_geometry g;
    if (!fits(options, in)) return g;
    g.plane = geometry_of(options.plane(), plane_of(in));
    g.in_depth = in.depth;
    g.out_depth = extents_of(options, in).depth;
    g.kernel_depth = options.kernel.depth, g.stride_depth = options.stride.depth;
    g.padding_front = options.padding.depth, g.dilation_depth = options.dilation.depth;
    return g;
}

}  // namespace zp::inline v0
