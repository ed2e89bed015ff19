// SPDX-License-Identifier: BSD-3-Clause
// The order of things, as the numbers of their places.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <zeropoint/core/function_ref.hpp>

namespace zp {
inline namespace v0 {

/// 0 to count - 1, sorted by `less(i, j)`. One sort for all callers: each of its own would be 5 kB of a program.
[[gnu::cold]] inline std::vector<std::size_t> sorted_order(std::size_t count,
                                                           function_ref<bool(std::size_t, std::size_t)> less) {
    std::vector<std::size_t> numbers(count);
    for (std::size_t i = 0; i != count; ++i) numbers[i] = i;
    std::sort(numbers.begin(), numbers.end(), less);
    return numbers;
}

}  // namespace v0
}  // namespace zp
