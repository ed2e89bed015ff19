// vit, made by zeropoint 0.1 of ViT, a module of PyTorch.
// 24,679 numbers in vit.safetensors.
//   input "x": float 1x3x32x24, here 32x24x3 (axes 2 3 1)
//   output "linear_16": float 1x7, here 1x1x7 (axes 1)
#pragma once

#include <utility>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/operators/attention.hpp>
#include <zeropoint/operators/constant.hpp>
#include <zeropoint/operators/gather.hpp>
#include <zeropoint/operators/layer_norm.hpp>
#include <zeropoint/operators/reshape.hpp>
#include <zeropoint/operators/slice.hpp>

namespace vit_parts {

/// Attention: blocks.0.attn, blocks.1.attn, blocks.2.attn, blocks.3.attn
template <zp::fixed_string Name> struct attention
    : zp::sequential<zp::linear<Name + ".qkv", 72>, zp::attention<3, zp::chunk<0, 3>, zp::chunk<1, 3>, zp::chunk<2, 3>>,
        zp::linear<Name + ".proj", 24>> {};

/// Sequential: blocks.0.mlp, blocks.1.mlp, blocks.2.mlp, blocks.3.mlp
template <zp::fixed_string Name> struct linear_gelu_linear
    : zp::sequential<zp::linear<Name + ".0", 48>, zp::gelu, zp::linear<Name + ".3", 24>> {};

/// EncoderBlock: blocks.0, blocks.1, blocks.2, blocks.3
template <zp::fixed_string Name> struct encoder_block
    : zp::sequential<
        zp::residual<
            zp::layer_norm<Name + ".norm1", zp::layer_norm_options{.epsilon_millionths = 1}>,
            attention<Name + ".attn">>,
        zp::residual<
            zp::layer_norm<Name + ".norm2", zp::layer_norm_options{.epsilon_millionths = 1}>,
            linear_gelu_linear<Name + ".mlp">>> {};

template <zp::fixed_string Name, int First, class Places> struct encoder_blocks;
template <zp::fixed_string Name, int First, int... I>
struct encoder_blocks<Name, First, std::integer_sequence<int, I...>>
    : zp::sequential<encoder_block<Name + "." + zp::numeral<First + I>>...> {};

}  // namespace vit_parts

struct vit
    : zp::model<zp::input<32, 24, 3>,
        zp::add<
            zp::stack<
                zp::axis::width, zp::constant<"cls_token", 1, 1, 24>,
                zp::sequential<
                    zp::conv2d<"patch_embed", zp::conv{.out_channels = 24, .kernel = 8, .stride = 8}>,
                    zp::reshape<1, 12, 24>>>,
            zp::constant<"pos_embed", 1, 13, 24>>,
        vit_parts::encoder_blocks<"blocks", 0, std::make_integer_sequence<int, 4>>,
        zp::layer_norm<"norm", zp::layer_norm_options{.epsilon_millionths = 1}>, zp::slice<zp::axis::width, 0, 1>,
        zp::linear<"head", 7>> {};
