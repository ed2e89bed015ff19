// SPDX-License-Identifier: BSD-3-Clause
// The channels of each pixel in order, all of them or the first few.
#pragma once

#include <cstddef>

#include <zeropoint/kernel/reduction/topk.hpp>
#include <zeropoint/graph/define.hpp>
#include <zeropoint/operators/rearrangement.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind sort{"sort"};
}
namespace operators {

/// K is 0 for all.
template <int K, bool Largest> struct topk {
    static constexpr const char* kind = K == 0 ? "sort" : "topk";
    static constexpr int options[] = {K, Largest};
    static constexpr qparams_source range = qparams_source::of_input;
    static constexpr bool picks_values = true;
    static constexpr stream_rule stream = stream_rule::pointwise;

    static constexpr bool accepts(shape x) { return x.channels >= K; }
    static constexpr shape output_shape(shape x) { return {x.height, x.width, K == 0 ? x.channels : K}; }
    template <class Arch, class T> static void forward(const operands<T>& o) noexcept {
        kernel::topk<Arch, Largest>(o.x(), static_cast<std::size_t>(o.x_shape().pixels()),
                                    static_cast<std::size_t>(o.x_shape().channels),
                                    static_cast<std::size_t>(o.y_shape().channels), o.y());
    }
};

}  // namespace operators

/// Which come first.
enum class sorted : bool { ascending, descending };

// Of PyTorch's results the values; their indices are not made, but for those of the largest (zp::argmax). zp::along has
// them on another axis. In int8 codes are copied.

/// The K largest of each pixel's channels, the largest first, or with sorted::ascending the smallest, the smallest first.
template <int K, sorted Order = sorted::descending>
struct topk : operator_layer<op::sort, "", operators::topk<operators::at_least_one(K), Order == sorted::descending>> {
    static_assert(K >= 1, "topk<K, Order>: K must be at least 1, and at most the channels of what goes in");
};
/// Each pixel's channels in order.
template <sorted Order = sorted::ascending>
struct sort : operator_layer<op::sort, "", operators::topk<0, Order == sorted::descending>> {};

}  // namespace zp::inline v0
