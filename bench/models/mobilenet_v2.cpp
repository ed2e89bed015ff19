// SPDX-License-Identifier: BSD-3-Clause
// MobileNetV2, ready to be timed.
#include "mobilenet_v2.hpp"

#include "timed_model_of.hpp"

std::unique_ptr<models::timed_model> models::make_mobilenet_v2() {
    return std::make_unique<timed_model_of<mobilenet_v2>>();
}
