// dense_net, made by zeropoint 0.1 of DenseNet, a module of PyTorch.
// 55,474 numbers in dense_net.safetensors.
//   input "x": float 1x3x32x32, here 32x32x3 (axes 2 3 1)
//   output "linear": float 1x10, here 1x1x10 (axes 1)
#pragma once

#include <utility>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/operators/sum.hpp>
#include <zeropoint/operators/unfused_batch_norm.hpp>

namespace dense_net_parts {

/// DenseLayer: block1.layers.0, block1.layers.1, block1.layers.2, block1.layers.3, block2.layers.0, ...
template <zp::fixed_string Name> struct dense_layer
    : zp::sequential<zp::unfused_batch_norm<Name + ".norm1">, zp::relu,
        zp::conv2d<Name + ".conv1", zp::conv{.out_channels = 32, .bias = false}>, zp::batch_norm2d<Name + ".norm2">,
        zp::relu,
        zp::conv2d<Name + ".conv2", zp::conv{.out_channels = 8, .kernel = 3, .padding = 1, .bias = false}>> {};

/// Transition: transition1, transition2
template <zp::fixed_string Name, int Channels> struct transition
    : zp::sequential<zp::unfused_batch_norm<Name + ".0">, zp::relu,
        zp::conv2d<Name + ".2", zp::conv{.out_channels = Channels, .bias = false}>, zp::avg_pool2d<2>> {};

template <zp::fixed_string Name> struct concat_dense_layer : zp::concat<zp::identity, dense_layer<Name>> {};

template <zp::fixed_string Name, int First, class Places> struct concat_dense_layers;
template <zp::fixed_string Name, int First, int... I>
struct concat_dense_layers<Name, First, std::integer_sequence<int, I...>>
    : zp::sequential<concat_dense_layer<Name + "." + zp::numeral<First + I>>...> {};

}  // namespace dense_net_parts

struct dense_net
    : zp::model<zp::input<32, 32, 3>,
        zp::conv2d<"stem.0", zp::conv{.out_channels = 16, .kernel = 3, .stride = 2, .padding = 1, .bias = false}>,
        zp::batch_norm2d<"stem.1">, zp::relu,
        dense_net_parts::concat_dense_layers<"block1.layers", 0, std::make_integer_sequence<int, 4>>,
        dense_net_parts::transition<"transition1", 24>,
        dense_net_parts::concat_dense_layers<"block2.layers", 0, std::make_integer_sequence<int, 6>>,
        dense_net_parts::transition<"transition2", 36>,
        dense_net_parts::concat_dense_layers<"block3.layers", 0, std::make_integer_sequence<int, 3>>,
        zp::unfused_batch_norm<"norm">, zp::relu, zp::mean<>, zp::flatten, zp::linear<"fc", 10>> {};
