// SPDX-License-Identifier: BSD-3-Clause
// GoogLeNet (Szegedy 2014) with batch norms, parameters named as in torchvision, without the auxiliary classifiers that
// only training uses.
#pragma once

#include <zeropoint/models/parts.hpp>

namespace zp::inline v0::models {
namespace googlenet_parts {

/// The channels of a module's four branches: 1x1; 1x1 and 3x3; 1x1 and what the paper has as 5x5, torchvision as 3x3;
/// 1x1 behind a pool.
struct channels {
    int one = 0;
    int before_two = 0, two = 0;
    int before_three = 0, three = 0;
    int four = 0;
};

template <fixed_string Name, channels C>
struct inception : concat<conv_norm_relu<Name + ".branch1", conv1x1(C.one)>,
                          sequential<conv_norm_relu<Name + ".branch2.0", conv1x1(C.before_two)>,
                                     conv_norm_relu<Name + ".branch2.1", conv3x3(C.two)>>,
                          sequential<conv_norm_relu<Name + ".branch3.0", conv1x1(C.before_three)>,
                                     conv_norm_relu<Name + ".branch3.1", conv3x3(C.three)>>,
                          sequential<max_pool2d<pool{.kernel = 3, .stride = 1, .padding = 1, .ceil_mode = true}>,
                                     conv_norm_relu<Name + ".branch4.1", conv1x1(C.four)>>> {};

inline constexpr pool halving{.kernel = 3, .stride = 2, .ceil_mode = true};

// clang-format off
template <class Input, int Classes> struct network : model<Input,
    conv_norm_relu<"conv1", conv{.out_channels = 64, .kernel = 7, .stride = 2, .padding = 3, .bias = false}>,
    max_pool2d<halving>,
    conv_norm_relu<"conv2", conv1x1(64)>,
    conv_norm_relu<"conv3", conv3x3(192)>,
    max_pool2d<halving>,
    inception<"inception3a", channels{64, 96, 128, 16, 32, 32}>,
    inception<"inception3b", channels{128, 128, 192, 32, 96, 64}>,
    max_pool2d<halving>,
    inception<"inception4a", channels{192, 96, 208, 16, 48, 64}>,
    inception<"inception4b", channels{160, 112, 224, 24, 64, 64}>,
    inception<"inception4c", channels{128, 128, 256, 24, 64, 64}>,
    inception<"inception4d", channels{112, 144, 288, 32, 64, 64}>,
    inception<"inception4e", channels{256, 160, 320, 32, 128, 128}>,
    max_pool2d<pool{.kernel = 2, .stride = 2, .ceil_mode = true}>,
    inception<"inception5a", channels{256, 160, 320, 32, 128, 128}>,
    inception<"inception5b", channels{384, 192, 384, 48, 128, 128}>,
    adaptive_avg_pool2d<1>, flatten, dropout, linear<"fc", Classes>> {};
// clang-format on

}  // namespace googlenet_parts

/// torchvision's googlenet without its auxiliary outputs. Input is a zp::input of 3 channels, 224 x 224 by default.
template <class Input = imagenet_input, int Classes = imagenet_classes>
struct googlenet : googlenet_parts::network<Input, Classes> {};

}  // namespace zp::inline v0::models
