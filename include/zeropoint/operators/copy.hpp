// SPDX-License-Identifier: BSD-3-Clause
// Values at their places: what views and identities do where they do anything.
#pragma once

#include <cstring>

#include <zeropoint/graph/define.hpp>

namespace zp::inline v0::operators {

/// Where the output has the place of the input, as the plan shares it, nothing moves.
struct copy {
    static constexpr qparams_source range = qparams_source::of_input;
    static constexpr bool picks_values = true;
    static constexpr stream_rule stream = stream_rule::pointwise;
    static constexpr bool takes_int16 = true, takes_volumes = true, signed_by_kind = true, homogeneous = true;

    template <class T> static void forward(const operands<T>& o) noexcept {
        if (o.y() != o.x()) std::memcpy(o.y(), o.x(), static_cast<std::size_t>(o.y_shape().size()) * sizeof(T));
    }
};

}  // namespace zp::inline v0::operators
