// SPDX-License-Identifier: BSD-3-Clause
// TFLite's blocks as a batch: the pixels of an image in Height x Width smaller ones, and back. A dilated convolution is an
// ordinary one between the two.
#pragma once

#include <zeropoint/operators/rearrangement.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind space_to_batch{"space_to_batch"}, batch_to_space{"batch_to_space"};
}
namespace operators {

template <int Height, int Width> struct space_to_batch : rearrangement<space_to_batch<Height, Width>> {
    static constexpr const char* kind = "space_to_batch";
    static constexpr int options[] = {Height, Width};
    static constexpr bool accepts(shape x) { return x.height % Height == 0 && x.width % Width == 0; }
    static constexpr shape output_shape(shape x) {
        return {x.height / Height, x.width / Width, x.channels, Height * Width};
    }
    static constexpr kernel::box_copy copy(const shape& x) { return kernel::space_to_batch_copy(x, Height, Width); }
};
template <int Height, int Width> struct batch_to_space : rearrangement<batch_to_space<Height, Width>> {
    static constexpr const char* kind = "batch_to_space";
    static constexpr bool takes_volumes = true;
    static constexpr int options[] = {Height, Width};
    static constexpr bool accepts(shape x) { return x.depth == Height * Width; }
    static constexpr shape output_shape(shape x) { return {x.height * Height, x.width * Width, x.channels}; }
    static constexpr kernel::box_copy copy(const shape& x) {  // x: the planes as rows of one image
        const shape image{x.height / Width, x.width * Width, x.channels};
        return kernel::inverse_copy(kernel::space_to_batch_copy(image, Height, Width));
    }
};

}  // namespace operators

/// H x W x C to a volume of Height * Width planes of H / Height x W / Width x C: plane i * Width + j has the pixels of rows i, i +
/// Height, ... and columns j, j + Width, ... TFLite's SPACE_TO_BATCH_ND of one image: a batch is a volume here, whose layers
/// with a depth of 1, such as a conv3d of kernel {1, 3, 3}, see its planes one by one. Put zp::zero_pad2d in front where the
/// blocks do not divide the image.
template <int Height, int Width = Height>
struct space_to_batch
    : operator_layer<op::space_to_batch, "",
                     operators::space_to_batch<operators::at_least_one(Height), operators::at_least_one(Width)>> {
    static_assert(Height >= 1 && Width >= 1,
                  "space_to_batch<Height, Width>: each is the extent of a block, and must be at least 1");
};
/// The inverse, of a volume of Height * Width planes: TFLite's BATCH_TO_SPACE_ND. What it crops is a zp::slice behind it.
template <int Height, int Width = Height>
struct batch_to_space
    : operator_layer<op::batch_to_space, "",
                     operators::batch_to_space<operators::at_least_one(Height), operators::at_least_one(Width)>> {
    static_assert(Height >= 1 && Width >= 1,
                  "batch_to_space<Height, Width>: each is the extent of a block, and must be at least 1");
};

}  // namespace zp::inline v0
