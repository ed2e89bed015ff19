// SPDX-License-Identifier: BSD-3-Clause
// Sums and means along axes of an activation.
#pragma once

#include <zeropoint/kernel/reduction/axis_sums.hpp>
#include <zeropoint/graph/axis.hpp>
#include <zeropoint/graph/define.hpp>
#include <zeropoint/scheme/requantization.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind sum{"sum"}, mean{"mean"};
}

namespace operators {

/// The sum over axes, or the mean.
template <axes Over, bool Mean> struct sum {
    static constexpr const char* kind = Mean ? "mean" : "sum";
    static constexpr int options[] = {static_cast<int>(Over)};
    static constexpr unsigned takes = bounds;
    static constexpr bool takes_volumes = holds(Over, axes::height) == holds(Over, axes::width);
    static constexpr bool takes_int16 = true, homogeneous = !holds(Over, axes::channels);
    using prepared = kernel::axis_sum_parameters;

    static constexpr shape output_shape(shape x) { return folded(x, Over); }
    static constexpr int divisor(const node_view& v) { return Mean ? v.x_shape().size() / v.y_shape().size() : 1; }
    template <class Arch> static void forward(const operands<float>& o) noexcept {
        kernel::sum_axes<Arch>(o.x_shape().as_image(), o.y_shape().as_image(), divisor(o.at()), o.lowest(), o.highest(),
                               o.x(), o.y());
    }

    static prepared prepare(const preparation& p) {
        const qparams &x = p.x_qparams(), &y = p.y_qparams();
        const kernel::output_codes codes = clamped_codes(p.at.n, y);
        return kernel::make_sum_parameters(x.scale, x.zero_point, divisor(p.at), y.scale, codes.zero_point, codes.min,
                                           codes.max);
    }
    template <class Arch, class T> static void forward(const operands<T>& o) noexcept {
        kernel::sum_axes<Arch>(o.x_shape().as_image(), o.y_shape().as_image(), o.x(), *o.template prepared<prepared>(),
                               o.y());
    }
};

/// A mean in LiteRT's fixed point. Which axes go, the shapes say.
struct fixed_point_mean : sum<axes::image, true> {
    using prepared = kernel::fixed_point_mean_parameters;

    static const char* problem(const preparation& p) {
        const double ratio = double{p.x_qparams().scale} / double{p.y_qparams().scale};
        return ratio < 32768.0 ? nullptr : "the input's scale must be below 2^15 output scales";
    }
    static prepared prepare(const preparation& p) {
        const qparams &x = p.x_qparams(), &y = p.y_qparams();
        const kernel::output_codes codes = clamped_codes(p.at.n, y);
        const fixed_point_multiplier ratio = quantize_multiplier(double{x.scale} / double{y.scale});
        return kernel::make_fixed_point_mean(ratio.multiplier, ratio.shift, divisor(p.at), x.zero_point,
                                             codes.zero_point, codes.min, codes.max);
    }
    template <class Arch, class T> static void forward(const operands<T>& o) noexcept {
        kernel::sum_axes<Arch>(o.x_shape().as_image(), o.y_shape().as_image(), o.x(), *o.template prepared<prepared>(),
                               o.y());
    }
};

}  // namespace operators

template <>
struct forms_of<op::mean> : forms_by_policy<operators::sum<axes::image, true>, operators::fixed_point_mean> {};

// The axes stay, with extent 1, as PyTorch's keepdim = True has it. In int8 the sum is an exact integer, rounded once to a
// grid of its own. A relu, relu6 or clamp behind them is fused.

/// The sum over axes of what goes in.
template <axes Over = axes::image> struct sum : operator_layer<op::sum, "", operators::sum<Over, false>> {};
/// The mean over axes of what goes in: by default over the image, or all planes of a volume, which is global average pooling.
template <axes Over = axes::image> struct mean : operator_layer<op::mean, "", operators::sum<Over, true>> {};

}  // namespace zp::inline v0
