// SPDX-License-Identifier: BSD-3-Clause
// Filters over floats.
#pragma once

#include <zeropoint/graph/form.hpp>
#include <zeropoint/kernel/convolution/conv3d.hpp>
#include <zeropoint/kernel/convolution/conv_transpose3d.hpp>
#include <zeropoint/kernel/float/float_conv2d.hpp>
#include <zeropoint/kernel/float/float_conv_transpose2d.hpp>
#include <zeropoint/kernel/float/float_row.hpp>
#include <zeropoint/kernel/gemm/small_linear.hpp>
#include <zeropoint/operators/filters.hpp>

namespace zp::inline v0::operators {

/// Products of one row, for nodes that pack_float_rows() marks: weights and biases as kernel::pack_float_row packs them.
template <kernel::linear_extents Extents, class Arch> struct float_row_filters {
    static constexpr int parameter_bytes(const node_view&) {
        return static_cast<int>(align_up(sizeof(float) * static_cast<std::size_t>(layout.floats())));
    }
    static refusal pack(const preparation& p, const node_parameters& from) {
        kernel::pack_float_row(layout, from.vectors[0].data(), from.vectors[1].data(),
                               reinterpret_cast<float*>(p.block));
        return {};
    }
    static node_parameters unpack(const preparation& p) {
        node_parameters to;
        to.vectors.resize(2);
        to.vectors[0].resize(static_cast<std::size_t>(Extents.depth * Extents.channels));
        to.vectors[1].resize(static_cast<std::size_t>(Extents.channels));
        kernel::unpack_float_row(layout, p.parameters(), to.vectors[0].data(), to.vectors[1].data());
        return to;
    }
    static constexpr kernel::conv2d_cut cut(const node_view&) {
        kernel::conv2d_cut by;
        by.panels = layout.panels();
        return by;
    }
    static void run(const node& n, const context& c) noexcept {
        kernel::float_row<Arch, Extents.depth, Extents.channels>(c.in<float>(n), c.block<float>(n), n.fused.lowest,
                                                                 n.fused.highest, c.out<float>(n), c.panels);
    }

private:
    static constexpr kernel::float_row_layout<Arch> layout{Extents.depth, Extents.channels};
};

/// The block: weights out x taps x in, then one bias an output channel.
template <filter_kernels Family, class Arch> struct float_filters : float_block {
    static constexpr int scratch_bytes(const node_view& v) {
        const auto g = geometry_for<Family>(v);
        std::size_t floats = 0;
        if constexpr (Family == filter_kernels::conv3d) floats = kernel::conv3d_float_scratch<Arch>(g);
        else if constexpr (Family == filter_kernels::conv_transpose2d)
            floats = kernel::conv_transpose2d_float_scratch<Arch>(g);
        else if constexpr (Family == filter_kernels::conv_transpose3d)
            floats = kernel::conv_transpose3d_float_scratch<Arch>(g);
        else floats = kernel::conv2d_float_scratch<Arch>(g);
        return static_cast<int>(sizeof(float) * floats);
    }
    /// Fewer than eight pixels are computed in another order.
    static constexpr bool computes_alike(const node_view& part, const node_view& whole) {
        const auto order = [](const node_view& v) {
            if constexpr (Family == filter_kernels::conv3d)
                return kernel::choose_float_algorithm<Arch>(volume_window(v).plane);
            else return kernel::choose_float_algorithm<Arch>(v.n.op->geometry(v));
        };
        if constexpr (is_transposed(Family)) return false;
        else return order(part) == order(whole);
    }
    /// One vector has no rows: it is cut into channels, each of which is a sum of its own.
    static constexpr kernel::conv2d_cut cut([[maybe_unused]] const node_view& v) {
        kernel::conv2d_cut by;
        if constexpr (Family == filter_kernels::conv2d)
            if (v.n.op->is_connected && v.y_shape().pixels() == 1)
                by.panels = (v.n.weights.channels + panel_channels - 1) / panel_channels;
        return by;
    }
    static void run(const node& n, const context& c) noexcept {
        auto g = geometry_for<Family>(c.view(n));
        const auto multiply = [&](auto kernel, std::ptrdiff_t first = 0) {
            const auto* weights = c.block<float>(n);
            kernel(g, c.in<float>(n), weights + first * g.depth(), weights + bias_offset(n) + first, n.fused.lowest,
                   n.fused.highest, c.out<float>(n) + first, c.scratch<float>(n));
        };
        if constexpr (Family == filter_kernels::conv3d) multiply([](auto... x) { kernel::conv3d_float<Arch>(x...); });
        else if constexpr (Family == filter_kernels::conv_transpose2d)
            multiply([](auto... x) { kernel::conv_transpose2d_float<Arch>(x...); });
        else if constexpr (Family == filter_kernels::conv_transpose3d)
            multiply([](auto... x) { kernel::conv_transpose3d_float<Arch>(x...); });
        else {
            int first = 0;
            if (c.panels != kernel::panel_range{}) {
                const auto [begin, end] = c.panels.channels(panel_channels, n.weights.channels);
                first = begin;
                g.out.channels = end - begin;
            }
            multiply([](auto... x) { kernel::conv2d_float<Arch>(x...); }, first);
        }
    }

private:
    /// Dot products are made eight at a time, and two parts do not write to one cache line.
    static constexpr int panel_channels = 16;
    static std::size_t bias_offset(const node& n) {
        return align_up(sizeof(float) * static_cast<std::size_t>(n.weights.count)) / sizeof(float);
    }
};

}  // namespace zp::inline v0::operators
