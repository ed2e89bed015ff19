// SPDX-License-Identifier: BSD-3-Clause
// Which keys the queries of an attention see.
#pragma once

#include <algorithm>
#include <cstddef>

#include <zeropoint/kernel/vector/ieee_floats.hpp>

namespace zp::inline v0::kernel {

/// A value for each key, 0 leaving it out: one row for all queries of all heads, or rows and matrices of their own. Null
/// values: every query sees every key. A query that sees none has equal weights, of all keys.
struct attention_mask {
    const float* values = nullptr;
    std::ptrdiff_t row_pitch = 0;   ///< from the row of a query to the next; 0: one row for all
    std::ptrdiff_t head_pitch = 0;  ///< from the rows of a head to the next; 0: the same for all

    const float* row(int head, int query) const { return values + head * head_pitch + query * row_pitch; }
    /// The row that says for all queries which of `keys` keys count; null where none is left out for all, or all are.
    const float* keys_of_all(int keys) const {
        if (values == nullptr || row_pitch != 0 || head_pitch != 0) return nullptr;
        const bool sees_any = std::any_of(values, values + keys, [](float value) { return value != 0; });
        return sees_any ? values : nullptr;
    }
};

/// Keys [begin, end).
struct key_range {
    int begin, end;
};
/// From the first to the last of `count` values that is not 0; all of them where each is.
template <class Arch> key_range seen_keys(const float* values, int count) noexcept {
    int begin = 0, end = count;
    if constexpr (has_ieee_vectors<Arch>) {
        using floats = xsimd::batch<float, Arch>;
        constexpr int size = floats::size;
        const auto are_zero = [&](int at) { return xsimd::all(floats::load_unaligned(values + at) == floats(0.0f)); };
        while (begin + size <= count && are_zero(begin)) begin += size;
        while (end - size >= begin && are_zero(end - size)) end -= size;
    }
    while (begin != end && values[begin] == 0) ++begin;
    while (end != begin && values[end - 1] == 0) --end;
    return begin == end ? key_range{0, count} : key_range{begin, end};
}

}  // namespace zp::inline v0::kernel
