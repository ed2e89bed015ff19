// SPDX-License-Identifier: BSD-3-Clause
// What convert does row by row. Networks are data to it, and it is compiled once for all of them.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <zeropoint/core/error.hpp>
#include <zeropoint/core/function_ref.hpp>
#include <zeropoint/graph/form.hpp>
#include <zeropoint/graph/given_qparams.hpp>
#include <zeropoint/graph/lookup_tables.hpp>
#include <zeropoint/graph/row_name.hpp>
#include <zeropoint/kernel/epilogue/requantize.hpp>
#include <zeropoint/operators/fused_table.hpp>
#include <zeropoint/operators/quantize_parameters.hpp>
#include <zeropoint/operators/quantize_table.hpp>

namespace zp::inline v0 {

/// What convert had to change, one line a layer.
struct conversion_notes {
    std::vector<std::string> raised_weight_scales;  // "conv1: 2 of 16 channels": nearly no weights, but a large bias
};

/// The table of a function: entry i belongs to the i-th code of the input's storage type, from its lowest; with `bits` above 8,
/// entry i belongs to the i-th of that code's 2^(bits - 8) parts.
template <class Function>
std::vector<std::uint8_t> make_lut(Function&& function, scalar_type in, const qparams& input, const value_type& y,
                                   const qparams& output, int bits = 8) {
    std::vector<std::uint8_t> table(std::size_t{1} << bits);
    const auto fill = [&]<class In, class Out>(In, Out) {
        kernel::make_lookup_table<In>(function, input.scale, input.zero_point, output.scale, output.zero_point,
                                      y.quant_min, y.quant_max, reinterpret_cast<Out*>(table.data()), bits);
    };
    const bool in_unsigned = in == scalar_type::uint8, out_unsigned = y.storage == scalar_type::uint8;
    if (in_unsigned && out_unsigned) fill(std::uint8_t{}, std::uint8_t{});
    else if (in_unsigned) fill(std::uint8_t{}, std::int8_t{});
    else if (out_unsigned) fill(std::int8_t{}, std::uint8_t{});
    else fill(std::int8_t{}, std::int8_t{});
    return table;
}

namespace detail {
/// The function of a node, or of one that is fused into it.
struct table_function {
    const operator_rules& rules;
    float parameter;

    double operator()(double x) const { return rules.value == nullptr ? x : rules.value(x, parameter); }
};
/// Its tables, from codes of `x` to those of `y`.
template <class Function>
void add_tables(const node_view& v, const Function& function, const qparams& x, const qparams& y,
                node_parameters& parameters) {
    const node& n = v.n;
    const bool is_fused = n.fused.lut != nullptr;
    const scalar_type in = is_fused ? n.out.storage : v.x_type().storage;
    if (lut_size(v) != 0) parameters.lut = make_lut(function, in, x, n.out, y, is_fused ? n.fused.lut_bits : 8);
    if (lut_node_count(v) != 0) {
        parameters.lut_nodes.resize(kernel::table_int16_nodes);
        kernel::make_table_int16(function, x.scale, y.scale, parameters.lut_nodes.data());
    }
}
/// What makes codes of tables, for networks that have none: a type of its own, so that they share what quantizes parameters.
struct no_coded_tables {
    quantized_weights operator()(const parameter_array&, std::span<const float>) const { return {}; }
};
/// Raises value_error: what a row refuses to be packed for.
template <class = void>
[[noreturn, gnu::cold]] void raise_refusal(const std::string& layer, const node& n, const refusal& wrong) {
    std::string text = "convert: " + layer + " (" + n.op->name + "): ";
    if (wrong.found == 0) text += wrong.rule;
    else
        text += "expected " + std::string(wrong.rule) + ", found scales 2^" +
                std::to_string(std::ilogb(wrong.found / wrong.beside)) + " apart";
    if (wrong.advice != nullptr) text += std::string(": ") + wrong.advice;
    raise<value_error>(text);
}

/// A row whose parameters become codes.
struct row_to_quantize {
    node_view v, from;    // in the int8 network, and in the prepared one
    const float* floats;  // what it has there
    const parameter_quantization& how;
    std::string_view where;
    const qparams* ranges;  // of the int8 network
    std::vector<std::string>& raised;
};
using quantize_row_function = node_parameters (*)(const row_to_quantize&);

template <class Quantizer, class Arch, bool HasTables> node_parameters quantize_row(const row_to_quantize& row) {
    const auto quantize_with = [&](const auto& table) {
        return quantize_parameters<Quantizer, Arch>(row.v, row.from, row.floats, row.how, row.where, row.raised, table);
    };
    if constexpr (HasTables)
        return quantize_with([&](const parameter_array& array, std::span<const float> values) {
            const node& n = row.v.n;
            return quantize_table(row.v, array, values, n.is_float() ? qparams{} : row.ranges[n.out.qparams_id],
                                  row.where);
        });
    else return quantize_with(no_coded_tables{});
}
/// Of layers between floats that have a policy; null where the qconfig has none.
template <class Policy, class Arch, bool HasTables> constexpr quantize_row_function quantize_by_policy() {
    if constexpr (std::is_void_v<Policy>) return nullptr;
    else return &quantize_row<typename Policy::weight_quantizer, Arch, HasTables>;
}
/// A function for each entry of a qconfig, by node::config.
template <class Entries, class Arch, bool HasTables>
inline constexpr auto quantize_by_entry = []<int... I>(std::integer_sequence<int, I...>) {
    return std::array<quantize_row_function, sizeof...(I)>{
        &quantize_row<typename Entries::template entry<I>::weight, Arch, HasTables>...};
}
(std::make_integer_sequence<int, Entries::count>{});

/// What a conversion knows of two networks before they have values.
struct conversion_tables {
    std::span<const node> prepared, int8;     // rows, in execution order
    const node *prepared_loose, *int8_loose;  // the same with their rules
    const pack_function* packs;               // one a row of int8
    const quantize_row_function* by_entry;    // by node::config
    quantize_row_function dynamic, weight_only;
    // What the requantization asks of biases and scales.
    bool has_float_bias;
    double most_steps;
    double (*least_step)(double output_scale);
    /// What the observer of a prepared row says, or what goes before it; of a network that is given as a pointer.
    qparams (*observed)(const void* network, const node& n, std::string_view where, const qparams* given);
    /// Mean inputs of a prepared row; null where biases are not corrected.
    mean_inputs (*means)(const void* network, int row);
};

/// For conversions that nobody follows: a type, so that they share what a lambda of each would have.
struct visits_nothing_packed {
    void operator()(int, const node_parameters&) const {}
};

/// One conversion: from a network that was calibrated into the memory of an int8 one.
template <class = void> class conversion {
public:
    conversion_tables tables;
    const void* network;  // the calibrated one,
    const float* floats;  // its parameters
    const given_qparams& given;
    std::byte* parameters;
    qparams* ranges;
    conversion_notes& notes;
    bool* chosen;  // whether a qparams_id of the calibrated network has its range

    /// visit(row, its parameters as codes and floats) comes before they are packed.
    void run(function_ref<void(int, const node_parameters&)> visit) {
        for (const node& n : tables.int8) {
            if (!n.out.is_codes()) continue;
            choose_range(n.from.sum >= 0 ? n.from.sum : n.from.self);
            if (n.from.lut >= 0) choose_range(n.from.lut);
        }
        for (const node& n : tables.int8)
            if (n.at.parameter_bytes != 0) pack(static_cast<int>(&n - tables.int8.data()), visit);
    }

private:
    std::string name_of(const node& n) const { return display_name(tables.prepared, n.from.self); }
    const qparams& range(int id) const { return ranges[id]; }
    node_view view(int i) const { return {tables.int8.data(), tables.int8[static_cast<std::size_t>(i)]}; }

    /// The range that a node of the prepared network writes. The first node of a qparams_id is the one that made it.
    void choose_range(int i) {
        const node& n = tables.prepared_loose[i];
        const int id = n.out.qparams_id;
        if (std::exchange(chosen[id], true)) return;
        const qparams* before = given.range_of(id);
        if (before == nullptr && derives_qparams(n) && !n.flags.observed) {
            choose_range(n.inputs[0]);
            const node_view v{tables.prepared_loose, n};
            ranges[id] = n.rules->derive(v, range(v.x_type().qparams_id));
            return;
        }
        ranges[id] = tables.observed(network, n, display_name(tables.prepared, i), before);
    }

    void pack(int i, function_ref<void(int, const node_parameters&)> visit) {
        const node_view v = view(i);
        const preparation p{v, ranges, parameters + v.n.at.parameter_offset};
        node_parameters coded = quantized(v);
        visit(i, coded);
        add_luts(i, coded);
        const refusal wrong = tables.packs[i](p, coded);
        if (wrong.rule != nullptr) raise_refusal(name_of(v.n), v.n, wrong);
    }
    /// From the prepared network's floats.
    node_parameters quantized(const node_view& v) {
        const node& n = v.n;
        if (parameters_of(v).count == 0) return {};
        const node_view from{tables.prepared.data(), tables.prepared[static_cast<std::size_t>(n.from.self)]};
        const std::string where = name_of(n);
        parameter_quantization how;
        how.chosen = &given;
        how.row = n.from.self;
        mean_inputs means;
        if (n.op->multiplies && n.out.is_codes()) {
            how.x_scale = range(v.x_type().qparams_id).scale;
            how.keeps_float_bias = tables.has_float_bias;
            how.int16_inputs = v.x_type().storage == scalar_type::int16;
            set_limits(v, how);
            if (tables.means != nullptr) {
                means = tables.means(network, n.from.self);
                how.means = &means;
            }
        }
        const bool is_dynamic = tables.dynamic != nullptr && n.is_dynamic(),
                   is_weight_only = tables.weight_only != nullptr && n.is_weight_only();
        const quantize_row_function quantize = is_dynamic       ? tables.dynamic
                                               : is_weight_only ? tables.weight_only
                                                                : tables.by_entry[n.config];
        return quantize({v, from, floats + from.n.at.parameter_offset / static_cast<int>(sizeof(float)), how, where,
                         ranges, notes.raised_weight_scales});
    }
    /// Which scales and biases the node's kernel can go on from.
    void set_limits(const node_view& v, filter_quantization& how) const {
        how.most_steps = how.int16_inputs ? int64_bias_limit : tables.most_steps;
        if (how.int16_inputs) return;
        how.least_step = tables.least_step(rounded_scale(v.n, range(rounded_qparams_id(v.n))));
        if (v.n.fused.adds_input_1)
            how.least_step =
                std::max(how.least_step, kernel::least_step_of_residual(double{range(v.x_type(1).qparams_id).scale}));
    }
    /// The table of the function that a node is, or that is fused into it.
    void add_luts(int i, node_parameters& coded) const {
        const node_view v = view(i);
        const node& n = v.n;
        const bool is_fused = n.fused.lut != nullptr;
        if (!is_fused && n.op->function == nullptr) return;
        // Rules are with the stages' loose nodes: of a function that was fused, with the node it was.
        const operator_rules& rules = is_fused ? *tables.prepared_loose[n.from.lut].rules : *tables.int8_loose[i].rules;
        add_tables(v, table_function{rules, is_fused ? n.fused.lut_parameter : n.parameter},
                   range(is_fused ? n.fused.lut_qparams_id : v.x_type().qparams_id), range(n.out.qparams_id), coded);
    }
};
}  // namespace detail

}  // namespace zp::inline v0
