// SPDX-License-Identifier: BSD-3-Clause
// convert: the int8 network from what calibration has seen. The float weights stay behind.
#pragma once

#include <algorithm>
#include <string_view>
#include <type_traits>

#include <zeropoint/graph/lookup_tables.hpp>
#include <zeropoint/workflow/calibrate.hpp>
#include <zeropoint/workflow/conversion.hpp>

namespace zp::inline v0 {

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
/// What a conversion asks of a calibrated network.
template <class Calibrated> struct calibration_of {
    static qparams observed(const void* network, const node& n, std::string_view where, const qparams* given) {
        qparams result;
        static_cast<const Calibrated*>(network)->observers().visit(n.out.qparams_id, [&](const auto& slot) {
            using quantizer_type = typename std::remove_cvref_t<decltype(slot)>::quantizer_type;
            result = choose_activation_qparams<quantizer_type>(slot.observer, n, where, given);
        });
        return result;
    }
    static mean_inputs means(const void* network, int row) {
        const auto& source = *static_cast<const Calibrated*>(network);
        return source.sums_of_inputs().means_of(row, source.samples());
    }
    static constexpr auto means_to_correct() -> decltype(&means) {
        if constexpr (Calibrated::stage::entries::corrects_biases) return &means;
        else return nullptr;
    }
};
template <class Calibrated, class Quantized> constexpr conversion_tables tables_of_conversion() {
    using from = typename Calibrated::stage;
    using to = typename Quantized::stage;
    using entries = typename from::entries;
    using arch = typename to::architecture;
    using requantization = typename to::requantization;
    constexpr bool has_tables = any_coded_table(to::table.nodes, to::table.size);
    return {Calibrated::rows(),
            Quantized::rows(),
            from::loose.nodes,
            to::loose.nodes,
            to::packs.data(),
            quantize_by_entry<entries, arch, has_tables>.data(),
            quantize_by_policy<typename to::policies::dynamic, arch, has_tables>(),
            quantize_by_policy<typename to::policies::weight_only, arch, has_tables>(),
            requantization::has_float_bias,
            requantization::most_steps,
            &requantization::least_step,
            &calibration_of<Calibrated>::observed,
            calibration_of<Calibrated>::means_to_correct()};
}

/// Ranges, codes and packed parameters of `target`. visit(row, its parameters as codes and floats) comes before they are packed.
template <class Calibrated, class Quantized>
void convert_rows(const Calibrated& source, Quantized& target, conversion_notes& notes,
                  function_ref<void(int, const node_parameters&)> visit) {
    bool chosen[Calibrated::stage::table.qparams_count + 1]{};
    conversion<>{tables_of_conversion<Calibrated, Quantized>(),
                 &source,
                 reinterpret_cast<const float*>(source.parameters()),
                 source.given(),
                 target.parameters(),
                 target.ranges(),
                 notes,
                 chosen}
        .run(visit);
}
/// By what observers and given() say, whatever the qconfig chooses by.
template <class Net, class Config, class Arch>
quantized<Net, Config, Arch> convert_as_it_is(const calibrated<Net, Config, Arch>& source, conversion_notes* notes) {
    quantized<Net, Config, Arch> result;
    conversion_notes unused;
    convert_rows(source, result, notes == nullptr ? unused : *notes, visits_nothing_packed{});
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

}  // namespace zp::inline v0
