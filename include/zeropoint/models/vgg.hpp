// SPDX-License-Identifier: BSD-3-Clause
// VGG (Simonyan 2014), parameters named as in torchvision: vgg11, vgg13, vgg16, vgg19 and their forms with batch norms.
#pragma once

#include <utility>

#include <zeropoint/models/parts.hpp>

namespace zp::inline v0::models {
namespace vgg_parts {

/// How many convolutions stand in front of each of the five pools.
struct depths {
    int convolutions[5] = {2, 2, 3, 3, 3};
    bool batch_norm = false;

    constexpr int layers_per_convolution() const { return batch_norm ? 3 : 2; }
    /// The number, in torchvision's `features`, of the first layer of a group.
    constexpr int first_of(int group) const {
        int first = 0;
        for (int i = 0; i != group; ++i) first += convolutions[i] * layers_per_convolution() + 1;
        return first;
    }
};

/// Convolution, batch norm where there is one, ReLU: numbers First, First + 1, ...
template <int First, int Channels, bool BatchNorm>
struct convolution
    : sequential<conv2d<"features." + numeral<First>, conv{.out_channels = Channels, .kernel = 3, .padding = 1}>,
                 relu> {};
template <int First, int Channels>
struct convolution<First, Channels, true>
    : sequential<conv2d<"features." + numeral<First>, conv{.out_channels = Channels, .kernel = 3, .padding = 1}>,
                 batch_norm2d<"features." + numeral<First + 1>>, relu> {};

template <depths D, int Group, int Convolutions, class Places = std::make_integer_sequence<int, Convolutions>>
struct group;
template <depths D, int Group, int Convolutions, int... I>
struct group<D, Group, Convolutions, std::integer_sequence<int, I...>>
    : sequential<convolution<D.first_of(Group) + I * D.layers_per_convolution(), Group == 4 ? 512 : 64 << Group,
                             D.batch_norm>...,
                 max_pool2d<2>> {};

/// Hidden is the width of the two fully connected layers, 4096 in the paper, and most of the parameters.
template <class Input, int Classes, int Hidden, depths D>
struct network : model<Input, group<D, 0, D.convolutions[0]>, group<D, 1, D.convolutions[1]>,
                       group<D, 2, D.convolutions[2]>, group<D, 3, D.convolutions[3]>, group<D, 4, D.convolutions[4]>,
                       adaptive_avg_pool2d<7>, flatten, linear<"classifier.0", Hidden>, relu, dropout,
                       linear<"classifier.3", Hidden>, relu, dropout, linear<"classifier.6", Classes>> {};

}  // namespace vgg_parts

// clang-format off
/// torchvision's vgg11. Input is a zp::input of 3 channels, 224 x 224 by default; Hidden is how many values the two
/// linear layers before the last one give.
template <class Input = imagenet_input, int Classes = imagenet_classes, int Hidden = 4096>
struct vgg11 : vgg_parts::network<Input, Classes, Hidden, vgg_parts::depths{{1, 1, 2, 2, 2}}> {};
/// torchvision's vgg13.
template <class Input = imagenet_input, int Classes = imagenet_classes, int Hidden = 4096>
struct vgg13 : vgg_parts::network<Input, Classes, Hidden, vgg_parts::depths{{2, 2, 2, 2, 2}}> {};
/// torchvision's vgg16.
template <class Input = imagenet_input, int Classes = imagenet_classes, int Hidden = 4096>
struct vgg16 : vgg_parts::network<Input, Classes, Hidden, vgg_parts::depths{{2, 2, 3, 3, 3}}> {};
/// torchvision's vgg19.
template <class Input = imagenet_input, int Classes = imagenet_classes, int Hidden = 4096>
struct vgg19 : vgg_parts::network<Input, Classes, Hidden, vgg_parts::depths{{2, 2, 4, 4, 4}}> {};
/// torchvision's vgg11_bn: vgg11 with batch norms.
template <class Input = imagenet_input, int Classes = imagenet_classes, int Hidden = 4096>
struct vgg11_bn : vgg_parts::network<Input, Classes, Hidden, vgg_parts::depths{{1, 1, 2, 2, 2}, true}> {};
/// torchvision's vgg13_bn.
template <class Input = imagenet_input, int Classes = imagenet_classes, int Hidden = 4096>
struct vgg13_bn : vgg_parts::network<Input, Classes, Hidden, vgg_parts::depths{{2, 2, 2, 2, 2}, true}> {};
/// torchvision's vgg16_bn.
template <class Input = imagenet_input, int Classes = imagenet_classes, int Hidden = 4096>
struct vgg16_bn : vgg_parts::network<Input, Classes, Hidden, vgg_parts::depths{{2, 2, 3, 3, 3}, true}> {};
/// torchvision's vgg19_bn.
template <class Input = imagenet_input, int Classes = imagenet_classes, int Hidden = 4096>
struct vgg19_bn : vgg_parts::network<Input, Classes, Hidden, vgg_parts::depths{{2, 2, 4, 4, 4}, true}> {};
// clang-format on

}  // namespace zp::inline v0::models
