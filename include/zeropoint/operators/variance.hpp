// SPDX-License-Identifier: BSD-3-Clause
// Variances and standard deviations along axes of an activation.
#pragma once

#include <zeropoint/kernel/reduction/axis_moments.hpp>
#include <zeropoint/graph/axis.hpp>
#include <zeropoint/graph/define.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind variance{"variance"}, standard_deviation{"standard_deviation"};
}
namespace operators {

template <kernel::moment Which, axes Over, int Correction> struct moment {
    static constexpr const char* kind = Which == kernel::moment::variance ? "variance" : "standard_deviation";
    static constexpr int options[] = {static_cast<int>(Over), Correction};
    static constexpr unsigned takes = bounds;
    using prepared = kernel::moment_parameters;

    static constexpr shape output_shape(shape x) { return folded(x, Over); }
    /// How many values a result is made of.
    static constexpr int together(const shape& x) { return x.size() / folded(x, Over).size(); }
    static constexpr bool accepts(shape x) { return together(x) > Correction && together(x) <= kernel::most_in_moment; }
    template <class Arch> static void forward(const operands<float>& o) noexcept {
        kernel::moments_along<Arch, Which>(o.x_shape(), o.y_shape(), Correction, o.lowest(), o.highest(), o.x(), o.y());
    }

    static prepared prepare(const preparation& p) {
        const qparams& y = p.y_qparams();
        const kernel::output_codes codes = clamped_codes(p.at.n, y);
        return kernel::make_moment_parameters(Which, together(p.x_shape()), Correction, p.x_qparams().scale, y.scale,
                                              codes.zero_point, codes.min, codes.max);
    }
    template <class Arch, class T> static void forward(const operands<T>& o) noexcept {
        kernel::moments_along<Arch, Which>(o.x_shape(), o.y_shape(), o.x(), *o.template prepared<prepared>(), o.y());
    }
};

/// A number that a layer's static_assert has refused becomes one that none refuses.
constexpr int at_least_zero(int number) { return number < 0 ? 0 : number; }

}  // namespace operators

// The axes stay, with extent 1, as PyTorch's keepdim = True has it. Of n values the sum of squared distances from their
// mean is divided by n - Correction, PyTorch's name: 1, its default, is the unbiased variance of a sample, 0 that of the
// values themselves, as a layer_norm has it; n must be above Correction and at most 2^23. In int8 sums are exact integers,
// and one result is rounded once, to a grid of its own. A relu, relu6 or clamp behind them is fused.

/// The variance along axes of what goes in: PyTorch's x.var(dim, keepdim=True).
template <axes Over = axes::image, int Correction = 1>
struct variance
    : operator_layer<op::variance, "",
                     operators::moment<kernel::moment::variance, Over, operators::at_least_zero(Correction)>> {
    static_assert(Correction >= 0, "variance<Over, Correction>: Correction must be 0 or more; 1 is unbiased");
};
/// Its square root: PyTorch's x.std(dim, keepdim=True).
template <axes Over = axes::image, int Correction = 1>
struct standard_deviation
    : operator_layer<
          op::standard_deviation, "",
          operators::moment<kernel::moment::standard_deviation, Over, operators::at_least_zero(Correction)>> {
    static_assert(Correction >= 0, "standard_deviation<Over, Correction>: Correction must be 0 or more; 1 is unbiased");
};

}  // namespace zp::inline v0
