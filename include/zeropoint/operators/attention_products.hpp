// SPDX-License-Identifier: BSD-3-Clause
// Attention between its projections as one node: what permutations, two products and a softmax are together.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/attention/attention.hpp>
#include <zeropoint/kernel/attention/attention_extents.hpp>
#include <zeropoint/kernel/attention/attention_mask.hpp>
#include <zeropoint/kernel/attention/integer_attention.hpp>
#include <zeropoint/kernel/geometry/conv2d.hpp>
#include <zeropoint/operators/masked_softmax.hpp>
#include <zeropoint/operators/matmul.hpp>
#include <zeropoint/operators/mul_scalar.hpp>
#include <zeropoint/operators/permute.hpp>
#include <zeropoint/operators/softmax.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind attention{"attention"};
}
namespace operators {

/// softmax(Q K^T * factor) V of every head, for queries, keys and values of 1 x length x heads * depth each, or side by side. Keys
/// and values may be of another length than queries, and values of another depth. The factor is node::parameter, or where that is
/// 0 1 / sqrt(depth).
inline constexpr const char* attention_options[] = {"heads"};
inline constexpr operator_info attention_info = [] {
    operator_info info;
    info.kind = &op::attention;
    info.name = op::attention.name;
    info.option_names = attention_options;
    info.has_dynamic = info.any_length = info.takes_side_by_side = true;
    info.cut = cut_rule::matrices;
    return info;
}();
/// The same with a mask behind those, which has a length of its own.
inline constexpr operator_info masked_attention_info = [] {
    operator_info info = attention_info;
    info.name = "masked_attention";
    info.any_length = false;
    return info;
}();

constexpr kernel::attention_extents extents_of_attention(const node_view& v) {
    const shape& y = v.y_shape();
    const bool apart = v.n.input_count >= 3;
    const int heads = v.n.options[0], value_depth = y.channels / heads;
    return {y.width,     apart ? v.x_shape(1).width : y.width,
            heads,       apart ? v.x_shape(0).channels / heads : value_depth,
            value_depth, v.n.parameter};
}
inline constexpr operator_rules attention_rules = [] {
    operator_rules rules;
    rules.macs = [](const node_view& v) -> std::int64_t {
        const kernel::attention_extents e = extents_of_attention(v);
        return std::int64_t{e.rows} * e.columns * (e.model() + e.value_model());
    };
    return rules;
}();

/// What it reads: three values, or one of three times the channels.
inline kernel::attention_rows rows_of_attention(const node& n, const context& c) {
    const auto* queries = c.in<float>(n, 0);
    const std::ptrdiff_t values = n.out.extents.channels;
    if (n.input_count >= 3) {
        const std::ptrdiff_t model = c.view(n).x_shape(0).channels;
        return {queries, c.in<float>(n, 1), c.in<float>(n, 2), model, model, values};
    }
    return {queries, queries + values, queries + 2 * values, 3 * values, 3 * values, 3 * values};
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
    static constexpr bool is_whole = true;
    static constexpr int scratch_bytes(const node_view& v) {
        const kernel::attention_extents e = extents_of_attention(v);
        return keys_bytes(e) +
               static_cast<int>(sizeof(float)) * kernel::attention_block * kernel::padded_rows(e.columns);
    }
    static constexpr int most_scratch_bytes(const node_view& v) { return scratch_bytes(v); }
    static void run(const node& n, const context& c) noexcept {
        const kernel::attention_extents e = extents_of_attention(c.view(n));
        kernel::attention_rows x = rows_of_attention(n, c);
        const kernel::attention_mask mask = mask_of_attention(n, c);
        float* y = c.out<float>(n);
        auto* scratch = c.scratch<std::byte>(n);
        const float scale = e.factor == 0 ? 1.0f / std::sqrt(static_cast<float>(e.depth)) : e.factor;
        for (int head = 0; head != e.heads; ++head) {
            kernel::attention_head<Arch>(x, e, scale, reinterpret_cast<float*>(scratch),
                                         reinterpret_cast<float*>(scratch + keys_bytes(e)), y, e.value_model(),
                                         mask.values == nullptr ? nullptr : mask.row(head, 0), mask.row_pitch);
            x.queries += e.depth;
            x.keys += e.depth;
            x.values += e.value_depth;
            y += e.value_depth;
        }
    }

private:
    static constexpr int keys_bytes(const kernel::attention_extents& e) {
        const int floats = e.depth * kernel::padded_rows(e.columns);
        return static_cast<int>(align_up(sizeof(float) * static_cast<std::size_t>(floats)));
    }
};
/// With codes of its own for both products: see kernel/attention/integer_attention.hpp.
template <class Arch> struct integer_attention {
    using plan = kernel::integer_attention_plan<Arch>;
    static constexpr int scratch_bytes(const node_view& v) {
        return static_cast<int>(plan(extents_of_attention(v)).bytes);
    }
    static constexpr int most_scratch_bytes(const node_view& v) { return scratch_bytes(v); }
    /// Heads are computed apart. Each part looks for the scales of all queries and keys: two sweeps beside all products.
    static constexpr kernel::conv2d_cut cut(const node_view& v) {
        const kernel::attention_extents e = extents_of_attention(v);
        kernel::conv2d_cut by;
        by.panels = e.heads;
        by.panel_unit = (15 + e.value_depth) / e.value_depth;  // no two parts write to one cache line of a row
        by.repeated_by_panels = 4096 / (64 + e.columns);
        return by;
    }
    /// Not into rows, of which each part would quantize all keys and values.
    static constexpr bool computes_alike(const node_view& part, const node_view& whole) {
        return part.y_shape().width == whole.y_shape().width;
    }
    static void run(const node& n, const context& c) noexcept {
        kernel::integer_attention<Arch>(plan(extents_of_attention(c.view(n))), rows_of_attention(n, c), c.out<float>(n),
                                        c.scratch<std::byte>(n), mask_of_attention(n, c), c.panels);
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

/// What the scores of an attention are multiplied by: the product of some factors, and 1 / sqrt of channels.
struct score_factor {
    double plain = 1, channels = 1;

    /// Whether a node is one of them, which then counts.
    constexpr bool take(const node& n) {
        if (!n.fused.is_empty()) return false;
        if (std::string_view(n.op->name) == "divide_by_root") return channels *= n.out.extents.channels, true;
        if (n.op->kind != &op::mul_scalar) return false;
        plain *= static_cast<double>(n.op->options[0]) / static_cast<double>(n.op->options[1]);
        return true;
    }
    /// 0 where it is 1 / sqrt(depth) but for rounding.
    constexpr float of(int depth) const {
        const double error = plain * plain / channels * depth - 1;
        if (-1e-6 < error && error < 1e-6) return 0;
        double root = channels;
        for (int step = 0; step != 40; ++step) root = (root + channels / root) / 2;  // Newton's
        return static_cast<float>(plain / root);
    }
    /// Whether attention has a form for it.
    constexpr bool is_usable(int depth) const {
        const float factor = of(depth);
        return factor == 0 || (kernel::least_score_factor <= factor && factor <= kernel::largest_score_factor);
    }
};

/// merge_heads(softmax(split_heads(Q) split_heads(K)^T * factor) split_heads(V)), where factors may be of Q, of K and of the
/// product, and a mask be beside the scores. `last` merges the heads.
constexpr bool contract_attention(const node* nodes, int last, node& whole) {
    const auto read_by = [&](const node& n, int k) -> const node& { return nodes[n.inputs[k]]; };
    // By kinds: the records have the forms of all storages, which only a network with such rows is to instantiate.
    const auto is = [](const node& n, const operator_kind& kind) { return n.op->kind == &kind && n.fused.is_empty(); };
    const auto is_product = [&](const node& n, bool of_transposed) {
        return is(n, op::matmul) && (n.op->options[0] != 0) == of_transposed;
    };
    const node& weighted = read_by(nodes[last], 0);
    if (!is_product(weighted, false)) return false;
    const node& probabilities = read_by(weighted, 0);
    if (!is(probabilities, op::softmax)) return false;
    const bool is_masked = probabilities.input_count == 2;
    score_factor factor;
    const auto without_factors = [&](const node* n) {
        while (factor.take(*n)) n = &read_by(*n, 0);
        return n;
    };
    const node* scores = without_factors(&read_by(probabilities, 0));
    if (!is_product(*scores, true)) return false;
    const node* parts[] = {without_factors(&read_by(*scores, 0)), without_factors(&read_by(*scores, 1)),
                           &read_by(weighted, 1)};
    const int heads = weighted.out.extents.height, depth = parts[0]->out.extents.channels;
    whole = {};
    for (const node* part : parts) {
        if (std::string_view(part->op->name) != "split_heads" || part->out.extents.height != heads) return false;
        whole.inputs[whole.input_count++] = part->inputs[0];
    }
    const node& n = nodes[last];
    if (is_masked) whole.inputs[whole.input_count++] = probabilities.inputs[1];
    whole.op = is_masked ? &masked_attention_info : &attention_info;
    whole.rules = &attention_rules;
    whole.options[0] = heads;
    whole.parameter = factor.of(depth);
    whole.out = n.out;
    whole.name = n.name;
    whole.config = n.config;
    whole.from = n.from;
    whole.flags = n.flags;
    return factor.is_usable(depth) && depth <= kernel::largest_attention &&
           parts[1]->out.extents.width <= kernel::largest_attention;
}

}  // namespace operators
}  // namespace zp::inline v0
