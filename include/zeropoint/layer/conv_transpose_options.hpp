// Options of a transposed convolution, and what they come to for an input.
#pragma once

#include <algorithm>

#include <zeropoint/kernel/transposed_geometry.hpp>
#include <zeropoint/layer/builder.hpp>

namespace zp {
inline namespace v0 {

/// Options of a transposed convolution, with PyTorch's defaults. The output has (in - 1) * stride - 2 * padding + dilation *
/// (kernel - 1) + output_padding + 1 rows and columns.
struct conv_transpose {
    int out_channels = 0;
    extent kernel = 1;
    extent stride = 1;
    extent padding = 0;
    extent output_padding = 0;
    extent dilation = 1;
    int groups = 1;
    bool bias = true;
};

/// Whether options make sense for an input: groups divide both channel counts, output_padding is below the stride or the
/// dilation, and the padding leaves something of the output.
constexpr bool fits(const conv_transpose& options, const shape& in) {
    const auto axis = [](int extent_in, int taps, int stride, int padding, int extra, int dilation) {
        return taps > 0 && stride > 0 && padding >= 0 && dilation > 0 && extra >= 0 &&
               (extra < stride || extra < dilation) &&
               kernel::conv_transpose_extent(extent_in, taps, stride, padding, dilation, extra) > 0;
    };
    const conv_transpose& o = options;
    return o.out_channels > 0 && o.groups > 0 && in.channels % o.groups == 0 && o.out_channels % o.groups == 0 &&
           axis(in.height, o.kernel.height, o.stride.height, o.padding.height, o.output_padding.height,
                o.dilation.height) &&
           axis(in.width, o.kernel.width, o.stride.width, o.padding.width, o.output_padding.width, o.dilation.width);
}

/// The geometry of options that fit; else one of a single value, so that one error is not followed by others.
constexpr kernel::conv_transpose2d_geometry geometry_of(const conv_transpose& options, const shape& in) {
    if (!fits(options, in)) return {};
    kernel::conv_transpose2d_geometry g;
    g.in = in;
    g.out = {
        kernel::conv_transpose_extent(in.height, options.kernel.height, options.stride.height, options.padding.height,
                                      options.dilation.height, options.output_padding.height),
        kernel::conv_transpose_extent(in.width, options.kernel.width, options.stride.width, options.padding.width,
                                      options.dilation.width, options.output_padding.width),
        options.out_channels};
    g.kernel_height = options.kernel.height, g.kernel_width = options.kernel.width;
    g.stride_height = options.stride.height, g.stride_width = options.stride.width;
    g.padding_top = options.padding.height, g.padding_left = options.padding.width;
    g.dilation_height = options.dilation.height, g.dilation_width = options.dilation.width;
    g.groups = options.groups;
    return g;
}

}  // namespace v0
}  // namespace zp
