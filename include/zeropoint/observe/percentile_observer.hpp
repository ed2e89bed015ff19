// SPDX-License-Identifier: BSD-3-Clause
// The range that a given share of all values lies in.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <zeropoint/observe/exact_histogram.hpp>
#include <zeropoint/observe/observer.hpp>

namespace zp::inline v0 {

/// Keeps Kept values of every Of and cuts half of the rest at each end, as ONNX Runtime's percentile calibrator, whose
/// default, 99.999 %, is the default here. Within a bin of the histogram values are taken as evenly spread.
template <int Kept = 99999, int Of = 100000, int Bins = 2048>
class percentile_observer : public exact_histogram_base<Bins> {
    static_assert(0 < Kept && Kept <= Of,
                  "percentile_observer<Kept, Of>: the share Kept / Of must lie in (0, 1]: percentile_observer<9999, "
                  "10000> keeps 99.99 % of the values");

public:
    void merge(const percentile_observer& other) { this->merge_base(other); }

    template <class DType, class QScheme, class Rule = pytorch_rule>
    std::vector<qparams> calculate_qparams(std::string_view where) const {
        static_assert(QScheme::is_per_tensor,
                      "percentile_observer serves per_tensor schemes: for this scheme take "
                      "zp::per_channel_observer<zp::percentile_observer<...>>");
        this->require_data(where, "percentile_observer");
        const observed_range kept = kept_range();
        return {choose_observed_qparams<DType, QScheme, Rule>(kept.min, kept.max, where)};
    }
    /// Where the cuts are. Something must have been seen.
    observed_range kept_range() const {
        constexpr std::uint64_t cut = Of - Kept, both_ends = 2 * static_cast<std::uint64_t>(Of);
        const std::uint64_t count = this->count();
        const std::uint64_t tail =
            count / both_ends * cut + count % both_ends * cut / both_ends;  // count * cut / both_ends
        return {this->histogram().quantile(tail), this->histogram().quantile(count - tail)};
    }
};

}  // namespace zp::inline v0
