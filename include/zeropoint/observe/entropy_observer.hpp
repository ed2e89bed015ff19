// SPDX-License-Identifier: BSD-3-Clause
// The range that keeps the shape of the distribution: least Kullback-Leibler divergence.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <zeropoint/core/float_values.hpp>
#include <zeropoint/core/span_of.hpp>
#include <zeropoint/observe/exact_histogram.hpp>
#include <zeropoint/observe/observer.hpp>

namespace zp::inline v0 {

/// Binary logarithm of a positive integer, to 23 bits behind the point, in integer arithmetic: no libm, the same
/// everywhere.
constexpr double binary_logarithm(std::uint64_t x) {
    const int whole = static_cast<int>(std::bit_width(x)) - 1;
    std::uint64_t mantissa = whole >= 31 ? x >> (whole - 31) : x << (31 - whole),
                  digits = static_cast<std::uint64_t>(whole);
    for (int i = 0; i != 23; ++i) {  // squaring doubles the logarithm: its next digit is what carries
        mantissa = mantissa * mantissa >> 31;
        const bool digit = mantissa >> 32 != 0;
        digits = digits << 1 | static_cast<std::uint64_t>(digit);
        if (digit) mantissa >>= 1;
    }
    return static_cast<double>(digits) * power_of_two(-23);
}

/// The number of bins t such that clipping magnitudes to the first t bins and merging these into `levels` groups
/// changes the distribution least: the entropy calibration of TensorRT and ONNX Runtime. Clipped values count into the
/// last bin kept; each group's values are spread evenly over its bins that are not empty. Products of a count (24 bits)
/// and a logarithm (29 bits) are exact in double.
template <class = void> std::size_t least_divergence(std::span<const std::uint64_t> magnitudes, std::size_t levels) {
    const std::size_t bins = magnitudes.size();
    const auto weighted = [](std::uint64_t count, double factor) {
        return static_cast<double>(static_cast<float>(count)) * factor;
    };
    const auto with_logarithm = [&](std::uint64_t count) {
        return count == 0 ? 0.0 : weighted(count, binary_logarithm(count));
    };
    std::vector<std::uint64_t> sums(bins + 1), filled(bins + 1);  // of the bins before i
    std::vector<double> logarithms(bins + 1);
    for (std::size_t i = 0; i != bins; ++i) {
        sums[i + 1] = sums[i] + magnitudes[i];
        filled[i + 1] = filled[i] + (magnitudes[i] != 0);
        logarithms[i + 1] = logarithms[i] + with_logarithm(magnitudes[i]);
    }
    const std::uint64_t total = sums[bins];
    std::size_t best = bins;
    double least = double_infinity;
    for (std::size_t t = bins; t >= levels && t != 0; --t) {
        // total * divergence = sum p log p - sum p log q - total log total + total log(kept), p with and q without
        // outliers
        const std::uint64_t kept = sums[t], outliers = total - kept, last = magnitudes[t - 1];
        if (kept == 0) break;
        double divergence = logarithms[t - 1] + with_logarithm(last + outliers) - with_logarithm(total) +
                            weighted(total, binary_logarithm(kept));
        bool lost = false;
        for (std::size_t group = 0; group != levels; ++group) {
            const std::size_t from = group * t / levels, to = (group + 1) * t / levels;
            const std::uint64_t sum = sums[to] - sums[from];
            const bool with_outliers = to == t && outliers != 0;
            const std::uint64_t spread = filled[to] - filled[from] + (with_outliers && last == 0);
            if (sum != 0)
                divergence -=
                    weighted(sum + (with_outliers ? outliers : 0), binary_logarithm(sum) - binary_logarithm(spread));
            else lost = lost || with_outliers;  // clipped into a group that has no values of its own: infinitely far
        }
        if (!lost && divergence < least) least = divergence, best = t;
    }
    return best;
}

/// Entropy calibration over an exact histogram of |x|. One threshold clips both ends. The bin at zero counts as much as
/// its neighbour, so that the exact zeros of a relu, which every code grid holds, do not decide.
template <int Bins = 2048> class entropy_observer : public exact_histogram_base<Bins> {
public:
    void merge(const entropy_observer& other) { this->merge_base(other); }

    template <class DType, class QScheme, class Rule = pytorch_rule>
    std::vector<qparams> calculate_qparams(std::string_view where) const {
        static_assert(QScheme::is_per_tensor,
                      "entropy_observer serves per_tensor schemes: for this scheme take "
                      "zp::per_channel_observer<zp::entropy_observer<...>>");
        this->require_data(where, "entropy_observer");
        const exact_histogram<Bins>& bins = this->histogram();
        const observed_range seen = bins.range();
        const auto negative = static_cast<std::size_t>(-bins.edge(0) / bins.bin_width());
        std::vector<std::uint64_t> magnitudes(std::max(negative, bins.counts().size() - negative));
        for (std::size_t i = 0; i != bins.counts().size(); ++i)
            magnitudes[i < negative ? negative - 1 - i : i - negative] += bins.counts()[i];
        if (magnitudes.size() > 1) magnitudes[0] = magnitudes[1];

        const bool one_sided = !QScheme::is_symmetric && (seen.min >= 0 || seen.max <= 0);
        const auto codes = static_cast<std::size_t>(std::int64_t{DType::quant_max} - DType::quant_min + 1);
        const std::size_t levels = one_sided ? codes : codes / 2;
        const auto threshold = static_cast<float>(
            static_cast<double>(least_divergence(detail::span_of(magnitudes), levels)) * bins.bin_width());
        return {choose_observed_qparams<DType, QScheme, Rule>(std::max(seen.min, -threshold),
                                                              std::min(seen.max, threshold), where)};
    }
};

}  // namespace zp::inline v0
