// SPDX-License-Identifier: BSD-3-Clause
// DS-CNN for keyword spotting (Zhang 2017, "Hello Edge"): depthwise separable convolutions over a spectrogram.
#pragma once

#include <utility>

#include <zeropoint/models/parts.hpp>

namespace zp::inline v0::models {
namespace ds_cnn_parts {

template <fixed_string Name, int Channels>
struct separable : sequential<conv_norm<Name + ".depthwise", Name + ".depthwise_norm", depthwise_conv(3)>, relu,
                              conv_norm<Name + ".pointwise", Name + ".pointwise_norm", conv1x1(Channels)>, relu> {};

template <int Channels, class Places> struct blocks;
template <int Channels, int... I>
struct blocks<Channels, std::integer_sequence<int, I...>> : sequential<separable<"blocks." + numeral<I>, Channels>...> {
};

}  // namespace ds_cnn_parts

/// The paper's small network: 49 frames of 10 MFCC features, 12 keywords, four blocks of 64 channels. There is no state
/// dict of it that everybody has; the names are `conv`, `norm`, `blocks.N.depthwise`, `.depthwise_norm`, `.pointwise`,
/// `.pointwise_norm`, `fc`. The stem's border is 5 and 1 on both sides; TensorFlow's "same" has 4 in front.
template <class Input = input<49, 10, 1>, int Classes = 12, int Channels = 64, int Blocks = 4>
struct ds_cnn
    : model<Input,
            conv_norm<"conv", "norm",
                      conv{.out_channels = Channels, .kernel = {10, 4}, .stride = 2, .padding = {5, 1}, .bias = false}>,
            relu, ds_cnn_parts::blocks<Channels, std::make_integer_sequence<int, Blocks>>, adaptive_avg_pool2d<1>,
            flatten, dropout, linear<"fc", Classes>> {};

}  // namespace zp::inline v0::models
