// SPDX-License-Identifier: BSD-3-Clause
// PyTorch's HistogramObserver, with its bins, its search, and so its scales and zero points.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <zeropoint/core/number_text.hpp>
#include <zeropoint/core/span_of.hpp>
#include <zeropoint/observe/histogram_search.hpp>
#include <zeropoint/observe/observer.hpp>

namespace zp::inline v0 {

/// A histogram between the smallest and the largest value seen, redistributed to wider bins whenever the range grows,
/// and a search for the part of it with the least squared quantization error. Counts are floats, as PyTorch's: a bin
/// stops growing at 2^24. Redistributing depends on what came when, so merging means "then came this" and is an
/// approximation; for exact merging take exact_histogram_observer.
template <int Bins = 2048> class histogram_observer : public observation_count {
    static_assert(Bins >= 2 && Bins <= (1 << 20),
                  "histogram_observer<Bins>: Bins must be from 2 to 1048576; PyTorch's default is 2048");

public:
    static constexpr merge_order order = merge_order::order_dependent;

    /// A batch with NaN or infinity is a calibration_error and adds nothing (PyTorch drops infinities); an empty one
    /// adds nothing.
    template <class Arch = default_architecture> void observe(const observation& seen) {
        if (seen.values.empty()) return;
        const observed_range wide = range_.with(range_of<Arch>(seen));
        if (!is_finite(wide.max - wide.min))
            raise<calibration_error>(std::string(seen.where) + ": the observed range from " + number_text(wide.min) +
                                     " to " + number_text(wide.max) + " is too wide for a histogram");
        std::vector<float> counts(Bins);
        kernel::histogram<Arch>(seen.values.data(), seen.values.size(), wide.min, wide.max, Bins, counts.data());
        add_counts(counts, wide);
        add(seen);
    }
    void merge(const histogram_observer& later) {
        if (later.range_.empty()) return;
        const observed_range wide = range_.with(later.range_);
        add_counts(later.counts_over(wide), wide);
        add(later);
    }
    template <class DType, class QScheme, class Rule = pytorch_rule>
    std::vector<qparams> calculate_qparams(std::string_view where) const {
        static_assert(QScheme::is_per_tensor,
                      "histogram_observer serves per_tensor schemes: for this scheme take "
                      "zp::per_channel_observer<zp::histogram_observer<...>>");
        if (range_.empty()) reject_no_data(where, "histogram_observer");
        const observed_range best =
            histogram_search(detail::span_of(counts_), range_.min, range_.max, search_levels<DType>)();
        return {choose_observed_qparams<DType, QScheme, Rule>(best.min, best.max, where)};
    }
    /// Everything seen, of which the search may cut parts.
    observed_range range() const { return range_; }
    /// How many values fell into each bin, from the lowest on.
    std::span<const float> counts() const { return detail::span_of(counts_); }
    template <class Visitor> void each_state(Visitor&& visit) {
        observation_count::each_state(visit);
        visit(range_);
        visit(counts_);
    }

private:
    void add_counts(const std::vector<float>& counts, const observed_range& wide) {
        if (range_.empty()) counts_ = counts;
        else {
            counts_ = counts_over(wide);
            for (std::size_t i = 0; i != counts.size(); ++i) counts_[i] += counts[i];
        }
        range_ = wide;
    }

    /// `_combine_histograms`: these counts in the bins of a range that contains this one.
    std::vector<float> counts_over(const observed_range& wide) const {
        if (wide == range_) return counts_;
        std::vector<float> moved(Bins);
        if (range_.min == range_.max) {
            kernel::histogram<portable>(&range_.min, 1, wide.min, wide.max, Bins, moved.data());
            const float all = cascade_sum(detail::span_of(counts_));
            for (float& count : moved) count *= all;
            return moved;
        }
        // `_upscale_histogram`: each bin in 16 parts, each part to the bin of its mid point.
        constexpr int parts = 16;
        const linear_space fine{range_.min, range_.max, Bins * parts}, coarse{wide.min, wide.max, Bins};
        const float half_part = 0.5f * ((range_.max - range_.min) / static_cast<float>(Bins * parts));
        std::size_t bin = 0;
        for (int i = 0; i != Bins * parts; ++i) {
            const float middle = fine.point(i) + half_part;
            while (bin + 1 < Bins && coarse.point(static_cast<int>(bin) + 1) <= middle) ++bin;
            moved[bin] += counts_[static_cast<std::size_t>(i / parts)] / parts;
        }
        return moved;
    }

    /// torch.linspace: the first half from the start, the second from the end. The products are exact in double.
    struct linear_space {
        float start, end;
        int intervals;
        float step = (end - start) / static_cast<float>(intervals);

        float point(int i) const {
            if (i < (intervals + 1) / 2) return static_cast<float>(start + static_cast<double>(step) * i);
            return static_cast<float>(end - static_cast<double>(step) * (intervals - i));
        }
    };

    observed_range range_;
    std::vector<float> counts_;
};

}  // namespace zp::inline v0
