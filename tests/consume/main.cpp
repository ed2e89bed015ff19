// What a consumer's program does first: include the library and round a number.
#include <zeropoint/core/rounding.hpp>
#include <zeropoint/version.hpp>

int main() { return zp::round_half_even(2.5f) == 2 && ZEROPOINT_VERSION_MAJOR == 0 ? 0 : 1; }
