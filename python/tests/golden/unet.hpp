// unet, made by zeropoint 0.1 of UNet, a module of PyTorch.
// 46,715 numbers in unet.safetensors.
//   input "x": float 1x1x24x32, here 24x32x1 (axes 2 3)
//   output "conv2d_14": float 1x3x24x32, here 24x32x3 (axes 2 3 1)
#pragma once

#include <zeropoint/model/composition.hpp>
#include <zeropoint/operators/interpolate.hpp>

namespace unet_parts {

/// DoubleConv: inc, down1, down2, down3, up1, up2, up3
template <zp::fixed_string Name, int Channels> struct double_conv
    : zp::sequential<
        zp::conv2d<Name + ".0", zp::conv{.out_channels = Channels, .kernel = 3, .padding = 1, .bias = false}>,
        zp::batch_norm2d<Name + ".1">, zp::relu,
        zp::conv2d<Name + ".3", zp::conv{.out_channels = Channels, .kernel = 3, .padding = 1, .bias = false}>,
        zp::batch_norm2d<Name + ".4">, zp::relu> {};

}  // namespace unet_parts

struct unet
    : zp::model<zp::input<24, 32, 1>, zp::named<"inc", unet_parts::double_conv<"inc", 8>>, zp::max_pool2d<2>,
        zp::named<"down1", unet_parts::double_conv<"down1", 16>>, zp::max_pool2d<2>,
        unet_parts::double_conv<"down2", 24>,
        zp::concat<
            zp::identity,
            zp::sequential<
                zp::max_pool2d<2>, unet_parts::double_conv<"down3", 32>,
                zp::conv_transpose2d<"grow", zp::conv_transpose{.out_channels = 24, .kernel = 2, .stride = 2}>>>,
        zp::concat<
            zp::from<"down1">,
            zp::sequential<unet_parts::double_conv<"up1", 16>, zp::upsample<2, zp::resize_mode::bilinear>>>,
        zp::concat<zp::from<"inc">, zp::sequential<unet_parts::double_conv<"up2", 8>, zp::upsample<2>>>,
        unet_parts::double_conv<"up3", 8>, zp::conv2d<"outc", zp::conv{.out_channels = 3}>> {};
