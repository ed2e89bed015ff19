// SPDX-License-Identifier: BSD-3-Clause
// What a stream of real values and of what quantizing made of them have in common: sums in double, histograms of a fixed size.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <zeropoint/core/float_values.hpp>
#include <zeropoint/observe/exact_histogram.hpp>

namespace zp::inline v0 {

/// 10 log10(signal / noise); infinite where there is no noise.
inline double decibel(double signal, double noise) {
    return noise > 0 ? 10 * std::log10(signal / noise) : double_infinity;
}

/// One channel of a value.
struct channel_errors {
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
            channel_errors& own = channels_[c];
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

    /// How many inputs were added.
    std::uint64_t inputs() const { return inputs_; }
    /// How many pairs of values.
    std::uint64_t count() const { return count_; }
    /// Signal to quantization noise, in dB.
    double sqnr() const { return decibel(signal_, noise_); }
    /// Of the angle between both, as vectors; 1 where both are 0.
    double cosine() const {
        const double sizes = std::sqrt(signal_ * rounded_);
        return sizes > 0 ? product_ / sizes : signal_ == rounded_ ? 1 : 0;
    }
    /// In the values' unit, with its sign.
    double mean_error() const { return count_ == 0 ? 0 : errors_ / static_cast<double>(count_); }
    /// In the square of the values' unit.
    double mean_squared_error() const { return count_ == 0 ? 0 : noise_ / static_cast<double>(count_); }
    /// The largest size of an error.
    double max_error() const { return largest_; }
    /// Means over inputs of an input's standard deviation and largest size of errors, as TFLite's debugger has them.
    double mean_deviation() const { return inputs_ == 0 ? 0 : deviations_ / static_cast<double>(inputs_); }
    /// The mean over inputs of the largest size of an error.
    double mean_largest_error() const { return inputs_ == 0 ? 0 : largest_errors_ / static_cast<double>(inputs_); }
    /// Of the real values.
    const exact_histogram<2048>& histogram() const { return histogram_; }
    /// Errors channel by channel.
    std::span<const channel_errors> channels() const { return channels_; }

private:
    std::uint64_t inputs_ = 0, count_ = 0;
    double signal_ = 0, noise_ = 0, rounded_ = 0, product_ = 0, errors_ = 0, largest_ = 0;
    double deviations_ = 0, largest_errors_ = 0;
    exact_histogram<2048> histogram_;
    std::vector<channel_errors> channels_;
};

}  // namespace zp::inline v0
