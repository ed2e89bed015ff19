// SPDX-License-Identifier: BSD-3-Clause
// What the operators that move values and change none have in common: codes keep their scale and zero point.
#pragma once

#include <zeropoint/kernel/movement/rearrange.hpp>
#include <zeropoint/graph/axis.hpp>
#include <zeropoint/graph/define.hpp>

namespace zp::inline v0::operators {

/// Each value of the output is one of the input.
struct moved_values {
    static constexpr qparams_source range = qparams_source::of_input;
    static constexpr bool picks_values = true, takes_int16 = true;
};
/// An operator that is one copy of a box: Operator::copy(input shape) says which.
template <class Operator> struct rearrangement : moved_values {
    template <class Arch, class T> static void forward(const operands<T>& o) noexcept {
        kernel::copy_box<Arch>(Operator::copy(o.x_shape().as_image()), o.x(), o.y());
    }
};

}  // namespace zp::inline v0::operators
