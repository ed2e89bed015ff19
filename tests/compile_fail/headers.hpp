// What most cases include, precompiled: a case names what it needs itself.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <zeropoint/operators.hpp>
#include <zeropoint/zeropoint.hpp>
