// SPDX-License-Identifier: BSD-3-Clause
// Two multilayer perceptrons: the classic of handwritten digits, and one of a size that runs in control loops.
#pragma once

#include <zeropoint/model/composition.hpp>

namespace models {

/// Parameters "fc1" to "fc3".
struct mlp_784 : zp::model<zp::input<1, 1, 784>, zp::linear<"fc1", 256>, zp::relu, zp::linear<"fc2", 128>, zp::relu,
                           zp::linear<"fc3", 10>> {};

struct mlp_64 : zp::model<zp::input<1, 1, 64>, zp::linear<"fc1", 64>, zp::relu, zp::linear<"fc2", 64>, zp::relu,
                          zp::linear<"fc3", 16>> {};

}  // namespace models
