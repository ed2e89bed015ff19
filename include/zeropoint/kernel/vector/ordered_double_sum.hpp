// SPDX-License-Identifier: BSD-3-Clause
// Sums in double whose order of additions is the same everywhere.
#pragma once

#include <cstddef>

namespace zp::inline v0::kernel {

/// value(0) + value(1) + ... + value(count - 1): eight sums of every eighth value, which compilers can keep in vectors,
/// and then their sum. Where value() is an exact product, contraction changes nothing.
template <class Arch, class Value> double sum_in_double(std::size_t count, Value&& value) noexcept {
    double eight[8] = {}, sums[8];  // the first without an index that is not known, so that it stays in registers
    std::size_t i = 0;
    for (; i + 8 <= count; i += 8)
        for (std::size_t k = 0; k != 8; ++k) eight[k] += value(i + k);
    for (std::size_t k = 0; k != 8; ++k) sums[k] = eight[k];
    for (std::size_t k = 0; i != count; ++i, ++k) sums[k] += value(i);
    return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

}  // namespace zp::inline v0::kernel
