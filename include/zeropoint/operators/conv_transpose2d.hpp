// SPDX-License-Identifier: BSD-3-Clause
// conv_transpose2d: PyTorch's ConvTranspose2d, and the same along sequences.
#pragma once

#include <zeropoint/graph/define.hpp>
#include <zeropoint/operators/conv_transpose_options.hpp>
#include <zeropoint/operators/matrix.hpp>
#include <zeropoint/operators/tap_sums.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind conv_transpose2d{"conv_transpose2d", true};
}
namespace operators {

constexpr operator_info make_conv_transpose2d(const char* name) {
    operator_info info = make_filters(op::conv_transpose2d, filter_kernels::conv_transpose2d, window2d::names);
    info.name = name;
    info.stream = stream_rule::transposed;
    info.has_int16 = true;
    info.parameters = &parameters_of_window2d<filter_kernels::conv_transpose2d>;
    return info;
}
inline constexpr operator_info conv_transpose2d_info = make_conv_transpose2d("conv_transpose2d"),
                               conv_transpose1d_info = make_conv_transpose2d("conv_transpose1d");
inline constexpr operator_rules conv_transpose2d_rules =
    make_filter_rules(&macs_of_inputs, tap_sums_of_transposed_windows);

constexpr int append_conv_transpose2d(builder& b, const operator_info& info, int x, const char* name,
                                      const conv_transpose& options) {
    node n = b.unary(info, conv_transpose2d_rules, x, name);
    const value_type& value = b.nodes[x].out;
    const shape& in = value.extents;
    const conv_transpose o = with_channels(options, in);
    if (value.is_flattened_image()) b.fail(rule::flattened_image, value.flattened);
    if (o.out_channels <= 0) b.fail(rule::out_channels_missing, in);
    if (!divides_channels(o, in)) b.fail(rule::channels_not_divisible, in, {1, 1, o.out_channels});
    if (!fits(o, in)) b.fail(rule::conv_transpose_options, in, extents_of(o, in));
    const kernel::conv_transpose2d_geometry g = geometry_of(o, in);
    window2d window{g.kernel_height, g.kernel_width,    g.stride_height,  g.stride_width, g.padding_top,
                    g.padding_left,  g.dilation_height, g.dilation_width, g.groups};
    window.one_dimensional = &info == &conv_transpose1d_info;
    set_options(n, window);
    n.out.extents = g.out;
    n.weights.channels = g.out.channels;
    n.weights.has_bias = o.bias;
    n.weights.count = g.out.channels * g.depth();
    return b.append(n);
}

}  // namespace operators

template <> struct forms_of<op::conv_transpose2d> : operators::matrix_forms {};

/// PyTorch's ConvTranspose2d.
constexpr int builder::conv_transpose2d(int x, const char* name, const conv_transpose& options) {
    return operators::append_conv_transpose2d(*this, operators::conv_transpose2d_info, x, name, options);
}
/// conv_transpose2d over a sequence of 1 x length x channels. Of extents that have two numbers the width counts.
constexpr int builder::conv_transpose1d(int x, const char* name, conv_transpose options) {
    if (nodes[x].out.extents.height != 1) fail(rule::sequence_expected, nodes[x].out.extents);
    options.kernel.height = options.stride.height = options.dilation.height = 1;
    options.padding.height = options.output_padding.height = 0;
    return operators::append_conv_transpose2d(*this, operators::conv_transpose1d_info, x, name, options);
}

/// PyTorch's ConvTranspose2d: `zp::conv_transpose2d<"up", zp::conv_transpose{.out_channels = 16, .kernel = 2, .stride = 2}>`
/// doubles height and width. The weight in a file is in_channels x out_channels/groups x height x width.
template <fixed_string Name, conv_transpose Options> struct conv_transpose2d {
    static constexpr int nodes = 1;
    static constexpr int lower(builder& b, int x) { return b.conv_transpose2d(x, Name.text, Options); }
};

/// The same along a sequence of 1 x length x channels. The weight in a file is in_channels x out_channels/groups x kernel.
template <fixed_string Name, conv_transpose Options> struct conv_transpose1d {
    static constexpr int nodes = 1;
    static constexpr int lower(builder& b, int x) { return b.conv_transpose1d(x, Name.text, Options); }
};

}  // namespace zp::inline v0
