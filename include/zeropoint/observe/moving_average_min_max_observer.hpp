// SPDX-License-Identifier: BSD-3-Clause
// Ranges that follow the data: exponential moving averages of each batch's minimum and maximum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <zeropoint/observe/observer.hpp>
#include <zeropoint/observe/per_channel_observer.hpp>

namespace zp::inline v0 {

/// One moving average: the first value sets it, then average += c * (value - average), each operation rounded to float.
struct moving_average {
    float value = 0, first = 0;  // the average, and the value that it began with

    /// The first value.
    void start(float x) { value = first = x; }
    /// A further value, with averaging constant c in (0, 1].
    void follow(float x, float c) { value += rounded_product(c, x - value); }
    /// As if the other's values came after mine: its average, with what it started from replaced by mine as far as that
    /// still counts. `remaining` is (1 - c)^n for the other's n values.
    void append(const moving_average& later, float remaining) {
        value = later.value + rounded_product(remaining, value - later.first);
    }
};

/// Of both ends of a range.
struct moving_range {
    moving_average min, max;

    void add(float low, float high, bool is_first, float c) {
        if (is_first) {
            min.start(low);
            max.start(high);
        } else {
            min.follow(low, c);
            max.follow(high, c);
        }
    }
    void append(const moving_range& later, float remaining) {
        min.append(later.min, remaining);
        max.append(later.max, remaining);
    }
    observed_range values() const { return {min.value, max.value}; }
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
    /// How much of a batch goes into the average.
    static constexpr double averaging_constant = static_cast<double>(Numerator) / Denominator;

    /// A batch with NaN or infinity is a calibration_error and adds nothing; an empty one adds nothing.
    template <class Arch = default_architecture> void observe(const observation& seen) {
        if (seen.values.empty()) return;
        const observed_range batch = range_of<Arch>(seen);
        average_.add(batch.min, batch.max, samples() == 0, static_cast<float>(averaging_constant));
        add(seen);
    }
    void merge(const moving_average_min_max_observer& later) {
        if (later.samples() == 0) return;
        if (samples() == 0) {
            *this = later;
            return;
        }
        average_.append(later.average_, remaining_weight(averaging_constant, later.samples()));
        add(later);
    }
    template <class DType, class QScheme, class Rule = pytorch_rule>
    std::vector<qparams> calculate_qparams(std::string_view where) const {
        static_assert(QScheme::is_per_tensor,
                      "moving_average_min_max_observer serves per_tensor schemes: for this scheme take "
                      "zp::moving_average_per_channel_min_max_observer");
        if (samples() == 0) reject_no_data(where, "moving_average_min_max_observer");
        return {choose_observed_qparams<DType, QScheme, Rule>(range().min, range().max, where)};
    }
    /// The averages, not the extremes.
    observed_range range() const { return samples() == 0 ? observed_range{} : average_.values(); }
    template <class Visitor> void each_state(Visitor&& visit) {
        observation_count::each_state(visit);
        visit(average_);
    }

private:
    moving_range average_;
};

/// PyTorch's MovingAveragePerChannelMinMaxObserver.
template <int Numerator = 1, int Denominator = 100>
class moving_average_per_channel_min_max_observer : public observation_count {
    static_assert(0 < Numerator && Numerator <= Denominator,
                  "moving_average_per_channel_min_max_observer<Numerator, Denominator>: the averaging constant "
                  "Numerator / Denominator must lie in (0, 1]; <1, 100> is PyTorch's 0.01");

public:
    using per_channel_form = moving_average_per_channel_min_max_observer;
    static constexpr bool only_per_channel = true;  // it serves no per_tensor scheme
    static constexpr merge_order order = merge_order::order_dependent;
    /// How much of a batch goes into the average.
    static constexpr double averaging_constant = static_cast<double>(Numerator) / Denominator;

    /// NaN or infinity is a calibration_error, another number of channels than before a shape_error; both add nothing.
    template <class Arch = default_architecture> void observe(const observation& seen) {
        if (seen.values.empty()) return;
        const auto [mins, maxs] = ranges_of_channels<Arch>(seen, averages_.size());
        averages_.resize(mins.size());
        for (std::size_t c = 0; c != mins.size(); ++c)
            averages_[c].add(mins[c], maxs[c], samples() == 0, static_cast<float>(averaging_constant));
        add(seen);
    }
    void merge(const moving_average_per_channel_min_max_observer& later) {
        if (later.samples() == 0) return;
        if (samples() == 0) {
            *this = later;
            return;
        }
        require_same_channels(averages_.size(), later.averages_.size());
        const float remaining = remaining_weight(averaging_constant, later.samples());
        for (std::size_t c = 0; c != averages_.size(); ++c) averages_[c].append(later.averages_[c], remaining);
        add(later);
    }
    template <class DType, class QScheme, class Rule = pytorch_rule>
    std::vector<qparams> calculate_qparams(std::string_view where) const {
        static_assert(!QScheme::is_per_tensor,
                      "moving_average_per_channel_min_max_observer serves per_channel and per_group schemes: for a "
                      "per_tensor scheme take zp::moving_average_min_max_observer");
        if (samples() == 0) reject_no_data(where, "moving_average_per_channel_min_max_observer");
        std::vector<qparams> all;
        for (const moving_range& channel : averages_)
            all.push_back(choose_observed_qparams<DType, QScheme, Rule>(channel.min.value, channel.max.value, where));
        return all;
    }
    /// The widest of the averages.
    observed_range range() const {
        observed_range all;
        for (const moving_range& channel : averages_) all = all.with(channel.values());
        return all;
    }
    template <class Visitor> void each_state(Visitor&& visit) {
        observation_count::each_state(visit);
        visit(averages_);
    }

private:
    std::vector<moving_range> averages_;
};

}  // namespace zp::inline v0
