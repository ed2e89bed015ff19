// SPDX-License-Identifier: BSD-3-Clause
// ResNet-18 as it is timed: on images of 224x224, with 1000 classes.
#pragma once

#include <zeropoint/models/resnet.hpp>

namespace models {

struct resnet18 : zp::models::resnet18<> {};

}  // namespace models
