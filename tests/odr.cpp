// A second translation unit with everything in it, linked into every test: a non-inline function would clash here.
#include <zeropoint/zeropoint.hpp>
