// SPDX-License-Identifier: BSD-3-Clause
// convert: the int8 network from what calibration has seen. The float weights stay behind.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <zeropoint/graph/lookup_tables.hpp>
#include <zeropoint/operators/quantize_parameters.hpp>
#include <zeropoint/operators/quantize_table.hpp>
#include <zeropoint/workflow/calibrate.hpp>

namespace zp {
inline namespace v0 {

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

/// Scale and zero point of an operator with a known range, sigmoid's [0, 1] and tanh's [-1, 1] for two, each a little less
/// than closed at the top so that the steps are powers of two (PyTorch's and TFLite's fixed qparams). Codes of 16 bits are
/// symmetric: 1/32768 for both. A closed range has its largest value at the last code: 1/255 and 1/32767 for a mask.
constexpr qparams known_qparams(const operator_info& op, std::int32_t quant_min, std::int32_t quant_max) {
    const double low = op.output_min, width = double{op.output_max} - low;
    const std::int32_t last = quant_max - quant_min;
    const auto steps = static_cast<double>(op.closed_range ? last : last + 1);
    if (last > 255)  // symmetric
        return {static_cast<float>(std::max(-low, low + width) /
                                   (op.closed_range ? static_cast<double>(quant_max) : steps / 2)),
                0};
    const auto zero_point = quant_min + static_cast<std::int32_t>(steps * -low / width);
    return {static_cast<float>(width / steps), zero_point < quant_max ? zero_point : quant_max};
}

/// The range of an activation: known for sigmoid, tanh and the like, else what the observer makes of what it saw. One that was given
/// goes before both.
template <class Quantizer, class Observer>
qparams choose_activation_qparams(const Observer& observer, const node& n, std::string_view where,
                                  const qparams* given = nullptr) {
    using dtype = typename Quantizer::dtype;
    if (given != nullptr) return checked_qparams<dtype, Quantizer::qscheme::is_symmetric>(*given, where);
    if (has_known_range(n)) return known_qparams(*n.op, dtype::quant_min, dtype::quant_max);
    return observer.template calculate_qparams<dtype, typename Quantizer::qscheme, typename Quantizer::rule>(where)
        .front();
}

namespace detail {
/// The function of a node, or of one that is fused into it.
struct table_function {
    const operator_rules& rules;
    float parameter;

    double operator()(double x) const { return rules.value == nullptr ? x : rules.value(x, parameter); }
};
/// Its tables, from codes of `x` to those of `y`. No member of a converter, of which each network has its own.
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

template <class Calibrated, class Quantized> class converter {
    using source_stage = typename Calibrated::stage;
    using target_stage = typename Quantized::stage;
    using entries = typename source_stage::entries;
    using arch = typename target_stage::architecture;
    static constexpr const auto& nodes = target_stage::table;
    static constexpr bool has_tables = any_coded_table(nodes.nodes, nodes.size);

public:
    converter(const Calibrated& source, Quantized& target, conversion_notes& notes)
        : source_(source), target_(target), notes_(notes) {}

    void run() {
        run([](int, const node_parameters&) {});
    }
    /// The same, with visit(row, its parameters as codes and floats) before they are packed.
    template <class Visit> void run(const Visit& visit) {
        for (const node& n : Quantized::rows()) {
            if (!n.out.is_codes()) continue;
            choose_range(n.from.sum >= 0 ? n.from.sum : n.from.self);
            if (n.from.lut >= 0) choose_range(n.from.lut);
        }
        for (int i = 0; i != nodes.size; ++i)
            if (nodes.nodes[i].at.parameter_bytes != 0) pack(i, visit);
    }

private:
    static std::string name_of(const node& n) { return display_name(Calibrated::rows(), n.from.self); }
    const qparams& range(int id) const { return target_.ranges()[id]; }

    /// The range that a node of the prepared network writes. The first node of a qparams_id is the one that made it.
    void choose_range(int i) {
        const node& n = source_stage::loose.nodes[i];
        if (std::exchange(chosen_[static_cast<std::size_t>(n.out.qparams_id)], true)) return;
        const qparams* given = source_.given().range_of(n.out.qparams_id);
        if (given == nullptr && derives_qparams(n) && !n.flags.observed) {
            choose_range(n.inputs[0]);
            const node_view v = source_stage::loose.view(i);
            target_.ranges()[n.out.qparams_id] = n.rules->derive(v, range(v.x_type().qparams_id));
            return;
        }
        const std::string where = display_name(Calibrated::rows(), i);
        source_.observers().visit(n.out.qparams_id, [&](const auto& slot) {
            using quantizer_type = typename std::remove_cvref_t<decltype(slot)>::quantizer_type;
            target_.ranges()[n.out.qparams_id] =
                choose_activation_qparams<quantizer_type>(slot.observer, n, where, given);
        });
    }

    template <class Visit> void pack(int i, const Visit& visit) {
        const node& n = nodes.nodes[i];
        const preparation p{nodes.view(i), target_.ranges(), target_.parameters() + n.at.parameter_offset};
        node_parameters parameters = quantized(i);
        visit(i, std::as_const(parameters));
        add_luts(i, parameters);
        const refusal wrong = target_stage::packs[static_cast<std::size_t>(i)](p, parameters);
        if (wrong.rule != nullptr) raise_refusal(name_of(n), n, wrong);
    }
    /// From the prepared network's floats.
    node_parameters quantized(int i) {
        const node_view v = nodes.view(i);
        const node& n = v.n;
        node_parameters result;
        if (parameters_of(v).count == 0) return result;
        const node_view from = source_stage::table.view(n.from.self);
        const auto* floats = reinterpret_cast<const float*>(source_.parameters() + from.n.at.parameter_offset);
        const std::string where = name_of(n);
        parameter_quantization how;
        how.chosen = &source_.given();
        how.row = n.from.self;
        if (n.op->multiplies && n.out.is_codes()) {
            how.x_scale = range(v.x_type().qparams_id).scale;
            how.keeps_float_bias = target_stage::requantization::has_float_bias;
            how.int16_inputs = v.x_type().storage == scalar_type::int16;
            set_limits(v, how);
        }
        [[maybe_unused]] mean_inputs means;
        if constexpr (entries::corrects_biases)
            if (n.op->multiplies && n.out.is_codes()) {
                means = source_.sums_of_inputs().means_of(n.from.self, source_.samples());
                how.means = &means;
            }
        const auto quantize_with = [&]<class Quantizer>(std::type_identity<Quantizer>, const auto& table) {
            return quantize_parameters<Quantizer, arch>(v, from, floats, how, where, notes_.raised_weight_scales,
                                                        table);
        };
        const auto quantize_by = [&](auto quantizer) {
            if constexpr (has_tables)
                return quantize_with(quantizer, [&](const parameter_array& array, std::span<const float> values) {
                    return quantize_table(v, array, values, n.is_float() ? qparams{} : range(n.out.qparams_id), where);
                });
            else return quantize_with(quantizer, no_coded_tables{});
        };
        using policies = typename target_stage::policies;
        if constexpr (!std::is_void_v<typename policies::dynamic>)
            if (n.is_dynamic()) return quantize_by(std::type_identity<typename policies::dynamic::weight_quantizer>{});
        if constexpr (!std::is_void_v<typename policies::weight_only>)
            if (n.is_weight_only())
                return quantize_by(std::type_identity<typename policies::weight_only::weight_quantizer>{});
        const auto one = [&]<class Entry>(std::type_identity<Entry>, int entry) {
            if (entry == n.config) result = quantize_by(std::type_identity<typename Entry::weight>{});
        };
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            (one(std::type_identity<typename entries::template entry<static_cast<int>(I)>>{}, static_cast<int>(I)),
             ...);
        }
        (std::make_index_sequence<static_cast<std::size_t>(entries::count)>{});
        return result;
    }
    /// Which scales and biases the node's kernel can go on from.
    void set_limits(const node_view& v, filter_quantization& how) const {
        using requantization = typename target_stage::requantization;
        how.most_steps = how.int16_inputs ? int64_bias_limit : requantization::most_steps;
        if (how.int16_inputs) return;
        how.least_step = requantization::least_step(rounded_scale(v.n, range(rounded_qparams_id(v.n))));
        if (v.n.fused.adds_input_1)
            how.least_step =
                std::max(how.least_step, kernel::least_step_of_residual(double{range(v.x_type(1).qparams_id).scale}));
    }
    /// The table of the function that a node is, or that is fused into it.
    void add_luts(int i, node_parameters& parameters) const {
        const node_view v = nodes.view(i);
        const node& n = v.n;
        const bool is_fused = n.fused.lut != nullptr;
        if (!is_fused && n.op->function == nullptr) return;
        // Rules are with the stages' loose nodes: of a function that was fused, with the node it was.
        const operator_rules& rules =
            is_fused ? *source_stage::loose.nodes[n.from.lut].rules : *target_stage::loose.nodes[i].rules;
        add_tables(v, table_function{rules, is_fused ? n.fused.lut_parameter : n.parameter},
                   range(is_fused ? n.fused.lut_qparams_id : v.x_type().qparams_id), range(n.out.qparams_id),
                   parameters);
    }

    const Calibrated& source_;
    Quantized& target_;
    conversion_notes& notes_;
    std::array<bool, static_cast<std::size_t>(source_stage::table.qparams_count) + 1> chosen_{};
};
/// By what observers and given() say, whatever the qconfig chooses by.
template <class Net, class Config, class Arch>
quantized<Net, Config, Arch> convert_as_it_is(const calibrated<Net, Config, Arch>& source, conversion_notes* notes) {
    quantized<Net, Config, Arch> result;
    conversion_notes unused;
    converter<calibrated<Net, Config, Arch>, quantized<Net, Config, Arch>>(source, result,
                                                                           notes == nullptr ? unused : *notes)
        .run();
    return result;
}

/// What converts or repairs a network goes by the observers' ranges. A class, so that its error comes once for all calls.
template <class Config> struct keeps_no_inputs {
    static_assert(qconfig_entries<Config>::kept_inputs == 0,
                  "convert and methods: this qconfig has zp::compare_outputs, as zp::robust_qconfig does: include "
                  "<zeropoint/methods/choose_by_outputs.hpp>");
};
}  // namespace detail

/// The int8 network. Raises calibration_error, with the layer's name, where an observer has seen no data. `notes`, if
/// given, tells what had to be changed on the way.
template <class Net, class Config, class Arch>
quantized<Net, Config, Arch> convert(const calibrated<Net, Config, Arch>& source, conversion_notes* notes = nullptr) {
    detail::keeps_no_inputs<Config>();
    return detail::convert_as_it_is(source, notes);
}
template <class Net, class Config, class Arch>
quantized<Net, Config, Arch> convert(const prepared<Net, Config, Arch>&) {
    static_assert(sizeof(Net) == 0,
                  "convert(prepared): this network has not been calibrated; call zp::calibrate(prepared, batches) "
                  "first and convert what it returns");
}
template <class Net, class Arch> void convert(const float_model<Net, Arch>&) {
    static_assert(sizeof(Net) == 0,
                  "convert(model): this is a float network; the steps are zp::fuse, zp::prepare<QConfig>, "
                  "zp::calibrate, zp::convert");
}
template <class Net, class Arch> void convert(const fused<Net, Arch>&) {
    static_assert(sizeof(Net) == 0,
                  "convert(fused): this network has no observers yet; the next steps are zp::prepare<QConfig>, "
                  "zp::calibrate, zp::convert");
}

}  // namespace v0
}  // namespace zp
