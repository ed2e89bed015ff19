// SPDX-License-Identifier: BSD-3-Clause
// Chosen places along an axis, and images one behind the other along one.
#pragma once

#include <type_traits>

#include <zeropoint/operators/rearrangement.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind gather{"gather"}, stack{"stack"};
}
namespace operators {

template <axis Along, int... Indices> struct gather : moved_values {
    static constexpr const char* kind = "gather";
    static constexpr bool takes_volumes = Along != axis::height;
    static constexpr int options[] = {static_cast<int>(Along), Indices...};
    static constexpr std::int32_t indices[] = {Indices...};

    static constexpr bool accepts(shape x) { return ((0 <= Indices && Indices < extent_along(x, Along)) && ...); }
    static constexpr shape output_shape(shape x) {
        extent_along(x, Along) = sizeof...(Indices);
        return x;
    }
    template <class Arch, class T> static void forward(const operands<T>& o) noexcept {
        kernel::gather<Arch>(o.x_shape().as_image(), static_cast<int>(Along), indices, sizeof...(Indices), o.x(),
                             o.y());
    }
};

template <axis Along> struct stack {
    static constexpr const char* kind = "stack";
    static constexpr bool takes_int16 = true;
    static constexpr bool takes_volumes = Along != axis::height;
    static constexpr input_rule inputs = input_rule::same_qparams;
    static constexpr int options[] = {static_cast<int>(Along)};

    static constexpr bool accepts(std::span<const shape> xs) {
        for (const shape& x : xs) {
            shape as_first = x;
            extent_along(as_first, Along) = extent_along(xs[0], Along);
            if (as_first != xs[0]) return false;
        }
        return true;
    }
    static constexpr shape output_shape(std::span<const shape> xs) {
        shape out = xs[0];
        extent_along(out, Along) = 0;
        for (const shape& x : xs) extent_along(out, Along) += extent_along(x, Along);
        return out;
    }
    template <class Arch, class T> static void forward(const operands<T>& o) noexcept {
        int begin[3] = {};
        for (int k = 0; k != o.inputs(); ++k) {
            kernel::copy_box<Arch>(kernel::place_copy(o.x_shape(k).as_image(), begin, o.y_shape().as_image()), o.x(k),
                                   o.y());
            begin[static_cast<int>(Along)] += extent_along(o.x_shape(k), Along);
        }
    }
};

}  // namespace operators

/// The input's places Indices along an axis, in this order, any of them more than once: PyTorch's index_select.
template <axis Along, int... Indices>
struct gather : operator_layer<op::gather, "",
                               std::conditional_t<sizeof...(Indices) == 0, operators::gather<Along, 0>,
                                                  operators::gather<Along, Indices...>>> {
    static_assert(sizeof...(Indices) > 0, "gather<Along, Indices...>: give it at least one index");
};

/// The outputs of branches one behind the other along an axis; their other extents agree. zp::concat is stack along the
/// channels. Of vectors, 1 x 1 x C, stack<axis::width, ...> makes a sequence of 1 x n x C, as PyTorch's stack makes
/// n x C. All have one scale, as in a concat.
template <axis Along, class... Branches>
struct stack : operator_layer<op::stack, "", operators::stack<Along>, Branches...> {
    static_assert(sizeof...(Branches) >= 1, "stack<Along, Branches...>: give it 1 to 8 branches; nest stacks for more");
};

}  // namespace zp::inline v0
