// SPDX-License-Identifier: BSD-3-Clause
// What a layer with filters gets and should give, at outputs that are picked from all of them; and how far it is from that.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <zeropoint/core/float_values.hpp>
#include <zeropoint/kernel/gradient/conv2d_batch.hpp>
#include <zeropoint/kernel/gradient/conv2d_weight_gradient.hpp>
#include <zeropoint/kernel/vector/number.hpp>
#include <zeropoint/methods/windows.hpp>

namespace zp::inline v0 {

/// Numbers that depend on what they are asked by alone: splitmix64 of the seed and a count (Steele, Lea, Flood 2014).
constexpr std::uint64_t counted_random(std::uint64_t seed, std::uint64_t count) {
    std::uint64_t z = seed + (count + 1) * 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

/// Windows and targets of outputs, at most `most` of them, each output of all inputs equally likely: Vitter's reservoir, 1985.
class layer_samples {
public:
    layer_samples(const window_reader& windows, std::size_t most, std::uint64_t seed)
        : windows_(windows), most_(most), seed_(seed) {}

    /// The input and the output of the layer for one input of the network.
    void add(const float* x, const float* target) {
        for (int position = 0; position != windows_.positions(); ++position, ++seen_) {
            std::size_t at = static_cast<std::size_t>(seen_);
            if (at >= most_) at = static_cast<std::size_t>(counted_random(seed_, seen_) % (seen_ + 1));
            if (at >= most_) continue;
            if (at >= size_) {
                size_ = at + 1;
                inputs_.resize(size_ * width());
                targets_.resize(size_ * outputs());
            }
            windows_.read(x, position, inputs_.data() + at * width());
            std::copy_n(target + static_cast<std::size_t>(position) * outputs(), outputs(),
                        targets_.data() + at * outputs());
        }
    }
    std::size_t size() const { return size_; }
    /// Values of a window, groups x depth.
    std::size_t width() const { return static_cast<std::size_t>(windows_.size()); }
    std::size_t outputs() const { return static_cast<std::size_t>(windows_.outputs()); }
    const float* input(std::size_t i) const { return inputs_.data() + i * width(); }
    const float* target(std::size_t i) const { return targets_.data() + i * outputs(); }
    const window_reader& windows() const { return windows_; }

private:
    const window_reader& windows_;
    std::size_t most_, size_ = 0;
    std::uint64_t seed_, seen_ = 0;
    std::vector<float> inputs_, targets_;
};

/// What a layer does behind its sums: bounds, or a function of one value.
struct layer_output {
    float lowest = -infinity, highest = infinity;
    double (*function)(double, float) = nullptr;
    float parameter = 0;

    float value(float sum) const {
        const float bounded = std::clamp(sum, lowest, highest);
        return function == nullptr ? bounded : static_cast<float>(function(double{bounded}, parameter));
    }
    /// Its derivative; of a function by a difference.
    float slope(float sum) const {
        if (!(sum > lowest && sum < highest)) return 0;
        if (function == nullptr) return 1;
        const double step = 1e-4 * std::max(1.0, std::abs(double{sum}));
        return static_cast<float>((function(double{sum} + step, parameter) - function(double{sum} - step, parameter)) /
                                  (2 * step));
    }
};

/// The mean over samples of the sum over outputs of (f(W x + b) - target)^2, and its gradient by W.
template <class Arch = default_architecture> class reconstruction_loss {
public:
    reconstruction_loss(const window_reader& windows, std::span<const float> bias, const layer_output& output,
                        std::size_t batch)
        : bias_(bias), output_(output), batch_(batch) {
        geometry_.in = {1, 1, windows.size()};
        geometry_.out = {1, 1, windows.outputs()};
        geometry_.groups = windows.groups();
        inputs_.resize(batch * static_cast<std::size_t>(windows.size()));
        sums_.resize(batch * static_cast<std::size_t>(windows.outputs()));
        scratch_.resize(std::max(kernel::conv2d_batch_scratch<Arch>(geometry_),
                                 kernel::conv2d_weight_gradient_scratch<Arch>(geometry_)));
    }

    /// The loss over the samples whose numbers are `chosen`, at most a batch.
    double operator()(const layer_samples& samples, std::span<const std::size_t> chosen,
                      std::span<const float> weights) {
        multiply(samples, chosen, weights);
        const std::size_t outputs = samples.outputs();
        double loss = 0;
        for (std::size_t i = 0; i != chosen.size(); ++i)
            for (std::size_t c = 0; c != outputs; ++c) {
                const float error = output_.value(sums_[i * outputs + c]) - samples.target(chosen[i])[c];
                loss += double{error} * double{error};
            }
        return loss / static_cast<double>(chosen.size());
    }
    /// Its gradient, as many values as there are weights.
    void differentiate(const layer_samples& samples, std::span<const std::size_t> chosen,
                       std::span<const float> weights, std::span<float> gradient) {
        multiply(samples, chosen, weights);
        const std::size_t outputs = samples.outputs();
        const float factor = 2 / static_cast<float>(chosen.size());
        for (std::size_t i = 0; i != chosen.size(); ++i)
            to_gradients(sums_.data() + i * outputs, samples.target(chosen[i]), outputs, factor);
        std::fill(gradient.begin(), gradient.end(), 0.0f);
        kernel::conv2d_weight_gradient<Arch>(
            geometry_, static_cast<int>(chosen.size()), {inputs_.data(), static_cast<std::ptrdiff_t>(samples.width())},
            {sums_.data(), static_cast<std::ptrdiff_t>(outputs)}, gradient.data(), scratch_.data());
    }
    std::size_t batch() const { return batch_; }

private:
    /// inputs_ and sums_ of those samples.
    void multiply(const layer_samples& samples, std::span<const std::size_t> chosen, std::span<const float> weights) {
        const std::size_t width = samples.width();
        for (std::size_t i = 0; i != chosen.size(); ++i)
            std::copy_n(samples.input(chosen[i]), width, inputs_.data() + i * width);
        kernel::conv2d_batch<Arch>(geometry_, static_cast<int>(chosen.size()),
                                   {inputs_.data(), static_cast<std::ptrdiff_t>(width)}, weights.data(), bias_.data(),
                                   -infinity, infinity, {sums_.data(), static_cast<std::ptrdiff_t>(samples.outputs())},
                                   scratch_.data());
    }
    /// Sums of one output, in place, to factor * (f(sum) - target) * f'(sum).
    void to_gradients(float* sums, const float* target, std::size_t count, float factor) const {
        if (output_.function != nullptr) {
            for (std::size_t c = 0; c != count; ++c)
                sums[c] = factor * (output_.value(sums[c]) - target[c]) * output_.slope(sums[c]);
            return;
        }
        kernel::for_each_number<Arch>(
            count, [ sums, target, factor, lowest = output_.lowest, highest = output_.highest ](
                       std::size_t c, auto kind) __attribute__((always_inline)) {
                using Number = decltype(kind);
                const Number zero(0.0f), low(lowest), high(highest), sum = kernel::load_number<Number>(sums + c);
                const Number error = sum - kernel::load_number<Number>(target + c);
                const Number above = kernel::choose_number(sum > low, Number(Number(factor) * error), zero);
                kernel::store_number(Number(kernel::choose_number(sum < high, above, zero)), sums + c);
            });
    }

    std::span<const float> bias_;
    layer_output output_;
    std::size_t batch_;
    kernel::conv2d_geometry geometry_;
    std::vector<float> inputs_, sums_, scratch_;
};

}  // namespace zp::inline v0
