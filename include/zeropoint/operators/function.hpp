// SPDX-License-Identifier: BSD-3-Clause
// A callable type as an operator of one value: floats through the callable, codes through a table.
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

#include <zeropoint/graph/builder.hpp>
#include <zeropoint/kernel/elementwise/activations.hpp>
#include <zeropoint/kernel/float/float_elementwise.hpp>
#include <zeropoint/operators/lookup.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind activation{"activation"}, sigmoid{"sigmoid"}, tanh{"tanh"}, hardswish{"hardswish"},
    leaky_relu{"leaky_relu"};
}

/// A callable that makes an activation: stateless, `float operator()(float) const`, and a name, `kind`. If it takes and
/// gives double as well, tables are computed in double. Optional members: `static constexpr float constants[]`, which
/// tell instantiations of one template from each other, and `static constexpr float output_min, output_max`, the
/// function's range if it is known without calibration; 0 must lie in it; `static constexpr bool has_step`: it jumps, so that 16 bits,
/// which are interpolated between nodes, do not suit it, and it stays in float there.
template <class F>
concept activation_callable = std::is_empty_v<F> && std::default_initializable<F> && requires(float x) {
    { F{}(x) } -> std::convertible_to<float>;
    { F::kind } -> std::convertible_to<const char*>;
};

namespace operators {

/// A callable behind function pointers.
template <class F> struct callable {
    static constexpr bool takes_parameter = requires { F::takes_parameter; };  // leaky_relu
    static constexpr bool takes_doubles = [] {
        if constexpr (takes_parameter) return std::is_same_v<std::invoke_result_t<const F&, double, float>, double>;
        else return std::is_same_v<std::invoke_result_t<const F&, double>, double>;
    }();

    template <class Number> [[gnu::always_inline]] static auto call(const Number& x, [[maybe_unused]] float parameter) {
        if constexpr (takes_parameter) return F{}(x, parameter);
        else return F{}(x);
    }
    static double value(double x, float parameter) {
        if constexpr (takes_doubles) return call(x, parameter);
        else return static_cast<double>(call(static_cast<float>(x), parameter));
    }
    /// `Arch` keeps code for one architecture out of programs for another.
    template <class Arch> static void run(const node& n, const context& c) noexcept {
        const float* x = c.in<float>(n);
        float* y = c.out<float>(n);
        const auto count = static_cast<std::size_t>(n.out.extents.size());
        const float parameter = n.parameter;
        if constexpr (requires { F::takes_vectors; })
            kernel::map_floats<Arch>(x, count, y, [=](const auto& number) { return call(number, parameter); });
        else
            for (std::size_t i = 0; i != count; ++i) y[i] = static_cast<float>(call(x[i], parameter));
    }
};

template <class F>
inline constexpr scalar_function function_of = [] {
    scalar_function f{};
    if constexpr (requires { F::constants; }) f.constants = F::constants;
    if constexpr (requires { F::epilogue; }) f.epilogue = F::epilogue;
    return f;
}();

template <class F> constexpr operator_info make_function(const operator_kind& kind, bool signed_by_kind) {
    operator_info info;
    info.kind = &kind;
    info.name = F::kind;
    info.signed_by_kind = signed_by_kind;
    info.stream = stream_rule::pointwise;
    info.gives = function;
    info.has_codes = info.has_int16 = info.elementwise = info.keeps_order = true;
    if constexpr (requires { F::has_step; }) info.has_int16 = !F::has_step;
    info.function = &function_of<F>;
    if constexpr (requires {
                      F::output_min;
                      F::output_max;
                  }) {
        static_assert(F::output_min <= 0 && F::output_max >= 0 && F::output_min < F::output_max,
                      "activation<F>: the range F::output_min .. F::output_max must hold 0, as every quantized range "
                      "does");
        info.output_min = F::output_min;
        info.output_max = F::output_max;
        info.range = qparams_source::known;
    }
    return info;
}
template <class F, const operator_kind& Kind = op::activation>
inline constexpr operator_info function_info = make_function<F>(Kind, &Kind != &op::activation);

/// Of codes whatever the function is: it is in the table.
template <class F, class Arch> struct function_forms {
    static constexpr int parameter_bytes(const node_view& v) {
        if (v.n.is_float()) return 0;
        return v.y_type().storage == scalar_type::int16 ? lookup_form<Arch, std::int16_t>::parameter_bytes(v)
                                                        : lookup_form<Arch, std::uint8_t>::parameter_bytes(v);
    }
    static constexpr int scratch_bytes(const node_view&) { return 0; }
    static refusal pack(const preparation& p, const node_parameters& from) {
        if (p.at.n.is_float()) return {};
        return p.y_type().storage == scalar_type::int16 ? lookup_form<Arch, std::int16_t>::pack(p, from)
                                                        : lookup_form<Arch, std::uint8_t>::pack(p, from);
    }
    static node_parameters unpack(const preparation& p) {
        if (p.at.n.is_float()) return {};
        return p.y_type().storage == scalar_type::int16 ? lookup_form<Arch, std::int16_t>::unpack(p)
                                                        : lookup_form<Arch, std::uint8_t>::unpack(p);
    }
};
template <class F, class Arch>
inline constexpr operator_forms forms_of_function{
    {&callable<F>::template run<Arch>, &lookup_form<Arch, std::uint8_t>::run, &lookup_form<Arch, std::int8_t>::run,
     &lookup_form<Arch, std::int16_t>::run},
    &function_forms<F, Arch>::parameter_bytes,
    &function_forms<F, Arch>::scratch_bytes,
    &function_forms<F, Arch>::pack,
    &function_forms<F, Arch>::unpack};
template <class F, class Arch = default_architecture>
inline constexpr operator_rules function_rules = [] {
    operator_rules rules;
    rules.value = &callable<F>::value;
    rules.forms = &forms_of_function<F, Arch>;
    return rules;
}();

template <class F, const operator_kind& Kind = op::activation>
constexpr int append_function(builder& b, int x, float parameter = 0, const char* name = "") {
    node n = b.unary(function_info<F, Kind>, function_rules<F>, x, name);
    n.parameter = parameter;
    return b.append(n);
}
/// Its parameter is given in thousandths.
template <class F, const operator_kind& Kind = op::activation, int Thousandths = 0> struct function_layer {
    static constexpr int nodes = 1;
    static constexpr int lower(builder& b, int x) {
        return append_function<F, Kind>(b, x, static_cast<float>(Thousandths / 1e3));
    }
};

}  // namespace operators
}  // namespace zp::inline v0
