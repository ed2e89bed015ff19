// What a stream of real values and of what quantizing made of them have in common: sums in double, histograms of a fixed size.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include <zeropoint/graph/clamp_bounds.hpp>
#include <zeropoint/observe/exact_histogram.hpp>

namespace zp {
inline namespace v0 {

/// 10 log10(signal / noise); infinite where there is no noise.
inline double decibel(double signal, double noise) {
    return noise > 0 ? 10 * std::log10(signal / noise) : std::numeric_limits<double>::infinity();
}

/// Which codes of a row are cut off: the outermost ones, but for those that are the bound of a clamp, or 0 where nothing is below it.
struct saturation {
    std::int32_t low = std::numeric_limits<std::int32_t>::min();   // codes of at most this much
    std::int32_t high = std::numeric_limits<std::int32_t>::max();  // codes of at least this much

    constexpr saturation() = default;
    constexpr saturation(const node& n, const qparams& range) {
        const float first = dequantize(n.out.quant_min, range), last = dequantize(n.out.quant_max, range);
        if (n.out.quant_min != range.zero_point && !(n.fused.lowest >= first)) low = n.out.quant_min;
        if (n.out.quant_max != range.zero_point && !(n.fused.highest <= last + range.scale / 2)) high = n.out.quant_max;
    }
    constexpr bool has(std::int32_t code) const { return code <= low || code >= high; }
};

/// How often each code came: all 256 of 8 bits, of 16 bits in groups of 256. Bounded, whatever comes.
class code_counts {
public:
    code_counts() = default;
    code_counts(std::int32_t quant_min, std::int32_t quant_max)
        : first_(quant_min), group_(std::int64_t{quant_max} - quant_min < 256 ? 1 : 256) {
        const auto codes = static_cast<std::size_t>(std::int64_t{quant_max} - quant_min + 1);
        counts_.resize((codes + group_ - 1) / group_);
        if (group_ != 1) seen_.resize(codes);
    }
    void add(std::int32_t code) {
        const auto at = static_cast<std::size_t>(code - first_);
        ++counts_[at / group_];
        if (group_ != 1) seen_[at] = true;
    }
    void merge(const code_counts& other) {
        for (std::size_t i = 0; i != counts_.size(); ++i) counts_[i] += other.counts_[i];
        for (std::size_t i = 0; i != seen_.size(); ++i) seen_[i] = seen_[i] || other.seen_[i];
    }
    /// One number a code, or a group of codes, from the lowest on.
    std::span<const std::uint64_t> counts() const { return counts_; }
    std::int32_t first() const { return first_; }
    std::size_t codes_in_group() const { return group_; }
    /// How many different codes came.
    std::size_t used() const {
        if (group_ != 1) return static_cast<std::size_t>(std::count(seen_.begin(), seen_.end(), true));
        return counts_.size() - static_cast<std::size_t>(std::count(counts_.begin(), counts_.end(), 0u));
    }

private:
    std::int32_t first_ = 0;
    std::size_t group_ = 1;
    std::vector<std::uint64_t> counts_;
    std::vector<bool> seen_;  // of codes of 16 bits
};

/// One channel of a value.
struct channel_statistics {
    float largest = 0, largest_rounded = 0;  // by size
    double signal = 0, noise = 0;            // sums of squares of the real values, and of the errors
};

/// Sums over pairs of a real value and what stands for it. Errors are what stands for it less the real value, a float's difference.
class pair_statistics {
public:
    explicit pair_statistics(int channels = 1) : channels_(static_cast<std::size_t>(channels)) {}

    /// One input's values, of which value i belongs to channel i % channels. NaN or infinity raises calibration_error with the name
    /// `where`, and adds nothing.
    template <class Arch = default_architecture>
    void add(std::span<const float> real, const float* rounded, std::string_view where) {
        const observed_range range = range_of<Arch>({real, static_cast<int>(channels_.size()), 1, where});
        histogram_.template add<Arch>(real, range);
        double sum = 0, squares = 0, most = 0;
        for (std::size_t i = 0, c = 0; i != real.size(); ++i) {
            const double x = double{real[i]}, y = double{rounded[i]};
            const double error = double{rounded[i] - real[i]};
            sum += error;
            squares += error * error;
            most = std::max(most, std::abs(error));
            signal_ += x * x;
            rounded_ += y * y;
            product_ += x * y;
            channel_statistics& own = channels_[c];
            own.largest = std::max(own.largest, std::abs(real[i]));
            own.largest_rounded = std::max(own.largest_rounded, std::abs(rounded[i]));
            own.signal += x * x;
            own.noise += error * error;
            if (++c == channels_.size()) c = 0;
        }
        const auto count = static_cast<double>(real.size());
        const double mean = sum / count;
        ++inputs_;
        count_ += real.size();
        errors_ += sum;
        noise_ += squares;
        largest_ = std::max(largest_, most);
        deviations_ += std::sqrt(std::max(0.0, squares / count - mean * mean));
        largest_errors_ += most;
    }

    std::uint64_t inputs() const { return inputs_; }
    std::uint64_t count() const { return count_; }
    /// Signal to quantization noise, in dB.
    double sqnr() const { return decibel(signal_, noise_); }
    double cosine() const {
        const double sizes = std::sqrt(signal_ * rounded_);
        return sizes > 0 ? product_ / sizes : signal_ == rounded_ ? 1 : 0;
    }
    double mean_error() const { return count_ == 0 ? 0 : errors_ / static_cast<double>(count_); }
    double mean_squared_error() const { return count_ == 0 ? 0 : noise_ / static_cast<double>(count_); }
    double max_error() const { return largest_; }
    /// Means over inputs of an input's standard deviation and largest size of errors, as TFLite's debugger has them.
    double mean_deviation() const { return inputs_ == 0 ? 0 : deviations_ / static_cast<double>(inputs_); }
    double mean_largest_error() const { return inputs_ == 0 ? 0 : largest_errors_ / static_cast<double>(inputs_); }
    const exact_histogram<2048>& histogram() const { return histogram_; }
    std::span<const channel_statistics> channels() const { return channels_; }

private:
    std::uint64_t inputs_ = 0, count_ = 0;
    double signal_ = 0, noise_ = 0, rounded_ = 0, product_ = 0, errors_ = 0, largest_ = 0;
    double deviations_ = 0, largest_errors_ = 0;
    exact_histogram<2048> histogram_;
    std::vector<channel_statistics> channels_;
};

}  // namespace v0
}  // namespace zp
