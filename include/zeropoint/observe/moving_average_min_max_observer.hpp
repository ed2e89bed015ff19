// Ranges that follow the data: exponential moving averages of each batch's minimum and maximum.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <zeropoint/observe/observer.hpp>
#include <zeropoint/observe/per_channel_observer.hpp>

namespace zp {
inline namespace v0 {

/// One moving average: the first value sets it, then average += c * (value - average), each operation rounded to float.
struct moving_average {
    float value = 0, first = 0;

    void start(float x) { value = first = x; }
    void follow(float x, float c) { value += rounded_product(c, x - value); }
    /// As if the other's values came after mine: its average, with what it started from replaced by mine as far as that
    /// still counts. `remaining` is (1 - c)^n for the other's n values.
    void append(const moving_average& later, float remaining) {
        value = later.value + rounded_product(remaining, value - later.first);
    }
};

/// (1 - c)^n, by squaring.
inline float remaining_weight(double c, std::uint64_t n) {
    double result = 1;
    for (double factor = 1 - c; n != 0; n >>= 1, factor *= factor)
        if ((n & 1) != 0) result *= factor;
    return static_cast<float>(result);
}

template <int Numerator, int Denominator> class moving_average_per_channel_min_max_observer;

/// PyTorch's MovingAverageMinMaxObserver with averaging constant Numerator / Denominator, 0.01 by default. The average
/// is over batches, so how data is cut into batches matters, and so does their order: merging means "then came this".
template <int Numerator = 1, int Denominator = 100> class moving_average_min_max_observer : public observation_count {
    static_assert(0 < Numerator && Numerator <= Denominator,
                  "moving_average_min_max_observer<Numerator, Denominator>: the averaging constant Numerator / "
                  "Denominator must lie in (0, 1]; <1, 100> is PyTorch's 0.01");

public:
    using per_channel_form = moving_average_per_channel_min_max_observer<Numerator, Denominator>;
    static constexpr merge_order order = merge_order::order_dependent;
    static constexpr double averaging_constant = static_cast<double>(Numerator) / Denominator;

    /// A batch with NaN or infinity is a calibration_error and adds nothing; an empty one adds nothing.
    template <class Arch = default_architecture> void observe(const observation& seen) {
        if (seen.values.empty()) return;
        const observed_range batch = range_of<Arch>(seen);
        if (samples() == 0) {
            min_.start(batch.min);
            max_.start(batch.max);
        } else {
            min_.follow(batch.min, static_cast<float>(averaging_constant));
            max_.follow(batch.max, static_cast<float>(averaging_constant));
        }
        add(seen);
    }
    void merge(const moving_average_min_max_observer& later) {
        if (later.samples() == 0) return;
        if (samples() == 0) {
            *this = later;
            return;
        }
        const float remaining = remaining_weight(averaging_constant, later.samples());
        min_.append(later.min_, remaining);
        max_.append(later.max_, remaining);
        add(later);
    }
    template <class DType, class QScheme, class Rule = pytorch_rule>
    std::vector<qparams> calculate_qparams(std::string_view where) const {
        static_assert(QScheme::is_per_tensor,
                      "moving_average_min_max_observer serves per_tensor schemes: for this scheme take "
                      "zp::moving_average_per_channel_min_max_observer");
        if (samples() == 0) reject_no_data(where, "moving_average_min_max_observer");
        return {choose_observed_qparams<DType, QScheme, Rule>(min_.value, max_.value, where)};
    }
    /// The averages, not the extremes.
    observed_range range() const { return samples() == 0 ? observed_range{} : observed_range{min_.value, max_.value}; }

private:
    moving_average min_, max_;
};

/// PyTorch's MovingAveragePerChannelMinMaxObserver.
template <int Numerator = 1, int Denominator = 100>
class moving_average_per_channel_min_max_observer : public observation_count {
    static_assert(0 < Numerator && Numerator <= Denominator,
                  "moving_average_per_channel_min_max_observer<Numerator, Denominator>: the averaging constant "
                  "Numerator / Denominator must lie in (0, 1]; <1, 100> is PyTorch's 0.01");

public:
    using per_channel_form = moving_average_per_channel_min_max_observer;
    static constexpr bool only_per_channel = true;
    static constexpr merge_order order = merge_order::order_dependent;
    static constexpr double averaging_constant = static_cast<double>(Numerator) / Denominator;

    /// NaN or infinity is a calibration_error, another number of channels than before a shape_error; both add nothing.
    template <class Arch = default_architecture> void observe(const observation& seen) {
        if (seen.values.empty()) return;
        require_channels(seen, mins_.size());
        std::vector<float> mins(static_cast<std::size_t>(seen.channels), infinity), maxs(mins.size(), -infinity);
        const std::size_t finite =
            kernel::min_max_per_channel<Arch>(seen.values.data(), seen.values.size(), mins.size(),
                                              static_cast<std::size_t>(seen.inner), mins.data(), maxs.data());
        if (finite != seen.values.size()) reject_not_finite(seen, finite);
        const bool first = mins_.empty();
        mins_.resize(mins.size());
        maxs_.resize(maxs.size());
        for (std::size_t c = 0; c != mins.size(); ++c) {
            if (first) {
                mins_[c].start(mins[c]);
                maxs_[c].start(maxs[c]);
            } else {
                mins_[c].follow(mins[c], static_cast<float>(averaging_constant));
                maxs_[c].follow(maxs[c], static_cast<float>(averaging_constant));
            }
        }
        add(seen);
    }
    void merge(const moving_average_per_channel_min_max_observer& later) {
        if (later.samples() == 0) return;
        if (samples() == 0) {
            *this = later;
            return;
        }
        require_same_channels(mins_.size(), later.mins_.size());
        const float remaining = remaining_weight(averaging_constant, later.samples());
        for (std::size_t c = 0; c != mins_.size(); ++c) {
            mins_[c].append(later.mins_[c], remaining);
            maxs_[c].append(later.maxs_[c], remaining);
        }
        add(later);
    }
    template <class DType, class QScheme, class Rule = pytorch_rule>
    std::vector<qparams> calculate_qparams(std::string_view where) const {
        static_assert(!QScheme::is_per_tensor,
                      "moving_average_per_channel_min_max_observer serves per_channel and per_group schemes: for a "
                      "per_tensor scheme take zp::moving_average_min_max_observer");
        if (samples() == 0) reject_no_data(where, "moving_average_per_channel_min_max_observer");
        std::vector<qparams> all;
        for (std::size_t c = 0; c != mins_.size(); ++c)
            all.push_back(choose_observed_qparams<DType, QScheme, Rule>(mins_[c].value, maxs_[c].value, where));
        return all;
    }
    /// The widest of the averages.
    observed_range range() const {
        observed_range all;
        for (std::size_t c = 0; c != mins_.size(); ++c)
            all = {std::min(all.min, mins_[c].value), std::max(all.max, maxs_[c].value)};
        return all;
    }

private:
    std::vector<moving_average> mins_, maxs_;
};

}  // namespace v0
}  // namespace zp
