// high_resolution, made by zeropoint 0.1 of HighResolution, a module of PyTorch.
// 109,797 numbers in high_resolution.safetensors.
//   input "x": float 1x3x32x32, here 32x32x3 (axes 2 3 1)
//   output "conv2d_22": float 1x5x16x16, here 16x16x5 (axes 2 3 1)
#pragma once

#include <zeropoint/model/composition.hpp>
#include <zeropoint/operators/interpolate.hpp>

namespace high_resolution_parts {

/// BasicBlock: stage1.high.0, stage1.high.1, stage1.low.0, stage1.low.1, stage2.high.0, stage2.high.1, ...
template <zp::fixed_string Name, int Channels> struct basic_block
    : zp::sequential<
        zp::residual<
            zp::conv2d<Name + ".conv1", zp::conv{.out_channels = Channels, .kernel = 3, .padding = 1, .bias = false}>,
            zp::batch_norm2d<Name + ".bn1">, zp::relu,
            zp::conv2d<Name + ".conv2", zp::conv{.out_channels = Channels, .kernel = 3, .padding = 1, .bias = false}>,
            zp::batch_norm2d<Name + ".bn2">>,
        zp::relu> {};

}  // namespace high_resolution_parts

struct high_resolution
    : zp::model<zp::input<32, 32, 3>,
        zp::conv2d<"stem.0", zp::conv{.out_channels = 16, .kernel = 3, .stride = 2, .padding = 1, .bias = false}>,
        zp::batch_norm2d<"stem.1">, zp::named<"stem", zp::relu>,
        high_resolution_parts::basic_block<"stage1.high.0", 16>,
        zp::named<"stage1.high", high_resolution_parts::basic_block<"stage1.high.1", 16>>, zp::from<"stem">,
        zp::conv2d<"narrow.0", zp::conv{.out_channels = 32, .kernel = 3, .stride = 2, .padding = 1, .bias = false}>,
        zp::batch_norm2d<"narrow.1">, zp::relu, high_resolution_parts::basic_block<"stage1.low.0", 32>,
        zp::named<"stage1.low", high_resolution_parts::basic_block<"stage1.low.1", 32>>,
        zp::named<
            "stage1.relu",
            zp::add_relu<
                zp::from<"stage1.high">,
                zp::sequential<
                    zp::conv2d<"stage1.up.0", zp::conv{.out_channels = 16, .bias = false}>,
                    zp::batch_norm2d<"stage1.up.1">, zp::upsample<2>>>>,
        zp::named<
            "stage1",
            zp::add_relu<
                zp::sequential<
                    zp::from<"stage1.high">,
                    zp::conv2d<
                        "stage1.down.0",
                        zp::conv{.out_channels = 32, .kernel = 3, .stride = 2, .padding = 1, .bias = false}>,
                    zp::batch_norm2d<"stage1.down.1">>,
                zp::from<"stage1.low">>>,
        zp::from<"stage1.relu">, high_resolution_parts::basic_block<"stage2.high.0", 16>,
        zp::named<"stage2.high", high_resolution_parts::basic_block<"stage2.high.1", 16>>, zp::from<"stage1">,
        high_resolution_parts::basic_block<"stage2.low.0", 32>,
        zp::named<"stage2.low", high_resolution_parts::basic_block<"stage2.low.1", 32>>,
        zp::named<
            "stage2.relu",
            zp::add_relu<
                zp::from<"stage2.high">,
                zp::sequential<
                    zp::conv2d<"stage2.up.0", zp::conv{.out_channels = 16, .bias = false}>,
                    zp::batch_norm2d<"stage2.up.1">, zp::upsample<2>>>>,
        zp::add_relu<
            zp::sequential<
                zp::from<"stage2.high">,
                zp::conv2d<
                    "stage2.down.0",
                    zp::conv{.out_channels = 32, .kernel = 3, .stride = 2, .padding = 1, .bias = false}>,
                zp::batch_norm2d<"stage2.down.1">>,
            zp::from<"stage2.low">>,
        zp::concat<zp::from<"stage2.relu">, zp::upsample<2>>, zp::conv2d<"head", zp::conv{.out_channels = 5}>> {};
