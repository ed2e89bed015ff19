// SPDX-License-Identifier: BSD-3-Clause
// ResNet (He 2015) and ResNeXt (Xie 2016), parameters named as in torchvision: resnet18 to resnet101, resnext50_32x4d,
// resnext101_32x8d.
#pragma once

#include <utility>

#include <zeropoint/models/parts.hpp>

namespace zp::inline v0::models {
namespace resnet_parts {

/// A block adds to its input two 3x3 convolutions (basic), or a 3x3 between two 1x1 (bottleneck).
enum class kind : bool { basic, bottleneck };

/// One of the four parts with equal extents. Each has twice the channels of the one before.
struct stage {
    kind block = kind::basic;
    int channels = 64;  // inside a block
    int stride = 1;     // of the first block
    int groups = 1;     // of the 3x3 in a bottleneck
    int width = 64;     // of it, a group, where channels are 64

    constexpr int inner_channels() const { return channels * width / 64 * groups; }
    constexpr int out_channels() const { return block == kind::basic ? channels : 4 * channels; }
    constexpr int in_channels() const { return channels == 64 ? 64 : out_channels() / 2; }
    /// Only the first block changes the shape: then its shortcut is a 1x1 convolution.
    constexpr bool projects() const { return stride != 1 || in_channels() != out_channels(); }
    constexpr stage later_block() const {
        stage same = *this;
        same.stride = 1;
        return same;
    }
};

/// The convolutions of a block, without the ReLU behind the sum.
template <fixed_string Name, stage S, kind = S.block>
struct convolutions : sequential<conv_norm<Name + ".conv1", Name + ".bn1", conv3x3(S.channels, S.stride)>, relu,
                                 conv_norm<Name + ".conv2", Name + ".bn2", conv3x3(S.channels)>> {};
template <fixed_string Name, stage S>
struct convolutions<Name, S, kind::bottleneck>
    : sequential<conv_norm<Name + ".conv1", Name + ".bn1", conv1x1(S.inner_channels())>, relu,
                 conv_norm<Name + ".conv2", Name + ".bn2", conv3x3(S.inner_channels(), S.stride, S.groups)>, relu,
                 conv_norm<Name + ".conv3", Name + ".bn3", conv1x1(S.out_channels())>> {};

template <fixed_string Name, stage S> struct block : sequential<residual<convolutions<Name, S>>, relu> {};

template <fixed_string Name, stage S>
struct projecting_block
    : add_relu<convolutions<Name, S>,
               conv_norm<Name + ".downsample.0", Name + ".downsample.1", conv1x1(S.out_channels(), S.stride)>> {};

template <fixed_string Name, stage S, bool = S.projects()> struct first_block : block<Name, S> {};
template <fixed_string Name, stage S> struct first_block<Name, S, true> : projecting_block<Name, S> {};

// GCC 12 fails on a computed number in an alias template such as make_integer_sequence, so the number comes as it is.
template <fixed_string Name, stage S, int Later, class Places = std::make_integer_sequence<int, Later>> struct blocks;
template <fixed_string Name, stage S, int Later, int... I>
struct blocks<Name, S, Later, std::integer_sequence<int, I...>>
    : sequential<first_block<Name + ".0", S>, block<Name + "." + numeral<I + 1>, S.later_block()>...> {};

/// The four stages: how many blocks each, and the groups of ResNeXt.
struct depths {
    kind block = kind::basic;
    int blocks[4] = {2, 2, 2, 2};
    int groups = 1, width = 64;

    constexpr stage operator[](int i) const { return {block, 64 << i, i == 0 ? 1 : 2, groups, width}; }
};

template <class Input, int Classes, depths D>
struct network
    : model<Input, conv2d<"conv1", conv{.out_channels = 64, .kernel = 7, .stride = 2, .padding = 3, .bias = false}>,
            batch_norm2d<"bn1">, relu, max_pool2d<pool{.kernel = 3, .stride = 2, .padding = 1}>,
            blocks<"layer1", D[0], D.blocks[0] - 1>, blocks<"layer2", D[1], D.blocks[1] - 1>,
            blocks<"layer3", D[2], D.blocks[2] - 1>, blocks<"layer4", D[3], D.blocks[3] - 1>, adaptive_avg_pool2d<1>,
            flatten, linear<"fc", Classes>> {};

}  // namespace resnet_parts

// clang-format off
/// torchvision's resnet18: 11.7 million parameters. Input is a zp::input of 3 channels, 224 x 224 by default.
template <class Input = imagenet_input, int Classes = imagenet_classes>
struct resnet18 : resnet_parts::network<Input, Classes, resnet_parts::depths{resnet_parts::kind::basic, {2, 2, 2, 2}}> {};
/// torchvision's resnet34: 21.8 million parameters.
template <class Input = imagenet_input, int Classes = imagenet_classes>
struct resnet34 : resnet_parts::network<Input, Classes, resnet_parts::depths{resnet_parts::kind::basic, {3, 4, 6, 3}}> {};
/// torchvision's resnet50, with the stride in the 3x3 convolution: 25.6 million parameters.
template <class Input = imagenet_input, int Classes = imagenet_classes>
struct resnet50 : resnet_parts::network<Input, Classes, resnet_parts::depths{resnet_parts::kind::bottleneck, {3, 4, 6, 3}}> {};
/// torchvision's resnet101: 44.5 million parameters.
template <class Input = imagenet_input, int Classes = imagenet_classes>
struct resnet101 : resnet_parts::network<Input, Classes, resnet_parts::depths{resnet_parts::kind::bottleneck, {3, 4, 23, 3}}> {};
/// 32 groups, of 4 channels each in the first stage.
template <class Input = imagenet_input, int Classes = imagenet_classes>
struct resnext50_32x4d : resnet_parts::network<Input, Classes, resnet_parts::depths{resnet_parts::kind::bottleneck, {3, 4, 6, 3}, 32, 4}> {};
/// 32 groups, of 8 channels each in the first stage.
template <class Input = imagenet_input, int Classes = imagenet_classes>
struct resnext101_32x8d : resnet_parts::network<Input, Classes, resnet_parts::depths{resnet_parts::kind::bottleneck, {3, 4, 23, 3}, 32, 8}> {};
// clang-format on

}  // namespace zp::inline v0::models
