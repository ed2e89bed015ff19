// A change of the grid in the middle of a network: to another dtype, or to a range observed there.
#pragma once

#include <cstddef>
#include <cstring>

#include <zeropoint/layer/operation.hpp>

namespace zp {
inline namespace v0 {
namespace operators {

/// On one grid, as a concat is, so that a table stands in front of it that brings its input there.
struct requantize {
    static constexpr const char* kind = "requantize_to";
    static constexpr bool on_one_grid = true, has_own_range = true;
    static constexpr bool elementwise = true, moves_nothing = true, takes_words = true;

    static constexpr shape output_shape(shape x) { return x; }
    template <class Arch, class T> static void forward(const operands<T>& o) noexcept {
        if (o.y() != o.x()) std::memcpy(o.y(), o.x(), static_cast<std::size_t>(o.y_shape().size()) * sizeof(T));
    }
};

}  // namespace operators

/// The same values under the quantizer that the qconfig has for this layer, `zp::for_layer<Name, zp::qconfig<...>>`: its
/// dtype, qscheme and observer. The range is its own, of the values that it sees, whatever is in front and behind. In int8
/// it is one table, rounded once: TFLite's QUANTIZE of codes. In float it is the identity.
template <fixed_string Name> struct requantize : operator_layer<op::requantize_to, Name, operators::requantize> {};

}  // namespace v0
}  // namespace zp
