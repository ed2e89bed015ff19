// SPDX-License-Identifier: BSD-3-Clause
// Keeps the values themselves, up to a bound: to look at, or to choose a range from afterwards.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <zeropoint/core/span_of.hpp>
#include <zeropoint/observe/observer.hpp>
#include <zeropoint/observe/per_channel_observer.hpp>

namespace zp::inline v0 {

/// PyTorch's RecordingObserver with a bound: the first MaxValues values stay, 4 bytes each; what comes later is counted
/// and still widens the range. calculate_qparams is that of min_max_observer.
template <std::size_t MaxValues = std::size_t{1} << 20> class recording_observer : public widest_range {
    static_assert(MaxValues > 0,
                  "recording_observer<MaxValues>: MaxValues must be at least 1: it is how many floats are kept");

public:
    static constexpr merge_order order =
        merge_order::order_dependent;  // the range does not depend on it; which values stay does

    template <class Arch = default_architecture> void observe(const observation& seen) {
        widest_range::observe<Arch>(seen);
        keep(seen.values);
    }
    void merge(const recording_observer& later) {
        merge_base(later);
        keep(later.values());
    }
    template <class DType, class QScheme, class Rule = pytorch_rule>
    std::vector<qparams> calculate_qparams(std::string_view where) const {
        static_assert(QScheme::is_per_tensor,
                      "recording_observer serves per_tensor schemes: for this scheme take "
                      "zp::per_channel_observer<zp::recording_observer<...>>");
        if (range().empty()) reject_no_data(where, "recording_observer");
        return {choose_observed_qparams<DType, QScheme, Rule>(range().min, range().max, where)};
    }
    /// What was kept, in the order it came.
    std::span<const float> values() const { return detail::span_of(values_); }
    /// How many values did not fit.
    std::uint64_t dropped() const { return count() - values_.size(); }
    template <class Visitor> void each_state(Visitor&& visit) {
        widest_range::each_state(visit);
        visit(values_);
    }

private:
    void keep(std::span<const float> values) {
        const std::span<const float> kept = values.first(std::min(values.size(), MaxValues - values_.size()));
        values_.insert(values_.end(), kept.begin(), kept.end());
    }

    std::vector<float> values_;
};

}  // namespace zp::inline v0
