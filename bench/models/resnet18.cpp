// SPDX-License-Identifier: BSD-3-Clause
// ResNet-18, ready to be timed.
#include "resnet18.hpp"

#include "timed_model_of.hpp"

std::unique_ptr<models::timed_model> models::make_resnet18() { return std::make_unique<timed_model_of<resnet18>>(); }
