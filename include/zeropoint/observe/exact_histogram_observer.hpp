// SPDX-License-Identifier: BSD-3-Clause
// PyTorch's histogram search over bins that merge exactly.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include <zeropoint/observe/exact_histogram.hpp>
#include <zeropoint/observe/histogram_search.hpp>
#include <zeropoint/observe/observer.hpp>

namespace zp::inline v0 {

/// histogram_observer's choice of range from an exact_histogram: nearly PyTorch's numbers, and the same numbers
/// whatever the order of the batches and however the work was shared. Counts are exact to 2^64.
template <int Bins = 2048> class exact_histogram_observer : public exact_histogram_base<Bins> {
public:
    void merge(const exact_histogram_observer& other) { this->merge_base(other); }

    template <class DType, class QScheme, class Rule = pytorch_rule>
    std::vector<qparams> calculate_qparams(std::string_view where) const {
        static_assert(QScheme::is_per_tensor,
                      "exact_histogram_observer serves per_tensor schemes: for this scheme take "
                      "zp::per_channel_observer<zp::exact_histogram_observer<...>>");
        this->require_data(where, "exact_histogram_observer");
        const exact_histogram<Bins>& bins = this->histogram();
        const observed_range seen = bins.range();
        const std::vector<float> counts(bins.counts().begin(), bins.counts().end());
        const auto low = static_cast<float>(bins.edge(0)), high = static_cast<float>(bins.edge(counts.size()));
        const observed_range best = histogram_search(counts, low, high, search_levels<DType>)();
        return {choose_observed_qparams<DType, QScheme, Rule>(std::clamp(best.min, seen.min, seen.max),
                                                              std::clamp(best.max, seen.min, seen.max), where)};
    }
};

}  // namespace zp::inline v0
