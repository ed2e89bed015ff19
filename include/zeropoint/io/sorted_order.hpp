// SPDX-License-Identifier: BSD-3-Clause
// The order of things, as the numbers of their places.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <zeropoint/core/function_ref.hpp>

namespace zp::inline v0 {

/// 0 to count - 1, sorted by `less(i, j)`; of equal ones the lower number comes first. One sort for all callers, and none of the standard
/// library's: that is 5 kB of a program, and of a compiler's time more than the rest of a file's header.
template <class = void>
[[gnu::cold]] std::vector<std::size_t> sorted_order(std::size_t count,
                                                    function_ref<bool(std::size_t, std::size_t)> less) {
    std::vector<std::size_t> numbers(count), merged(count);
    for (std::size_t i = 0; i != count; ++i) numbers[i] = i;
    for (std::size_t width = 1; width < count; width *= 2) {
        for (std::size_t first = 0, i = 0; first < count; first += 2 * width) {  // two sorted runs, which become one
            const std::size_t middle = std::min(first + width, count), end = std::min(middle + width, count);
            std::size_t left = first, right = middle;
            while (i != end) {
                const bool from_right = left == middle || (right != end && less(numbers[right], numbers[left]));
                merged[i++] = from_right ? numbers[right++] : numbers[left++];
            }
        }
        numbers.swap(merged);
    }
    return numbers;
}

/// Of 0 to count - 1, in order, the first that is_before(i) does not hold for; or count.
template <class IsBefore> [[gnu::cold]] std::size_t first_not_before(std::size_t count, IsBefore is_before) {
    std::size_t first = 0, last = count;
    while (first != last) {
        const std::size_t middle = first + (last - first) / 2;
        if (is_before(middle)) first = middle + 1;
        else last = middle;
    }
    return first;
}

}  // namespace zp::inline v0
