// The most common operators, compiled once.
#define ZEROPOINT_INSTANCE template
#include <zeropoint/compiled/common.hpp>
