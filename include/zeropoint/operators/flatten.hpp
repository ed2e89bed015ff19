// SPDX-License-Identifier: BSD-3-Clause
// An image to a vector.
#pragma once

#include <zeropoint/operators/copy.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind flatten{"flatten"};
}
namespace operators {

inline constexpr operator_info flatten = [] {
    operator_info info = detail::make_info<copy>(op::flatten);
    info.is_view = true;
    info.stream = stream_rule::whole;
    return info;
}();

}  // namespace operators

template <> struct forms_of<op::flatten> : forms_by_storage<operators::copy> {};

constexpr int builder::flatten(int x) {
    node n = unary(operators::flatten, keyed_rules_of<operators::copy>, x, "");
    const value_type& image = nodes[x].out;
    n.out.flattened = image.is_flattened_image() ? image.flattened : image.extents;
    n.out.extents = {1, 1, image.extents.size()};
    return append(n);
}

/// An image to a vector. The values keep their order in memory; a linear layer behind it takes its columns, which
/// PyTorch numbers channel by channel, in that order when it is loaded.
struct flatten {
    static constexpr int nodes = 1;
    static constexpr int lower(builder& b, int x) { return b.flatten(x); }
};

}  // namespace zp::inline v0
