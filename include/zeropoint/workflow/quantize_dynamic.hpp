// SPDX-License-Identifier: BSD-3-Clause
// quantize_dynamic: int8 weights beforehand, activations quantized as they come, or not at all. No calibration; activations
// stay floats between layers.
#pragma once

#include <cstddef>
#include <string>
#include <tuple>
#include <vector>

#include <zeropoint/operators/dynamic_group_policy.hpp>
#include <zeropoint/operators/dynamic_policy.hpp>
#include <zeropoint/operators/quantize_parameters.hpp>
#include <zeropoint/operators/integer_weights.hpp>
#include <zeropoint/operators/quantize_table.hpp>
#include <zeropoint/operators/weight_only_policy.hpp>
#include <zeropoint/pass/contract.hpp>
#include <zeropoint/workflow/fuse.hpp>
#include <zeropoint/workflow/qconfig_entries.hpp>

namespace zp::inline v0 {

/// Which layers int8 weights are worth it for: those with so many products that two sweeps over the inputs, for their range
/// and for their codes, and one over the outputs are little beside them.
///
/// A rule of the user's has the same member: null for a layer to take, else a sentence for tables.
struct default_cost_rule {
    static constexpr const char* why_float(const node_view& v) {
        const operator_info& op = *v.n.op;
        if (op.state_values != 0 && op.state_values < 32) return "stays float32: fewer than 32 values of state";
        const bool has_weights = v.n.weights.count != 0;
        if ((op.multiplies || !has_weights) && macs_of(v) / v.y_shape().size() < 32)
            return "stays float32: fewer than 32 products an output";
        if (!has_weights) return nullptr;
        if (op.multiplies && v.y_shape().channels < 16) return "stays float32: fewer than 16 outputs";
        return v.n.weights.count < 4096 ? "stays float32: fewer than 4096 weights" : nullptr;
    }
};
/// Takes whatever has a dynamic form.
struct quantize_every_layer {
    static constexpr const char* why_float(const node_view&) { return nullptr; }
};

/// How a model is quantized dynamically: dtypes and schemes, zp::dynamic_policy<...>, with 4-bit weights in linear layers,
/// zp::dynamic_group_policy<...>, or of weights alone, zp::weight_only_policy<...>; a cost rule; and keep_float<"name">, keep_float_type<op> or
/// embedding_bits<bits>, without which tables of embeddings stay float32.
template <class Policy = dynamic_policy<>, class CostRule = default_cost_rule, class... Options>
struct dynamic_qconfig {
    static_assert(
        requires { typename Policy::weight_quantizer; },
        "dynamic_qconfig<Policy, CostRule, Options...>: the first argument must be a zp::dynamic_policy<...>, a "
        "zp::dynamic_group_policy<...> or a zp::weight_only_policy<...>");
    static_assert(
        requires(const node_view& v) { CostRule::why_float(v); },
        "dynamic_qconfig<Policy, CostRule, Options...>: CostRule must have `static constexpr const char* "
        "why_float(const zp::node_view&)`, as zp::default_cost_rule has");
    static_assert((... && (std::is_base_of_v<qconfig_option, Options> &&
                           ((Options::floats && std::is_void_v<typename Options::integer_weights>) ||
                            embedding_bits_in<Options> != 0))),
                  "dynamic_qconfig<Policy, CostRule, Options...>: options are zp::keep_float<\"name\">, "
                  "zp::keep_float_type<op> and zp::embedding_bits<bits>");
    using policy = Policy;
    using cost_rule = CostRule;
    using options = std::tuple<Options...>;
};

namespace detail {
template <class Config> concept is_dynamic_qconfig = requires {
    typename Config::policy;
    typename Config::cost_rule;
    typename Config::options;
};
template <class Config> struct dynamic_qconfig_that_is_none {
    static_assert(
        is_dynamic_qconfig<Config>,
        "Config must be a zp::dynamic_qconfig<policy, cost rule, options...>, such as zp::int4_dynamic_qconfig: a "
        "zp::qconfig<...>, such as zp::default_qconfig, is for zp::prepare and zp::quantized");
};
}  // namespace detail
/// The qconfig, or another one where it is none, so that one error is all there is.
template <class Config>
using checked_dynamic_qconfig = std::conditional_t<detail::is_dynamic_qconfig<Config>, Config, dynamic_qconfig<>>;

/// Of what is quantized dynamically, and why the rest stays float.
template <class Config> constexpr const char* why_float(const node_view& v) {
    using entries = detail::entries_of<Config, typename Config::options>;
    const node& n = v.n;
    const bool has_table = reads_no_values(n) && n.op->keeps_codes;
    const char* no_form = operators::why_no_integer_weights<typename Config::policy>(n);
    if (!has_table && no_form != nullptr && *no_form == 0) return no_form;
    if (n.flags.outside_stubs) return "stays float32: outside of the stubs";
    if (entries::choose(n) < 0) return "stays float32: as the qconfig says";
    if (has_table && !codes_embeddings<typename Config::options>)
        return "stays float32: no zp::embedding_bits in the qconfig";
    if (!has_table && no_form != nullptr) return no_form;
    return Config::cost_rule::why_float(v);
}

template <class Net, class Config, class Arch> struct dynamic_nodes {
    using net = Net;
    using config = checked_dynamic_qconfig<Config>;
    using architecture = Arch;
    using policy = typename config::policy;
    static constexpr bool has_floats = weights_alone<policy>;
    using policies = stage_policies<void, std::conditional_t<has_floats, void, policy>,
                                    std::conditional_t<has_floats, policy, void>>;
    using entries = detail::entries_of<config, typename config::options>;
    static_assert(sizeof(detail::dynamic_qconfig_that_is_none<Config>) != 0);
    static_assert(sizeof(verdict<source<Net>>) != 0 && sizeof(names_of_qconfig<Net, config, Arch, entries>) != 0);
    static constexpr const char* arithmetic = has_floats           ? "weight only"
                                              : policy::is_per_row ? "dynamic per row"
                                                                   : "dynamic per tensor";
    static constexpr const char* why_float(const node_view& v) { return zp::why_float<config>(v); }
    /// Node by node what the float network has: files are signed by these.
    static constexpr auto written = [] {
        auto g = fused_nodes<Net, Arch>::loose;
        for (int i = 0; i != g.size; ++i) {
            node& n = g.nodes[i];
            const bool is_quantized = why_float(g.view(i)) == nullptr;
            n.from = {};
            n.from.self = static_cast<short>(i);
            if (!is_quantized) continue;
            if (reads_no_values(n)) make_coded_table(n, embedding_bits_of<config>);
            else operators::make_integer_weights<policy, Arch>(g.nodes, n);
        }
        return g;
    }();
    /// Nodes that are an operator with products together, where the policy has a form of it in int8.
    static constexpr auto wide = merge_epilogues(
        contract_nodes(written, [](const graph<written.size>& g, int last, node& whole, const auto& inner) {
            if (!has_int8_attention<policy>) return false;
            for (int i = 0; i != last; ++i)
                if (inner[i] && entries::choose(g.nodes[i]) < 0) return false;
            whole.from.self = static_cast<short>(last);
            if (why_float({g.nodes, whole}) != nullptr) return false;
            operators::make_integer_weights<policy, Arch>(g.nodes, whole);
            return true;
        }));
    static constexpr auto loose = shrink<wide.size>(wide);
};

template <class Net, class Config, class Arch = default_architecture>
using dynamic_stage = stage<dynamic_nodes<Net, Config, Arch>>;

/// The dynamically quantized type of a float model.
template <class Net, class Config = dynamic_qconfig<>, class Arch = default_architecture>
using dynamically_quantized = network<dynamic_stage<Net, Config, Arch>>;

namespace detail {
/// floats_of(row of the fused network) are its parameters, as that has them; only until the next row is asked for.
template <class From, class Network, class FloatsOf>
void quantize_each_row(Network& result, const FloatsOf& floats_of) {
    using to = typename Network::stage;
    std::vector<std::string> raised;  // stays empty: only an integer bias can ask for it
    for (int i = 0; i != to::table.size; ++i) {
        const node_view v = to::table.view(i);
        if (v.n.at.parameter_bytes == 0) continue;
        const node_view from = From::table.view(v.n.from.self);
        const std::string where = display_name(from.n, v.n.from.self);
        const preparation p{v, result.ranges(), result.parameters() + v.n.at.parameter_offset};
        const auto table = [&](const parameter_array& array, std::span<const float> values) {
            if constexpr (any_coded_table(to::table.nodes, to::table.size))
                return quantize_table(v, array, values, {}, where);
            else return static_cast<void>(array), static_cast<void>(values), quantized_weights{};
        };
        to::packs[static_cast<std::size_t>(i)](
            p, quantize_parameters<typename to::policy::weight_quantizer, typename to::architecture>(
                   v, from, floats_of(from), {}, where, raised, table));
    }
}
}  // namespace detail

/// Linear layers, LSTM, GRU, RNN and convolutions with int8 weights, which quantize their inputs in each call: PyTorch's
/// quantize_dynamic. A convolution, transposed or over a volume too, has one symmetric range an image, whatever the policy's
/// scheme for activations, a recurrent layer a range a step. Tables of embeddings stay floats, as PyTorch's, or under
/// zp::embedding_bits have codes, with a scale and an offset a row. Under a zp::weight_only_policy linear and recurrent layers
/// have int8 or 4-bit weights, which are multiplied with the floats as they are, and convolutions stay floats. All other layers,
/// and those that the cost rule finds too small, stay as they are. Raises calibration_error, with the layer's name, where weights
/// are not finite.
template <class Config = dynamic_qconfig<>, class Net, class Arch>
dynamically_quantized<Net, Config, Arch> quantize_dynamic(const fused<Net, Arch>& model) {
    dynamically_quantized<Net, Config, Arch> result;
    detail::quantize_each_row<fused_stage<Net, Arch>>(result, [&](const node_view& from) {
        return reinterpret_cast<const float*>(model.parameters() + from.n.at.parameter_offset);
    });
    return result;
}
/// The same, fused first.
template <class Config = dynamic_qconfig<>, class Net, class Arch>
dynamically_quantized<Net, Config, Arch> quantize_dynamic(const float_model<Net, Arch>& model) {
    return quantize_dynamic<Config>(fuse(model));
}

}  // namespace zp::inline v0
