// SPDX-License-Identifier: BSD-3-Clause
// A histogram whose bins are the same for everyone who looks at the same data: merging is exact, in any order.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <zeropoint/core/span_of.hpp>
#include <zeropoint/kernel/reduction/float_statistics.hpp>
#include <zeropoint/observe/observer.hpp>
#include <zeropoint/scheme/uncontracted.hpp>

namespace zp::inline v0 {

/// At most `Bins` bins of width 2^e from zero on, both ways: bin i counts the x with floor(x / 2^e) = i. The width is
/// the smallest power of two with which the bins of zero, of the smallest and of the largest value fit. A wider range
/// only doubles the width, which joins neighbours and moves no value to a wrong bin, so the counts depend on the values
/// alone: not on their order, their batches, or which part was merged into which.
template <int Bins> class exact_histogram {
    static_assert(Bins >= 16 && Bins <= (1 << 20) && std::has_single_bit(static_cast<unsigned>(Bins)),
                  "exact_histogram<Bins>: Bins must be a power of two from 16 to 1048576; 2048 is usual");

public:
    /// Adds values whose range is `batch`; all finite.
    template <class Arch> void add(std::span<const float> values, const observed_range& batch) {
        if (values.empty()) return;
        widen(batch);
        kernel::histogram_from_zero<Arch>(values.data(), values.size(), power_of_two(-exponent_),
                                          static_cast<std::int32_t>(first_), counts_.size(), counts_.data());
    }
    void merge(const exact_histogram& other) {
        if (other.range_.empty()) return;
        exact_histogram moved = other;
        widen(other.range_);
        moved.widen(range_);
        for (std::size_t i = 0; i != counts_.size(); ++i) counts_[i] += moved.counts_[i];
    }

    const observed_range& range() const { return range_; }
    /// One number a bin, the first for values from `edge(0)` on; the bin of zero is always among them.
    std::span<const std::uint64_t> counts() const { return detail::span_of(counts_); }
    /// A power of two.
    double bin_width() const { return power_of_two(exponent_); }
    /// Lower edge of bin i; the upper edge is edge(i + 1).
    double edge(std::size_t i) const {
        return static_cast<double>(first_ + static_cast<std::int64_t>(i)) * bin_width();
    }

    /// How many values lie below x, those in x's own bin taken as evenly spread.
    double count_below(double x) const {
        if (range_.empty() || x <= range_.min) return 0;
        const double position = x * power_of_two(-exponent_) - static_cast<double>(first_);
        double below = 0;
        for (std::size_t i = 0; i != counts_.size() && static_cast<double>(i) < position; ++i)
            below +=
                static_cast<double>(counts_[i]) * static_cast<float>(std::min(1.0, position - static_cast<double>(i)));
        return below;
    }
    /// The x with `rank` values below it, likewise; rank from 0, for the smallest value, up to the count.
    float quantile(std::uint64_t rank) const {
        if (rank == 0) return range_.min;
        for (std::size_t i = 0; i != counts_.size(); rank -= counts_[i++]) {
            if (rank > counts_[i]) continue;
            const float part = static_cast<float>(rank) / static_cast<float>(counts_[i]);
            return std::clamp(static_cast<float>(edge(i) + part * bin_width()), range_.min, range_.max);
        }
        return range_.max;
    }

    bool operator==(const exact_histogram&) const = default;
    template <class Visitor> void each_state(Visitor&& visit) {
        visit(range_);
        visit(first_);
        visit(exponent_);
        visit(counts_);
    }

private:
    /// floor, of a value in bins.
    static std::int64_t bin_of(double x) {
        const auto whole = static_cast<std::int64_t>(x);
        return whole - (static_cast<double>(whole) > x);
    }
    static std::int64_t bin_of(float x, int exponent) { return bin_of(x * power_of_two(-exponent)); }

    /// The smallest exponent whose bins for [low, high] are no more than Bins.
    static int exponent_for(float low, float high) {
        const double size = std::max(-static_cast<double>(low), static_cast<double>(high));
        if (size == 0) return all_zero;
        int exponent = static_cast<int>(std::bit_cast<std::uint64_t>(size) >> 52) - 1023 -
                       static_cast<int>(std::bit_width(static_cast<unsigned>(Bins)));
        while (bin_of(high, exponent) - bin_of(low, exponent) >= Bins) ++exponent;
        return exponent;
    }

    /// Bins for [batch.min, batch.max], zero and all that was there.
    void widen(const observed_range& batch) {
        range_ = range_.with(batch);
        const float low = std::min(range_.min, 0.0f), high = std::max(range_.max, 0.0f);
        const int exponent = exponent_for(low, high), shift = std::min(exponent - exponent_, 62);
        const std::int64_t first = bin_of(low, exponent);
        const auto size = static_cast<std::size_t>(bin_of(high, exponent) - first + 1);
        if (shift == 0 && first == first_ && size == counts_.size()) return;
        std::vector<std::uint64_t> counts(size);
        for (std::size_t i = 0; i != counts_.size(); ++i)
            counts[static_cast<std::size_t>(((first_ + static_cast<std::int64_t>(i)) >> shift) - first)] += counts_[i];
        counts_ = std::move(counts);
        first_ = first;
        exponent_ = exponent;
    }

    static constexpr int all_zero = -200;  // finer than any value needs: 2^-149 / 2^21

    observed_range range_;
    std::int64_t first_ = 0;
    int exponent_ = all_zero;
    std::vector<std::uint64_t> counts_;
};

/// What the observers that choose from an exact histogram share: all but the choice.
template <int Bins> class exact_histogram_base : public observation_count {
public:
    static constexpr merge_order order = merge_order::exact_any_order;

    /// A batch with NaN or infinity is a calibration_error and adds nothing; an empty one adds nothing.
    template <class Arch = default_architecture> void observe(const observation& seen) {
        if (seen.values.empty()) return;
        histogram_.template add<Arch>(seen.values, range_of<Arch>(seen));
        add(seen);
    }
    /// Everything seen, of which qparams may cut parts.
    observed_range range() const { return histogram_.range(); }
    /// The histogram so far.
    const exact_histogram<Bins>& histogram() const { return histogram_; }
    template <class Visitor> void each_state(Visitor&& visit) {
        observation_count::each_state(visit);
        visit(histogram_);
    }

protected:
    void merge_base(const exact_histogram_base& other) {
        histogram_.merge(other.histogram_);
        add(other);
    }
    void require_data(std::string_view where, const char* name) const {
        if (histogram_.range().empty()) reject_no_data(where, name);
    }

private:
    exact_histogram<Bins> histogram_;
};

}  // namespace zp::inline v0
