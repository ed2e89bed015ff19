// SPDX-License-Identifier: BSD-3-Clause
// Spans over vectors at a price that compilers can pay.
#pragma once

#include <span>
#include <vector>

namespace zp::inline v0::detail {

/// All of a vector. std::span's own conversion proves that the vector is a contiguous range, which costs GCC 12 about 20 ms and 1.5 MiB
/// a type of elements, and as much again for vectors that are const; a pointer and a count cost a third of that, once. Whatever an
/// umbrella header brings takes this; a caller's conversion is his own.
template <class T> constexpr std::span<const T> span_of(const std::vector<T>& all) noexcept {
    return {all.data(), all.size()};
}

}  // namespace zp::inline v0::detail
