// SPDX-License-Identifier: BSD-3-Clause
// A change of the grid in the middle of a network: to another dtype, or to a range observed there.
#pragma once

#include <cstddef>
#include <cstring>

#include <zeropoint/graph/define.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind requantize_to{"requantize_to"};
}
namespace operators {

/// Of one range with its input, as a concat, so that a table stands in front of it that brings the input there.
struct requantize_to {
    static constexpr const char* kind = "requantize_to";
    static constexpr bool elementwise = true, moves_nothing = true, takes_int16 = true, has_own_range = true;
    static constexpr input_rule inputs = input_rule::same_qparams;

    static constexpr shape output_shape(shape x) { return x; }
    template <class Arch, class T> static void forward(const operands<T>& o) noexcept {
        if (o.y() != o.x()) std::memcpy(o.y(), o.x(), static_cast<std::size_t>(o.y_shape().size()) * sizeof(T));
    }
};

}  // namespace operators

/// The same values under the quantizer that the qconfig has for this layer, `zp::for_layer<Name, zp::qconfig<...>>`: its
/// dtype, qscheme and observer. In int8 it is one table, rounded once: TFLite's QUANTIZE of codes. Where what is in front
/// has the same quantizer, both share one range, and nothing is left to do. In float it is the identity.
template <fixed_string Name> struct requantize : operator_layer<op::requantize_to, Name, operators::requantize_to> {};

}  // namespace zp::inline v0
