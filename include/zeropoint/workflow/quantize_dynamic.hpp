// quantize_dynamic: int8 weights beforehand, activations quantized as they come. No calibration; activations stay floats
// between layers.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <zeropoint/layer/dynamic_steps.hpp>
#include <zeropoint/layer/quantize_parameters.hpp>
#include <zeropoint/layer/recurrent_geometry.hpp>
#include <zeropoint/model/budget.hpp>
#include <zeropoint/workflow/fuse.hpp>

namespace zp {
inline namespace v0 {

/// Which layers int8 weights are worth it for: those with so many products that two sweeps over the inputs, for their range
/// and for their codes, and one over the outputs are little beside them.
///
/// A rule of the user's has the same member: null for a layer to take, else a sentence for tables.
struct default_cost_rule {
    static constexpr const char* why_float(const node& row) {
        if (is_embedding(row)) return row.weights < 4096 ? "stays float32: fewer than 4096 weights" : nullptr;
        if (is_recurrent(row)) {
            if (row.described->recurrent->outputs() < 32) return "stays float32: fewer than 32 values of state";
            return row.weights < 4096 ? "stays float32: fewer than 4096 weights" : nullptr;
        }
        if (macs_of(row) / row.out.size() < 32) return "stays float32: fewer than 32 products an output";
        if (row.out.channels < 16) return "stays float32: fewer than 16 outputs";
        return row.weights < 4096 ? "stays float32: fewer than 4096 weights" : nullptr;
    }
};
/// Takes whatever has a dynamic form.
struct quantize_every_layer {
    static constexpr const char* why_float(const node&) { return nullptr; }
};

/// How a model is quantized dynamically: dtypes and schemes, a cost rule, and keep_float<"name">, keep_float_type<op> or
/// embedding_bits<bits>, without which tables of embeddings stay float32.
template <class Policy = dynamic_policy<>, class CostRule = default_cost_rule, class... Options>
struct dynamic_qconfig {
    static_assert(
        requires { typename Policy::input_storage; },
        "dynamic_qconfig<Policy, CostRule, Options...>: the first argument must be a zp::dynamic_policy<...>");
    static_assert(
        requires(const node& row) { CostRule::why_float(row); },
        "dynamic_qconfig<Policy, CostRule, Options...>: CostRule must have `static constexpr const char* "
        "why_float(const zp::node&)`, as zp::default_cost_rule has");
    static_assert((... && (std::is_base_of_v<qconfig_option, Options> &&
                           (Options::floats || embedding_bits_in<Options> != 0))),
                  "dynamic_qconfig<Policy, CostRule, Options...>: options are zp::keep_float<\"name\">, "
                  "zp::keep_float_type<op> and zp::embedding_bits<bits>");
    using policy = Policy;
    using cost_rule = CostRule;
    using options = std::tuple<Options...>;
};

/// Of what is quantized dynamically, and why the rest stays float.
template <class Config> constexpr const char* why_float(const node& row) {
    using entries = detail::entries_of<Config, typename Config::options>;
    if (!is_weighted(row.kind) && !is_recurrent(row) && !is_embedding(row)) return "";
    if (row.outside_stubs) return "stays float32: outside of the stubs";
    if (entries::choose(row) < 0) return "stays float32: as the qconfig says";
    if (is_embedding(row) && !codes_embeddings<typename Config::options>)
        return "stays float32: no zp::embedding_bits in the qconfig";
    if (is_recurrent(row) || is_embedding(row)) return Config::cost_rule::why_float(row);
    if (row.window.groups != 1) return "stays float32: groups have no dynamic form";
    // A product is at most 255 * 128 where weights are symmetric, and 255 * 255 where they have zero points.
    constexpr int most = kernel::largest_dynamic_depth(Config::policy::has_affine_weights);
    if (row.weights / row.channels > most) return "stays float32: int32 sums could overflow";
    return Config::cost_rule::why_float(row);
}

template <class Net, class Config, class Arch = default_architecture> struct dynamic_stage {
    using net = Net;
    using config = Config;
    using architecture = Arch;
    using dynamic_kernels = dynamic_row_kernels<typename Config::policy, Arch>;
    static_assert(sizeof(verdict<source<Net>>) != 0 &&
                  sizeof(names_of_qconfig<Net, Config, Arch, detail::entries_of<Config, typename Config::options>>) !=
                      0);
    static constexpr const char* arithmetic = Config::policy::is_per_row ? "dynamic per row" : "dynamic per tensor";
    static constexpr const char* why_float(const node& row) { return zp::why_float<Config>(row); }
    static constexpr auto planned = [] {
        auto g = fused_stage<Net, Arch>::table;
        for (int i = 0; i != g.size; ++i) {
            node& row = g.nodes[i];
            row.origin = static_cast<short>(i);
            row.folded = -1;
            if (why_float(row) == nullptr) {
                if (is_embedding(row)) code_table(row, embedding_bits_of<Config>);
                else dynamic_kernels::mark(row);
            }
            row.parameter_bytes = row.dynamic ? dynamic_kernels::parameter_bytes(row) : float_parameter_bytes(row);
            row.scratch_bytes = row.dynamic ? dynamic_kernels::scratch_bytes(row) : float_scratch_bytes<Arch>(row);
        }
        place_parameters(g);
        place_activations(g);
        return g;
    }();
    static constexpr auto table = without_steps(planned);
    static constexpr auto steps = []<int... Row>(std::integer_sequence<int, Row...>) {
        return std::array<step_function, sizeof...(Row)>{dynamic_kernels::template step_of<dynamic_stage, Row>()...};
    }
    (std::make_integer_sequence<int, planned.size>{});
};

/// The dynamically quantized type of a float model.
template <class Net, class Config = dynamic_qconfig<>, class Arch = default_architecture>
using dynamically_quantized = network<dynamic_stage<Net, Config, Arch>>;

/// Linear layers, LSTM, GRU and convolutions with int8 weights, which quantize their inputs in each call: PyTorch's
/// quantize_dynamic. A convolution, transposed or over a volume too, has one symmetric range an image, whatever the policy's
/// scheme for activations, a recurrent layer a range a step. Tables of embeddings stay floats, as PyTorch's, or have codes under
/// zp::embedding_bits, with a scale and an offset a row. All other layers, and those that the cost rule finds too small, stay as they are. Raises
/// calibration_error, with the layer's name, where weights are not finite.
template <class Config = dynamic_qconfig<>, class Net, class Arch>
dynamically_quantized<Net, Config, Arch> quantize_dynamic(const fused<Net, Arch>& model) {
    dynamically_quantized<Net, Config, Arch> result;
    using kernels = typename dynamic_stage<Net, Config, Arch>::dynamic_kernels;
    for (const node& row : result.rows()) {
        const node& old = model.rows()[static_cast<std::size_t>(row.origin)];
        const std::byte* floats = model.parameters() + old.parameter_offset;
        std::byte* block = result.parameters() + row.parameter_offset;
        if (has_coded_table(row)) {
            if constexpr (any_keeps_table_codes(dynamic_stage<Net, Config, Arch>::table.nodes,
                                                dynamic_stage<Net, Config, Arch>::table.size))
                write_table(row, {reinterpret_cast<const float*>(floats), static_cast<std::size_t>(old.weights)}, {},
                            display_name(model.rows(), row.origin), block);
            continue;
        }
        if (!row.dynamic) {
            if (row.parameter_bytes != 0) std::memcpy(block, floats, static_cast<std::size_t>(row.parameter_bytes));
            continue;
        }
        const auto* weights = reinterpret_cast<const float*>(floats);
        if (is_recurrent(row)) {
            kernels::write(row,
                           quantize_parameters<typename Config::policy::weight_quantizer, Arch>(
                               row.described->parameters(row), weights, row.name),
                           block);
            continue;
        }
        std::vector<std::string> raised;  // stays empty: only an integer bias can ask for it
        kernels::write(row,
                       quantize_filters<typename Config::policy::weight_quantizer, Arch>(
                           {weights, static_cast<std::size_t>(old.weights)},
                           {weights + bias_offset(old), static_cast<std::size_t>(old.channels)}, 1.0f, true,
                           display_name(model.rows(), row.origin), raised),
                       block);
    }
    return result;
}
/// The same, fused first.
template <class Config = dynamic_qconfig<>, class Net, class Arch>
dynamically_quantized<Net, Config, Arch> quantize_dynamic(const float_model<Net, Arch>& model) {
    return quantize_dynamic<Config>(fuse(model));
}

}  // namespace v0
}  // namespace zp
