// SPDX-License-Identifier: BSD-3-Clause
// An int8 network computed by hand: the test says layer by layer what must happen, plain loops over the float weights
// do it, from the formulas of the numerics contract. It knows neither the passes nor the kernels of the library.
//
// A script is written beside each network: one call a row of the int8 model, in its order. `differences` then runs the
// real network and compares every row.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <zeropoint/scheme/choose_qparams.hpp>
#include <zeropoint/scheme/quantize.hpp>
#include <zeropoint/workflow/calibrate.hpp>
#include <zeropoint/workflow/convert.hpp>

#include "../support/made_up.hpp"

namespace simulation {

/// The values of one row: codes, or floats where `codes` is empty.
struct value {
    zp::shape extents;
    zp::qparams range;
    int min = 0, max = 0;
    std::vector<int> codes;
    std::vector<float> floats;
};

/// What a convolution does, beside its weights.
struct window {
    int kernel_height = 1, kernel_width = 1, stride_height = 1, stride_width = 1;
    int padding_height = 0, padding_width = 0, dilation_height = 1, dilation_width = 1, groups = 1;
    bool transposed = false;
    int output_padding_height = 0, output_padding_width = 0;
};
inline window square(int kernel, int stride = 1, int padding = 0, int dilation = 1, int groups = 1) {
    return {kernel, kernel, stride, stride, padding, padding, dilation, dilation, groups};
}

enum class activation { none, relu, relu6 };
enum class pooling { max, average, average_without_padding };
enum class policy { nearest_even, float_bias, double_rounding, single_rounding };

/// The nearest integer, ties to even, by the C library.
inline std::int64_t nearest(double x) { return static_cast<std::int64_t>(std::nearbyint(x)); }

/// TFLite's multiplier: factor = multiplier * 2^(shift - 31).
struct fixed_point {
    std::int64_t multiplier = 0;
    int shift = 0;
    explicit fixed_point(double factor) {
        const double fraction = std::frexp(factor, &shift);
        multiplier = static_cast<std::int64_t>(std::round(fraction * 2147483648.0));
        if (multiplier == std::int64_t{1} << 31) multiplier /= 2, ++shift;
        if (shift < -31) multiplier = shift = 0;
    }
};

/// One accumulator to a code, before zero point and clamp; floor divisions are written as std::floor.
inline double requantized(policy how, std::int64_t sum, float float_bias, float x_scale, float weight_scale,
                          float y_scale) {
    if (how == policy::nearest_even) {
        const auto multiplier = static_cast<float>(double{x_scale} * double{weight_scale} / double{y_scale});
        const float real = static_cast<float>(sum) * multiplier;
        return std::nearbyint(double{real});
    }
    if (how == policy::float_bias) {
        const float product = x_scale * weight_scale, multiplier = product / y_scale, steps = float_bias / product;
        const float biased = static_cast<float>(sum) + steps;
        const float real = biased * multiplier;
        return std::nearbyint(double{real});
    }
    const fixed_point m(double{x_scale} * double{weight_scale} / double{y_scale});
    if (how == policy::single_rounding) {
        const int right = 31 - m.shift;
        const std::int64_t product = sum * m.multiplier + (std::int64_t{1} << (right - 1));
        return static_cast<double>(product >> right);
    }
    const std::int64_t shifted = m.shift > 0 ? sum << m.shift : sum;
    const std::int64_t high = (shifted * m.multiplier + (std::int64_t{1} << 30)) >> 31;  // halves up
    const std::int64_t divisor = std::int64_t{1} << std::max(-m.shift, 0);
    const std::int64_t magnitude = (std::abs(high) + divisor / 2) / divisor;  // halves away from zero
    return static_cast<double>(high < 0 ? -magnitude : magnitude);
}

/// The same over codes of 16 bits: rounded once, by all 31 bits of the multiplier, ties to even. Of TFLite's policies in a
/// fully connected layer ties away from zero, in a convolution by 15 bits, ties up.
inline double requantized_words(policy how, std::int64_t sum, float x_scale, float weight_scale, float y_scale,
                                bool convolution = false) {
    fixed_point m(double{x_scale} * double{weight_scale} / double{y_scale});
    const bool tflite = how == policy::double_rounding || how == policy::single_rounding;
    if (tflite && convolution) {
        m.multiplier = std::min<std::int64_t>((m.multiplier + 32768) >> 16, 32767) << 16;
        return static_cast<double>(std::floor(
            std::ldexp(static_cast<long double>(sum) * static_cast<long double>(m.multiplier), m.shift - 31) + 0.5L));
    }
    const long double exact =
        std::ldexp(static_cast<long double>(sum) * static_cast<long double>(m.multiplier), m.shift - 31);
    return static_cast<double>(tflite ? std::round(exact) : std::nearbyint(exact));
}

/// The same with a residual, `difference` steps of its scale from its zero point, added to the accumulator before the one
/// rounding. Its ratio to the accumulator's scale has 16 significant bits.
inline double requantized_sum(std::int64_t sum, int difference, float residual_scale, float x_scale, float weight_scale,
                              float y_scale) {
    int exponent = 0;
    const double fraction = std::frexp(double{residual_scale} / (double{x_scale} * double{weight_scale}), &exponent);
    const double ratio = std::ldexp(std::nearbyint(std::ldexp(fraction, 16)), exponent - 16);
    const auto multiplier = static_cast<float>(double{x_scale} * double{weight_scale} / double{y_scale});
    const float total = static_cast<float>(sum) + static_cast<float>(difference * ratio);
    const float real = total * multiplier;
    return std::nearbyint(double{real});
}

// What a script does to values, of no network: tests have hundreds of these.

template <class C> value like(zp::shape extents, const zp::qparams& range) {
    using dtype = typename C::activation::dtype;
    return {extents, range, dtype::quant_min, dtype::quant_max, {}, {}};
}
inline int clamped(double steps, const value& v) {
    const double code = steps + v.range.zero_point;
    return static_cast<int>(code < v.min ? v.min : code > v.max ? v.max : code);
}
inline int activated(int code, const value& v, activation act) {
    if (act == activation::none) return code;
    code = std::max(code, v.range.zero_point);
    if (act == activation::relu6)
        code = std::min(code, clamped(std::nearbyint(static_cast<double>(6.0f * (1.0f / v.range.scale))), v));
    return code;
}
inline bool contains(const value& x, int iy, int ix) {
    return iy >= 0 && iy < x.extents.height && ix >= 0 && ix < x.extents.width;
}
inline int code_at(const value& x, int iy, int ix, int c) {
    return x.codes[static_cast<std::size_t>((iy * x.extents.width + ix) * x.extents.channels + c)];
}
template <class F> void for_each_tap(const window& w, int row, int column, F f) {
    for (int ky = 0; ky != w.kernel_height; ++ky)
        for (int kx = 0; kx != w.kernel_width; ++kx) {
            if (!w.transposed) {
                f(row * w.stride_height - w.padding_height + ky * w.dilation_height,
                  column * w.stride_width - w.padding_width + kx * w.dilation_width, ky, kx);
                continue;
            }
            const int y = row + w.padding_height - ky * w.dilation_height,
                      x = column + w.padding_width - kx * w.dilation_width;
            if (y % w.stride_height == 0 && x % w.stride_width == 0) f(y / w.stride_height, x / w.stride_width, ky, kx);
        }
}
template <class F> void for_each_output(const value& y, F f) {
    for (int row = 0; row != y.extents.height; ++row)
        for (int column = 0; column != y.extents.width; ++column)
            for (int c = 0; c != y.extents.channels; ++c) f(row, column, c);
}
inline value shrunk(const value& x, const window& w, int channels) {
    value y = x;
    y.codes.clear();
    y.extents.height =
        (x.extents.height + 2 * w.padding_height - w.dilation_height * (w.kernel_height - 1) - 1) / w.stride_height + 1;
    y.extents.width =
        (x.extents.width + 2 * w.padding_width - w.dilation_width * (w.kernel_width - 1) - 1) / w.stride_width + 1;
    y.extents.channels = channels;
    if (w.transposed) {
        y.extents.height = (x.extents.height - 1) * w.stride_height - 2 * w.padding_height +
                           w.dilation_height * (w.kernel_height - 1) + w.output_padding_height + 1;
        y.extents.width = (x.extents.width - 1) * w.stride_width - 2 * w.padding_width +
                          w.dilation_width * (w.kernel_width - 1) + w.output_padding_width + 1;
    }
    return y;
}
template <class C>
inline value mapped(const value& x, const zp::qparams& range, const std::function<double(double)>& function) {
    value y = like<C>(x.extents, range);
    for (const int code : x.codes) {
        const double real = double{x.range.scale} * (code - x.range.zero_point);
        y.codes.push_back(clamped(std::nearbyint(function(real) * (1 / double{range.scale})), y));
    }
    return y;
}
inline value bounded(value x, float low, float high) {
    const auto code = [&](float bound) {
        return clamped(std::nearbyint(static_cast<double>(bound * (1.0f / x.range.scale))), x);
    };
    for (int& c : x.codes) c = std::min(std::max(c, code(low)), code(high));
    return x;
}
/// A layer over `floats`, with batch norms folded into them. Of no network, of which tests have hundreds.
template <class C>
value convolved(const made_up::layer_floats& floats, policy how, bool is_convolution, const value& x, const window& w,
                const zp::qparams& range, activation act, const value* residual, int parts, int lowest) {
    using quantizer = typename C::weight;
    using dtype = typename quantizer::dtype;
    const std::size_t channels = floats.bias.size(), depth = floats.weights.size() / channels;
    value y = shrunk(x, w, static_cast<int>(channels));
    const value target = like<C>(y.extents, range);
    y.range = target.range, y.min = target.min, y.max = target.max;
    if (parts != 1) {
        y.range = {range.scale / static_cast<float>(parts), (range.zero_point - lowest) * parts};
        y.min = (target.min - lowest) * parts, y.max = (target.max - lowest + 1) * parts - 1;
    }

    std::vector<int> weights(floats.weights.size());
    std::vector<zp::qparams> scales(channels);
    std::vector<std::int64_t> bias(channels);
    for (std::size_t c = 0; c != channels; ++c) {
        const std::size_t first = quantizer::qscheme::is_per_tensor ? 0 : c * depth,
                          count = quantizer::qscheme::is_per_tensor ? weights.size() : depth;
        const auto begin = floats.weights.begin() + static_cast<std::ptrdiff_t>(first),
                   end = begin + static_cast<std::ptrdiff_t>(count);
        scales[c] = zp::choose_qparams<dtype, typename quantizer::qscheme, typename quantizer::rule>(
            *std::min_element(begin, end), *std::max_element(begin, end));
        const bool words = x.max > 255;
        if (words) {
            bias[c] = nearest(double{floats.bias[c]} / (double{x.range.scale} * double{scales[c].scale}));
        } else if (how != policy::float_bias) {
            // A bias may take half of int32, else the channel's scale is raised.
            const double step = double{x.range.scale} * double{scales[c].scale}, limit = 2147483647.0 / 2;
            if (std::fabs(double{floats.bias[c]}) / step > limit) {
                const double needed = std::fabs(double{floats.bias[c]}) / limit / double{x.range.scale};
                scales[c].scale = static_cast<float>(needed + needed / 4194304);
            }
            bias[c] = nearest(double{floats.bias[c]} / (double{x.range.scale} * double{scales[c].scale}));
        }
        for (std::size_t k = 0; k != depth; ++k)
            weights[c * depth + k] =
                zp::quantize<dtype>(floats.weights[c * depth + k], scales[c]) - scales[c].zero_point;
    }
    const int group_in = x.extents.channels / w.groups, group_out = static_cast<int>(channels) / w.groups;
    for_each_output(y, [&](int row, int column, int c) {
        std::int64_t sum = bias[static_cast<std::size_t>(c)];
        for_each_tap(w, row, column, [&](int iy, int ix, int ky, int kx) {
            if (!contains(x, iy, ix)) return;
            for (int i = 0; i != group_in; ++i)
                sum += std::int64_t{code_at(x, iy, ix, c / group_out * group_in + i) - x.range.zero_point} *
                       weights[static_cast<std::size_t>(((c * w.kernel_height + ky) * w.kernel_width + kx) * group_in +
                                                        i)];
        });
        const float weight_scale = scales[static_cast<std::size_t>(c)].scale;
        const bool words = x.max > 255;
        const double steps =
            words ? requantized_words(how, sum, x.range.scale, weight_scale, y.range.scale, is_convolution)
            : residual == nullptr ? requantized(how, sum, floats.bias[static_cast<std::size_t>(c)], x.range.scale,
                                                weight_scale, y.range.scale)
                                  : requantized_sum(sum, residual->codes[y.codes.size()] - residual->range.zero_point,
                                                    residual->range.scale, x.range.scale, weight_scale, y.range.scale);
        y.codes.push_back(activated(clamped(steps, y), y, act));
    });
    return y;
}

/// A network that is simulated under one qconfig. `Config` gives dtypes, qschemes and rules; other entries of a qconfig
/// are named by calls that take one.
template <class Net, class Config> class script {
public:
    using activation_dtype = typename Config::activation::dtype;

    script(const zp::float_model<Net>& trained, const std::vector<std::vector<float>>& calibration,
           policy how = policy::nearest_even)
        : trained_(trained), fused_(zp::fuse(trained)), how_(how), ranges_(fused_.rows().size()) {
        typename zp::fused<Net>::workspace memory;
        std::vector<float> y(static_cast<std::size_t>(fused_.output_shape.size()));
        for (const auto& x : calibration)
            fused_.run(x.data(), y.data(), memory.bytes, [&](int i, const void* values) {
                seen& range = ranges_[static_cast<std::size_t>(i)];
                const auto* floats = static_cast<const float*>(values);
                for (int k = 0; k != fused_.rows()[static_cast<std::size_t>(i)].out.extents.size(); ++k) {
                    range.min = std::min(range.min, floats[k]);
                    range.max = std::max(range.max, floats[k]);
                }
            });
    }

    /// Begins a new input.
    value input(const std::vector<float>& x) {
        rows.clear();
        return push({zp::float_model<Net>::input_shape, {}, 0, 0, {}, x});
    }

    // Scales. A layer is called by its name, or its kind and number in the model as written.
    template <class C = Config> zp::qparams range(std::initializer_list<std::string_view> layers) const {
        float low = std::numeric_limits<float>::infinity(), high = -low;
        for (const std::string_view name : layers) {
            bool found = false;
            for (std::size_t i = 0; i != ranges_.size(); ++i) {
                if (zp::display_name(fused_.rows(), static_cast<int>(i)) != name) continue;
                found = true;
                low = std::min(low, ranges_[i].min);
                high = std::max(high, ranges_[i].max);
            }
            if (found) continue;
            missing += std::string(name) + " ";
            return {};
        }
        using quantizer = typename C::activation;
        return zp::choose_qparams<typename quantizer::dtype, typename quantizer::qscheme, typename quantizer::rule>(
            low, high);
    }
    template <class C = Config> zp::qparams range(std::string_view layer) const { return range<C>({layer}); }

    // Rows.
    template <class C = Config> value quantize(const value& x, const zp::qparams& range) {
        value y = like<C>(x.extents, range);
        for (const float real : x.floats) {
            const double steps = static_cast<double>(real * (1.0f / range.scale));
            y.codes.push_back(clamped(std::nearbyint(steps), y));
        }
        return push(y);
    }
    value dequantize(const value& x) {
        value y{x.extents, {}, 0, 0, {}, {}};
        for (const int code : x.codes)
            y.floats.push_back(x.range.scale * static_cast<float>(code - x.range.zero_point));
        return push(y);
    }
    /// conv2d and linear, with the batch norm of name `norm` folded in where one is given.
    template <class C = Config>
    value convolve(const char* name, const value& x, const window& w, const zp::qparams& range,
                   activation act = activation::none, const char* norm = nullptr) {
        return push(convolved<C>(name, x, w, range, act, norm));
    }
    /// convolve(...) + residual, rounded once: `range` is that of the sum.
    template <class C = Config>
    value convolve_add(const char* name, const value& x, const window& w, const value& residual,
                       const zp::qparams& range, activation act = activation::none, const char* norm = nullptr) {
        return push(convolved<C>(name, x, w, range, act, norm, &residual));
    }
    /// The same with a function behind it, in one row: the layer's codes, of table_bits bits, go through a table.
    template <class C = Config>
    value convolve_then(const char* name, const value& x, const window& w, const zp::qparams& before,
                        const zp::qparams& after, const std::function<double(double)>& function,
                        const value* residual = nullptr) {
        // Codes that are as much finer as the bits are more; those of a range like [-127, 127] begin where 8 bits do.
        const int parts = 1 << (table_bits - 8), lowest = C::activation::dtype::is_signed ? -128 : 0;
        value sums = convolved<C>(name, x, w, before, activation::none, nullptr, residual, parts, lowest);
        return push(mapped<C>(sums, after, function));
    }
    /// A function of its own, and with the identity the change of scale in front of a concat.
    template <class C = Config>
    value table(const value& x, const zp::qparams& range, const std::function<double(double)>& function) {
        return push(mapped<C>(x, range, function));
    }
    /// A function of 16-bit codes: straight lines between every 32nd code, whose values have 8 bits behind the point.
    template <class C = Config>
    value lines(const value& x, const zp::qparams& range, const std::function<double(double)>& function) {
        value y = like<C>(x.extents, range);
        const auto node = [&](int code) {
            const double steps = function(double{x.range.scale} * code) * (1 / double{range.scale});
            return std::nearbyint(256 * std::min(std::max(steps, -65536.0), 65536.0));
        };
        for (const int code : x.codes) {
            const double left = std::floor(code / 32.0) * 32, part = code - left;
            const double sum = node(static_cast<int>(left)) * (32 - part) + node(static_cast<int>(left) + 32) * part;
            y.codes.push_back(clamped(std::floor(sum / 8192 + 0.5), y));
        }
        return push(y);
    }
    /// A function of two codes of one place, which spreads the second value's channels over an image.
    template <class C = Config>
    value combine(const value& a, const value& b, const zp::qparams& range, const std::function<double(int, int)>& f) {
        value y = like<C>(a.extents, range);
        for (std::size_t i = 0; i != a.codes.size(); ++i)
            y.codes.push_back(clamped(f(a.codes[i], b.codes[i % b.codes.size()]), y));
        return push(y);
    }
    /// The same values on another grid, at least one of both having 16 bits.
    template <class C = Config> value rescale(const value& x, const zp::qparams& range) {
        value y = like<C>(x.extents, range);
        for (const int code : x.codes)
            y.codes.push_back(clamped(
                requantized_words(policy::nearest_even, code - x.range.zero_point, x.range.scale, 1, range.scale), y));
        return push(y);
    }
    value clamp(const value& x, activation act) {
        value y = x;
        for (int& code : y.codes) code = activated(code, y, act);
        return push(y);
    }
    /// The same codes under another scale.
    value multiply(value x, float factor) {
        x.range.scale = static_cast<float>(double{x.range.scale} * double{factor});
        return push(std::move(x));
    }
    /// Between two reals: on x, and fused behind a convolution.
    value clamp(value x, float low, float high) { return push(bounded(std::move(x), low, high)); }
    template <class C = Config>
    value convolve_clamped(const char* name, const value& x, const window& w, const zp::qparams& range, float low,
                           float high, const value* residual = nullptr) {
        return push(bounded(convolved<C>(name, x, w, range, activation::none, nullptr, residual), low, high));
    }
    template <class C = Config>
    value add(const value& a, const value& b, const zp::qparams& range, activation act = activation::none) {
        value y = like<C>(a.extents, range);
        const double ratio_a = double{a.range.scale} / double{range.scale},
                     ratio_b = double{b.range.scale} / double{range.scale};
        const bool words = sizeof(typename C::activation::dtype::storage) == 2;
        const double most = words ? 268435456 : 2097152;
        double power = 1;
        for (int shift = 0; shift < (words ? 45 : 30) && std::max(ratio_a, ratio_b) * power < most; ++shift) power *= 2;
        for (std::size_t i = 0; i != a.codes.size(); ++i) {
            const double sum = std::nearbyint(ratio_a * power) * (a.codes[i] - a.range.zero_point) +
                               std::nearbyint(ratio_b * power) * (b.codes[i] - b.range.zero_point);
            y.codes.push_back(activated(clamped(std::nearbyint(sum / power), y), y, act));
        }
        return push(y);
    }
    value concat(const std::vector<value>& parts) { return concat(parts, parts.front().range); }
    /// Parts with another scale are brought to the concat's as a table does it, codes of 16 bits as rescale() does it.
    template <class C = Config> value concat(std::vector<value> parts, const zp::qparams& range) {
        for (value& part : parts) {
            if (part.range == range) continue;
            if (part.max > 255) {
                part = rescale<C>(part, range);
                rows.pop_back();
            } else {
                part = mapped<C>(part, range, [](double x) { return x; });
            }
        }
        value y = parts.front();
        y.codes.clear();
        y.extents.channels = 0;
        for (const value& part : parts) y.extents.channels += part.extents.channels;
        for (int pixel = 0; pixel != y.extents.pixels(); ++pixel)
            for (const value& part : parts)
                for (int c = 0; c != part.extents.channels; ++c)
                    y.codes.push_back(part.codes[static_cast<std::size_t>(pixel * part.extents.channels + c)]);
        return push(y);
    }
    value flatten(const value& x) {
        value y = x;
        y.extents = {1, 1, x.extents.size()};
        return push(y);
    }
    value pool(pooling kind, const value& x, const window& w) {
        value y = shrunk(x, w, x.extents.channels);
        for_each_output(y, [&](int row, int column, int c) {
            int largest = x.min, sum = 0, inside = 0, padded = 0;
            for_each_tap(w, row, column, [&](int iy, int ix, int, int) {
                padded += iy < x.extents.height + w.padding_height && ix < x.extents.width + w.padding_width;
                if (!contains(x, iy, ix)) return;
                ++inside;
                largest = std::max(largest, code_at(x, iy, ix, c));
                sum += code_at(x, iy, ix, c) - x.range.zero_point;
            });
            const int count = kind == pooling::average ? padded : inside;
            y.codes.push_back(kind == pooling::max
                                  ? largest
                                  : static_cast<int>(nearest(static_cast<double>(sum) / count)) + x.range.zero_point);
        });
        return push(y);
    }
    value global_average(const value& x) {
        value y = x;
        y.codes.clear();
        y.extents = {1, 1, x.extents.channels};
        for_each_output(y, [&](int, int, int c) {
            int sum = 0;
            for (int pixel = 0; pixel != x.extents.pixels(); ++pixel)
                sum += x.codes[static_cast<std::size_t>(pixel * x.extents.channels + c)] - x.range.zero_point;
            y.codes.push_back(static_cast<int>(nearest(static_cast<double>(sum) / x.extents.pixels())) +
                              x.range.zero_point);
        });
        return push(y);
    }
    /// A row that stays in float32: what the library's own float network gives is taken over by `differences`.
    value floats(zp::shape extents, const std::vector<float>& values) { return push({extents, {}, 0, 0, {}, values}); }

    std::vector<value> rows;
    int table_bits = 10;          // of the codes in front of a function that is fused: see convolve_then
    mutable std::string missing;  // names that were asked for and do not exist

private:
    struct seen {
        float min = std::numeric_limits<float>::infinity(), max = -std::numeric_limits<float>::infinity();
    };
    value push(value v) {
        rows.push_back(v);
        return v;
    }
    made_up::layer_floats folded(const char* name, const char* norm) const {
        made_up::layer_floats floats = made_up::parameters_of(trained_, name);
        if (norm == nullptr) return floats;
        for (const zp::node& row : trained_.rows()) {
            if (std::string_view(row.name) != norm) continue;
            const auto* block = reinterpret_cast<const float*>(trained_.parameters() + row.at.parameter_offset);
            const std::size_t channels = floats.bias.size(), depth = floats.weights.size() / channels;
            for (std::size_t c = 0; c != channels; ++c) {
                // Each result is rounded to float before the next operation: products of floats are exact in double.
                const float gamma = block[c], beta = block[channels + c], mean = block[2 * channels + c],
                            variance = block[3 * channels + c];
                const volatile float inverse = 1.0f / std::sqrt(variance + row.parameter), factor = gamma * inverse;
                for (std::size_t k = 0; k != depth; ++k) floats.weights[c * depth + k] *= factor;
                const volatile float once = (floats.bias[c] - mean) * inverse, scaled = once * gamma;
                floats.bias[c] = scaled + beta;
            }
        }
        return floats;
    }
    template <class C>
    value convolved(const char* name, const value& x, const window& w, const zp::qparams& range, activation act,
                    const char* norm, const value* residual = nullptr, int parts = 1, int lowest = 0) const {
        const made_up::layer_floats floats = folded(name, norm);
        if (floats.weights.empty()) missing += std::string(name) + " ";
        bool is_convolution = true;
        for (const zp::node& row : fused_.rows())
            is_convolution = is_convolution && (std::string_view(row.name) != name || row.op->kind != &zp::op::linear);
        return simulation::convolved<C>(floats, how_, is_convolution, x, w, range, act, residual, parts, lowest);
    }

    const zp::float_model<Net>& trained_;
    zp::fused<Net> fused_;
    policy how_;
    std::vector<seen> ranges_;
};

/// How row i, which has computed `values`, differs from what a script gives: "" where it does not.
template <class Rows> std::string difference(const Rows& rows, int i, const void* values, const value& wanted) {
    const zp::node& row = rows[static_cast<std::size_t>(i)];
    const std::string where = "row " + std::to_string(i) + ", " + zp::display_name(rows, i) + ": ";
    if (row.out.extents != wanted.extents)
        return where + "is " + zp::to_string(row.out.extents) + ", the script's " + zp::to_string(wanted.extents) +
               "\n";
    if ((row.out.storage == zp::scalar_type::float32) == wanted.floats.empty())
        return where + "is " + zp::name_of(row.out.storage) + ", the script's is not\n";
    for (int k = 0; k != row.out.extents.size(); ++k) {
        const auto at = static_cast<std::size_t>(k);
        const double found = row.out.storage == zp::scalar_type::float32 ? static_cast<const float*>(values)[at]
                             : row.out.storage == zp::scalar_type::uint8 ? static_cast<const std::uint8_t*>(values)[at]
                             : row.out.storage == zp::scalar_type::int16 ? static_cast<const std::int16_t*>(values)[at]
                                                                         : static_cast<const std::int8_t*>(values)[at];
        const double due = wanted.floats.empty() ? wanted.codes[at] : static_cast<double>(wanted.floats[at]);
        if (found != due)
            return where + "value " + std::to_string(k) + " is " + std::to_string(found) + ", the script's " +
                   std::to_string(due) + "\n";
    }
    return "";
}

/// Runs the int8 network over x and compares every row with the script's: "" where all are equal.
template <class Int8, class Script>
std::string differences(const Int8& model, const Script& expected, const std::vector<float>& x) {
    std::string text = expected.missing.empty() ? "" : "no layers of these names: " + expected.missing;
    if (model.rows().size() != expected.rows.size())
        return text + "the network has " + std::to_string(model.rows().size()) + " rows, the script " +
               std::to_string(expected.rows.size());
    typename Int8::workspace memory;
    std::vector<float> y(static_cast<std::size_t>(model.output_shape.size()));
    model.run(x.data(), y.data(), memory.bytes, [&](int i, const void* values) {
        text += difference(model.rows(), i, values, expected.rows[static_cast<std::size_t>(i)]);
    });
    return text;
}

/// Calibrates and converts.
template <class Config, class Net>
zp::quantized<Net, Config> converted(const zp::float_model<Net>& trained,
                                     const std::vector<std::vector<float>>& calibration) {
    return zp::convert(zp::calibrate(zp::prepare<Config>(trained), calibration));
}

}  // namespace simulation
