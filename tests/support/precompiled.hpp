// What most tests include, for builds that compile it once for all of them: scripts/architectures/run.py.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/deploy.hpp>
