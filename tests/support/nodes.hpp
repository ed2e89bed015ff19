// SPDX-License-Identifier: BSD-3-Clause
// What tests ask of the nodes of a network: which operator one has, and where its floats lie.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <type_traits>

#include <zeropoint/graph/operator_info.hpp>

namespace zp_test {

constexpr bool is(const zp::node& n, const zp::operator_kind& kind) { return n.op->kind == &kind; }

inline bool is_one_of(const zp::node& n, std::span<const zp::operator_kind* const> kinds) {
    return std::find(kinds.begin(), kinds.end(), n.op->kind) != kinds.end();
}
/// Whether its bounds, fused or its own, are those of that kind of clamp.
inline bool has_clamp(const zp::node& n, const zp::operator_kind& kind) {
    return n.fused.clamp != nullptr && n.fused.clamp->kind == &kind;
}
/// The clamp or function that is fused into it; null where it has none.
constexpr const zp::operator_info* fused_into(const zp::node& n) {
    if (n.fused.lut != nullptr) return n.fused.lut;
    return n.fused.clamp == n.op ? nullptr : n.fused.clamp;
}

constexpr zp::node_view view_of(std::span<const zp::node> nodes, const zp::node& n) { return {nodes.data(), n}; }

/// The values of the i-th array of a node that keeps its parameters as floats, as they lie inside.
template <class Network> auto array_of(Network& model, const zp::node& n, int i) {
    const zp::parameter_list list = zp::parameters_of(view_of(model.rows(), n));
    auto* values = model.parameters() + n.at.parameter_offset;
    using floats = std::conditional_t<std::is_const_v<std::remove_pointer_t<decltype(values)>>, const float, float>;
    return std::span(reinterpret_cast<floats*>(values) + list.offset_of(i),
                     static_cast<std::size_t>(list.arrays[i].size()));
}

}  // namespace zp_test
