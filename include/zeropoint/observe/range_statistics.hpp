// SPDX-License-Identifier: BSD-3-Clause
// What calibration reports tell of one tensor, whatever observer chooses its scale.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <zeropoint/observe/exact_histogram.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/observe/observer.hpp>

namespace zp::inline v0 {

/// Counts, ranges and a histogram. Merging is exact, in any order.
class range_statistics {
public:
    /// NaN or infinity is a calibration_error, another number of channels than before a shape_error; both add nothing.
    template <class Arch = default_architecture> void observe(const observation& seen) {
        channels_.template observe<Arch>(seen);
        if (!seen.values.empty()) histogram_.template add<Arch>(seen.values, range_of<Arch>(seen));
    }
    void merge(const range_statistics& other) {
        channels_.merge(other.channels_);
        histogram_.merge(other.histogram_);
    }

    /// How many batches, and how many values.
    std::uint64_t samples() const { return channels_.samples(); }
    std::uint64_t count() const { return channels_.count(); }
    /// Nothing seen: min is +infinity, max -infinity.
    float min() const { return histogram_.range().min; }
    float max() const { return histogram_.range().max; }
    observed_range range() const { return histogram_.range(); }

    int channels() const { return static_cast<int>(channels_.mins().size()); }
    observed_range channel(int c) const {
        return {channels_.mins()[static_cast<std::size_t>(c)], channels_.maxs()[static_cast<std::size_t>(c)]};
    }
    /// Channels that never left zero: filters without effect.
    std::vector<int> dead_channels() const {
        return channels_where([](const observed_range& r) { return r.min == 0 && r.max == 0; });
    }
    /// Channels that always had one value, other than zero.
    std::vector<int> constant_channels() const {
        return channels_where([](const observed_range& r) { return r.min == r.max && r.min != 0; });
    }

    /// Share of the values outside [real_min, real_max], from 0 to 1, to the histogram's resolution; 0 where nothing
    /// was seen.
    double clipped_share(float real_min, float real_max) const {
        if (count() == 0) return 0;
        const double below = real_min <= min() ? 0 : histogram_.count_below(real_min);
        const double above = real_max >= max() ? 0 : static_cast<double>(count()) - histogram_.count_below(real_max);
        return (below + above) / static_cast<double>(count());
    }
    /// The same for the real values of codes [quant_min, quant_max]: what lies within half a step beyond them is
    /// rounded to the outermost code like any other value, not clipped.
    double clipped_share(const qparams& params, std::int32_t quant_min, std::int32_t quant_max) const {
        return clipped_share(params.scale * (static_cast<float>(quant_min - params.zero_point) - 0.5f),
                             params.scale * (static_cast<float>(quant_max - params.zero_point) + 0.5f));
    }
    const exact_histogram<2048>& histogram() const { return histogram_; }
    template <class Visitor> void each_state(Visitor&& visit) {
        visit(channels_);
        visit(histogram_);
    }

private:
    template <class Predicate> std::vector<int> channels_where(Predicate predicate) const {
        std::vector<int> found;
        for (int c = 0; c != channels(); ++c)
            if (predicate(channel(c))) found.push_back(c);
        return found;
    }

    per_channel_min_max_observer channels_;
    exact_histogram<2048> histogram_;
};

}  // namespace zp::inline v0
