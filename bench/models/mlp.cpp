// SPDX-License-Identifier: BSD-3-Clause
// Both multilayer perceptrons, ready to be timed.
#include "mlp.hpp"

#include "timed_model_of.hpp"

std::unique_ptr<models::timed_model> models::make_mlp_64() { return std::make_unique<timed_model_of<mlp_64>>(); }
std::unique_ptr<models::timed_model> models::make_mlp_784() { return std::make_unique<timed_model_of<mlp_784>>(); }
