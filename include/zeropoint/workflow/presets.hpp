// SPDX-License-Identifier: BSD-3-Clause
// Ready-made qconfigs, named after the systems whose choices they repeat.
#pragma once

#include <zeropoint/observe/entropy_observer.hpp>
#include <zeropoint/observe/histogram_observer.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/workflow/with.hpp>

namespace zp::inline v0 {

/// What zeropoint recommends: all 8 bits (its kernels never saturate), a scale a channel, ranges by the histogram's L2 search.
struct default_qconfig : qconfig<quantizer<quint8, per_tensor_affine, histogram_observer<>>,
                                 quantizer<qint8, per_channel_symmetric, per_channel_min_max_observer>> {};

/// For networks that lose much in 8 bits, such as MobileNetV3, or whose rare values matter: ranges of all that calibration saw, so that nothing
/// it knows of is clipped, and biases that are corrected for what rounding the weights does to mean outputs. It is not better for every
/// network: where one scale holds channels of very different sizes it is worse than default_qconfig, and zp::smooth in front of either helps. Where
/// activations have outliers that do not matter, derive one with correct_biases and mse_observer.
struct accurate_qconfig
    : qconfig<quantizer<quint8, per_tensor_affine, min_max_observer>,
              quantizer<qint8, per_channel_symmetric, per_channel_min_max_observer>, correct_biases> {};

/// For networks of which nobody knows what they need: over the inputs that calibration keeps never below min_max_observer nor below
/// PyTorch's histogram, whatever outliers and channels there are. convert needs <zeropoint/methods/choose_by_outputs.hpp>, and the time of
/// about 10 inferences in float32 of each of 64 inputs for each activation of the network.
struct robust_qconfig
    : qconfig<quantizer<quint8, per_tensor_affine, histogram_observer<>>,
              quantizer<qint8, per_channel_symmetric, per_channel_min_max_observer>, compare_outputs<>> {};

/// PyTorch's get_default_qconfig("fbgemm"): activations whose calibrated range takes 7 of 8 bits, per-channel weights, bias
/// in float.
struct fbgemm_qconfig : qconfig<quantizer<quint8, per_tensor_affine, histogram_observer<>, reduce_range<pytorch_rule>>,
                                quantizer<qint8, per_channel_symmetric, per_channel_min_max_observer>,
                                requantize_with<float_bias>, table_bits<8>> {};

/// The same, but values beyond the calibrated range are cut at code 127: fewer bits, which some processors multiply faster.
/// Files that fbgemm_qconfig gave before it was PyTorch's load under this one.
struct seven_bit_qconfig : qconfig<quantizer<quint8_reduced, per_tensor_affine, histogram_observer<>>,
                                   quantizer<qint8, per_channel_symmetric, per_channel_min_max_observer>,
                                   requantize_with<float_bias>, table_bits<8>> {};

/// PyTorch's get_default_qconfig("qnnpack"): 8-bit activations, one scale for all weights of a layer.
struct qnnpack_qconfig : qconfig<quantizer<quint8, per_tensor_affine, histogram_observer<>>,
                                 quantizer<qint8, per_tensor_symmetric, min_max_observer>, table_bits<8>> {};

/// TFLite's int8 specification: signed activations, weights in [-127, 127], integer requantization with two roundings.
struct tflite_qconfig
    : qconfig<quantizer<qint8, per_tensor_affine, min_max_observer, tflite_rule>,
              quantizer<qint8_narrow, per_channel_symmetric, per_channel_min_max_observer, tflite_rule>,
              requantize_with<fixed_point_double_rounding>, table_bits<8>> {};

/// TFLite's 16x8 specification: activations of 16 bits, symmetric about zero, with weights of 8: nearly the accuracy of
/// floats. What has no form over 16 bits stays in float32.
struct int16_qconfig
    : qconfig<quantizer<qint16, per_tensor_symmetric, min_max_observer, tflite_rule>,
              quantizer<qint8_narrow, per_channel_symmetric, per_channel_min_max_observer, tflite_rule>> {};

/// TensorRT's: everything symmetric about zero, activations by the entropy calibrator.
struct tensorrt_qconfig : qconfig<quantizer<qint8, per_tensor_symmetric, entropy_observer<>>,
                                  quantizer<qint8_narrow, per_channel_symmetric, per_channel_min_max_observer>> {};

}  // namespace zp::inline v0
