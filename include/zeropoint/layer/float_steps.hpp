// One row of a float model: what it keeps in its parameter block and which function runs it.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/core/rounding.hpp>
#include <zeropoint/kernel/activations.hpp>
#include <zeropoint/kernel/clamp.hpp>
#include <zeropoint/kernel/concat.hpp>
#include <zeropoint/kernel/conv3d.hpp>
#include <zeropoint/kernel/conv_transpose3d.hpp>
#include <zeropoint/kernel/float_conv2d.hpp>
#include <zeropoint/kernel/float_conv_transpose2d.hpp>
#include <zeropoint/kernel/float_elementwise.hpp>
#include <zeropoint/kernel/pooling.hpp>
#include <zeropoint/layer/context.hpp>
#include <zeropoint/layer/embedding_geometry.hpp>
#include <zeropoint/layer/fused_clamp.hpp>

namespace zp {
inline namespace v0 {

/// Weighted and described rows: `weights` floats (out, height, width, in), then from here on one bias an output channel.
constexpr int bias_offset(const node& row) {
    return static_cast<int>(align_up(sizeof(float) * static_cast<std::size_t>(row.weights)) / sizeof(float));
}

/// A batch_norm row's block: four arrays of one value a channel.
template <class T> struct batch_norm_arrays { std::span<T> weight, bias, running_mean, running_var; };
using batch_norm_view = batch_norm_arrays<const float>;
template <class T> batch_norm_arrays<T> view_of_batch_norm(const node& row, T* block) {
    const auto n = static_cast<std::size_t>(row.channels);
    return {{block, n}, {block + n, n}, {block + 2 * n, n}, {block + 3 * n, n}};
}

constexpr int float_parameter_bytes(const node& row) {
    constexpr int size = static_cast<int>(sizeof(float));
    if (is_weighted(row.kind)) return size * (bias_offset(row) + row.channels);
    if (row.kind == op::batch_norm) return size * 4 * row.channels;
    if (has_coded_table(row)) return coded_table_layout(row).bytes;
    return size * row.weights;  // described operators
}
template <class Arch> constexpr int float_scratch_bytes(const node& row) {
    constexpr int size = static_cast<int>(sizeof(float));
    if (row.kind == op::batch_norm) return size * 2 * row.channels;
    if (row.described != nullptr) return row.described->scratch_bytes(row);
    if (row.kind == op::conv3d) return size * static_cast<int>(kernel::conv3d_float_scratch<Arch>(volume_window(row)));
    if (row.kind == op::conv_transpose2d)
        return size * static_cast<int>(kernel::conv_transpose2d_float_scratch<Arch>(transposed_window(row)));
    if (row.kind == op::conv_transpose3d)
        return size * static_cast<int>(kernel::conv_transpose3d_float_scratch<Arch>(transposed_volume_window(row)));
    return is_weighted(row.kind) ? size * static_cast<int>(kernel::conv2d_float_scratch<Arch>(row.window)) : 0;
}

template <class Arch> struct float_steps {
    static std::size_t count(const node& row) { return static_cast<std::size_t>(row.out.size()); }

    static void weighted(const node& row, const context& c) noexcept {
        const float* weights = c.block<float>(row);
        kernel::conv2d_float<Arch>(row.window, c.in<float>(row), weights, weights + bias_offset(row),
                                   lower_bound(row, row.activation), upper_bound(row, row.activation),
                                   c.out<float>(row), c.scratch<float>(row));
    }
    static void conv3d(const node& row, const context& c) noexcept {
        const float* weights = c.block<float>(row);
        kernel::conv3d_float<Arch>(volume_window(row), c.in<float>(row), weights, weights + bias_offset(row),
                                   lower_bound(row, row.activation), upper_bound(row, row.activation),
                                   c.out<float>(row), c.scratch<float>(row));
    }
    static void conv_transpose2d(const node& row, const context& c) noexcept {
        const float* weights = c.block<float>(row);
        kernel::conv_transpose2d_float<Arch>(transposed_window(row), c.in<float>(row), weights,
                                             weights + bias_offset(row), lower_bound(row, row.activation),
                                             upper_bound(row, row.activation), c.out<float>(row),
                                             c.scratch<float>(row));
    }
    static void conv_transpose3d(const node& row, const context& c) noexcept {
        const float* weights = c.block<float>(row);
        kernel::conv_transpose3d_float<Arch>(transposed_volume_window(row), c.in<float>(row), weights,
                                             weights + bias_offset(row), lower_bound(row, row.activation),
                                             upper_bound(row, row.activation), c.out<float>(row),
                                             c.scratch<float>(row));
    }
    static void batch_norm(const node& row, const context& c) noexcept {
        const batch_norm_view bn = view_of_batch_norm(row, c.block<float>(row));
        const auto channels = static_cast<std::size_t>(row.channels);
        float* multiplier = c.scratch<float>(row);
        float* offset = multiplier + channels;
        kernel::make_batch_norm<Arch>(channels, bn.weight.data(), bn.bias.data(), bn.running_mean.data(),
                                      bn.running_var.data(), row.parameter, multiplier, offset);
        kernel::batch_norm<Arch>(c.in<float>(row), static_cast<std::size_t>(row.out.pixels()), channels, multiplier,
                                 offset, c.out<float>(row));
    }
    static void clamp(const node& row, const context& c) noexcept {
        kernel::clamp<Arch>(c.in<float>(row), count(row), lower_bound(row, row.kind), upper_bound(row, row.kind),
                            c.out<float>(row));
    }
    /// The library's functions of one value, on Arch.
    template <class F> static void map(const node& row, const context& c) noexcept {
        kernel::map_floats<Arch>(c.in<float>(row), count(row), c.out<float>(row), F{});
    }
    static void leaky_relu(const node& row, const context& c) noexcept {
        const float slope = row.parameter;
        kernel::map_floats<Arch>(c.in<float>(row), count(row), c.out<float>(row),
                                 [=](const auto& x) { return kernel::functions::leaky_relu{}(x, slope); });
    }
    static void activation(const node& row, const context& c) noexcept {
        row.function->apply(c.in<float>(row), count(row), c.out<float>(row), row.parameter);
    }
    static void add(const node& row, const context& c) noexcept {
        kernel::add_float<Arch>(c.in<float>(row, 0), c.in<float>(row, 1), count(row), lower_bound(row, row.activation),
                                upper_bound(row, row.activation), c.out<float>(row));
    }
    static void concat(const node& row, const context& c) noexcept {
        float* y = c.out<float>(row);
        for (int k = 0; k != row.input_count; ++k) {
            const auto channels = static_cast<std::size_t>(c.rows[row.inputs[k]].out.channels);
            kernel::copy_channels<Arch>(c.in<float>(row, k), static_cast<std::size_t>(row.out.pixels()), channels, y,
                                        static_cast<std::size_t>(row.out.channels));
            y += channels;
        }
    }
    static void max_pool(const node& row, const context& c) noexcept {
        kernel::max_pool2d<Arch>(row.window, c.in<float>(row), c.out<float>(row));
    }
    static void avg_pool(const node& row, const context& c) noexcept {
        kernel::avg_pool2d<Arch>(row.window, row.count_include_pad, 0, c.in<float>(row), c.out<float>(row));
    }
    static void adaptive_avg_pool(const node& row, const context& c) noexcept {
        kernel::adaptive_avg_pool2d<Arch>(row.in, row.out, 0, c.in<float>(row), c.out<float>(row));
    }
    /// Where the output has the place of the input, as share_places plans it, nothing moves.
    static void copy(const node& row, const context& c) noexcept {
        if (c.out<float>(row) != c.in<float>(row))
            std::memcpy(c.out<float>(row), c.in<float>(row), sizeof(float) * count(row));
    }
};

template <class Arch> constexpr step_function float_step(const node& row) {
    using steps = float_steps<Arch>;
    if (row.steps != nullptr) return row.steps->floats;
    switch (row.kind) {
        case op::conv2d:
        case op::linear: return steps::weighted;
        case op::conv3d: return steps::conv3d;
        case op::conv_transpose2d: return steps::conv_transpose2d;
        case op::conv_transpose3d: return steps::conv_transpose3d;
        case op::batch_norm: return steps::batch_norm;
        case op::relu:
        case op::relu6:
        case op::clamp: return steps::clamp;
        case op::leaky_relu: return steps::leaky_relu;
        case op::sigmoid: return steps::template map<kernel::functions::sigmoid>;
        case op::tanh: return steps::template map<kernel::functions::tanh>;
        case op::hardswish: return steps::template map<kernel::functions::hardswish>;
        case op::activation: return steps::activation;
        case op::add: return steps::add;
        case op::concat: return steps::concat;
        case op::max_pool2d: return steps::max_pool;
        case op::avg_pool2d: return steps::avg_pool;
        case op::adaptive_avg_pool2d: return steps::adaptive_avg_pool;
        case op::flatten:
        case op::dropout:
        case op::quant_stub:
        case op::dequant_stub: return steps::copy;
        default: return nothing_step;
    }
}

}  // namespace v0
}  // namespace zp
