// SPDX-License-Identifier: BSD-3-Clause
// conv2d: cross-correlation as PyTorch's, depthwise and grouped ones included, and the same along sequences.
#pragma once

#include <zeropoint/graph/define.hpp>
#include <zeropoint/operators/matrix.hpp>
#include <zeropoint/operators/tap_sums.hpp>
#include <zeropoint/operators/window_extents.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind conv2d{"conv2d", true};
}

/// Options of a convolution, with PyTorch's defaults. out_channels may be left out of a depthwise one (multiplier 1).
struct conv {
    int out_channels = 0;  // channels of the output
    extent kernel = 1;     // rows and columns of the window
    extent stride = 1;     // from one window to the next
    extent padding = 0;    // rows of zeros above and below, columns left and right
    extent dilation = 1;   // from one value of a window to the next
    int groups = 1;        // groups of channels that are convolved apart; zp::depthwise is one an input channel
    bool bias = true;      // whether there is a "name.bias"
};

namespace operators {

constexpr operator_info make_conv2d(const char* name) {
    operator_info info = make_filters(op::conv2d, filter_kernels::conv2d, window2d::names);
    info.name = name;
    info.stream = stream_rule::windowed;
    info.takes |= channel_map | zeros;
    info.has_int16 = true;
    info.parameters = &parameters_of_window2d<filter_kernels::conv2d>;
    info.geometry = &geometry_of_window;
    return info;
}
inline constexpr operator_info conv2d_info = make_conv2d("conv2d"), conv1d_info = make_conv2d("conv1d");
inline constexpr operator_rules conv2d_rules = make_filter_rules(&macs_of_outputs, tap_sums_of_windows);

/// Groups and channels of a convolution over an input of so many channels: of `depthwise` one group an input channel.
constexpr void set_channels(builder& b, node& n, const shape& in, int out_channels, int groups) {
    if (groups == depthwise) {
        groups = in.channels;
        if (out_channels == 0) out_channels = in.channels;
    }
    if (out_channels <= 0) b.fail(rule::out_channels_missing, in);
    if (groups <= 0 || in.channels % groups != 0 || out_channels % groups != 0)
        b.fail(rule::channels_not_divisible, in, {1, 1, out_channels});
    window2d window = options_of<window2d>(n);
    window.groups = groups <= 0 ? 1 : groups;
    set_options(n, window);
    n.out.extents.channels = n.weights.channels = out_channels;
}
constexpr int append_conv2d(builder& b, const operator_info& info, int x, const char* name, const conv& options) {
    node n = b.unary(info, conv2d_rules, x, name);
    set_options(n, window2d{});
    const shape in = b.nodes[x].out.extents;
    set_channels(b, n, in, options.out_channels, options.groups);
    set_window(b, n, in, options.kernel, options.stride, options.padding, options.dilation, false);
    window2d window = options_of<window2d>(n);
    window.one_dimensional = &info == &conv1d_info;
    set_options(n, window);
    n.weights.has_bias = options.bias;
    n.weights.count = n.weights.channels * options.kernel.height * options.kernel.width * (in.channels / window.groups);
    return b.append(n);
}

}  // namespace operators

template <> struct forms_of<op::conv2d> : operators::matrix_forms {};

/// Cross-correlation as PyTorch's Conv2d: zero padding on all sides.
constexpr int builder::conv2d(int x, const char* name, const conv& options) {
    return operators::append_conv2d(*this, operators::conv2d_info, x, name, options);
}
/// conv2d over a sequence of 1 x length x channels. Of extents that have two numbers the width counts.
constexpr int builder::conv1d(int x, const char* name, conv options) {
    if (nodes[x].out.extents.height != 1) fail(rule::sequence_expected, nodes[x].out.extents);
    options.kernel.height = options.stride.height = options.dilation.height = 1;
    options.padding.height = 0;
    return operators::append_conv2d(*this, operators::conv1d_info, x, name, options);
}

/// `zp::conv2d<"conv1", zp::conv{.out_channels = 16, .kernel = 3, .padding = 1}>`; parameters "conv1.weight", "conv1.bias".
template <fixed_string Name, conv Options> struct conv2d {
    static constexpr int nodes = 1;
    static constexpr int lower(builder& b, int x) { return b.conv2d(x, Name.text, Options); }
};

/// Along a sequence of 1 x length x channels (PyTorch's channels x length): `zp::conv1d<"conv", zp::conv{.out_channels = 8,
/// .kernel = 5, .padding = 2}>`. The weight in a file is out_channels x in_channels/groups x kernel.
template <fixed_string Name, conv Options> struct conv1d {
    static constexpr int nodes = 1;
    static constexpr int lower(builder& b, int x) { return b.conv1d(x, Name.text, Options); }
};

}  // namespace zp::inline v0
