// SPDX-License-Identifier: BSD-3-Clause
// Where the outputs of a resized axis come from: the rules of nearest and of linear interpolation, one axis at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>

#include <zeropoint/core/rounding.hpp>

namespace zp::inline v0::kernel {

/// How the outputs of an axis lie over its inputs. As names of PyTorch and TFLite:
///
/// | | nearest takes | linear interpolates at | PyTorch | TFLite |
/// |---|---|---|---|---|
/// | corner | floor(i * in / out) | i * in / out | nearest | neither option |
/// | half_pixel | floor((i + 1/2) * in / out) | (i + 1/2) * in / out - 1/2, at least 0 | nearest-exact; align_corners=False | half_pixel_centers |
/// | align_corners | round(i * (in - 1) / (out - 1)) | i * (in - 1) / (out - 1) | align_corners=True | align_corners |
enum class resize_rule { corner, half_pixel, align_corners };

/// A nearest rule along one axis. The systems multiply an index with a float factor, which now and then gives the
/// neighbour of what the fraction itself would; which input is taken follows them.
struct nearest_axis {
    int in = 1, out = 1;
    float scale = 1, offset = 0;
    bool rounds = false;

    constexpr int source(int i) const {
        const float position = (static_cast<float>(i) + offset) * scale;  // the sum is exact
        auto whole = static_cast<int>(position);
        if (rounds && position - static_cast<float>(whole) >= 0.5f) ++whole;
        return std::min(whole, in - 1);
    }
};

/// `factor` is PyTorch's scale_factor, out = floor(in * factor): then 1 / factor takes the place of in / out. 0 for none.
constexpr nearest_axis make_nearest_axis(resize_rule rule, int in, int out, double factor = 0) {
    nearest_axis axis{in, out, static_cast<float>(in) / static_cast<float>(out), 0, false};
    if (factor != 0) axis.scale = static_cast<float>(1 / factor);
    if (rule == resize_rule::half_pixel) axis.offset = 0.5f;
    if (rule == resize_rule::align_corners) {
        axis.rounds = true;
        if (out > 1) axis.scale = static_cast<float>(in - 1) / static_cast<float>(out - 1);
    }
    return axis;
}

/// A linear rule along one axis: output i lies at (first + i * step) / denominator, in lowest terms; positions below 0 and
/// above in - 1 are those ends. These are exact: PyTorch and TFLite have floats in their place.
struct linear_axis {
    int in = 1, out = 1;
    std::int64_t first = 0, step = 1, denominator = 1;
};

/// `numerator` / `denominator` is PyTorch's scale_factor; then it takes the place of out / in. Not with align_corners.
constexpr linear_axis make_linear_axis(resize_rule rule, int in, int out, int numerator = 0, int denominator = 0) {
    if (numerator == 0 || rule == resize_rule::align_corners) {
        numerator = out;
        denominator = in;
    }
    linear_axis axis{in, out, 0, denominator, numerator};
    if (rule == resize_rule::half_pixel) {
        axis.first = std::int64_t{denominator} - numerator;
        axis.step *= 2;
        axis.denominator *= 2;
    }
    if (rule == resize_rule::align_corners) {
        axis.step = out > 1 ? in - 1 : 0;
        axis.denominator = out > 1 ? out - 1 : 1;
    }
    const std::int64_t common = std::gcd(std::gcd(axis.first, axis.step), axis.denominator);
    axis.first /= common;
    axis.step /= common;
    axis.denominator /= common;
    return axis;
}

/// The two inputs of one output: x[lower] * (denominator - weight) + x[upper] * weight, over the axis' denominator.
struct linear_taps {
    int lower, upper;
    std::int32_t weight;  // of upper
    constexpr bool operator==(const linear_taps&) const = default;
};

/// The taps of output 0, 1, 2, ... one after the other, without a division an output.
class linear_walk {
public:
    constexpr explicit linear_walk(const linear_axis& axis)
        : last_(axis.in - 1),
          denominator_(axis.denominator),
          whole_(axis.first / axis.denominator),
          part_(axis.first % axis.denominator),
          whole_step_(axis.step / axis.denominator),
          part_step_(axis.step % axis.denominator) {
        if (part_ < 0) {
            part_ += denominator_;
            --whole_;
        }
    }
    constexpr linear_taps taps() const {
        if (whole_ < 0) return {0, 0, 0};
        if (whole_ >= last_) return {last_, last_, 0};
        return {static_cast<int>(whole_), static_cast<int>(whole_) + 1, static_cast<std::int32_t>(part_)};
    }
    constexpr void advance() {
        whole_ += whole_step_;
        part_ += part_step_;
        if (part_ >= denominator_) {
            part_ -= denominator_;
            ++whole_;
        }
    }

private:
    int last_;
    std::int64_t denominator_, whole_, part_, whole_step_, part_step_;
};

}  // namespace zp::inline v0::kernel
