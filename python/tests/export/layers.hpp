// SPDX-License-Identifier: BSD-3-Clause
// Layers that the networks of the tests do not have, each from the input to an output of its own.
#pragma once

#include <ratio>

#include <zeropoint/operators.hpp>

namespace layers {

using zp::from;
using zp::output;
template <zp::fixed_string Name, class... Layers> struct branch : zp::sequential<from<"x">, Layers..., output<Name>> {};
using up = zp::conv_transpose;

/// Of 9 x 12 pixels of 8 channels.
struct images
    : zp::model<
          zp::named<"x", zp::input<9, 12, 8>>,
          branch<"up", zp::conv_transpose2d<"up", up{.out_channels = 6,
                                                     .kernel = {3, 4},
                                                     .stride = {2, 3},
                                                     .padding = {1, 0},
                                                     .output_padding = {1, 0},
                                                     .groups = 2}>>,
          branch<"wide", zp::conv_transpose2d<"wide", up{.out_channels = 3, .kernel = 2, .padding = 1, .dilation = 3}>,
                 zp::relu>,
          branch<"conv",
                 zp::conv2d<"conv", zp::conv{.out_channels = 12,
                                             .kernel = {2, 5},
                                             .stride = {2, 1},
                                             .padding = {0, 3},
                                             .dilation = {2, 1},
                                             .groups = 4}>,
                 zp::relu6>,
          branch<"max", zp::max_pool2d<zp::pool{.kernel = {3, 2}, .stride = 2, .padding = 1, .ceil_mode = true}>>,
          branch<"avg", zp::avg_pool2d<zp::pool{.kernel = 3, .stride = 2, .padding = 1, .ceil_mode = true}>>,
          branch<"inside",
                 zp::avg_pool2d<zp::pool{.kernel = {3, 4}, .stride = 2, .padding = 1, .count_include_pad = false}>>,
          branch<"adaptive", zp::adaptive_avg_pool2d<4, 5>>,
          branch<"linear_up", zp::upsample<2, zp::resize_mode::bilinear>>,
          branch<"corners",
                 zp::interpolate<zp::resize{.size = {5, 17}, .mode = zp::resize_mode::bilinear_align_corners}>>,
          branch<"exact", zp::interpolate<zp::resize{.size = {5, 17}, .mode = zp::resize_mode::nearest_exact}>>,
          branch<"nearest", zp::interpolate<zp::resize{.size = {13, 7}}>>,
          branch<"reflect", zp::pad<zp::sides{2, 1, 0, 3}, zp::pad_mode::reflect>>,
          branch<"around", zp::pad<zp::sides{0, 2, 1, 0, 1, 2}>>,
          branch<"flip", zp::flip<zp::axis::width, zp::axis::channels>>, branch<"roll", zp::roll<2, -3, 1>>,
          branch<"tile", zp::tile<2, 1, 2>>,
          branch<"permute", zp::permute<zp::axis::height, zp::axis::width, zp::axis::channels>>,
          branch<"slice", zp::slice<zp::axis::width, 1, -2, 3>>,
          branch<"gather", zp::gather<zp::axis::height, 8, 0, 0>>, branch<"shuffle", zp::channel_shuffle<4>>,
          branch<"pixels", zp::pixel_shuffle<2>>, branch<"depth", zp::depth_to_space<2>>,
          branch<"packed", zp::pixel_unshuffle<3>>, branch<"space", zp::space_to_depth<3>>,
          branch<"view", zp::reshape<6, 6, 24>>,
          branch<"windows", zp::window_partition<3>, zp::window_reverse<3, 9, 12>>, branch<"patches", zp::patches<3>>> {
};

/// Of two values of 5 x 6 pixels of 8 channels.
struct values
    : zp::model<
          zp::named<"x", zp::input<5, 6, 8>>,
          branch<"add", zp::add<zp::identity, zp::sequential<zp::mean<>, zp::mul_scalar<std::ratio<3, 2>>>>>,
          branch<"sub", zp::sub<zp::identity, zp::sigmoid>, zp::relu>, branch<"mul", zp::mul<zp::identity, zp::tanh>>,
          branch<"div", zp::div<zp::identity, zp::sequential<zp::sigmoid, zp::add_scalar<std::ratio<1, 2>>>>>,
          branch<"largest", zp::maximum<zp::identity, zp::tanh>>,
          branch<"least", zp::minimum<zp::identity, zp::sigmoid>>,
          branch<"distance", zp::squared_difference<zp::identity, zp::tanh>>,
          branch<"length", zp::hypot<zp::identity, zp::tanh>>,
          branch<"where", zp::where<zp::greater_scalar<std::ratio<1, 3>>, zp::identity, zp::tanh>>,
          branch<"less", zp::less<zp::identity, zp::tanh>>, branch<"equal", zp::not_equal<zp::identity, zp::relu>>,
          branch<"prelu", zp::prelu<"slopes", 8>>, branch<"sum", zp::sum<zp::axes::channels>>,
          branch<"mean", zp::mean<zp::axes::height>>, branch<"max", zp::reduce_max<zp::axes::all>>,
          branch<"min", zp::reduce_min<zp::axes::width>>, branch<"argmax", zp::argmax>, branch<"softmax", zp::softmax>,
          branch<"norm", zp::layer_norm<"norm">>,
          branch<"image", zp::layer_norm<"image", zp::layer_norm_options{.over = zp::normalized::image}>, zp::relu>,
          branch<"groups", zp::group_norm<"groups", 2>>, branch<"instance", zp::instance_norm<>>,
          branch<"statistics", zp::unfused_batch_norm<"statistics">>,
          branch<"product", zp::matmul_transposed<zp::identity, zp::tanh>>,
          branch<"stack", zp::stack<zp::axis::width, zp::constant<"token", 5, 1, 8>, zp::identity>>> {};

/// Recurrent layers over 9 steps of 6 values: of two layers and directions, the states that they end in.
struct steps
    : zp::model<
          zp::named<"x", zp::input<1, 9, 6>>,
          branch<"both", zp::lstm<"both", 5, zp::recurrent_options{.layers = 2, .bidirectional = true}>>,
          branch<"ends",
                 zp::gru<"ends", 4,
                         zp::recurrent_options{.bidirectional = true, .output = zp::recurrent_output::final_state}>>,
          branch<"last",
                 zp::lstm<"last", 3,
                          zp::recurrent_options{
                              .bidirectional = true, .output = zp::recurrent_output::last_step, .bias = false}>>> {};

/// Of 4 planes of 6 x 5 pixels of 3 channels.
struct volumes
    : zp::model<
          zp::named<"x", zp::input<4, 6, 5, 3>>,
          branch<"conv",
                 zp::conv3d<"conv",
                            zp::volume_conv{
                                .out_channels = 4, .kernel = {2, 3, 3}, .stride = {1, 2, 1}, .padding = {0, 1, 1}}>,
                 zp::relu>,
          branch<"sum", zp::add<zp::identity, zp::sigmoid>>> {};

/// What LiteRT rounds in ways of its own.
struct litert
    : zp::model<zp::named<"x", zp::input<6, 7, 4>>,
                zp::conv2d<"conv", zp::conv{.out_channels = 6, .kernel = 3, .padding = 1}>,
                zp::avg_pool2d<zp::pool{.kernel = {3, 2}, .stride = 2}>,
                zp::mul<zp::identity, zp::sequential<zp::mean<>, zp::sigmoid>>, zp::flatten, zp::linear<"fc", 9>> {};

/// Signed codes, weights of one scale.
struct signed_codes : zp::qconfig<zp::quantizer<zp::qint8, zp::per_tensor_affine, zp::min_max_observer>,
                                  zp::quantizer<zp::qint8_narrow, zp::per_tensor_symmetric, zp::min_max_observer>> {};
/// LiteRT's.
struct as_litert
    : zp::qconfig<zp::quantizer<zp::qint8, zp::per_tensor_affine, zp::min_max_observer>,
                  zp::quantizer<zp::qint8_narrow, zp::per_channel_symmetric, zp::per_channel_min_max_observer>,
                  zp::requantize_with<zp::fixed_point_litert>, zp::table_bits<8>> {};
/// Weights with zero points.
struct affine_weights
    : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                  zp::quantizer<zp::quint8, zp::per_channel_affine, zp::per_channel_min_max_observer>> {};

}  // namespace layers
