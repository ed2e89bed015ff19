// SPDX-License-Identifier: BSD-3-Clause
// MobileNetV2 as it is timed: on images of 224x224, with 1000 classes.
#pragma once

#include <zeropoint/models/mobilenet_v2.hpp>

namespace models {

struct mobilenet_v2 : zp::models::mobilenet_v2<> {};

}  // namespace models
