// SPDX-License-Identifier: BSD-3-Clause
// How often each code of a row came, and which of them are cut off.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <zeropoint/graph/node.hpp>
#include <zeropoint/scheme/quantize.hpp>

namespace zp::inline v0 {

/// Which codes of a row are cut off: the outermost ones, but for those that are the bound of a clamp, or 0 where nothing is below it.
struct saturation {
    std::int32_t low = std::numeric_limits<std::int32_t>::min();   // codes of at most this much
    std::int32_t high = std::numeric_limits<std::int32_t>::max();  // codes of at least this much

    /// Nothing is cut off.
    constexpr saturation() = default;
    constexpr saturation(const node& n, const qparams& range) {
        const float first = dequantize(n.out.quant_min, range), last = dequantize(n.out.quant_max, range);
        if (n.out.quant_min != range.zero_point && !(n.fused.lowest >= first)) low = n.out.quant_min;
        if (n.out.quant_max != range.zero_point && !(n.fused.highest <= last + range.scale / 2)) high = n.out.quant_max;
    }
    /// Whether a code is one of these.
    constexpr bool has(std::int32_t code) const { return code <= low || code >= high; }
};

/// How often each code came: all 256 of 8 bits, of 16 bits in groups of 256. Bounded, whatever comes.
class code_counts {
public:
    /// Of no codes.
    code_counts() = default;
    code_counts(std::int32_t quant_min, std::int32_t quant_max)
        : first_(quant_min), group_(std::int64_t{quant_max} - quant_min < 256 ? 1 : 256) {
        const auto codes = static_cast<std::size_t>(std::int64_t{quant_max} - quant_min + 1);
        counts_.resize((codes + group_ - 1) / group_);
        if (group_ != 1) seen_.resize(codes);
    }
    /// Counts a code, which is within the range.
    void add(std::int32_t code) {
        const auto at = static_cast<std::size_t>(code - first_);
        ++counts_[at / group_];
        if (group_ != 1) seen_[at] = true;
    }
    /// Adds the counts of the same range.
    void merge(const code_counts& other) {
        for (std::size_t i = 0; i != counts_.size(); ++i) counts_[i] += other.counts_[i];
        for (std::size_t i = 0; i != seen_.size(); ++i) seen_[i] = seen_[i] || other.seen_[i];
    }
    /// One number a code, or a group of codes, from the lowest on.
    std::span<const std::uint64_t> counts() const { return counts_; }
    /// The lowest code.
    std::int32_t first() const { return first_; }
    /// How many codes one number stands for: 1, of 16 bits 256.
    std::size_t codes_in_group() const { return group_; }
    /// How many different codes came.
    std::size_t used() const {
        if (group_ != 1) return static_cast<std::size_t>(std::count(seen_.begin(), seen_.end(), true));
        return counts_.size() - static_cast<std::size_t>(std::count(counts_.begin(), counts_.end(), 0u));
    }

private:
    std::int32_t first_ = 0;
    std::size_t group_ = 1;
    std::vector<std::uint64_t> counts_;
    std::vector<bool> seen_;  // of codes of 16 bits
};

/// Calls f(code) for each of `count` codes of a storage type.
template <class F> void for_each_code(scalar_type storage, const void* values, std::size_t count, F f) {
    const auto all = [&]<class Code>(const Code* codes) {
        for (std::size_t i = 0; i != count; ++i) f(std::int32_t{codes[i]});
    };
    if (storage == scalar_type::uint8) all(static_cast<const std::uint8_t*>(values));
    else if (storage == scalar_type::int8) all(static_cast<const std::int8_t*>(values));
    else all(static_cast<const std::int16_t*>(values));
}

}  // namespace zp::inline v0
