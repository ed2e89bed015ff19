// The order of things, as the numbers of their places.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace zp {
inline namespace v0 {
namespace detail {

/// One sort for all callers: each of its own would be 5 kB of a program, and time to compile.
inline void sort_numbers(std::vector<std::size_t>& numbers,
                         bool (*is_less)(const void* less, std::size_t i, std::size_t j), const void* less) {
    std::sort(numbers.begin(), numbers.end(), [=](std::size_t i, std::size_t j) { return is_less(less, i, j); });
}

}  // namespace detail

/// 0 to count - 1, sorted by `less(i, j)`.
template <class Less> std::vector<std::size_t> sorted_order(std::size_t count, const Less& less) {
    std::vector<std::size_t> numbers(count);
    std::iota(numbers.begin(), numbers.end(), std::size_t{0});
    const auto is_less = [](const void* compared, std::size_t i, std::size_t j) -> bool {
        return (*static_cast<const Less*>(compared))(i, j);
    };
    detail::sort_numbers(numbers, is_less, &less);
    return numbers;
}

}  // namespace v0
}  // namespace zp
