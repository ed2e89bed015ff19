// SPDX-License-Identifier: BSD-3-Clause
// Gradients of normalizations: layer, root mean square, group, instance and batch norms, and of softmax.
#pragma once

#include <cstddef>

#include <zeropoint/core/float_values.hpp>
#include <zeropoint/kernel/elementwise/clamp.hpp>
#include <zeropoint/kernel/float/float_elementwise.hpp>
#include <zeropoint/kernel/gradient/batch_norm_gradient.hpp>
#include <zeropoint/kernel/gradient/normalize_gradient.hpp>
#include <zeropoint/kernel/gradient/softmax_gradient.hpp>
#include <zeropoint/operators/batch_norm.hpp>
#include <zeropoint/operators/group_norm.hpp>
#include <zeropoint/operators/l2_normalization.hpp>
#include <zeropoint/operators/layer_norm.hpp>
#include <zeropoint/operators/masked_softmax.hpp>
#include <zeropoint/operators/normalize.hpp>
#include <zeropoint/operators/rms_norm.hpp>
#include <zeropoint/operators/softmax.hpp>
#include <zeropoint/operators/unfused_batch_norm.hpp>
#include <zeropoint/training/gradient.hpp>

namespace zp::inline v0 {
namespace detail {

/// Kernels that always write dx are given scratch where nobody asks.
inline float* dx_or_scratch(const gradient_operands& o) { return o.dxs[0] != nullptr ? o.dxs[0] : o.scratch; }
struct scratch_for_dx {
    template <class Arch> static std::size_t scratch_bytes(const node_view& v, int samples) {
        return sizeof(float) * static_cast<std::size_t>(v.x_shape().size()) * static_cast<std::size_t>(samples);
    }
};
inline float epsilon_of(int millionths, int trillionths) {
    return static_cast<float>(millionths / 1e6 + trillionths / 1e12);
}

/// A batch norm by the statistics among its parameters, or by those that it is given. The first two arrays are weight and bias, where it is
/// affine.
struct batch_norm_gradient {
    template <class Arch>
    static void forward(const gradient_operands& o, float epsilon, bool is_affine, float* y) noexcept {
        const auto channels = static_cast<std::size_t>(o.at.x_shape().channels);
        const std::ptrdiff_t pixels = o.at.x_shape().pixels();
        const float *mean = mean_of(o, is_affine), *variance = variance_of(o, is_affine);
        float *multiplier = o.scratch, *offset = o.scratch + channels;
        kernel::make_batch_norm<Arch>(channels, is_affine ? o.parameter(0) : nullptr,
                                      is_affine ? o.parameter(1) : nullptr, mean, variance, epsilon, multiplier,
                                      offset);
        const epilogue& bounds = o.at.n.fused;
        const bool is_bounded = bounds.lowest > -infinity || bounds.highest < infinity;
        const float* x = o.xs[0];
        for (int i = 0; i != o.samples; ++i, x += o.x_size(), y += o.x_size()) {  // a sample stays near for its bounds
            kernel::batch_norm<Arch>(x, static_cast<std::size_t>(pixels), channels, multiplier, offset, y);
            if (is_bounded) kernel::clamp<Arch>(y, o.x_size(), bounds.lowest, bounds.highest, y);
        }
    }
    template <class Arch> static void backward(const gradient_operands& o, float epsilon, bool is_affine) noexcept {
        const auto channels = static_cast<std::size_t>(o.at.x_shape().channels);
        const std::ptrdiff_t pixels = o.at.x_shape().pixels();
        const kernel::const_float_batch x = x_of(o), dy{o.dy, x.stride};
        const float *mean = mean_of(o, is_affine), *variance = variance_of(o, is_affine);
        const bool is_live = o.statistics != nullptr, trains = o.d_block != nullptr && is_affine;
        auto* own_sums = reinterpret_cast<double*>(o.scratch);
        float* room = o.scratch + 4 * channels;
        if (!is_live && trains) {
            std::fill_n(own_sums, 2 * channels, 0.0);
            kernel::add_batch_norm_gradient_sums<Arch>(o.samples, x, dy, pixels, channels, mean, own_sums);
        }
        const double* sums = is_live ? o.gradient_sums : own_sums;
        if (trains)
            kernel::batch_norm_parameter_gradients<Arch>(channels, variance, epsilon, sums, o.d_parameter(0),
                                                         o.d_parameter(1));
        const double count = is_live ? o.values_of_channel : 0;
        if (o.dxs[0] != nullptr)
            kernel::batch_norm_input_gradient<Arch>(o.samples, x, dy, pixels, channels,
                                                    is_affine ? o.parameter(0) : nullptr, mean, variance, epsilon,
                                                    count, sums, {o.dxs[0], x.stride}, room);
    }
    template <class Arch> static std::size_t scratch_bytes(const node_view& v, int) {
        return static_cast<std::size_t>(v.x_shape().channels) * (2 * sizeof(double) + 3 * sizeof(float));
    }

private:
    static kernel::const_float_batch x_of(const gradient_operands& o) {
        return {o.xs[0], static_cast<std::ptrdiff_t>(o.x_size())};
    }
    static const float* mean_of(const gradient_operands& o, bool is_affine) {
        return o.statistics != nullptr ? o.statistics : o.parameter(is_affine ? 2 : 0);
    }
    static const float* variance_of(const gradient_operands& o, bool is_affine) {
        return o.statistics != nullptr ? o.statistics + o.at.x_shape().channels : o.parameter(is_affine ? 3 : 1);
    }
};

}  // namespace detail

template <> struct gradient_of<op::batch_norm> : detail::batch_norm_gradient {
    static constexpr bool trains(const operator_info&, int array) { return array < 2; }
    static constexpr int running_mean(const node_view&) { return 2; }
    template <class Arch> static void forward(const gradient_operands& o, float* y) noexcept {
        detail::batch_norm_gradient::forward<Arch>(o, o.at.n.parameter, true, y);
    }
    template <class Arch> static void backward(const gradient_operands& o) noexcept {
        detail::batch_norm_gradient::backward<Arch>(o, o.at.n.parameter, true);
    }
};
template <> struct gradient_of<op::unfused_batch_norm> : detail::batch_norm_gradient {
    static constexpr bool trains(const operator_info& op, int array) { return op.options[1] != 0 && array < 2; }
    static constexpr int running_mean(const node_view& v) { return v.n.op->options[1] != 0 ? 2 : 0; }
    template <class Arch> static void forward(const gradient_operands& o, float* y) noexcept {
        const std::span<const int> options = o.at.n.op->options;
        detail::batch_norm_gradient::forward<Arch>(o, detail::epsilon_of(options[0], 0), options[1] != 0, y);
    }
    template <class Arch> static void backward(const gradient_operands& o) noexcept {
        const std::span<const int> options = o.at.n.op->options;
        detail::batch_norm_gradient::backward<Arch>(o, detail::epsilon_of(options[0], 0), options[1] != 0);
    }
};

template <> struct gradient_of<op::layer_norm> : detail::scratch_for_dx {
    template <class Arch> static void backward(const gradient_operands& o) noexcept {
        const std::span<const int> options = o.at.n.op->options;  // over, millionths, trillionths, affine, bias
        const bool has_weight = options[3] != 0, has_bias = has_weight && options[4] != 0;
        const auto together = static_cast<normalized>(options[0]) == normalized::image
                                  ? o.x_size()
                                  : static_cast<std::size_t>(o.at.x_shape().channels);
        kernel::layer_norm_gradient<Arch>(
            o.xs[0], o.dy, o.x_size() * static_cast<std::size_t>(o.samples) / together, together,
            detail::epsilon_of(options[1], options[2]), has_weight ? o.parameter(0) : nullptr, detail::dx_or_scratch(o),
            has_weight ? o.d_parameter(0) : nullptr, has_bias ? o.d_parameter(1) : nullptr);
    }
};
template <> struct gradient_of<op::rms_norm> : detail::scratch_for_dx {
    template <class Arch> static void backward(const gradient_operands& o) noexcept {
        const std::span<const int> options = o.at.n.op->options;  // millionths, trillionths, affine, groups
        const bool has_weight = options[2] != 0;
        const auto channels = static_cast<std::size_t>(o.at.x_shape().channels / (options.size() > 3 ? options[3] : 1));
        kernel::rms_norm_gradient<Arch>(o.xs[0], o.dy, o.x_size() * static_cast<std::size_t>(o.samples) / channels,
                                        channels, detail::epsilon_of(options[0], options[1]),
                                        has_weight ? o.parameter(0) : nullptr, detail::dx_or_scratch(o),
                                        has_weight ? o.d_parameter(0) : nullptr);
    }
};
namespace detail {
struct group_gradient : scratch_for_dx {
    template <class Arch> static void backward(const gradient_operands& o) noexcept {
        const std::span<const int> options = o.at.n.op->options;  // groups, millionths, affine
        const bool is_affine = options[2] != 0;
        const auto channels = static_cast<std::size_t>(o.at.x_shape().channels), pixels = o.x_size() / channels;
        const std::size_t groups = options[0] == 0 ? channels : static_cast<std::size_t>(options[0]);
        for (std::size_t at = 0; at != o.x_size() * static_cast<std::size_t>(o.samples); at += o.x_size())
            kernel::group_norm_gradient<Arch>(o.xs[0] + at, o.dy + at, pixels, channels, groups,
                                              epsilon_of(options[1], 0), is_affine ? o.parameter(0) : nullptr,
                                              dx_or_scratch(o) + at, is_affine ? o.d_parameter(0) : nullptr,
                                              is_affine ? o.d_parameter(1) : nullptr);
    }
};
}  // namespace detail
template <> struct gradient_of<op::group_norm> : detail::group_gradient {};
template <> struct gradient_of<op::instance_norm> : detail::group_gradient {};

template <> struct gradient_of<op::l2_normalization> {
    template <class Arch> static void backward(const gradient_operands& o) noexcept {
        const auto channels = static_cast<std::size_t>(o.at.x_shape().channels);
        if (o.dxs[0] != nullptr)
            kernel::l2_normalize_gradient<Arch>(
                o.xs[0], o.dy, o.x_size() * static_cast<std::size_t>(o.samples) / channels, channels, o.dxs[0]);
    }
};

/// By known means and deviations of channels.
template <> struct gradient_of<op::normalize> {
    template <class Arch> static void backward(const gradient_operands& o) noexcept {
        if (o.dxs[0] == nullptr) return;
        const std::span<const float> deviations = o.at.n.op->map->deviation;
        const std::size_t count = o.x_size() * static_cast<std::size_t>(o.samples);
        for (std::size_t i = 0; i != count; ++i) o.dxs[0][i] = o.dy[i] / deviations[i % deviations.size()];
    }
};

/// With a mask or without. The mask gets none.
template <> struct gradient_of<op::softmax> {
    template <class Arch> static void backward(const gradient_operands& o) noexcept {
        const shape& x = o.at.x_shape();
        const auto channels = static_cast<std::size_t>(x.channels);
        const std::size_t count = o.x_size() * static_cast<std::size_t>(o.samples);
        if (o.at.n.input_count == 1) {
            if (o.dxs[0] != nullptr) kernel::softmax_gradient<Arch>(o.y, o.dy, count / channels, channels, o.dxs[0]);
            return;
        }
        if (o.dxs[1] != nullptr) std::fill_n(o.dxs[1], o.x_size(1) * static_cast<std::size_t>(o.samples), 0.0f);
        if (o.dxs[0] == nullptr) return;
        const shape& m = o.at.x_shape(1);
        const auto rows = static_cast<std::size_t>(x.width), matrix = rows * channels,
                   own = static_cast<std::size_t>(m.width) * channels;
        for (std::size_t at = 0; at != count; at += matrix) {
            const std::size_t sample = at / o.x_size(), number = at % o.x_size() / matrix;
            const float* mask = o.xs[1] + sample * o.x_size(1) + (m.height == 1 ? 0 : number * own);
            kernel::masked_softmax_gradient<Arch>(o.y + at, o.dy + at, rows, channels, mask,
                                                  m.width == 1 ? 0 : channels, o.dxs[0] + at);
        }
    }
};
template <> struct gradient_of<op::log_softmax> {
    template <class Arch> static void backward(const gradient_operands& o) noexcept {
        const auto channels = static_cast<std::size_t>(o.at.x_shape().channels);
        if (o.dxs[0] != nullptr)
            kernel::log_softmax_gradient<Arch>(o.y, o.dy, o.x_size() * static_cast<std::size_t>(o.samples) / channels,
                                               channels, o.dxs[0]);
    }
};

}  // namespace zp::inline v0
