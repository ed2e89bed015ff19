// ResNet-18 (He 2015) as torchvision builds it: the same layers, the same names of parameters.
#pragma once

#include <zeropoint/model/composition.hpp>

namespace models {
namespace resnet {

template <zp::fixed_string Name, zp::fixed_string Norm, zp::conv Options>
struct conv_norm : zp::sequential<zp::conv2d<Name, Options>, zp::batch_norm2d<Norm>> {};

constexpr zp::conv conv3x3(int channels, int stride) {
    return {.out_channels = channels, .kernel = 3, .stride = stride, .padding = 1, .bias = false};
}
constexpr zp::conv conv1x1(int channels, int stride) {
    return {.out_channels = channels, .kernel = 1, .stride = stride, .bias = false};
}

/// The two convolutions of a block, without the ReLU behind the sum.
template <zp::fixed_string Name, int Channels, int Stride>
struct two_convs : zp::sequential<conv_norm<Name + ".conv1", Name + ".bn1", conv3x3(Channels, Stride)>, zp::relu,
                                  conv_norm<Name + ".conv2", Name + ".bn2", conv3x3(Channels, 1)>> {};

template <zp::fixed_string Name, int Channels>
struct basic_block : zp::sequential<zp::residual<two_convs<Name, Channels, 1>>, zp::relu> {};

/// Halves height and width; the shortcut is a 1x1 convolution.
template <zp::fixed_string Name, int Channels>
struct downsampling_block
    : zp::add_relu<two_convs<Name, Channels, 2>,
                   conv_norm<Name + ".downsample.0", Name + ".downsample.1", conv1x1(Channels, 2)>> {};

}  // namespace resnet

// clang-format off
struct resnet18 : zp::model<zp::input<224, 224, 3>,
    zp::conv2d<"conv1", zp::conv{.out_channels = 64, .kernel = 7, .stride = 2, .padding = 3, .bias = false}>,
    zp::batch_norm2d<"bn1">, zp::relu,
    zp::max_pool2d<zp::pool{.kernel = 3, .stride = 2, .padding = 1}>,
    resnet::basic_block<"layer1.0", 64>, resnet::basic_block<"layer1.1", 64>,
    resnet::downsampling_block<"layer2.0", 128>, resnet::basic_block<"layer2.1", 128>,
    resnet::downsampling_block<"layer3.0", 256>, resnet::basic_block<"layer3.1", 256>,
    resnet::downsampling_block<"layer4.0", 512>, resnet::basic_block<"layer4.1", 512>,
    zp::adaptive_avg_pool2d<1>, zp::flatten, zp::linear<"fc", 1000>> {};
// clang-format on

}  // namespace models
