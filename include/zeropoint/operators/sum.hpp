// Sums and means along axes of an activation.
#pragma once

#include <zeropoint/kernel/reduction/axis_sums.hpp>
#include <zeropoint/graph/axis.hpp>
#include <zeropoint/graph/define.hpp>

namespace zp {
inline namespace v0 {
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

}  // namespace operators

// The axes stay, with extent 1, as PyTorch's keepdim = True has it. In int8 the sum is an exact integer, rounded once to a
// grid of its own. A relu, relu6 or clamp behind them is fused.

/// The sum over axes of what goes in.
template <axes Over = axes::image> struct sum : operator_layer<op::sum, "", operators::sum<Over, false>> {};
/// The mean over axes of what goes in: by default over the image, or all planes of a volume, which is global average pooling.
template <axes Over = axes::image> struct mean : operator_layer<op::mean, "", operators::sum<Over, true>> {};

}  // namespace v0
}  // namespace zp
