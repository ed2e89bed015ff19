// SPDX-License-Identifier: BSD-3-Clause
// U-Net (Ronneberger 2015) with batch norms, borders that keep the extents, and
// bilinear upsampling or transposed convolutions.
#pragma once

#include <zeropoint/operators/interpolate.hpp>
#include <zeropoint/models/parts.hpp>

namespace zp::inline v0::models {

/// How a U-Net becomes higher and wider again: without parameters, or as in the paper.
enum class unet_growth { bilinear, transposed };

namespace unet_parts {

template <fixed_string Name, int Inner, int Channels = Inner>
struct double_conv : sequential<conv_norm<Name + ".double_conv.0", Name + ".double_conv.1", conv3x3(Inner)>, relu,
                                conv_norm<Name + ".double_conv.3", Name + ".double_conv.4", conv3x3(Channels)>, relu> {
};

/// Half as high and wide.
template <fixed_string Name, int Channels>
struct down : sequential<max_pool2d<2>, double_conv<Name + ".maxpool_conv.1", Channels>> {};

/// Twice as high and wide. A transposed convolution halves the channels.
template <fixed_string Name, int Channels, unet_growth Growth>
struct grow : upsample<2, resize_mode::bilinear_align_corners> {};
template <fixed_string Name, int Channels>
struct grow<Name, Channels, unet_growth::transposed>
    : conv_transpose2d<Name + ".up", conv_transpose{.out_channels = Channels, .kernel = 2, .stride = 2}> {};

/// Twice as high and wide, beside what was there at that size before.
template <fixed_string Name, unet_growth Growth, int Inner, int Channels> struct up {
    using grow = unet_parts::grow<Name, Inner, Growth>;
    using mix = double_conv<Name + ".conv", Inner, Channels>;
    static constexpr int nodes = grow::nodes + 1 + mix::nodes;
    static constexpr int lower(builder& b, int skipped, int x) {
        const int both[] = {skipped, grow::lower(b, x)};
        return mix::lower(b, b.concat(both));
    }
};

}  // namespace unet_parts

/// Height and width must be multiples of 16. The output has a channel a class,
/// at the extents of the input. Width is 64 in the paper. The parameters have
/// the names that most PyTorch implementations give them: `inc`, `down1` to
/// `down4`, `up1` to `up4`, `outc` (their variants with `bilinear=True` and
/// `bilinear=False`).
template <class Input = input<512, 512, 1>, int Classes = 2, int Width = 64, unet_growth Growth = unet_growth::bilinear>
struct unet {
    static_assert(Input::extents.height % 16 == 0 && Input::extents.width % 16 == 0,
                  "unet<Input, ...>: height and width must be multiples of 16, "
                  "for the four pools");
    static constexpr int nodes = 2 + 9 * 10;
    static constexpr void lower(builder& b) {
        const int input = b.input(Input::extents);
        const int one = unet_parts::double_conv<"inc", Width>::lower(b, input);
        const int two = unet_parts::down<"down1", 2 * Width>::lower(b, one);
        const int three = unet_parts::down<"down2", 4 * Width>::lower(b, two);
        const int four = unet_parts::down<"down3", 8 * Width>::lower(b, three);
        // Bilinear upsampling keeps the channels, so what is upsampled has half of them.
        constexpr int half = Growth == unet_growth::bilinear ? 2 : 1;
        int x = unet_parts::down<"down4", 16 * Width / half>::lower(b, four);
        x = unet_parts::up<"up1", Growth, 8 * Width, 8 * Width / half>::lower(b, four, x);
        x = unet_parts::up<"up2", Growth, 4 * Width, 4 * Width / half>::lower(b, three, x);
        x = unet_parts::up<"up3", Growth, 2 * Width, 2 * Width / half>::lower(b, two, x);
        x = unet_parts::up<"up4", Growth, Width, Width>::lower(b, one, x);
        b.conv2d(x, "outc.conv", {.out_channels = Classes});
    }
};

}  // namespace zp::inline v0::models
