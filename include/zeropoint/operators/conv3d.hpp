// SPDX-License-Identifier: BSD-3-Clause
// conv3d: a convolution over a volume.
#pragma once

#include <zeropoint/operators/conv2d.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind conv3d{"conv3d", true};
}

/// Options of a convolution over a volume, with PyTorch's defaults.
struct volume_conv {
    int out_channels = 0;        // channels of the output
    volume_extent kernel = 1;    // planes, rows and columns of the window
    volume_extent stride = 1;    // from one window to the next
    volume_extent padding = 0;   // zeros on both sides of each axis
    volume_extent dilation = 1;  // from one value of a window to the next
    int groups = 1;              // groups of channels that are convolved apart; zp::depthwise is one an input channel
    bool bias = true;            // whether there is a "name.bias"
};

namespace operators {

inline constexpr operator_info conv3d_info = [] {
    operator_info info = make_filters(op::conv3d, filter_kernels::conv3d, window3d::names);
    info.takes_volumes = true;
    info.cut = cut_rule::volume_windowed;
    info.parameters = &parameters_of_window3d<filter_kernels::conv3d>;
    return info;
}();

}  // namespace operators

template <> struct forms_of<op::conv3d> : operators::matrix_forms {};

/// The same over a volume, as PyTorch's Conv3d.
constexpr int builder::conv3d(int x, const char* name, const volume_conv& options) {
    node n = unary(operators::conv3d_info, operators::conv2d_rules, x, name);
    set_options(n, window2d{});
    const volume_extent &kernel = options.kernel, &stride = options.stride, &padding = options.padding,
                        &dilation = options.dilation;
    const shape in = nodes[x].out.extents;
    operators::set_channels(*this, n, in, options.out_channels, options.groups);
    operators::set_window(*this, n, in, {kernel.height, kernel.width}, {stride.height, stride.width},
                          {padding.height, padding.width}, {dilation.height, dilation.width}, false);
    if (kernel.depth < 1 || stride.depth < 1 || padding.depth < 0 || dilation.depth < 1)
        fail(rule::window_not_positive, in, {1, 1, 1, kernel.depth});
    else
        n.out.extents.depth = output_extent(in.depth, kernel.depth, stride.depth, padding.depth, dilation.depth, false);
    const auto plane = options_of<window2d>(n);
    set_options(n, window3d{plane.kernel_height, plane.kernel_width, plane.stride_height, plane.stride_width,
                            plane.padding_top, plane.padding_left, plane.dilation_height, plane.dilation_width,
                            plane.groups, kernel.depth, stride.depth, padding.depth, dilation.depth});
    n.weights.has_bias = options.bias;
    n.weights.count = n.weights.channels * kernel.depth * kernel.height * kernel.width * (in.channels / plane.groups);
    return append(n);
}

/// Over a volume: `zp::conv3d<"conv", zp::volume_conv{.out_channels = 16, .kernel = {1, 3, 3}, .padding = {0, 1, 1}}>`. The
/// weight in a file is out_channels x in_channels/groups x depth x height x width.
template <fixed_string Name, volume_conv Options> struct conv3d {
    static constexpr int nodes = 1;
    static constexpr int lower(builder& b, int x) { return b.conv3d(x, Name.text, Options); }
};

}  // namespace zp::inline v0
