// SPDX-License-Identifier: BSD-3-Clause
// What several of the classic networks are made of.
#pragma once

#include <zeropoint/model/composition.hpp>

namespace zp::inline v0::models {

/// What torchvision's classification networks were trained on: ImageNet's images and classes.
using imagenet_input = input<224, 224, 3>;
inline constexpr int imagenet_classes = 1000;

/// A convolution and its batch norm, whose names differ from network to network.
template <fixed_string Conv, fixed_string Norm, conv Options, norm NormOptions = norm{}>
struct conv_norm : sequential<conv2d<Conv, Options>, batch_norm2d<Norm, NormOptions>> {};
/// Convolution, batch norm with an epsilon of 1e-3, ReLU: parameters Name.conv and Name.bn. The block of GoogLeNet and its successors.
template <fixed_string Name, conv Options>
struct conv_norm_relu
    : sequential<conv_norm<Name + ".conv", Name + ".bn", Options, norm{.epsilon_millionths = 1000}>, relu> {};

// The convolutions in front of a batch norm: no bias, padding that keeps the extents at stride 1.

constexpr conv conv1x1(int channels, int stride = 1) {
    return {.out_channels = channels, .stride = stride, .bias = false};
}
constexpr conv conv3x3(int channels, int stride = 1, int groups = 1) {
    return {.out_channels = channels, .kernel = 3, .stride = stride, .padding = 1, .groups = groups, .bias = false};
}
/// One filter a channel, with an odd window.
constexpr conv depthwise_conv(int kernel, int stride = 1) {
    return {.kernel = kernel, .stride = stride, .padding = kernel / 2, .groups = depthwise, .bias = false};
}

/// A number of channels times a width in percent, to the nearest multiple of 8 that loses less than a tenth of it: the
/// rule of the MobileNets.
constexpr int scaled_channels(int channels, int width_percent) {
    const int hundredths = channels * width_percent;
    int rounded = (hundredths + 400) / 800 * 8;
    if (rounded < 8) rounded = 8;
    return rounded * 1000 < 9 * hundredths ? rounded + 8 : rounded;
}

}  // namespace zp::inline v0::models
