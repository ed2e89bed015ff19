// SPDX-License-Identifier: BSD-3-Clause
// Inception-v3 (Szegedy 2015), parameters named as in torchvision, without the auxiliary classifier that only training
// uses.
#pragma once

#include <zeropoint/models/parts.hpp>

namespace zp::inline v0::models {
namespace inception_v3_parts {

/// Any window, without a border: the extents shrink.
constexpr conv inside(int channels, int kernel, int stride = 1) {
    return {.out_channels = channels, .kernel = kernel, .stride = stride, .bias = false};
}
/// Any odd window, with a border: the extents stay.
constexpr conv same(int channels, extent kernel) {
    return {
        .out_channels = channels, .kernel = kernel, .padding = {kernel.height / 2, kernel.width / 2}, .bias = false};
}
/// A row of K or a column of K.
constexpr conv row_of(int length, int channels) { return same(channels, {1, length}); }
constexpr conv column_of(int length, int channels) { return same(channels, {length, 1}); }

struct averages : avg_pool2d<pool{.kernel = 3, .stride = 1, .padding = 1}> {};
struct halving : max_pool2d<pool{.kernel = 3, .stride = 2}> {};

// clang-format off

/// The paper's figure 5: 1x1, 5x5 and two 3x3 side by side.
template <fixed_string Name, int Pooled> struct module_a : concat<
    conv_norm_relu<Name + ".branch1x1", conv1x1(64)>,
    sequential<conv_norm_relu<Name + ".branch5x5_1", conv1x1(48)>, conv_norm_relu<Name + ".branch5x5_2", same(64, 5)>>,
    sequential<conv_norm_relu<Name + ".branch3x3dbl_1", conv1x1(64)>, conv_norm_relu<Name + ".branch3x3dbl_2", conv3x3(96)>,
               conv_norm_relu<Name + ".branch3x3dbl_3", conv3x3(96)>>,
    sequential<averages, conv_norm_relu<Name + ".branch_pool", conv1x1(Pooled)>>> {};

/// From 35x35 to 17x17.
template <fixed_string Name> struct module_b : concat<
    conv_norm_relu<Name + ".branch3x3", inside(384, 3, 2)>,
    sequential<conv_norm_relu<Name + ".branch3x3dbl_1", conv1x1(64)>, conv_norm_relu<Name + ".branch3x3dbl_2", conv3x3(96)>,
               conv_norm_relu<Name + ".branch3x3dbl_3", inside(96, 3, 2)>>,
    halving> {};

/// The paper's figure 6: 7x7 as rows and columns of seven.
template <fixed_string Name, int Inner> struct module_c : concat<
    conv_norm_relu<Name + ".branch1x1", conv1x1(192)>,
    sequential<conv_norm_relu<Name + ".branch7x7_1", conv1x1(Inner)>, conv_norm_relu<Name + ".branch7x7_2", row_of(7, Inner)>,
               conv_norm_relu<Name + ".branch7x7_3", column_of(7, 192)>>,
    sequential<conv_norm_relu<Name + ".branch7x7dbl_1", conv1x1(Inner)>, conv_norm_relu<Name + ".branch7x7dbl_2", column_of(7, Inner)>,
               conv_norm_relu<Name + ".branch7x7dbl_3", row_of(7, Inner)>, conv_norm_relu<Name + ".branch7x7dbl_4", column_of(7, Inner)>,
               conv_norm_relu<Name + ".branch7x7dbl_5", row_of(7, 192)>>,
    sequential<averages, conv_norm_relu<Name + ".branch_pool", conv1x1(192)>>> {};

/// From 17x17 to 8x8.
template <fixed_string Name> struct module_d : concat<
    sequential<conv_norm_relu<Name + ".branch3x3_1", conv1x1(192)>, conv_norm_relu<Name + ".branch3x3_2", inside(320, 3, 2)>>,
    sequential<conv_norm_relu<Name + ".branch7x7x3_1", conv1x1(192)>, conv_norm_relu<Name + ".branch7x7x3_2", row_of(7, 192)>,
               conv_norm_relu<Name + ".branch7x7x3_3", column_of(7, 192)>, conv_norm_relu<Name + ".branch7x7x3_4", inside(192, 3, 2)>>,
    halving> {};

/// A row and a column of three, side by side.
template <fixed_string Name> struct row_and_column : concat<
    conv_norm_relu<Name + "a", row_of(3, 384)>, conv_norm_relu<Name + "b", column_of(3, 384)>> {};

/// The paper's figure 7.
template <fixed_string Name> struct module_e : concat<
    conv_norm_relu<Name + ".branch1x1", conv1x1(320)>,
    sequential<conv_norm_relu<Name + ".branch3x3_1", conv1x1(384)>, row_and_column<Name + ".branch3x3_2">>,
    sequential<conv_norm_relu<Name + ".branch3x3dbl_1", conv1x1(448)>, conv_norm_relu<Name + ".branch3x3dbl_2", conv3x3(384)>,
               row_and_column<Name + ".branch3x3dbl_3">>,
    sequential<averages, conv_norm_relu<Name + ".branch_pool", conv1x1(192)>>> {};

}  // namespace inception_v3_parts

/// Needs images of at least 75x75.
template <class Input = input<299, 299, 3>, int Classes = imagenet_classes>
struct inception_v3 : model<Input,
    conv_norm_relu<"Conv2d_1a_3x3", inception_v3_parts::inside(32, 3, 2)>,
    conv_norm_relu<"Conv2d_2a_3x3", inception_v3_parts::inside(32, 3)>,
    conv_norm_relu<"Conv2d_2b_3x3", conv3x3(64)>,
    inception_v3_parts::halving,
    conv_norm_relu<"Conv2d_3b_1x1", conv1x1(80)>,
    conv_norm_relu<"Conv2d_4a_3x3", inception_v3_parts::inside(192, 3)>,
    inception_v3_parts::halving,
    inception_v3_parts::module_a<"Mixed_5b", 32>, inception_v3_parts::module_a<"Mixed_5c", 64>, inception_v3_parts::module_a<"Mixed_5d", 64>,
    inception_v3_parts::module_b<"Mixed_6a">,
    inception_v3_parts::module_c<"Mixed_6b", 128>, inception_v3_parts::module_c<"Mixed_6c", 160>, inception_v3_parts::module_c<"Mixed_6d", 160>,
    inception_v3_parts::module_c<"Mixed_6e", 192>,
    inception_v3_parts::module_d<"Mixed_7a">,
    inception_v3_parts::module_e<"Mixed_7b">, inception_v3_parts::module_e<"Mixed_7c">,
    adaptive_avg_pool2d<1>, flatten, dropout, linear<"fc", Classes>> {};
// clang-format on

}  // namespace zp::inline v0::models
