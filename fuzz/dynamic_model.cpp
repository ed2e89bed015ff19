#include "model_target.hpp"

ZEROPOINT_FUZZ_MODEL(fuzzed::dynamic_words)
