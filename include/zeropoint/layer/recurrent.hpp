// SPDX-License-Identifier: BSD-3-Clause
// Recurrent layers on their own: whole sequences or step by step, float or with integer weights.
#pragma once

#include <zeropoint/layer/alone.hpp>
#include <zeropoint/operators/lstm.hpp>

namespace zp::inline v0 {

/// A recurrent layer, or a stack of them: a call takes up to MostSteps steps of Inputs floats, whose products with the input are
/// one matrix product, and gives the state h behind each. A sequence may be cut into calls anywhere, and gives the same bits, but
/// of two directions, whose reversed one begins with the last step of a call. Parameters are PyTorch's: weight_ih of gates * hidden
/// x inputs, weight_hh of gates * hidden x outputs, bias_ih and bias_hh, both or neither, and where there is a projection weight_hr
/// of outputs x hidden, layer by layer. The gates of an LSTM are i, f, g, o, those of a GRU r, z, n.
///
///     const zp::dynamic_gru<40, 64> layer(weight_ih, weight_hh, bias_ih, bias_hh);
///     zp::dynamic_gru<40, 64>::state state;  // zeros; state.values("h"), of an LSTM "c" too, as PyTorch's h_0 and c_0
///     layer(x, state, y, memory);            // one step of 40 floats, 64 come out
///
/// In integers throughout a layer is a static_layer: `zp::static_layer<zp::gru<"gru", 64>, zp::shape{1, steps, 40}, zp::op::none,
/// zp::fused_policy<zp::quint8, zp::qint8, zp::qint8>>`, whose output has scale 2^-7, or 2^-15 of zp::qint16.
template <int Inputs, int Hidden, class Policy = dynamic_policy<>, class Arch = default_architecture, int MostSteps = 1,
          recurrent_options Options = recurrent_options{}>
using dynamic_lstm = alone<lstm<"", Hidden, Options>, Inputs, Policy, Arch, MostSteps>;
/// The same with the three gates of a GRU.
template <int Inputs, int Hidden, class Policy = dynamic_policy<>, class Arch = default_architecture, int MostSteps = 1,
          recurrent_options Options = recurrent_options{}>
using dynamic_gru = alone<gru<"", Hidden, Options>, Inputs, Policy, Arch, MostSteps>;
/// The same of one gate, tanh or relu as Options say.
template <int Inputs, int Hidden, class Policy = dynamic_policy<>, class Arch = default_architecture, int MostSteps = 1,
          recurrent_options Options = recurrent_options{}>
using dynamic_rnn = alone<rnn<"", Hidden, Options>, Inputs, Policy, Arch, MostSteps>;

// In float.
template <int Inputs, int Hidden, class Arch = default_architecture, int MostSteps = 1,
          recurrent_options Options = recurrent_options{}>
using float_lstm = dynamic_lstm<Inputs, Hidden, float_policy, Arch, MostSteps, Options>;
/// dynamic_gru in float.
template <int Inputs, int Hidden, class Arch = default_architecture, int MostSteps = 1,
          recurrent_options Options = recurrent_options{}>
using float_gru = dynamic_gru<Inputs, Hidden, float_policy, Arch, MostSteps, Options>;
/// dynamic_rnn in float.
template <int Inputs, int Hidden, class Arch = default_architecture, int MostSteps = 1,
          recurrent_options Options = recurrent_options{}>
using float_rnn = dynamic_rnn<Inputs, Hidden, float_policy, Arch, MostSteps, Options>;

}  // namespace zp::inline v0
