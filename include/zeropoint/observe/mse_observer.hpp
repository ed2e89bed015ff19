// SPDX-License-Identifier: BSD-3-Clause
// The range whose quantization has the least mean squared error.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include <zeropoint/core/float_values.hpp>
#include <zeropoint/core/rounding.hpp>
#include <zeropoint/observe/exact_histogram.hpp>
#include <zeropoint/observe/observer.hpp>

namespace zp::inline v0 {

/// The bins of an exact histogram that hold values. A channel of weights fills few of 2048.
class filled_bins {
public:
    template <int Bins> explicit filled_bins(const exact_histogram<Bins>& histogram) : width_(histogram.bin_width()) {
        double middle = histogram.edge(0) / width_ - 0.5;
        for (const std::uint64_t bin : histogram.counts()) {
            middle += 1;
            if (bin == 0) continue;
            bins_.push_back({middle, static_cast<float>(bin)});
            values_ += bins_.back().count;
        }
    }
    /// Mean squared error, in squared bin widths, of quantizing the values. A bin's values are taken as evenly spread: they err by the
    /// distance of their middle to its code and by their own spread; where a bin is wider than a quantization step, as uniform noise.
    /// All products are of few enough bits to be exact in double. Where it is more than `most`, it may be what the first bins come to: more too.
    double squared_error(const qparams& params, std::int32_t quant_min, std::int32_t quant_max,
                         double most = infinity) const {
        const double enough = most * values_ * (1 + 1e-12);  // whose quotient by values_ is above `most`
        const double step = params.scale / width_, step_error = step * step / 12, bin_error = 1.0 / 12;
        const double lowest = step * (quant_min - params.zero_point), highest = step * (quant_max - params.zero_point);
        double error = 0;
        for (const auto& [middle, count] : bins_) {
            const double nearest = middle < lowest    ? lowest
                                   : middle > highest ? highest
                                                      : static_cast<double>(round_half_even(middle / step)) * step;
            const auto distance = static_cast<float>(middle - nearest);
            const bool noise = step < 1 && middle >= lowest && middle <= highest;
            const auto cost =
                static_cast<float>(noise ? step_error : static_cast<double>(distance) * distance + bin_error);
            error += static_cast<double>(count) * cost;
            if (error > enough) break;
        }
        return error / values_;
    }

private:
    struct filled_bin {
        double middle;  // in bin widths
        float count;
    };
    std::vector<filled_bin> bins_;
    double width_, values_ = 0;
};
/// The same of a histogram.
template <int Bins>
double squared_error(const exact_histogram<Bins>& histogram, const qparams& params, std::int32_t quant_min,
                     std::int32_t quant_max) {
    return filled_bins(histogram).squared_error(params, quant_min, quant_max);
}

/// Searches the clipping range with the least squared_error: the upper end among 64 positions from the full range down,
/// then the lower end, in turns until neither helps; then the same on a 16 times finer grid around what was found.
/// Under a symmetric scheme both ends are one.
template <int Bins = 2048> class mse_observer : public exact_histogram_base<Bins> {
public:
    void merge(const mse_observer& other) { this->merge_base(other); }

    template <class DType, class QScheme, class Rule = pytorch_rule>
    std::vector<qparams> calculate_qparams(std::string_view where) const {
        static_assert(QScheme::is_per_tensor,
                      "mse_observer serves per_tensor schemes: for this scheme take "
                      "zp::per_channel_observer<zp::mse_observer<...>>");
        this->require_data(where, "mse_observer");
        const observed_range seen = this->histogram().range();
        float low = std::min(seen.min, 0.0f), high = std::max(seen.max, 0.0f);
        if (QScheme::is_symmetric) low = -(high = std::max(-low, high));

        const filled_bins bins(this->histogram());
        clipping best;
        double least = infinity;
        qparams chosen;
        const auto consider = [&](const clipping& ends) {
            const float least_kept =
                rounded_product(low, static_cast<float>(QScheme::is_symmetric ? ends.high : ends.low) / full);
            const float most_kept = rounded_product(high, static_cast<float>(ends.high) / full);
            const qparams params = choose_observed_qparams<DType, QScheme, Rule>(least_kept, most_kept, where);
            const double error = bins.squared_error(params, DType::quant_min, DType::quant_max, least);
            if (error < least) least = error, best = ends, chosen = params;
        };
        const auto scan = [&](int clipping::*end, int reach, int step) {
            clipping ends = best;
            const int first = std::min(full, best.*end + reach), last = std::max(step, best.*end - reach);
            for (ends.*end = first; ends.*end >= last; ends.*end -= step) consider(ends);
        };
        consider(best);
        for (const int step : {full / 64, full / 1024}) {
            const int reach = step == full / 64 ? full : full / 64;
            for (bool again = true; again;) {
                const clipping before = best;
                if (high != 0) scan(&clipping::high, reach, step);
                if (low != 0 && !QScheme::is_symmetric) scan(&clipping::low, reach, step);
                again = best != before;
            }
        }
        return {chosen};
    }

private:
    static constexpr int full = 1024;
    /// How much of the full range stays at each end, in parts of `full`.
    struct clipping {
        int low = full, high = full;
        bool operator==(const clipping&) const = default;
    };
};

}  // namespace zp::inline v0
