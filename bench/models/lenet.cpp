// SPDX-License-Identifier: BSD-3-Clause
// LeNet, ready to be timed.
#include "lenet.hpp"

#include "timed_model_of.hpp"

std::unique_ptr<models::timed_model> models::make_lenet() { return std::make_unique<timed_model_of<lenet>>(); }
