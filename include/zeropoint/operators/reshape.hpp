// SPDX-License-Identifier: BSD-3-Clause
// PyTorch's reshape and view: the same values, read channel by channel, as an image of other extents.
#pragma once

#include <zeropoint/operators/rearrangement.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind reshape{"reshape"};
}
namespace operators {

/// The extent that is -1 in `wanted` follows from the others.
constexpr shape completed(const shape& in, shape wanted) {
    const int known = wanted.size() < 0 ? -wanted.size() : wanted.size();
    for (int* extent : {&wanted.height, &wanted.width, &wanted.channels})
        if (*extent == -1 && known != 0) *extent = in.size() / known;
    return wanted;
}

template <int Height, int Width, int Channels> struct reshape : moved_values {
    static constexpr const char* kind = "reshape";
    static constexpr int options[] = {Height, Width, Channels};

    static constexpr bool accepts(shape x) { return output_shape(x).size() == x.size(); }
    static constexpr shape output_shape(shape x) { return completed(x, {Height, Width, Channels}); }
    template <class Arch, class T> static void forward(const operands<T>& o) noexcept {
        if (o.x() != o.y()) kernel::reshape<Arch>(o.x_shape(), o.y_shape(), o.x(), o.y());
    }
};
/// One that leaves every value where it is.
template <int Height, int Width, int Channels> struct reshape_view : reshape<Height, Width, Channels> {
    static constexpr bool moves_nothing = true;
};

}  // namespace operators

/// C x H x W values, read in PyTorch's order, as an image of these extents: `x.view(N, Channels, Height, Width)`. One
/// extent may be -1. Channels last that is a permutation, which costs a copy; a view where it moves nothing, as from
/// H x W x C to W x H x C. For a vector in front of a linear layer take zp::flatten, which never moves anything.
template <int Height, int Width, int Channels> struct reshape {
    /// Whether a shape may have these extents, of which one may follow from the others.
    static constexpr bool has_extents = (Height == -1) + (Width == -1) + (Channels == -1) <= 1 && Height != 0 &&
                                        Width != 0 && Channels != 0 && Height >= -1 && Width >= -1 && Channels >= -1;
    static_assert(
        has_extents,
        "reshape<Height, Width, Channels>: extents are at least 1; one of them may be -1, and then follows from "
        "the others");
    static constexpr int nodes = 1;
    static constexpr int lower(builder& b, int x) {
        if (!has_extents) {
            b.fail(rule::told_by_itself);
            return x;
        }
        const shape in = b.nodes[x].out.extents, out = operators::completed(in, {Height, Width, Channels});
        if (in.size() == out.size() && kernel::reshape_is_view(in, out))
            return append_operator<op::reshape, operators::reshape_view<Height, Width, Channels>>(b, {&x, 1});
        return append_operator<op::reshape, operators::reshape<Height, Width, Channels>>(b, {&x, 1});
    }
};

}  // namespace zp::inline v0
