// SPDX-License-Identifier: BSD-3-Clause
// Small networks that run a step at a time: a dense one of control loops, recurrent ones and convolutions of audio.
#pragma once

#include <zeropoint/model/composition.hpp>
#include <zeropoint/operators/activations.hpp>
#include <zeropoint/operators/conv2d.hpp>
#include <zeropoint/operators/lstm.hpp>
#include <zeropoint/operators/pad.hpp>

namespace models {

/// 64-64-64-16, tanh between.
struct dense_64 : zp::model<zp::input<1, 1, 64>, zp::linear<"fc1", 64>, zp::tanh, zp::linear<"fc2", 64>, zp::tanh,
                            zp::linear<"fc3", 16>> {};

/// Of three taps, `Dilation` steps apart, over this step and those before it.
template <zp::fixed_string Name, int Dilation>
struct causal_conv1d
    : zp::sequential<zp::zero_pad2d<zp::sides(2 * Dilation, 0, 0, 0)>,
                     zp::conv1d<Name, zp::conv{.out_channels = 16, .kernel = 3, .dilation = Dilation}>, zp::tanh> {};

/// Four of them over one value a step, 16 channels between: a receptive field of 31 steps.
struct tcn_16 : zp::model<zp::input<1, 64, 1>, causal_conv1d<"conv1", 1>, causal_conv1d<"conv2", 2>,
                          causal_conv1d<"conv3", 4>, causal_conv1d<"conv4", 8>, zp::linear<"mix", 1>> {};

/// One value a step through a recurrent layer to one value.
template <int Hidden> struct lstm_1 : zp::model<zp::input<1, 64, 1>, zp::lstm<"rnn", Hidden>, zp::linear<"mix", 1>> {};
template <int Hidden> struct gru_1 : zp::model<zp::input<1, 64, 1>, zp::gru<"rnn", Hidden>, zp::linear<"mix", 1>> {};

}  // namespace models
