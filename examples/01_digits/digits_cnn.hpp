// SPDX-License-Identifier: BSD-3-Clause
// The network of the examples, as a type, and the ways to quantize it that the demo compares.
#pragma once

#include <zeropoint/deploy.hpp>

inline constexpr zp::conv conv3x3{.out_channels = 48, .kernel = 3, .padding = 1, .bias = false};
inline constexpr zp::conv depthwise3x3{.kernel = 3, .padding = 1, .groups = zp::depthwise, .bias = false};
inline constexpr zp::conv pointwise{.out_channels = 64, .bias = false};

// clang-format off
/// What scripts/digits_cnn.py trains with PyTorch. Input channels and extents follow from what comes before a layer.
struct digits_cnn : zp::model<zp::input<8, 8, 1>,
    zp::conv2d<"conv1", conv3x3>, zp::batch_norm2d<"bn1">, zp::relu,
    zp::residual<
        zp::conv2d<"block.conv1", conv3x3>, zp::batch_norm2d<"block.bn1">, zp::relu,
        zp::conv2d<"block.conv2", conv3x3>, zp::batch_norm2d<"block.bn2">>, zp::relu,
    zp::max_pool2d<2>,
    zp::conv2d<"separable.depthwise", depthwise3x3>, zp::batch_norm2d<"separable.bn1">, zp::relu6,
    zp::conv2d<"separable.pointwise", pointwise>, zp::batch_norm2d<"separable.bn2">, zp::relu,
    zp::avg_pool2d<2>, zp::flatten, zp::dropout,
    zp::linear<"fc1", 64>, zp::relu,
    zp::linear<"fc2", 10>> {};
// clang-format on

// A quantizer is dtype x qscheme x observer; a qconfig has one for activations and one for weights. Each is a struct of
// its own, whose short name enters symbols and messages.

using per_tensor_weights = zp::quantizer<zp::qint8, zp::per_tensor_symmetric, zp::min_max_observer>;
using per_channel_weights = zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::min_max_observer>;
using narrow_weights = zp::quantizer<zp::qint8_narrow, zp::per_channel_symmetric, zp::min_max_observer>;
using min_max_activations = zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>;
using symmetric_activations = zp::quantizer<zp::qint8, zp::per_tensor_symmetric, zp::histogram_observer<>>;
using signed_activations = zp::quantizer<zp::qint8, zp::per_tensor_affine, zp::histogram_observer<>>;

/// The simplest: one scale a tensor, from its smallest value to its largest.
struct per_tensor_min_max : zp::qconfig<min_max_activations, per_tensor_weights> {};
/// A scale for each filter.
struct per_channel_min_max : zp::qconfig<min_max_activations, per_channel_weights> {};
/// What zeropoint recommends: the range of an activation ends where the squared error is least.
struct per_channel_histogram : zp::default_qconfig {};
/// Zero points are 0 everywhere.
struct fully_symmetric : zp::qconfig<symmetric_activations, narrow_weights> {};
/// Activations of 7 bits, biases in float.
struct reduced_range : zp::seven_bit_qconfig {};
/// Signed codes with zero points.
struct int8_activations : zp::qconfig<signed_activations, per_channel_weights> {};
/// TFLite's int8 specification: integers alone between the first layer and the last.
struct tflite_like : zp::tflite_qconfig {};

/// Calls f.operator()<QConfig>(name) with each of them.
template <class F> void for_each_qconfig(F&& f) {
    f.template operator()<per_tensor_min_max>("per_tensor_min_max");
    f.template operator()<per_channel_min_max>("per_channel_min_max");
    f.template operator()<per_channel_histogram>("per_channel_histogram");
    f.template operator()<fully_symmetric>("fully_symmetric");
    f.template operator()<reduced_range>("reduced_range");
    f.template operator()<int8_activations>("int8_activations");
    f.template operator()<tflite_like>("tflite_like");
}
