// SPDX-License-Identifier: BSD-3-Clause
// Small networks that run a step at a time: a dense one of control loops, recurrent ones and convolutions of audio.
#pragma once

#include <zeropoint/model/composition.hpp>
#include <zeropoint/operators/activations.hpp>
#include <zeropoint/operators/conv2d.hpp>
#include <zeropoint/operators/lstm.hpp>
#include <zeropoint/operators/pad.hpp>
#include <zeropoint/operators/pool2d.hpp>

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

/// The same of 32 channels, each with a residual around it, and an output of four.
template <zp::fixed_string Name, int Dilation>
struct residual_conv1d
    : zp::sequential<zp::residual<zp::zero_pad2d<zp::sides(2 * Dilation, 0, 0, 0)>,
                                  zp::conv1d<Name, zp::conv{.out_channels = 32, .kernel = 3, .dilation = Dilation}>>,
                     zp::relu> {};
struct residual_tcn_32 : zp::model<zp::input<1, 64, 32>, residual_conv1d<"conv1", 1>, residual_conv1d<"conv2", 2>,
                                   residual_conv1d<"conv3", 4>, residual_conv1d<"conv4", 8>, zp::linear<"mix", 4>> {};

/// A wake word: eight frames of 40 features a step, strides of 2 and 2 and a pool over two.
struct wake_word : zp::model<zp::input<1, 96, 40>, zp::zero_pad2d<zp::sides(3, 0, 0, 0)>,
                             zp::conv1d<"conv1", zp::conv{.out_channels = 32, .kernel = 5, .stride = 2}>, zp::relu,
                             zp::zero_pad2d<zp::sides(3, 0, 0, 0)>,
                             zp::conv1d<"conv2", zp::conv{.out_channels = 32, .kernel = 5, .stride = 2}>, zp::relu,
                             zp::max_pool1d<2>, zp::gru<"rnn", 32>, zp::linear<"scores", 2>> {};

/// One value a step through a recurrent layer to one value.
template <int Hidden> struct lstm_1 : zp::model<zp::input<1, 64, 1>, zp::lstm<"rnn", Hidden>, zp::linear<"mix", 1>> {};
template <int Hidden> struct gru_1 : zp::model<zp::input<1, 64, 1>, zp::gru<"rnn", Hidden>, zp::linear<"mix", 1>> {};

}  // namespace models
