// Filters over floats.
#pragma once

#include <zeropoint/graph/form.hpp>
#include <zeropoint/kernel/convolution/conv3d.hpp>
#include <zeropoint/kernel/convolution/conv_transpose3d.hpp>
#include <zeropoint/kernel/float/float_conv2d.hpp>
#include <zeropoint/kernel/float/float_conv_transpose2d.hpp>
#include <zeropoint/operators/filters.hpp>

namespace zp {
inline namespace v0 {
namespace operators {

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
    static void run(const node& n, const context& c) noexcept {
        const auto g = geometry_for<Family>(c.view(n));
        const auto multiply = [&](auto kernel) {
            const auto* weights = c.block<float>(n);
            kernel(g, c.in<float>(n), weights, weights + bias_offset(n), n.fused.lowest, n.fused.highest,
                   c.out<float>(n), c.scratch<float>(n));
        };
        if constexpr (Family == filter_kernels::conv3d) multiply([](auto... x) { kernel::conv3d_float<Arch>(x...); });
        else if constexpr (Family == filter_kernels::conv_transpose2d)
            multiply([](auto... x) { kernel::conv_transpose2d_float<Arch>(x...); });
        else if constexpr (Family == filter_kernels::conv_transpose3d)
            multiply([](auto... x) { kernel::conv_transpose3d_float<Arch>(x...); });
        else multiply([](auto... x) { kernel::conv2d_float<Arch>(x...); });
    }

private:
    static std::size_t bias_offset(const node& n) {
        return align_up(sizeof(float) * static_cast<std::size_t>(n.weights.count)) / sizeof(float);
    }
};

}  // namespace operators
}  // namespace v0
}  // namespace zp
