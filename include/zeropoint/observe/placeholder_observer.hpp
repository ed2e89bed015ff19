// SPDX-License-Identifier: BSD-3-Clause
// No range at all: for values whose scale is chosen at run time, or that stay float.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <zeropoint/observe/observer.hpp>

namespace zp::inline v0 {

/// PyTorch's PlaceholderObserver: says that there is no calibration here, and fails when scale and zero point are
/// wanted. Counts what it sees and looks at no value.
class placeholder_observer : public observation_count {
public:
    using per_channel_form = placeholder_observer;
    static constexpr merge_order order = merge_order::exact_any_order;

    void observe(const observation& seen) {
        if (!seen.values.empty()) add(seen);
    }
    void merge(const placeholder_observer& other) { add(other); }
    /// Always a calibration_error.
    template <class DType, class QScheme, class Rule = pytorch_rule>
    std::vector<qparams> calculate_qparams(std::string_view where) const {
        raise<calibration_error>(std::string(where) +
                                 ": placeholder_observer keeps no range, so there is no scale to choose: take an "
                                 "observer such as min_max_observer, or keep this layer float");
    }
    observed_range range() const { return {}; }
};

}  // namespace zp::inline v0
