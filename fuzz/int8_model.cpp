#include "model_target.hpp"

ZEROPOINT_FUZZ_MODEL(fuzzed::int8_images)
