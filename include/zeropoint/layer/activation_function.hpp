// A callable type as what a row of the graph can hold: function pointers, a name, a range.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>

#include <zeropoint/kernel/activations.hpp>
#include <zeropoint/kernel/float_elementwise.hpp>
#include <zeropoint/layer/node.hpp>

namespace zp {
inline namespace v0 {

/// A callable that makes an activation: stateless, `float operator()(float) const`, and a name, `kind`. If it takes and
/// gives double as well, tables are computed in double. Optional members: `static constexpr float constants[]`, which
/// tell instantiations of one template from each other, and `static constexpr float output_min, output_max`, the
/// function's range if it is known without calibration; 0 must lie in it.
template <class F>
concept activation_callable = std::is_empty_v<F> && std::default_initializable<F> && requires(float x) {
    { F{}(x) } -> std::convertible_to<float>;
    { F::kind } -> std::convertible_to<const char*>;
};

namespace detail {

/// A callable behind function pointers. `Arch` keeps code for one architecture out of programs for another.
template <class F, class Arch> struct erased_function {
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
    static void apply(const float* x, std::size_t count, float* y, float parameter) {
        if constexpr (requires { F::takes_vectors; })
            kernel::map_floats<Arch>(x, count, y, [=](const auto& number) { return call(number, parameter); });
        else
            for (std::size_t i = 0; i != count; ++i) y[i] = static_cast<float>(call(x[i], parameter));
    }
};

template <class F, class Arch> constexpr activation_function make_function() {
    activation_function made{F::kind, {}, 0, 0, &erased_function<F, Arch>::value, &erased_function<F, Arch>::apply};
    if constexpr (requires { F::constants; }) made.constants = F::constants;
    if constexpr (requires {
                      F::output_min;
                      F::output_max;
                  }) {
        static_assert(F::output_min <= 0 && F::output_max >= 0 && F::output_min < F::output_max,
                      "activation<F>: the range F::output_min .. F::output_max must hold 0, as every quantized range "
                      "does");
        made.output_min = F::output_min;
        made.output_max = F::output_max;
    }
    return made;
}

}  // namespace detail

template <class F, class Arch = default_architecture>
inline constexpr activation_function function_of = detail::make_function<F, Arch>();

/// The function behind an operator that has a name of its own; null for others.
constexpr const activation_function* function_of_kind(op kind) {
    switch (kind) {
        case op::leaky_relu: return &function_of<kernel::functions::leaky_relu>;
        case op::sigmoid: return &function_of<kernel::functions::sigmoid>;
        case op::tanh: return &function_of<kernel::functions::tanh>;
        case op::hardswish: return &function_of<kernel::functions::hardswish>;
        default: return nullptr;
    }
}

}  // namespace v0
}  // namespace zp
