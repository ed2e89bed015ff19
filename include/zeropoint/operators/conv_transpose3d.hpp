// SPDX-License-Identifier: BSD-3-Clause
// conv_transpose3d: PyTorch's ConvTranspose3d.
#pragma once

#include <zeropoint/operators/conv_transpose2d.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind conv_transpose3d{"conv_transpose3d", true};
}
namespace operators {

inline constexpr operator_info conv_transpose3d_info = [] {
    operator_info info = make_filters(op::conv_transpose3d, filter_kernels::conv_transpose3d, window3d::names);
    info.takes_volumes = true;
    info.parameters = &parameters_of_window3d<filter_kernels::conv_transpose3d>;
    return info;
}();
inline constexpr operator_rules conv_transpose3d_rules =
    make_filter_rules(&macs_of_inputs, tap_sums_of_transposed_volumes);

}  // namespace operators

template <> struct forms_of<op::conv_transpose3d> : operators::matrix_forms {};

/// PyTorch's ConvTranspose3d.
constexpr int builder::conv_transpose3d(int x, const char* name, const volume_conv_transpose& options) {
    node n = unary(operators::conv_transpose3d_info, operators::conv_transpose3d_rules, x, name);
    const shape in = nodes[x].out.extents, plane = plane_of(in);
    if (with_channels(options.plane(), plane).out_channels <= 0) fail(rule::out_channels_missing, in);
    if (!divides_channels(options.plane(), plane)) fail(rule::channels_not_divisible, in, {1, 1, options.out_channels});
    if (!fits(options, in)) fail(rule::conv_transpose_options, in, extents_of(options, in));
    const kernel::conv_transpose3d_geometry g = geometry_of(options, in);
    const kernel::conv_transpose2d_geometry& p = g.plane;
    set_options(n, window3d{p.kernel_height, p.kernel_width, p.stride_height, p.stride_width, p.padding_top,
                            p.padding_left, p.dilation_height, p.dilation_width, p.groups, g.kernel_depth,
                            g.stride_depth, g.padding_front, g.dilation_depth});
    n.out.extents = p.out;
    n.out.extents.depth = g.out_depth;
    n.weights.channels = p.out.channels;
    n.weights.has_bias = options.bias;
    n.weights.count = p.out.channels * g.depth();
    return append(n);
}

/// Over a volume: `zp::conv_transpose3d<"up", zp::volume_conv_transpose{.out_channels = 8, .kernel = 2, .stride = 2}>` doubles
/// depth, height and width. The weight in a file is in_channels x out_channels/groups x depth x height x width.
template <fixed_string Name, volume_conv_transpose Options> struct conv_transpose3d {
    static constexpr int nodes = 1;
    static constexpr int lower(builder& b, int x) { return b.conv_transpose3d(x, Name.text, Options); }
};

}  // namespace zp::inline v0
