// SPDX-License-Identifier: BSD-3-Clause
#include "model_target.hpp"

ZEROPOINT_FUZZ_MODEL(fuzzed::images)
