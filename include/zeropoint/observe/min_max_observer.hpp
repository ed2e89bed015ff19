// SPDX-License-Identifier: BSD-3-Clause
// The smallest and the largest value seen, over the tensor or per channel.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include <zeropoint/core/float_values.hpp>
#include <zeropoint/observe/observer.hpp>
#include <zeropoint/observe/per_channel_observer.hpp>

namespace zp::inline v0 {

class per_channel_min_max_observer;

/// PyTorch's MinMaxObserver: the range is everything seen. With a per_channel or per_group scheme it stands for
/// per_channel_min_max_observer.
class min_max_observer : public widest_range {
public:
    using per_channel_form = per_channel_min_max_observer;

    void merge(const min_max_observer& other) { merge_base(other); }
    template <class DType, class QScheme, class Rule = pytorch_rule>
    std::vector<qparams> calculate_qparams(std::string_view where) const {
        static_assert(QScheme::is_per_tensor,
                      "min_max_observer serves per_tensor schemes: for this scheme take "
                      "zp::per_channel_min_max_observer, or zp::observer_for<min_max_observer, QScheme>");
        if (range().empty()) reject_no_data(where, "min_max_observer");
        return {choose_observed_qparams<DType, QScheme, Rule>(range().min, range().max, where)};
    }
};

/// The smallest and the largest values of a batch's channels. Raises shape_error where there are not as many channels as so far, 0
/// being none so far, and calibration_error for NaN and infinity.
struct channel_ranges {
    std::vector<float> mins, maxs;
};
template <class Arch> channel_ranges ranges_of_channels(const observation& seen, std::size_t channels_so_far) {
    require_channels(seen, channels_so_far);
    const auto channels = static_cast<std::size_t>(seen.channels);
    channel_ranges all{std::vector<float>(channels, infinity), std::vector<float>(channels, -infinity)};
    const std::size_t finite =
        kernel::min_max_per_channel<Arch>(seen.values.data(), seen.values.size(), channels,
                                          static_cast<std::size_t>(seen.inner), all.mins.data(), all.maxs.data());
    if (finite != seen.values.size()) reject_not_finite(seen, finite);
    return all;
}

/// PyTorch's PerChannelMinMaxObserver; the channels are those of the observation.
class per_channel_min_max_observer : public observation_count {
public:
    using per_channel_form = per_channel_min_max_observer;
    static constexpr bool only_per_channel = true;  // it serves no per_tensor scheme
    static constexpr merge_order order = merge_order::exact_any_order;

    /// NaN or infinity is a calibration_error, another number of channels than before a shape_error; both add nothing.
    template <class Arch = default_architecture> void observe(const observation& seen) {
        if (seen.values.empty()) return;
        const auto [mins, maxs] = ranges_of_channels<Arch>(seen, mins_.size());
        widen(mins, maxs);
        add(seen);
    }
    void merge(const per_channel_min_max_observer& other) {
        if (other.mins_.empty()) return;
        if (!mins_.empty()) require_same_channels(mins_.size(), other.mins_.size());
        widen(other.mins_, other.maxs_);
        add(other);
    }
    template <class DType, class QScheme, class Rule = pytorch_rule>
    std::vector<qparams> calculate_qparams(std::string_view where) const {
        static_assert(!QScheme::is_per_tensor,
                      "per_channel_min_max_observer serves per_channel and per_group schemes: for a per_tensor scheme "
                      "take zp::min_max_observer");
        if (mins_.empty()) reject_no_data(where, "per_channel_min_max_observer");
        std::vector<qparams> all;
        for (std::size_t c = 0; c != mins_.size(); ++c)
            all.push_back(choose_observed_qparams<DType, QScheme, Rule>(mins_[c], maxs_[c], where));
        return all;
    }
    observed_range range() const {
        if (mins_.empty()) return {};
        return {*std::min_element(mins_.begin(), mins_.end()), *std::max_element(maxs_.begin(), maxs_.end())};
    }
    /// The smallest value of each channel.
    const std::vector<float>& mins() const { return mins_; }
    /// The largest value of each channel.
    const std::vector<float>& maxs() const { return maxs_; }
    template <class Visitor> void each_state(Visitor&& visit) {
        observation_count::each_state(visit);
        visit(mins_);
        visit(maxs_);
    }

private:
    void widen(const std::vector<float>& mins, const std::vector<float>& maxs) {
        if (mins_.empty()) mins_.assign(mins.size(), infinity), maxs_.assign(mins.size(), -infinity);
        for (std::size_t c = 0; c != mins.size(); ++c) {
            mins_[c] = std::min(mins_[c], mins[c]);
            maxs_[c] = std::max(maxs_[c], maxs[c]);
        }
    }

    std::vector<float> mins_, maxs_;
};

}  // namespace zp::inline v0
