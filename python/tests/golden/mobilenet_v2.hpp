// mobilenet_v2, made by zeropoint 0.1 of MobileNetV2, a module of PyTorch.
// 2,296,414 numbers in mobilenet_v2.safetensors.
//   input "x": float 1x3x48x40, here 48x40x3 (axes 2 3 1)
//   output "linear": float 1x30, here 1x1x30 (axes 1)
#pragma once

#include <utility>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/operators/sum.hpp>

namespace mobilenet_v2_parts {

/// ConvBNReLU: features.0, features.2.conv.0, features.3.conv.0, features.4.conv.0, features.5.conv.0, ...
template <zp::fixed_string Name, int Channels, int Kernel, int Stride = 1> struct conv_norm_relu
    : zp::sequential<
        zp::conv2d<
            Name + ".0",
            zp::conv{.out_channels = Channels, .kernel = Kernel, .stride = Stride, .padding = Kernel / 2, .bias = false}>,
        zp::batch_norm2d<Name + ".1">, zp::relu6> {};

/// ConvBNReLU: features.1.conv.0, features.2.conv.1, features.3.conv.1, features.4.conv.1, features.5.conv.1, ...
template <zp::fixed_string Name, int Stride = 1> struct depthwise_conv_norm_relu
    : zp::sequential<
        zp::conv2d<
            Name + ".0", zp::conv{.kernel = 3, .stride = Stride, .padding = 1, .groups = zp::depthwise, .bias = false}>,
        zp::batch_norm2d<Name + ".1">, zp::relu6> {};

/// InvertedResidual: features.2, features.4, features.7, features.11, features.14, features.17
template <zp::fixed_string Name, int Conv_0, int Conv_2, int Stride = 1> struct inverted_residual_without_sum
    : zp::sequential<conv_norm_relu<Name + ".conv.0", Conv_0, 1>, depthwise_conv_norm_relu<Name + ".conv.1", Stride>,
        zp::conv2d<Name + ".conv.2", zp::conv{.out_channels = Conv_2, .bias = false}>,
        zp::batch_norm2d<Name + ".conv.3">> {};

/// InvertedResidual: features.3, features.5, features.6, features.8, features.9, features.10, features.12, ...
template <zp::fixed_string Name, int Conv_0, int Conv_2> struct inverted_residual
    : zp::residual<conv_norm_relu<Name + ".conv.0", Conv_0, 1>, depthwise_conv_norm_relu<Name + ".conv.1">,
        zp::conv2d<Name + ".conv.2", zp::conv{.out_channels = Conv_2, .bias = false}>,
        zp::batch_norm2d<Name + ".conv.3">> {};

template <zp::fixed_string Name, int Conv_0, int Conv_2, int First, class Places> struct inverted_residuals;
template <zp::fixed_string Name, int Conv_0, int Conv_2, int First, int... I>
struct inverted_residuals<Name, Conv_0, Conv_2, First, std::integer_sequence<int, I...>>
    : zp::sequential<inverted_residual<Name + "." + zp::numeral<First + I>, Conv_0, Conv_2>...> {};

}  // namespace mobilenet_v2_parts

struct mobilenet_v2
    : zp::model<zp::input<48, 40, 3>, mobilenet_v2_parts::conv_norm_relu<"features.0", 32, 3, 2>,
        mobilenet_v2_parts::depthwise_conv_norm_relu<"features.1.conv.0">,
        zp::conv2d<"features.1.conv.1", zp::conv{.out_channels = 16, .bias = false}>,
        zp::batch_norm2d<"features.1.conv.2">,
        mobilenet_v2_parts::inverted_residual_without_sum<"features.2", 96, 24, 2>,
        mobilenet_v2_parts::inverted_residual<"features.3", 144, 24>,
        mobilenet_v2_parts::inverted_residual_without_sum<"features.4", 144, 32, 2>,
        mobilenet_v2_parts::inverted_residual<"features.5", 192, 32>,
        mobilenet_v2_parts::inverted_residual<"features.6", 192, 32>,
        mobilenet_v2_parts::inverted_residual_without_sum<"features.7", 192, 64, 2>,
        mobilenet_v2_parts::inverted_residuals<"features", 384, 64, 8, std::make_integer_sequence<int, 3>>,
        mobilenet_v2_parts::inverted_residual_without_sum<"features.11", 384, 96>,
        mobilenet_v2_parts::inverted_residual<"features.12", 576, 96>,
        mobilenet_v2_parts::inverted_residual<"features.13", 576, 96>,
        mobilenet_v2_parts::inverted_residual_without_sum<"features.14", 576, 160, 2>,
        mobilenet_v2_parts::inverted_residual<"features.15", 960, 160>,
        mobilenet_v2_parts::inverted_residual<"features.16", 960, 160>,
        mobilenet_v2_parts::inverted_residual_without_sum<"features.17", 960, 320>,
        mobilenet_v2_parts::conv_norm_relu<"features.18", 1280, 1>, zp::mean<>, zp::flatten,
        zp::linear<"classifier.1", 30>> {};
