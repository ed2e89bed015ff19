// SPDX-License-Identifier: BSD-3-Clause
// ShuffleNetV2 (Ma 2018), parameters named as in torchvision:
// shufflenet_v2_x0_5, _x1_0, _x1_5, _x2_0.
#pragma once

#include <utility>

#include <zeropoint/operators/shuffle.hpp>
#include <zeropoint/operators/slice.hpp>
#include <zeropoint/models/parts.hpp>

namespace zp::inline v0::models {
namespace shufflenet_v2_parts {

/// 1x1, depthwise 3x3, 1x1: to Channels, which are half of a block's.
template <fixed_string Name, int Channels, int Stride>
struct branch : sequential<conv_norm<Name + ".0", Name + ".1", conv1x1(Channels)>, relu,
                           conv_norm<Name + ".3", Name + ".4", depthwise_conv(3, Stride)>,
                           conv_norm<Name + ".5", Name + ".6", conv1x1(Channels)>, relu> {};

/// One half of the channels passes, the other goes through a branch; then they
/// are mixed.
template <fixed_string Name, int Channels>
struct block : sequential<concat<chunk<0, 2>, sequential<chunk<1, 2>, branch<Name + ".branch2", Channels / 2, 1>>>,
                          channel_shuffle<2>> {};

/// The first of a stage: all channels go through two branches, which halve
/// height and width.
template <fixed_string Name, int Channels>
struct halving_block
    : sequential<concat<sequential<conv_norm<Name + ".branch1.0", Name + ".branch1.1", depthwise_conv(3, 2)>,
                                   conv_norm<Name + ".branch1.2", Name + ".branch1.3", conv1x1(Channels / 2)>, relu>,
                        branch<Name + ".branch2", Channels / 2, 2>>,
                 channel_shuffle<2>> {};

template <fixed_string Name, int Channels, class Places> struct stage;
template <fixed_string Name, int Channels, int... I>
struct stage<Name, Channels, std::integer_sequence<int, I...>>
    : sequential<halving_block<Name + ".0", Channels>, block<Name + "." + numeral<I + 1>, Channels>...> {};

/// The paper's table 5: channels of stage 2, which double from stage to stage,
/// and of the last convolution.
template <class Input, int Classes, int Channels, int LastChannels>
struct network : model<Input, conv_norm<"conv1.0", "conv1.1", conv3x3(24, 2)>, relu,
                       max_pool2d<pool{.kernel = 3, .stride = 2, .padding = 1}>,
                       stage<"stage2", Channels, std::make_integer_sequence<int, 3>>,
                       stage<"stage3", 2 * Channels, std::make_integer_sequence<int, 7>>,
                       stage<"stage4", 4 * Channels, std::make_integer_sequence<int, 3>>,
                       conv_norm<"conv5.0", "conv5.1", conv1x1(LastChannels)>, relu, adaptive_avg_pool2d<1>, flatten,
                       linear<"fc", Classes>> {};

}  // namespace shufflenet_v2_parts

/// torchvision's shufflenet_v2_x0_5. Input is a zp::input of 3 channels, 224 x 224 by default.
template <class Input = imagenet_input, int Classes = imagenet_classes>
struct shufflenet_v2_x0_5 : shufflenet_v2_parts::network<Input, Classes, 48, 1024> {};
/// torchvision's shufflenet_v2_x1_0.
template <class Input = imagenet_input, int Classes = imagenet_classes>
struct shufflenet_v2_x1_0 : shufflenet_v2_parts::network<Input, Classes, 116, 1024> {};
/// torchvision's shufflenet_v2_x1_5.
template <class Input = imagenet_input, int Classes = imagenet_classes>
struct shufflenet_v2_x1_5 : shufflenet_v2_parts::network<Input, Classes, 176, 1024> {};
/// torchvision's shufflenet_v2_x2_0.
template <class Input = imagenet_input, int Classes = imagenet_classes>
struct shufflenet_v2_x2_0 : shufflenet_v2_parts::network<Input, Classes, 244, 2048> {};

}  // namespace zp::inline v0::models
