// resnet18, made by zeropoint 0.1 of ResNet18, a module of PyTorch.
// 707,076 numbers in resnet18.safetensors.
//   input "x": float 1x3x48x40, here 48x40x3 (axes 2 3 1)
//   output "linear": float 1x20, here 1x1x20 (axes 1)
#pragma once

#include <zeropoint/model/composition.hpp>
#include <zeropoint/operators/sum.hpp>

namespace resnet18_parts {

/// BasicBlock: layer1.0, layer1.1, layer2.1, layer3.1, layer4.1
template <zp::fixed_string Name, int Channels> struct basic_block
    : zp::sequential<
        zp::residual<
            zp::conv2d<Name + ".conv1", zp::conv{.out_channels = Channels, .kernel = 3, .padding = 1, .bias = false}>,
            zp::batch_norm2d<Name + ".bn1">, zp::relu,
            zp::conv2d<Name + ".conv2", zp::conv{.out_channels = Channels, .kernel = 3, .padding = 1, .bias = false}>,
            zp::batch_norm2d<Name + ".bn2">>,
        zp::relu> {};

/// Sequential: layer2.0.downsample, layer3.0.downsample, layer4.0.downsample
template <zp::fixed_string Name, int Channels> struct conv_norm
    : zp::sequential<zp::conv2d<Name + ".0", zp::conv{.out_channels = Channels, .stride = 2, .bias = false}>,
        zp::batch_norm2d<Name + ".1">> {};

/// BasicBlock: layer2.0, layer3.0, layer4.0
template <zp::fixed_string Name, int Channels> struct basic_block_with_downsample
    : zp::add_relu<
        zp::sequential<
            zp::conv2d<
                Name + ".conv1",
                zp::conv{.out_channels = Channels, .kernel = 3, .stride = 2, .padding = 1, .bias = false}>,
            zp::batch_norm2d<Name + ".bn1">, zp::relu,
            zp::conv2d<Name + ".conv2", zp::conv{.out_channels = Channels, .kernel = 3, .padding = 1, .bias = false}>,
            zp::batch_norm2d<Name + ".bn2">>,
        conv_norm<Name + ".downsample", Channels>> {};

}  // namespace resnet18_parts

struct resnet18
    : zp::model<zp::input<48, 40, 3>,
        zp::conv2d<"conv1", zp::conv{.out_channels = 16, .kernel = 7, .stride = 2, .padding = 3, .bias = false}>,
        zp::batch_norm2d<"bn1">, zp::relu, zp::max_pool2d<zp::pool{.kernel = 3, .stride = 2, .padding = 1}>,
        resnet18_parts::basic_block<"layer1.0", 16>, resnet18_parts::basic_block<"layer1.1", 16>,
        resnet18_parts::basic_block_with_downsample<"layer2.0", 32>, resnet18_parts::basic_block<"layer2.1", 32>,
        resnet18_parts::basic_block_with_downsample<"layer3.0", 64>, resnet18_parts::basic_block<"layer3.1", 64>,
        resnet18_parts::basic_block_with_downsample<"layer4.0", 128>, resnet18_parts::basic_block<"layer4.1", 128>,
        zp::mean<>, zp::flatten, zp::linear<"fc", 20>> {};
