// SPDX-License-Identifier: BSD-3-Clause
// Attention between its projections as one node: what permutations, two products and a softmax are together.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/attention/attention.hpp>
#include <zeropoint/kernel/attention/attention_mask.hpp>
#include <zeropoint/kernel/attention/integer_attention.hpp>
#include <zeropoint/operators/masked_softmax.hpp>
#include <zeropoint/operators/matmul.hpp>
#include <zeropoint/operators/mul_scalar.hpp>
#include <zeropoint/operators/permute.hpp>
#include <zeropoint/operators/softmax.hpp>

namespace zp {
inline namespace v0 {
namespace op {
inline constexpr operator_kind attention{"attention"};
}
namespace operators {

/// softmax(Q K^T / sqrt(depth)) V of every head, for queries, keys and values of 1 x length x heads * depth each, or side by side.
inline constexpr const char* attention_options[] = {"heads"};
inline constexpr operator_info attention_info = [] {
    operator_info info;
    info.kind = &op::attention;
    info.name = op::attention.name;
    info.option_names = attention_options;
    info.has_dynamic = info.any_length = info.takes_side_by_side = true;
    return info;
}();
/// The same with a mask behind those, which has a length of its own.
inline constexpr operator_info masked_attention_info = [] {
    operator_info info = attention_info;
    info.name = "masked_attention";
    info.any_length = false;
    return info;
}();
inline constexpr operator_rules attention_rules = [] {
    operator_rules rules;
    rules.macs = [](const node_view& v) -> std::int64_t {
        return std::int64_t{2} * v.y_shape().size() * v.y_shape().width;
    };
    return rules;
}();

/// The extents of a node's attention.
struct attention_extents {
    int rows, heads, depth, model;
    constexpr explicit attention_extents(const node_view& v)
        : rows(v.y_shape().width),
          heads(v.n.options[0]),
          depth(v.y_shape().channels / heads),
          model(v.y_shape().channels) {}
};
/// What it reads: three values, or one of three times the channels.
inline kernel::attention_rows rows_of_attention(const node& n, const context& c) {
    const auto* queries = c.in<float>(n, 0);
    const std::ptrdiff_t model = n.out.extents.channels;
    if (n.input_count >= 3) return {queries, c.in<float>(n, 1), c.in<float>(n, 2), model};
    return {queries, queries + model, queries + 2 * model, 3 * model};
}
/// And its mask, the last of them.
inline kernel::attention_mask mask_of_attention(const node& n, const context& c) {
    if (n.op != &masked_attention_info) return {};
    const int last = n.input_count - 1;
    const shape& m = c.view(n).x_shape(last);
    return {c.in<float>(n, last), m.width == 1 ? 0 : std::ptrdiff_t{m.channels},
            m.height == 1 ? 0 : std::ptrdiff_t{m.width} * m.channels};
}

/// In float, an order of sums that depends on no row beyond those there are.
template <class Arch> struct float_attention {
    static constexpr int scratch_bytes(const node_view& v) {
        const attention_extents e(v);
        return keys_bytes(e) + static_cast<int>(sizeof(float)) * kernel::attention_block * kernel::padded_rows(e.rows);
    }
    static constexpr int most_scratch_bytes(const node_view& v) { return scratch_bytes(v); }
    static void run(const node& n, const context& c) noexcept {
        const attention_extents e(c.view(n));
        const kernel::attention_rows x = rows_of_attention(n, c);
        const kernel::attention_mask mask = mask_of_attention(n, c);
        float* y = c.out<float>(n);
        auto* scratch = c.scratch<std::byte>(n);
        const float scale = 1.0f / std::sqrt(static_cast<float>(e.depth));
        for (int first = 0, head = 0; first != e.model; first += e.depth, ++head)
            kernel::attention_head<Arch>(x.queries + first, x.keys + first, x.values + first, x.pitch, e.rows, e.depth,
                                         scale, reinterpret_cast<float*>(scratch),
                                         reinterpret_cast<float*>(scratch + keys_bytes(e)), y + first, e.model,
                                         mask.values == nullptr ? nullptr : mask.row(head, 0), mask.row_pitch);
    }

private:
    static constexpr int keys_bytes(const attention_extents& e) {
        const int floats = e.depth * kernel::padded_rows(e.rows);
        return static_cast<int>(align_up(sizeof(float) * static_cast<std::size_t>(floats)));
    }
};
/// With codes of its own for both products: see kernel/attention/integer_attention.hpp.
template <class Arch> struct integer_attention {
    static constexpr int scratch_bytes(const node_view& v) {
        const attention_extents e(v);
        return static_cast<int>(kernel::integer_attention_plan<Arch>(e.rows, e.heads, e.depth).bytes);
    }
    static constexpr int most_scratch_bytes(const node_view& v) { return scratch_bytes(v); }
    static void run(const node& n, const context& c) noexcept {
        const attention_extents e(c.view(n));
        kernel::integer_attention<Arch>(kernel::integer_attention_plan<Arch>(e.rows, e.heads, e.depth),
                                        rows_of_attention(n, c), c.out<float>(n), c.scratch<std::byte>(n),
                                        mask_of_attention(n, c));
    }
};

}  // namespace operators

template <> struct forms_of<op::attention> {
    static constexpr bool is_keyed = true;
    static constexpr bool key(const node_view& v) { return v.n.is_dynamic(); }
    template <bool IsDynamic, class Arch, class>
    using form = std::conditional_t<IsDynamic, operators::integer_attention<Arch>, operators::float_attention<Arch>>;
};

namespace operators {

/// merge_heads(softmax(split_heads(Q) split_heads(K)^T / sqrt(depth)) split_heads(V)), where the division may be of Q or of
/// the product, and a mask be beside the scores. `last` merges the heads.
constexpr bool contract_attention(const node* nodes, int last, node& whole) {
    const auto read_by = [&](const node& n, int k) -> const node& { return nodes[n.inputs[k]]; };
    const auto is = [](const node& n, const operator_info& info) { return n.op == &info && n.fused.is_empty(); };
    const auto is_named = [](const node& n, const char* name) { return std::string_view(n.op->name) == name; };
    const node& weighted = read_by(nodes[last], 0);
    if (!is(weighted, info_of<matmul<false>, op::matmul>)) return false;
    const node& probabilities = read_by(weighted, 0);
    const bool is_masked = is(probabilities, info_of<masked_softmax, op::softmax>);
    if (!is_masked && !is(probabilities, info_of<softmax, op::softmax>)) return false;
    const int depth = weighted.out.extents.channels;
    int divisions = 0;
    // Whether a node divides by the root of the depth: a factor that is that but for its rounding.
    const auto divides = [&](const node& n) {
        if (is_named(n, "divide_by_root")) return ++divisions, true;
        if (n.op->kind != &op::mul_scalar) return false;
        const double factor = static_cast<double>(n.op->options[0]) / static_cast<double>(n.op->options[1]);
        const double error = factor * factor * depth - 1;
        return ++divisions, -1e-6 < error && error < 1e-6;
    };
    const node* scores = &read_by(probabilities, 0);
    if (divides(*scores)) scores = &read_by(*scores, 0);
    if (!is(*scores, info_of<matmul<true>, op::matmul>)) return false;
    const node* heads[] = {&read_by(*scores, 0), &read_by(*scores, 1), &read_by(weighted, 1)};
    if (divides(*heads[0])) heads[0] = &read_by(*heads[0], 0);
    if (divisions != 1) return false;
    whole = {};
    for (const node* part : heads) {
        if (!is_named(*part, "split_heads") || part->out.extents != weighted.out.extents) return false;
        whole.inputs[whole.input_count++] = part->inputs[0];
    }
    const node& n = nodes[last];
    if (is_masked) whole.inputs[whole.input_count++] = probabilities.inputs[1];
    whole.op = is_masked ? &masked_attention_info : &attention_info;
    whole.rules = &attention_rules;
    whole.options[0] = weighted.out.extents.height;
    whole.out = n.out;
    whole.name = n.name;
    whole.config = n.config;
    whole.from = n.from;
    whole.flags = n.flags;
    return depth <= kernel::largest_attention;
}

}  // namespace operators
}  // namespace v0
}  // namespace zp
