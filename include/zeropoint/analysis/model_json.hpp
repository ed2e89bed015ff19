// SPDX-License-Identifier: BSD-3-Clause
// A stage as JSON: its nodes as they are in the table, and the tensors of its files. For exporters, and for programs that write
// int8 files by other means. docs/files.md has the keys.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <zeropoint/graph/ports.hpp>
#include <zeropoint/io/json_writer.hpp>
#include <zeropoint/io/tensors_in_file.hpp>

namespace zp::inline v0 {
namespace detail {

/// Writes nodes. It asks records alone: no operator is known to it by name.
class node_json {
public:
    explicit node_json(json_writer& json) : json_(json) {}

    void add(const node_view& v, const std::vector<tensor_in_file>& tensors, int number) {
        const node& n = v.n;
        json_.open_object();
        json_.member("name", n.name);
        json_.key("op");
        add_operator(*n.op);
        json_.array("inputs", std::span(n.inputs, static_cast<std::size_t>(n.input_count)));
        add_options(n);
        json_.key("out");
        add_value(n.out);
        if (n.weights.count != 0) add_weights(n.weights);
        if (n.is_dynamic()) json_.member("is_dynamic", true);
        if (n.is_weight_only()) json_.member("is_weight_only", true);
        if (!n.fused.is_empty()) add_epilogue(n);
        if (n.parameter != 0) json_.member("parameter", n.parameter);
        if (n.requantized_inputs != 0) {
            json_.key("requantized_inputs");
            json_.open_array();
            for (int k = 0; k != n.input_count; ++k)
                if ((n.requantized_inputs >> k & 1) != 0) json_.value(k);
            json_.close_array();
        }
        add_flags(n);
        add_states(v);
        add_bound(v);
        json_.key("tensors");
        json_.open_array();
        for (std::size_t i = 0; i != tensors.size(); ++i)
            if (tensors[i].node == number) json_.value(i);
        json_.close_array();
        json_.close_object();
    }
    void add_extents(const char* name, const shape& s) {
        json_.array(name, std::vector<int>{s.depth, s.height, s.width, s.channels});
    }

private:
    void add_operator(const operator_info& op) {
        json_.open_object();
        json_.member("kind", op.kind->name);
        json_.member("name", op.name);
        if (!op.options.empty()) json_.array("options", op.options);
        if (op.function != nullptr) {
            json_.member("is_function", true);
            if (!op.function->constants.empty()) json_.array("constants", op.function->constants);
        }
        if (op.range == qparams_source::known) {
            json_.member("output_min", op.output_min);
            json_.member("output_max", op.output_max);
        }
        const char* ranges[] = {"observed", "of_input", "derived", "known"};
        json_.member("range", ranges[static_cast<int>(op.range)]);
        const std::pair<const char*, bool> traits[] = {
            {"is_input", op.is_input},        {"is_output", op.is_output},     {"is_boundary", op.is_boundary},
            {"to_float", op.to_float},        {"elementwise", op.elementwise}, {"moves_nothing", op.moves_nothing},
            {"picks_values", op.picks_values}};
        for (const auto& [name, is_true] : traits)
            if (is_true) json_.member(name, true);
        json_.close_object();
    }
    /// Those of a clamp are in its epilogue.
    void add_options(const node& n) {
        if (n.op->option_names.empty() || n.op == n.fused.clamp) return;
        json_.object("options", [&] {
            const auto& names = n.op->option_names;
            for (std::size_t i = 0; i != names.size(); ++i) json_.member(names[i], n.options[i]);
        });
    }
    void add_value(const value_type& value) {
        json_.open_object();
        add_extents("extents", value.extents);
        if (value.flattened.size() != 0) add_extents("flattened", value.flattened);
        json_.member("storage", zp::name_of(value.storage));
        if (value.is_codes()) {
            json_.member("quant_min", value.quant_min);
            json_.member("quant_max", value.quant_max);
        }
        if (value.qparams_id >= 0) json_.member("qparams_id", value.qparams_id);
        json_.close_object();
    }
    void add_weights(const weight_type& w) {
        json_.object("weights", [&] {
            json_.member("storage", zp::name_of(w.storage));
            json_.member("products", zp::name_of(w.products));
            json_.member("count", w.count);
            json_.member("channels", w.channels);
            json_.member("has_bias", w.has_bias);
            if (w.storage == scalar_type::float32) return;
            json_.member("affine", w.affine);
            json_.member("quant_min", w.quant_min);
            json_.member("quant_max", w.quant_max);
            json_.member("group", w.group);
        });
    }
    void add_epilogue(const node& n) {
        const epilogue& fused = n.fused;
        json_.key("fused");
        json_.open_object();
        if (fused.clamp != nullptr) {
            json_.member("clamp", fused.clamp->name);
            json_.member("lowest", fused.lowest);
            json_.member("highest", fused.highest);
        }
        if (fused.lut != nullptr) {
            json_.key("function");
            add_operator(*fused.lut);
            json_.member("function_parameter", fused.lut_parameter);
            json_.member("table_qparams_id", fused.lut_qparams_id);
            json_.member("table_bits", int{fused.lut_bits});
        }
        if (fused.adds_input_1) json_.member("adds_input_1", true);
        if (fused.function != nullptr) json_.member("float_function", fused.function->name);
        json_.close_object();
    }
    void add_flags(const node& n) {
        const node_flags& flags = n.flags;
        if (flags.keep_float) json_.member("keep_float", true);
        if (flags.keeps_state) json_.member("keeps_state", true);
        if (flags.unshared) json_.member("unshared", true);
        if (flags.port_codes) json_.member("port_codes", true);
    }
    void add_states(const node_view& v) {
        const state_list states = states_of(v);
        if (states.count == 0) return;
        json_.objects("states", std::span(states.arrays, static_cast<std::size_t>(states.count)),
                      [&](const auto& state) {
                          json_.member("name", state.name);
                          json_.member("storage", zp::name_of(state.storage));
                          json_.member("size", state.size);
                      });
    }
    void add_bound(const node_view& v) {
        if (v.n.op->bound == nullptr) return;
        const index_bound bound = v.n.op->bound(v);
        json_.object("indices", [&] {
            json_.member("first", bound.first);
            json_.member("count", bound.count);
            json_.member("below", bound.rows);
        });
    }

    json_writer& json_;
};

template <class Ports> void add_ports(json_writer& json, const char* name, const Ports& ports) {
    json.objects(name, ports, [&](const port& p) {
        json.member("name", p.name);
        node_json(json).add_extents("extents", p.extents);
        json.member("storage", zp::name_of(p.storage));
        json.member("node", p.node);
    });
}
inline void add_tensors(json_writer& json, const std::vector<tensor_in_file>& tensors) {
    json.rows("tensors", tensors, [&](const tensor_in_file& t) {
        json.member("name", t.name);
        json.member("dtype", zp::name_of(t.dtype));
        json.array("shape", t.shape);
        json.member("node", t.node);
        json.member("array", t.array);
        if (t.part[0] != 0) json.member("part", t.part);
    });
}
/// What a stage's file says of it: its format, what signs it, and the names of its policies.
template <class Stage> void add_format(json_writer& json) {
    json.member("format", int8_stage<Stage> ? "zeropoint.int8" : "pt");
    if constexpr (int8_stage<Stage>) {
        json.member("format_version", int8_format_version);
        json.member("arithmetic", Stage::arithmetic);
        if constexpr (requires { Stage::written; })
            json.member("signature", signature_text(signature_of(Stage::written, Stage::arithmetic)));
        else json.member("signature", signature_text(signature_of(Stage::loose, Stage::arithmetic)));
    }
    if constexpr (has_ranges<Stage>) json.member("requantization", Stage::policies::requantization::name);
}
template <class Stage> std::string stage_json(std::span<const qparams> ranges) {
    constexpr const auto& nodes = Stage::loose;
    const std::vector<tensor_in_file> tensors = tensors_in_file<Stage>();
    json_writer json;
    json.open_object();
    add_format<Stage>(json);
    json.member("qparams_count", nodes.qparams_count);
    add_ports(json, "inputs", inputs_of<input_count(nodes)>(nodes));
    add_ports(json, "outputs", outputs_of<output_count(nodes)>(nodes));
    json.key("nodes");
    json.open_array();
    for (int i = 0; i != nodes.size; ++i) {
        json.new_line();
        node_json(json).add(nodes.view(i), tensors, i);
    }
    json.close_array();
    add_tensors(json, tensors);
    if (!ranges.empty())
        json.objects("ranges", ranges, [&](const qparams& range) {
            json.member("scale", range.scale);
            json.member("zero_point", range.zero_point);
        });
    json.close_object();
    return json.text() + "\n";
}

}  // namespace detail

/// The nodes of a stage, its ports, and the tensors of its files, as JSON: zp::quantized<Net, QConfig>::stage, a float or a
/// dynamic one. No network is needed, and no kernel is instantiated.
template <class Stage> std::string to_json() { return detail::stage_json<Stage>({}); }
/// The same with the network's scales and zero points, where it has such.
template <class Stage> std::string to_json(const network<Stage>& model) {
    if constexpr (detail::has_ranges<Stage>)
        return detail::stage_json<Stage>({model.ranges(), static_cast<std::size_t>(Stage::loose.qparams_count)});
    else return detail::stage_json<Stage>({});
}

}  // namespace zp::inline v0
