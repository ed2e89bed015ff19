// SPDX-License-Identifier: BSD-3-Clause
// Values between channels and pixels: pixel_shuffle, its inverse, TFLite's forms of both, and channel_shuffle.
#pragma once

#include <zeropoint/operators/rearrangement.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind pixel_shuffle{"pixel_shuffle"}, pixel_unshuffle{"pixel_unshuffle"},
    channel_shuffle{"channel_shuffle"};
}
namespace operators {

template <int Factor> struct pixel_shuffle : rearrangement<pixel_shuffle<Factor>> {
    static constexpr const char* kind = "pixel_shuffle";
    static constexpr int options[] = {Factor};
    static constexpr bool accepts(shape x) { return x.channels % (Factor * Factor) == 0; }
    static constexpr shape output_shape(shape x) { return kernel::pixel_shuffled_shape(x, Factor); }
    static constexpr kernel::box_copy copy(const shape& x) { return kernel::pixel_shuffle_copy(x, Factor); }
};
template <int Factor> struct pixel_unshuffle : rearrangement<pixel_unshuffle<Factor>> {
    static constexpr const char* kind = "pixel_unshuffle";
    static constexpr int options[] = {Factor};
    static constexpr bool accepts(shape x) { return x.height % Factor == 0 && x.width % Factor == 0; }
    static constexpr shape output_shape(shape x) { return kernel::pixel_unshuffled_shape(x, Factor); }
    static constexpr kernel::box_copy copy(const shape& x) { return kernel::pixel_unshuffle_copy(x, Factor); }
};
template <int Factor> struct depth_to_space : pixel_shuffle<Factor> {
    static constexpr const char* kind = "depth_to_space";
    template <class Arch, class T> static void forward(const operands<T>& o) noexcept {
        kernel::copy_box<Arch>(kernel::depth_to_space_copy(o.x_shape(), Factor), o.x(), o.y());
    }
};
template <int Factor> struct space_to_depth : pixel_unshuffle<Factor> {
    static constexpr const char* kind = "space_to_depth";
    template <class Arch, class T> static void forward(const operands<T>& o) noexcept {
        kernel::copy_box<Arch>(kernel::space_to_depth_copy(o.x_shape(), Factor), o.x(), o.y());
    }
};

template <int Groups> struct channel_shuffle : rearrangement<channel_shuffle<Groups>> {
    static constexpr const char* kind = "channel_shuffle";
    static constexpr int options[] = {Groups};
    static constexpr bool accepts(shape x) { return x.channels % Groups == 0; }
    static constexpr shape output_shape(shape x) { return x; }
    static constexpr kernel::box_copy copy(const shape& x) { return kernel::channel_shuffle_copy(x, Groups); }
};

}  // namespace operators

/// H x W x C to H * Factor x W * Factor x C / Factor^2, as PyTorch's. Factor^2 must divide the channels.
template <int Factor>
struct pixel_shuffle
    : operator_layer<op::pixel_shuffle, "", operators::pixel_shuffle<operators::at_least_one(Factor)>> {
    static_assert(Factor >= 1, "pixel_shuffle<Factor>: Factor must be at least 1");
};
/// The inverse. Factor must divide height and width.
template <int Factor>
struct pixel_unshuffle
    : operator_layer<op::pixel_unshuffle, "", operators::pixel_unshuffle<operators::at_least_one(Factor)>> {
    static_assert(Factor >= 1, "pixel_unshuffle<Factor>: Factor must be at least 1");
};
/// TFLite's DEPTH_TO_SPACE: as pixel_shuffle, but the parts of a pixel's channels that become its pixels lie one behind
/// the other, where pixel_shuffle takes every Factor^2-th.
template <int Factor>
struct depth_to_space
    : operator_layer<op::pixel_shuffle, "", operators::depth_to_space<operators::at_least_one(Factor)>> {
    static_assert(Factor >= 1, "depth_to_space<Factor>: Factor must be at least 1");
};
/// TFLite's SPACE_TO_DEPTH, the inverse of depth_to_space.
template <int Factor>
struct space_to_depth
    : operator_layer<op::pixel_unshuffle, "", operators::space_to_depth<operators::at_least_one(Factor)>> {
    static_assert(Factor >= 1, "space_to_depth<Factor>: Factor must be at least 1");
};
/// The channels, seen as a [Groups][C / Groups] matrix, transposed, as PyTorch's. Groups must divide the channels.
template <int Groups>
struct channel_shuffle
    : operator_layer<op::channel_shuffle, "", operators::channel_shuffle<operators::at_least_one(Groups)>> {
    static_assert(Groups >= 1, "channel_shuffle<Groups>: Groups must be at least 1");
};

}  // namespace zp::inline v0
