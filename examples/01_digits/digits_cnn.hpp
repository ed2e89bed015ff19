// The network of the examples, as a type, and the ways to quantize it that the demo compares.
#pragma once

#include <zeropoint/deploy.hpp>

/// scripts/digits_cnn.py says the same to PyTorch. Channel counts and extents follow from the input.
struct digits_cnn : zp::model<zp::input<8, 8, 1>,
    // clang-format off
    zp::conv2d<"conv1", zp::conv{.out_channels = 48, .kernel = 3, .padding = 1, .bias = false}>, zp::batch_norm2d<"bn1">, zp::relu,
    zp::residual<
        zp::conv2d<"block.conv1", zp::conv{.out_channels = 48, .kernel = 3, .padding = 1, .bias = false}>, zp::batch_norm2d<"block.bn1">, zp::relu,
        zp::conv2d<"block.conv2", zp::conv{.out_channels = 48, .kernel = 3, .padding = 1, .bias = false}>, zp::batch_norm2d<"block.bn2">>, zp::relu,
    zp::max_pool2d<2>,
    zp::conv2d<"separable.depthwise", zp::conv{.kernel = 3, .padding = 1, .groups = zp::depthwise, .bias = false}>, zp::batch_norm2d<"separable.bn1">, zp::relu6,
    zp::conv2d<"separable.pointwise", zp::conv{.out_channels = 64, .bias = false}>, zp::batch_norm2d<"separable.bn2">, zp::relu,
    zp::avg_pool2d<2>, zp::flatten, zp::dropout,
    zp::linear<"fc1", 64>, zp::relu,
    zp::linear<"fc2", 10>> {};
// clang-format on

// A qconfig is dtype x qscheme x observer, for activations and then for weights. Structs of one's own keep symbols short.

/// The simplest: one scale a tensor, from the smallest to the largest value.
struct per_tensor_min_max : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                                        zp::quantizer<zp::qint8, zp::per_tensor_symmetric, zp::min_max_observer>> {};

/// A scale for the weights of each output channel.
struct per_channel_min_max
    : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                  zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>> {};

/// And activations cut where the squared error is least: what zeropoint recommends.
struct per_channel_histogram : zp::default_qconfig {};

/// No zero points at all: signed codes about zero.
struct fully_symmetric
    : zp::qconfig<zp::quantizer<zp::qint8, zp::per_tensor_symmetric, zp::histogram_observer<>>,
                  zp::quantizer<zp::qint8_narrow, zp::per_channel_symmetric, zp::per_channel_min_max_observer>> {};

/// Activations of 7 bits and float biases: PyTorch's defaults on x86.
struct reduced_range : zp::fbgemm_qconfig {};

/// Signed activations that fill their codes.
struct int8_activations
    : zp::qconfig<zp::quantizer<zp::qint8, zp::per_tensor_affine, zp::histogram_observer<>>,
                  zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>> {};

/// TFLite's specification: no float at inference but at both ends.
struct tflite_like : zp::tflite_qconfig {};

/// Calls f.operator()<QConfig>(name) for each of them.
template <class F> void for_each_qconfig(F&& f) {
    f.template operator()<per_tensor_min_max>("per_tensor_min_max");
    f.template operator()<per_channel_min_max>("per_channel_min_max");
    f.template operator()<per_channel_histogram>("per_channel_histogram");
    f.template operator()<fully_symmetric>("fully_symmetric");
    f.template operator()<reduced_range>("reduced_range");
    f.template operator()<int8_activations>("int8_activations");
    f.template operator()<tflite_like>("tflite_like");
}
