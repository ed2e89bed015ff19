// SPDX-License-Identifier: BSD-3-Clause
// The largest and the smallest values along axes of an activation, and products along them.
#pragma once

#include <type_traits>

#include <zeropoint/kernel/reduction/axis_extrema.hpp>
#include <zeropoint/kernel/reduction/axis_products.hpp>
#include <zeropoint/graph/axis.hpp>
#include <zeropoint/graph/define.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind reduce_max{"reduce_max"}, reduce_min{"reduce_min"}, reduce_prod{"reduce_prod"};
}
namespace operators {

/// `Choose` is kernel::larger_of or kernel::smaller_of.
template <axes Over, class Choose> struct reduce {
    static constexpr const char* kind = std::is_same_v<Choose, kernel::larger_of> ? "reduce_max" : "reduce_min";
    static constexpr int options[] = {static_cast<int>(Over)};
    static constexpr qparams_source range = qparams_source::of_input;
    static constexpr bool picks_values = true;

    static constexpr shape output_shape(shape x) { return folded(x, Over); }
    template <class Arch, class T> static void forward(const operands<T>& o) noexcept {
        kernel::extremum_along<Arch, Choose>(o.x_shape(), o.y_shape(), o.x(), o.y());
    }
};

/// The product, whose clamps are fused.
template <axes Over> struct reduce_prod {
    static constexpr const char* kind = "reduce_prod";
    static constexpr int options[] = {static_cast<int>(Over)};
    static constexpr unsigned takes = bounds;
    using prepared = kernel::product_parameters;

    static constexpr shape output_shape(shape x) { return folded(x, Over); }
    template <class Arch> static void forward(const operands<float>& o) noexcept {
        kernel::product_along<Arch>(o.x_shape(), o.y_shape(), o.lowest(), o.highest(), o.x(), o.y());
    }

    static prepared prepare(const preparation& p) {
        const qparams &x = p.x_qparams(), &y = p.y_qparams();
        const kernel::output_codes codes = clamped_codes(p.at.n, y);
        return kernel::make_product_parameters(p.x_shape().size() / p.at.y_shape().size(), x.scale, x.zero_point,
                                               y.scale, codes.zero_point, codes.min, codes.max);
    }
    template <class Arch, class T> static void forward(const operands<T>& o) noexcept {
        kernel::product_along<Arch>(o.x_shape(), o.y_shape(), o.x(), *o.template prepared<prepared>(), o.y());
    }
};

}  // namespace operators

// The axes stay, with extent 1, as PyTorch's amax, amin and prod with keepdim = True have it. In int8 the codes of extrema
// are copied: scale and zero point are the input's.

/// The largest value along axes of what goes in: by default of the image, which is global max pooling.
template <axes Over = axes::image>
struct reduce_max : operator_layer<op::reduce_max, "", operators::reduce<Over, kernel::larger_of>> {};
/// The smallest value along axes of what goes in.
template <axes Over = axes::image>
struct reduce_min : operator_layer<op::reduce_min, "", operators::reduce<Over, kernel::smaller_of>> {};
/// The product along axes of what goes in. In int8 it has a grid of its own, to which the exact product of up to 2^53 is
/// rounded once; longer ones round in double on their way. A relu, relu6 or clamp behind it is fused.
template <axes Over = axes::image>
struct reduce_prod : operator_layer<op::reduce_prod, "", operators::reduce_prod<Over>> {};

}  // namespace zp::inline v0
