// SPDX-License-Identifier: BSD-3-Clause
// Multiplication with a constant: in int8 a change of the scale alone.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>

#include <zeropoint/kernel/float/float_elementwise.hpp>
#include <zeropoint/graph/define.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind mul_scalar{"mul_scalar"};
}
namespace operators {

template <class Factor> struct mul_scalar {
    static constexpr const char* kind = "mul_scalar";
    static constexpr auto factor =
        static_cast<float>(static_cast<double>(Factor::num) / static_cast<double>(Factor::den));
    static constexpr int options[] = {static_cast<int>(Factor::num), static_cast<int>(Factor::den)};
    static constexpr qparams_source range = qparams_source::derived;
    static constexpr bool elementwise = true, moves_nothing = true, takes_int16 = true, homogeneous = true;

    static constexpr shape output_shape(shape x) { return x; }
    static constexpr qparams derive(const qparams& x) {
        return {static_cast<float>(double{x.scale} * double{factor}), x.zero_point};
    }
    template <class Arch> static void forward(const operands<float>& o) noexcept {
        kernel::map_floats<Arch>(o.x(), static_cast<std::size_t>(o.y_shape().size()), o.y(),
                                 [](const auto& x) { return x * std::decay_t<decltype(x)>(factor); });
    }
    template <class Arch, class T> static void forward(const operands<T>& o) noexcept {
        // Where the output has the place of the input, as the planner has it but for the user's memory, nothing moves.
        if (o.y() != o.x()) std::memcpy(o.y(), o.x(), static_cast<std::size_t>(o.y_shape().size()) * sizeof(T));
    }
};

}  // namespace operators

/// x * Factor, a std::ratio above 0. In int8 it moves nothing: the codes stay, and their scale is the input's times Factor.
template <class Factor> struct mul_scalar : operator_layer<op::mul_scalar, "", operators::mul_scalar<Factor>> {
    static_assert(Factor::num > 0,
                  "mul_scalar<Factor>: Factor must be a std::ratio above 0; put zp::neg behind it for one below");
};

}  // namespace zp::inline v0
