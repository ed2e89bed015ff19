// convert: the int8 network from what calibration has seen. The float weights stay behind.
#pragma once

#include <array>
#include <cmath>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <zeropoint/layer/embedding_table.hpp>
#include <zeropoint/layer/quantize_parameters.hpp>
#include <zeropoint/workflow/calibrate.hpp>

namespace zp {
inline namespace v0 {

/// What convert had to change, one line a layer.
struct conversion_notes {
    std::vector<std::string> raised_weight_scales;  // "conv1: 2 of 16 channels": nearly no weights, but a large bias
};

/// The table of a row: entry i belongs to the i-th code of the input's storage type, from its lowest; with `bits` above 8,
/// entry i belongs to the i-th of that code's 2^(bits - 8) parts.
inline std::vector<std::uint8_t> make_activation_table(const node& row, scalar_type input_type, const qparams& input,
                                                       const qparams& output, int bits = 8) {
    std::vector<std::uint8_t> table(std::size_t{1} << bits);
    const auto function = [&](double x) {
        return row.function == nullptr ? x : row.function->value(x, row.parameter);  // a requantize has none
    };
    const auto fill = [&]<class In, class Out>(In, Out) {
        kernel::make_lookup_table<In>(function, input.scale, input.zero_point, output.scale, output.zero_point,
                                      row.quant_min, row.quant_max, bits, reinterpret_cast<Out*>(table.data()));
    };
    const bool in_unsigned = input_type == scalar_type::uint8, out_unsigned = row.type == scalar_type::uint8;
    if (in_unsigned && out_unsigned) fill(std::uint8_t{}, std::uint8_t{});
    else if (in_unsigned) fill(std::uint8_t{}, std::int8_t{});
    else if (out_unsigned) fill(std::int8_t{}, std::uint8_t{});
    else fill(std::int8_t{}, std::int8_t{});
    return table;
}

/// Scale and zero point of a function with a known range, sigmoid's [0, 1] and tanh's [-1, 1] for two, each a little less
/// than closed at the top so that the steps are powers of two (PyTorch's and TFLite's fixed qparams). Codes of 16 bits are
/// symmetric: 1/32768 for both.
constexpr qparams fixed_qparams_of(const node& row, std::int32_t quant_min, std::int32_t quant_max) {
    const bool described = row.described != nullptr;
    const double low = described ? row.described->output_min : row.function->output_min;
    const double width = (described ? row.described->output_max : row.function->output_max) - low;
    const auto codes = static_cast<double>(quant_max - quant_min + 1);
    if (codes > 256) return {static_cast<float>(std::max(-low, low + width) * 2 / codes), 0};  // symmetric
    const auto zero_point = quant_min + static_cast<std::int32_t>(codes * -low / width);
    return {static_cast<float>(width / codes), zero_point < quant_max ? zero_point : quant_max};
}

/// The range of an activation: known for sigmoid, tanh and the like, else what the observer makes of what it saw.
template <class Quantizer, class Observer>
qparams choose_slot_qparams(const Observer& observer, const node& row, std::string_view where) {
    using dtype = typename Quantizer::dtype;
    if (has_fixed_qparams(row)) return fixed_qparams_of(row, dtype::quant_min, dtype::quant_max);
    return observer.template calculate_qparams<dtype, typename Quantizer::qscheme, typename Quantizer::rule>(where)
        .front();
}

namespace detail {
template <class Calibrated, class Quantized> class converter {
    using source_stage = typename Calibrated::stage;
    using target_stage = typename Quantized::stage;
    using entries = typename source_stage::entries;
    using kernels = typename target_stage::kernels;
    // What no row needs is not linked.
    static constexpr bool has_tables = any_keeps_table_codes(target_stage::table.nodes, target_stage::table.size);

public:
    converter(const Calibrated& source, Quantized& target, conversion_notes& notes)
        : source_(source), target_(target), notes_(notes) {}

    void run() {
        for (const node& row : Quantized::rows()) {
            if (row.type == scalar_type::float32 || row.is_indices()) continue;
            choose_range(row.sum_origin >= 0 ? row.sum_origin : row.origin);
            if (row.table_origin >= 0) choose_range(row.table_origin);
        }
        for (const node& row : Quantized::rows()) write_parameters(row);
    }

private:
    /// The range of the slot that a row of the prepared network writes. The first row of a slot is the one that made it.
    void choose_range(int origin) {
        const node& row = source_stage::table.nodes[origin];
        if (std::exchange(chosen_[static_cast<std::size_t>(row.slot)], true)) return;
        if (derives_qparams(row) && !row.observed) {
            choose_range(row.inputs[0]);
            const qparams& input = range(source_stage::table.nodes[row.inputs[0]].slot);
            target_.ranges()[row.slot] = row.described->derive(row, input);
            return;
        }
        const std::string where = display_name(Calibrated::rows(), origin);
        source_.observers().visit(row.slot, [&](const auto& slot) {
            using quantizer_type = typename std::remove_cvref_t<decltype(slot)>::quantizer_type;
            target_.ranges()[row.slot] = choose_slot_qparams<quantizer_type>(slot.observer, row, where);
        });
    }
    const qparams& range(int slot) const { return target_.ranges()[slot]; }

    void write_parameters(const node& row) {
        if (row.parameter_bytes == 0) return;
        std::byte* block = target_.parameters() + row.parameter_offset;
        const node& old = source_stage::table.nodes[row.origin];
        const std::byte* floats = source_.parameters() + old.parameter_offset;
        if (keeps_table_codes(row)) {
            if constexpr (has_tables)
                write_table(row, {reinterpret_cast<const float*>(floats), static_cast<std::size_t>(old.weights)},
                            row.type == scalar_type::float32 ? qparams{} : range(row.slot),
                            display_name(Calibrated::rows(), row.origin), block);
            return;
        }
        if (row.type == scalar_type::float32) {
            std::memcpy(block, floats, static_cast<std::size_t>(row.parameter_bytes));
            return;
        }
        if (keeps_codes(row)) {
            const std::string where = display_name(Calibrated::rows(), row.origin);
            const char* problem = row.described->quantized->pack(
                kernels::prepare(row, target_stage::table.nodes, target_.ranges(), block),
                quantize_parameters<recurrent_weight_quantizer, typename target_stage::architecture>(
                    row.described->parameters(row), reinterpret_cast<const float*>(floats), where));
            fail_for(problem, row);
            return;
        }
        const node& producer = target_stage::table.nodes[row.inputs[0]];
        if (is_weighted(row.kind)) {
            quantized_weights weights =
                filters(row, old, reinterpret_cast<const float*>(floats), range(producer.slot).scale);
            if (is_table(row.activation))
                weights.table =
                    make_activation_table(row, row.type, range(row.table_slot), range(row.slot), row.table_bits);
            check_residual(row, weights);
            kernels::write_weighted(row, target_stage::table.nodes, weights, target_.ranges(), block);
        } else if (is_wide_table_row(row)) {
            kernel::make_wide_table([&](double x) { return row.function->value(x, row.parameter); },
                                    range(producer.slot).scale, range(row.slot).scale,
                                    reinterpret_cast<std::int32_t*>(block));
        } else if (is_table_row(row)) {
            kernels::write_table(row, make_activation_table(row, producer.type, range(producer.slot), range(row.slot)),
                                 block);
        } else {
            if (row.described != nullptr && row.weights != 0)
                std::memcpy(block, floats, sizeof(float) * static_cast<std::size_t>(row.weights));
            check_scales(row, block);
            kernels::write_derived(row, target_stage::table.nodes, target_.ranges(), block);
        }
    }
    void check_residual(const node& row, const quantized_weights& weights) const {
        if (!has_residual(row)) return;
        const node* rows = target_stage::table.nodes;
        const double residual{range(rows[row.inputs[1]].slot).scale}, x{range(rows[row.inputs[0]].slot).scale};
        for (const float scale : weights.scales) {
            const double ratio = residual / (x * double{scale});
            if (!kernel::is_residual_ratio(ratio))
                raise<value_error>(
                    "convert: " + display_name(Calibrated::rows(), row.origin) + " adds a residual whose scale is 2^" +
                    std::to_string(std::ilogb(ratio)) +
                    " times that of its sums, and must be between 2^-100 and 2^100 times: calibrate both "
                    "on real data, or take zp::separate_sums");
        }
    }
    void check_scales(const node& row, std::byte* block) const {
        if (row.described == nullptr) return;
        fail_for(row.described->problem(kernels::prepare(row, target_stage::table.nodes, target_.ranges(), block)),
                 row);
    }
    void fail_for(const char* problem, const node& row) const {
        if (problem != nullptr)
            raise<value_error>("convert: " + display_name(Calibrated::rows(), row.origin) + " (" + kind_of(row) +
                               "): " + problem);
    }
    quantized_weights filters(const node& row, const node& old, const float* floats, float x_scale) {
        const std::span weights(floats, static_cast<std::size_t>(old.weights)),
            bias(floats + bias_offset(old), static_cast<std::size_t>(old.channels));
        const std::string where = display_name(Calibrated::rows(), row.origin);
        quantized_weights result;
        [[maybe_unused]] mean_inputs means;
        const mean_inputs* corrected_by = nullptr;
        if constexpr (entries::corrects_biases) {
            means = source_.inputs().means_of(row.origin, source_.samples());
            corrected_by = &means;
        }
        const auto one = [&]<class Entry>(std::type_identity<Entry>, int entry) {
            if (entry == row.config)
                result = quantize_filters<typename Entry::weight, typename target_stage::architecture>(
                    weights, bias, x_scale, kernels::requantization_policy::has_float_bias, where,
                    notes_.raised_weight_scales, row.wide_input, corrected_by);
        };
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            (one(std::type_identity<typename entries::template entry<static_cast<int>(I)>>{}, static_cast<int>(I)),
             ...);
        }
        (std::make_index_sequence<static_cast<std::size_t>(entries::count)>{});
        return result;
    }

    const Calibrated& source_;
    Quantized& target_;
    conversion_notes& notes_;
    std::array<bool, static_cast<std::size_t>(source_stage::table.slots) + 1> chosen_{};
};
}  // namespace detail

/// The int8 network. Raises calibration_error, with the layer's name, where an observer has seen no data. `notes`, if
/// given, tells what had to be changed on the way.
template <class Net, class Config, class Arch>
quantized<Net, Config, Arch> convert(const calibrated<Net, Config, Arch>& source, conversion_notes* notes = nullptr) {
    quantized<Net, Config, Arch> result;
    conversion_notes unused;
    detail::converter<calibrated<Net, Config, Arch>, quantized<Net, Config, Arch>>(source, result,
                                                                                   notes == nullptr ? unused : *notes)
        .run();
    return result;
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
