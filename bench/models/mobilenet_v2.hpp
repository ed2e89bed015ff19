// MobileNetV2 (Sandler 2018) as torchvision builds it: the same layers, the same names of parameters.
#pragma once

#include <zeropoint/model/composition.hpp>

namespace models {
namespace mobilenet {

/// Convolution, batch norm, ReLU6: parameters Name.0 and Name.1.
template <zp::fixed_string Name, zp::conv Options>
struct conv_norm_relu6 : zp::sequential<zp::conv2d<Name + ".0", Options>, zp::batch_norm2d<Name + ".1">, zp::relu6> {};

constexpr zp::conv pointwise(int channels) { return {.out_channels = channels, .bias = false}; }
constexpr zp::conv depthwise(int stride) {
    return {.kernel = 3, .stride = stride, .padding = 1, .groups = zp::depthwise, .bias = false};
}

/// 1x1 to Expanded channels, depthwise 3x3, 1x1 to Channels, which no activation follows.
template <zp::fixed_string Name, int Expanded, int Channels, int Stride>
struct bottleneck
    : zp::sequential<conv_norm_relu6<Name + ".conv.0", pointwise(Expanded)>,
                     conv_norm_relu6<Name + ".conv.1", depthwise(Stride)>,
                     zp::conv2d<Name + ".conv.2", pointwise(Channels)>, zp::batch_norm2d<Name + ".conv.3">> {};

/// The first bottleneck, which does not expand.
template <zp::fixed_string Name, int Channels>
struct first_bottleneck
    : zp::sequential<conv_norm_relu6<Name + ".conv.0", depthwise(1)>, zp::conv2d<Name + ".conv.1", pointwise(Channels)>,
                     zp::batch_norm2d<Name + ".conv.2">> {};

/// A bottleneck between equal shapes has a shortcut.
template <zp::fixed_string Name, int Channels>
struct shortcut : zp::residual<bottleneck<Name, 6 * Channels, Channels, 1>> {};

}  // namespace mobilenet

// clang-format off
struct mobilenet_v2 : zp::model<zp::input<224, 224, 3>,
    mobilenet::conv_norm_relu6<"features.0", zp::conv{.out_channels = 32, .kernel = 3, .stride = 2, .padding = 1, .bias = false}>,
    mobilenet::first_bottleneck<"features.1", 16>,
    mobilenet::bottleneck<"features.2", 96, 24, 2>, mobilenet::shortcut<"features.3", 24>,
    mobilenet::bottleneck<"features.4", 144, 32, 2>, mobilenet::shortcut<"features.5", 32>, mobilenet::shortcut<"features.6", 32>,
    mobilenet::bottleneck<"features.7", 192, 64, 2>, mobilenet::shortcut<"features.8", 64>,
    mobilenet::shortcut<"features.9", 64>, mobilenet::shortcut<"features.10", 64>,
    mobilenet::bottleneck<"features.11", 384, 96, 1>, mobilenet::shortcut<"features.12", 96>, mobilenet::shortcut<"features.13", 96>,
    mobilenet::bottleneck<"features.14", 576, 160, 2>, mobilenet::shortcut<"features.15", 160>, mobilenet::shortcut<"features.16", 160>,
    mobilenet::bottleneck<"features.17", 960, 320, 1>,
    mobilenet::conv_norm_relu6<"features.18", mobilenet::pointwise(1280)>,
    zp::adaptive_avg_pool2d<1>, zp::flatten, zp::dropout, zp::linear<"classifier.1", 1000>> {};
// clang-format on

}  // namespace models
