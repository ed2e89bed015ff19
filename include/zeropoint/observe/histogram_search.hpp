// SPDX-License-Identifier: BSD-3-Clause
// PyTorch's search for the range with the least quantization error, over a histogram.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include <zeropoint/core/float_values.hpp>
#include <zeropoint/core/span_of.hpp>
#include <zeropoint/observe/observer.hpp>
#include <zeropoint/scheme/uncontracted.hpp>

namespace zp::inline v0 {

/// The sum of floats in the order of PyTorch's CPU kernels, so that its last bit is theirs too: 8 lanes x 4
/// accumulators, each summed in blocks of 16 whose sums are summed in blocks (`ATen/native/cpu/SumKernel.cpp`, for up
/// to 2^21 values).
template <class = void> float cascade_sum(std::span<const float> values) {
    constexpr std::size_t lanes = 8, rows = 4, row = lanes * rows, levels = 4, power = 4, block = 1 << power;
    using accumulators = std::array<float, row>;
    const std::size_t count = values.size() / row;
    const auto add = [](accumulators& to, const float* from) {
        for (std::size_t k = 0; k != row; ++k) to[k] += from[k];
    };
    std::array<accumulators, levels> sums{};
    std::size_t i = 0;
    while (i + block <= count) {
        for (const std::size_t end = i + block; i != end; ++i) add(sums[0], &values[i * row]);
        for (std::size_t level = 1; level != levels; ++level) {
            add(sums[level], sums[level - 1].data());
            sums[level - 1] = {};
            if ((i & ((block - 1) << (level * power))) != 0) break;
        }
    }
    for (; i != count; ++i) add(sums[0], &values[i * row]);
    for (std::size_t level = 1; level != levels; ++level) add(sums[0], sums[level].data());

    accumulators& parts = sums[0];
    std::size_t done = count * row;
    for (; done + lanes <= values.size(); done += lanes)
        for (std::size_t k = 0; k != lanes; ++k) parts[k] += values[done + k];
    for (std::size_t k = lanes; k != row; ++k) parts[k % lanes] += parts[k];
    float sum = 0;
    for (; done != values.size(); ++done) sum += values[done];
    for (std::size_t k = 0; k != lanes; ++k) sum += parts[k];
    return sum;
}

/// PyTorch's `HistogramObserver._non_linear_param_search`: the quantiles at both ends are cut, always the one that
/// removes more bins, until the squared error of quantizing to `levels` codes grows. Every operation is rounded as
/// PyTorch's CPU kernels round it. `counts` are the bins between min and max, all equally wide.
class histogram_search {
public:
    histogram_search(std::span<const float> counts, float min, float max, double levels)
        : counts_(counts),
          exponent_(max > min && is_finite(max - min) ? std::ilogb(max - min) : 0),
          min_(std::ldexp(min, -exponent_)),
          max_(std::ldexp(max, -exponent_)),
          levels_(levels),
          errors_(counts.size()) {}

    observed_range operator()() {
        const observed_range best = search();
        return {std::ldexp(best.min, exponent_), std::ldexp(best.max, exponent_)};
    }

private:
    /// In units of 2^exponent_, of which the range is 1 to 2: no bit is another, but cubes of wide and of narrow bins stay
    /// floats. PyTorch's overflow from ranges of about 1e15 on, or vanish, after which no part is worse than another.
    observed_range search() {
        const auto bins = static_cast<double>(counts_.size());
        const float bin_width = (max_ - min_) / static_cast<float>(bins);
        if (bin_width == 0) return {min_, max_};
        bin_width_ = (static_cast<double>(max_) - min_) / bins;

        const double total = cascade_sum(counts_), step = 1e-5;
        std::vector<float> cumulative;
        double sum = 0;
        for (const float count : counts_) cumulative.push_back(static_cast<float>(sum += count));

        std::size_t start = 0, end = counts_.size() - 1;
        double alpha = 0, beta = 1, least = double_infinity;
        while (alpha < beta) {
            const double next_alpha = alpha + step, next_beta = beta - step;
            const auto below = static_cast<float>(next_alpha * total), above = static_cast<float>(next_beta * total);
            std::size_t left = start, right = end;
            while (left < end && cumulative[left] < below) ++left;
            while (right > start && cumulative[right] > above) --right;
            const bool move_start = left - start > end - right;
            (move_start ? alpha : beta) = move_start ? next_alpha : next_beta;
            const std::size_t next_start = move_start ? left : start, next_end = move_start ? end : right;
            if (next_start == start && next_end == end) continue;
            const double next_error = error(next_start, next_end);
            if (next_error > least) break;
            least = next_error;
            start = next_start;
            end = next_end;
        }
        return {min_ + rounded_product(bin_width, static_cast<float>(start)),
                min_ + rounded_product(bin_width, static_cast<float>(end + 1))};
    }

    /// `_compute_quantization_error`: the values of each bin are taken as evenly spread over it.
    double error(std::size_t start, std::size_t end) {
        const double target_width = bin_width_ * static_cast<double>(end - start + 1) / levels_;
        if (target_width == 0) return 0;
        const auto source = static_cast<float>(bin_width_), target = static_cast<float>(target_width),
                   half = static_cast<float>(target_width / 2);
        const float whole = cubes(-half, half);
        for (std::size_t i = 0; i != counts_.size(); ++i) {
            errors_[i] = 0;
            if (counts_[i] == 0) continue;
            const float density = counts_[i] / source;
            const float begin = rounded_product(
                static_cast<float>(static_cast<std::ptrdiff_t>(i) - static_cast<std::ptrdiff_t>(start)), source);
            const float finish = begin + source;
            const float first = target_bin(begin, target), last = target_bin(finish, target);
            const float first_part =
                rounded_product(density, cubes(begin - rounded_product(first + 0.5f, target), half));
            const float middle_part = rounded_product(last - first - 1, rounded_product(density, whole));
            const float last_part =
                rounded_product(density, cubes(-half, finish - (rounded_product(last, target) + half)));
            errors_[i] = first_part + middle_part + last_part;
        }
        return cascade_sum(detail::span_of(errors_));
    }
    /// Integral of x^2.
    static float cubes(float from, float to) {
        return (rounded_product(rounded_product(to, to), to) - rounded_product(rounded_product(from, from), from)) / 3;
    }
    /// floor(x / width), clamped to the codes. The quotient of floats in double lies on the right side of every integer
    /// in range.
    float target_bin(float x, float width) const {
        const double quotient = static_cast<double>(x) / width;
        if (!(quotient > 0)) return 0;
        if (quotient >= levels_ - 1) return static_cast<float>(levels_ - 1);
        return static_cast<float>(static_cast<std::int64_t>(quotient));
    }

    std::span<const float> counts_;
    int exponent_;
    float min_, max_;
    double levels_, bin_width_ = 0;
    std::vector<float> errors_;
};

/// The codes that PyTorch's search counts with: 2^bits of the storage type even where the dtype's range is reduced.
template <quantized_dtype DType>
inline constexpr double search_levels = [] {
    if (std::is_base_of_v<qint4, DType> || std::is_base_of_v<quint4, DType>) return 16.0;
    return power_of_two(8 * static_cast<int>(sizeof(typename DType::storage)));
}();

}  // namespace zp::inline v0
