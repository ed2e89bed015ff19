// SPDX-License-Identifier: BSD-3-Clause
// MobileNetV3 (Howard 2019), parameters named as in torchvision: mobilenet_v3_large, mobilenet_v3_small.
#pragma once

#include <utility>

#include <zeropoint/operators/binary.hpp>
#include <zeropoint/models/parts.hpp>

namespace zp::inline v0::models {
namespace mobilenet_v3_parts {

enum class nonlinearity : bool { relu, hardswish };

/// 1x1 to `expanded` channels, depthwise, squeeze-and-excite where `squeezes`, 1x1 to `out_channels`, which no activation
/// follows.
struct bottleneck {
    int in_channels = 0, kernel = 3, expanded = 0, out_channels = 0;
    bool squeezes = false;
    nonlinearity activation = nonlinearity::relu;
    int stride = 1;

    constexpr bool expands() const { return expanded != in_channels; }
    constexpr bool has_shortcut() const { return stride == 1 && in_channels == out_channels; }
    constexpr int squeezed() const { return scaled_channels(expanded / 4, 100); }
};

// The paper's tables 1 and 2. A row has what follows from the one above it in front: the channels that come in.
inline constexpr auto relu_after = nonlinearity::relu, hardswish_after = nonlinearity::hardswish;
inline constexpr bottleneck large_bottlenecks[] = {
    {16, 3, 16, 16, false, relu_after, 1},        {16, 3, 64, 24, false, relu_after, 2},
    {24, 3, 72, 24, false, relu_after, 1},        {24, 5, 72, 40, true, relu_after, 2},
    {40, 5, 120, 40, true, relu_after, 1},        {40, 5, 120, 40, true, relu_after, 1},
    {40, 3, 240, 80, false, hardswish_after, 2},  {80, 3, 200, 80, false, hardswish_after, 1},
    {80, 3, 184, 80, false, hardswish_after, 1},  {80, 3, 184, 80, false, hardswish_after, 1},
    {80, 3, 480, 112, true, hardswish_after, 1},  {112, 3, 672, 112, true, hardswish_after, 1},
    {112, 5, 672, 160, true, hardswish_after, 2}, {160, 5, 960, 160, true, hardswish_after, 1},
    {160, 5, 960, 160, true, hardswish_after, 1}};
inline constexpr bottleneck small_bottlenecks[] = {
    {16, 3, 16, 16, true, relu_after, 2},       {16, 3, 72, 24, false, relu_after, 2},
    {24, 3, 88, 24, false, relu_after, 1},      {24, 5, 96, 40, true, hardswish_after, 2},
    {40, 5, 240, 40, true, hardswish_after, 1}, {40, 5, 240, 40, true, hardswish_after, 1},
    {40, 5, 120, 48, true, hardswish_after, 1}, {48, 5, 144, 48, true, hardswish_after, 1},
    {48, 5, 288, 96, true, hardswish_after, 2}, {96, 5, 576, 96, true, hardswish_after, 1},
    {96, 5, 576, 96, true, hardswish_after, 1}};
constexpr bottleneck bottleneck_at(bool large, int place) {
    return large ? large_bottlenecks[place] : small_bottlenecks[place];
}

template <nonlinearity> struct activation_of : relu {};
template <> struct activation_of<nonlinearity::hardswish> : hardswish {};

/// Convolution and batch norm with an epsilon of 1e-3: parameters Name.0 and Name.1.
template <fixed_string Name, conv Options>
struct conv_norm_001 : conv_norm<Name + ".0", Name + ".1", Options, norm{.epsilon_millionths = 1000}> {};
template <fixed_string Name, conv Options, nonlinearity Activation>
struct conv_norm_activation : sequential<conv_norm_001<Name, Options>, activation_of<Activation>> {};

/// A factor a channel, from the averages of all channels.
template <fixed_string Name, int Channels, int Squeezed>
struct excitation : sequential<adaptive_avg_pool2d<1>, conv2d<Name + ".fc1", conv{.out_channels = Squeezed}>, relu,
                               conv2d<Name + ".fc2", conv{.out_channels = Channels}>, hard_sigmoid> {};

template <fixed_string Name, bottleneck B>
struct expansion : conv_norm_activation<Name + ".block.0", conv1x1(B.expanded), B.activation> {};
template <fixed_string Name, bottleneck B, int Number>
struct depthwise_part
    : conv_norm_activation<Name + ".block." + numeral<Number>, depthwise_conv(B.kernel, B.stride), B.activation> {};
template <fixed_string Name, bottleneck B, int Number>
struct squeeze_and_excite : mul<identity, excitation<Name + ".block." + numeral<Number>, B.expanded, B.squeezed()>> {};
template <fixed_string Name, bottleneck B, int Number>
struct projection : conv_norm_001<Name + ".block." + numeral<Number>, conv1x1(B.out_channels)> {};

/// Parts are numbered in the order in which they stand.
template <fixed_string Name, bottleneck B> struct inverted_residual {
    static constexpr int first = B.expands() ? 1 : 0, last = B.squeezes ? first + 2 : first + 1;
    using expand = expansion<Name, B>;
    using filter = depthwise_part<Name, B, first>;
    using squeeze = squeeze_and_excite<Name, B, first + 1>;
    using project = projection<Name, B, last>;

    static constexpr int nodes = expand::nodes + filter::nodes + squeeze::nodes + project::nodes + 1;
    static constexpr int lower(builder& b, int x) {
        int y = B.expands() ? expand::lower(b, x) : x;
        y = filter::lower(b, y);
        if (B.squeezes) y = squeeze::lower(b, y);
        y = project::lower(b, y);
        return B.has_shortcut() ? b.add(y, x) : y;
    }
};

template <bool Large, class Places> struct body;
template <bool Large, int... I>
struct body<Large, std::integer_sequence<int, I...>>
    : sequential<inverted_residual<"features." + numeral<I + 1>, bottleneck_at(Large, I)>...> {};

inline constexpr conv stem{.out_channels = 16, .kernel = 3, .stride = 2, .padding = 1, .bias = false};

}  // namespace mobilenet_v3_parts

// clang-format off
/// torchvision's mobilenet_v3_large: 5.5 million parameters. Input is a zp::input of 3 channels, 224 x 224 by
/// default.
template <class Input = imagenet_input, int Classes = imagenet_classes>
struct mobilenet_v3_large : model<Input,
    mobilenet_v3_parts::conv_norm_activation<"features.0", mobilenet_v3_parts::stem, mobilenet_v3_parts::nonlinearity::hardswish>,
    mobilenet_v3_parts::body<true, std::make_integer_sequence<int, 15>>,
    mobilenet_v3_parts::conv_norm_activation<"features.16", conv1x1(960), mobilenet_v3_parts::nonlinearity::hardswish>,
    adaptive_avg_pool2d<1>, flatten, linear<"classifier.0", 1280>, hardswish, dropout, linear<"classifier.3", Classes>> {};
/// torchvision's mobilenet_v3_small: 2.5 million parameters.
template <class Input = imagenet_input, int Classes = imagenet_classes>
struct mobilenet_v3_small : model<Input,
    mobilenet_v3_parts::conv_norm_activation<"features.0", mobilenet_v3_parts::stem, mobilenet_v3_parts::nonlinearity::hardswish>,
    mobilenet_v3_parts::body<false, std::make_integer_sequence<int, 11>>,
    mobilenet_v3_parts::conv_norm_activation<"features.12", conv1x1(576), mobilenet_v3_parts::nonlinearity::hardswish>,
    adaptive_avg_pool2d<1>, flatten, linear<"classifier.0", 1024>, hardswish, dropout, linear<"classifier.3", Classes>> {};
// clang-format on

}  // namespace zp::inline v0::models
