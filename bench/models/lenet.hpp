// SPDX-License-Identifier: BSD-3-Clause
// LeNet-5 (LeCun 1998) on 28 x 28 pixels, in today's form: ReLU and max pooling.
#pragma once

#include <zeropoint/model/composition.hpp>

namespace models {

// clang-format off
struct lenet : zp::model<zp::input<28, 28, 1>,
    zp::conv2d<"conv1", zp::conv{.out_channels = 6, .kernel = 5, .padding = 2}>, zp::relu, zp::max_pool2d<2>,
    zp::conv2d<"conv2", zp::conv{.out_channels = 16, .kernel = 5}>, zp::relu, zp::max_pool2d<2>,
    zp::flatten,
    zp::linear<"fc1", 120>, zp::relu, zp::linear<"fc2", 84>, zp::relu, zp::linear<"fc3", 10>> {};
// clang-format on

}  // namespace models
