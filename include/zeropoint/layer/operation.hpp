// Operators by description: a type with a float form, and an int8 form where it has one, becomes a layer. The library's own
// operators (layer/operators/) are made so, and the user's.
#pragma once

#include <span>
#include <type_traits>

#include <zeropoint/core/fixed_string.hpp>
#include <zeropoint/kernel/architecture.hpp>
#include <zeropoint/layer/context.hpp>
#include <zeropoint/layer/fused_clamp.hpp>
#include <zeropoint/layer/sequential.hpp>

namespace zp {
inline namespace v0 {

/// What an operator's form works on: T is float, or the storage type of codes: std::uint8_t, std::int8_t or std::int16_t.
template <class T> class operands {
public:
    operands(const node& row, const context& c) : row_(row), context_(c) {}

    /// The k-th input: height x width x channels values, depth times. May be y() where the operator is `elementwise`.
    const T* x(int k = 0) const { return context_.in<T>(row_, k); }
    /// The same of a model's input of indices.
    const std::int32_t* indices() const { return context_.in<std::int32_t>(row_); }
    T* y() const { return context_.out<T>(row_); }
    int inputs() const { return row_.input_count; }
    const shape& x_shape(int k = 0) const { return context_.rows[row_.inputs[k]].out; }
    const shape& y_shape() const { return row_.out; }

    /// Of codes.
    const qparams& x_qparams(int k = 0) const { return context_.range_in(row_, k); }
    const qparams& y_qparams() const { return context_.range(row_); }
    /// The output's zero point and the codes that it may have, fused clamps included.
    kernel::output_codes y_codes() const { return clamped_codes(row_, row_.activation, y_qparams()); }

    /// The bounds of a clamp that is fused into a float row; infinite without.
    float lowest() const { return lower_bound(row_, row_.activation); }
    float highest() const { return upper_bound(row_, row_.activation); }

    const float* parameters() const { return context_.block<float>(row_); }
    template <class Prepared = std::byte> const Prepared* prepared() const {
        return context_.block<Prepared>(row_, prepared_offset(row_));
    }
    template <class Scratch = std::byte> Scratch* scratch() const { return context_.scratch<Scratch>(row_); }
    const node& row() const { return row_; }

private:
    const node& row_;
    const context& context_;
};

namespace detail {

template <class Operator, class Arch, class T> concept has_architectures = requires(const operands<T>& o) {
    Operator::template forward<Arch>(o);
};
template <class Operator, class Arch, class T>
concept has_form = has_architectures<Operator, Arch, T> || requires(const operands<T>& o) {
    Operator::forward(o);
};

template <class Operator, class Arch, class T> void run_operator(const node& row, const context& c) noexcept {
    const operands<T> o(row, c);
    if constexpr (has_architectures<Operator, Arch, T>) Operator::template forward<Arch>(o);
    else Operator::forward(o);
}
template <class Operator, class Arch, class T> constexpr step_function step_of_operator() {
    if constexpr (has_form<Operator, Arch, T>) return &run_operator<Operator, Arch, T>;
    else return nullptr;
}

// Members that an operator may leave out.

template <class Operator> constexpr parameter_list parameters_of([[maybe_unused]] shape x) {
    if constexpr (requires { Operator::parameters(x); }) return Operator::parameters(x);
    else return {};
}
template <class Operator> constexpr shape output_shape_of(std::span<const shape> xs) {
    if constexpr (requires { Operator::output_shape(xs); }) return Operator::output_shape(xs);
    else return Operator::output_shape(xs[0]);
}
template <class Operator> constexpr bool accepts(std::span<const shape> xs) {
    if constexpr (requires { Operator::accepts(xs); }) return Operator::accepts(xs);
    else if constexpr (requires { Operator::accepts(xs[0]); }) return Operator::accepts(xs[0]);
    else return true;
}

template <class Operator>
inline constexpr bool takes_words = [] {
    if constexpr (requires { Operator::takes_words; }) return Operator::takes_words;
    else return false;
}();

template <class Operator, class Arch> constexpr step_function word_step_of_operator() {
    if constexpr (takes_words<Operator>) return step_of_operator<Operator, Arch, std::int16_t>();
    else return nullptr;
}

template <class Operator, class Arch> constexpr operator_description describe() {
    operator_description d{};
    d.kind = Operator::kind;
    if constexpr (requires { Operator::options; }) d.options = Operator::options;
    if constexpr (requires { Operator::range; }) d.range = Operator::range;
    if constexpr (requires { Operator::output_min; }) {
        d.output_min = Operator::output_min;
        d.output_max = Operator::output_max;
        d.range = output_range::known;
    }
    if constexpr (requires { Operator::elementwise; }) d.elementwise = Operator::elementwise;
    if constexpr (requires { Operator::moves_nothing; }) d.moves_nothing = Operator::moves_nothing;
    if constexpr (requires { Operator::on_one_grid; }) d.on_one_grid = Operator::on_one_grid;
    if constexpr (requires { Operator::picks_values; }) d.picks_values = Operator::picks_values;
    if constexpr (requires { Operator::has_own_range; }) d.has_own_range = Operator::has_own_range;
    if constexpr (requires { Operator::takes_volumes; }) d.takes_volumes = Operator::takes_volumes;
    if constexpr (requires { Operator::fuses_clamps; }) d.fuses_clamps = Operator::fuses_clamps;
    d.has_codes = has_form<Operator, Arch, std::uint8_t> && has_form<Operator, Arch, std::int8_t>;
    d.has_words = takes_words<Operator>;
    d.parameters = [](const node& row) { return parameters_of<Operator>(row.in); };
    d.scratch_bytes = [](const node& row) {
        if constexpr (requires { Operator::template scratch_bytes<Arch>(row); })
            return Operator::template scratch_bytes<Arch>(row);
        else if constexpr (requires { Operator::scratch_bytes(row); }) return Operator::scratch_bytes(row);
        else return static_cast<void>(row), 0;
    };
    d.prepared_bytes = [](const node& row) {
        if constexpr (requires { Operator::template prepared_bytes<Arch>(row); })
            return Operator::template prepared_bytes<Arch>(row);
        else if constexpr (requires { Operator::prepared_bytes(row); }) return Operator::prepared_bytes(row);
        else return static_cast<void>(row), 0;
    };
    d.prepare = [](const preparation& p) {
        if constexpr (requires { Operator::prepare(p); }) Operator::prepare(p);
        else static_cast<void>(p);
    };
    d.problem = [](const preparation& p) -> const char* {
        if constexpr (requires { Operator::problem(p); }) return Operator::problem(p);
        else return static_cast<void>(p), nullptr;
    };
    d.derive = [](const node& row, const qparams& input) {
        if constexpr (requires { Operator::derive(row, input); }) return Operator::derive(row, input);
        else if constexpr (requires { Operator::derive(input); })
            return static_cast<void>(row), Operator::derive(input);
        else return static_cast<void>(row), input;
    };
    if constexpr (requires { Operator::map; }) d.map = &Operator::map;
    if constexpr (requires { Operator::zeros; }) d.zeros = Operator::zeros;
    if constexpr (requires { Operator::template quantized<Arch>; }) d.quantized = &Operator::template quantized<Arch>;
    if constexpr (requires { Operator::recurrent; }) d.recurrent = &Operator::recurrent;
    if constexpr (requires { Operator::table_rows; }) d.embedding = &Operator::table_rows;
    d.macs = [](const node& row) -> std::int64_t {
        if constexpr (requires { Operator::macs(row); }) return Operator::macs(row);
        else return static_cast<void>(row), 0;
    };
    return d;
}

}  // namespace detail

template <class Operator, class Arch = default_architecture>
inline constexpr operator_description description_of = detail::describe<Operator, Arch>();
template <class Operator, class Arch = default_architecture>
inline constexpr operator_steps steps_of{
    detail::step_of_operator<Operator, Arch, float>(), detail::step_of_operator<Operator, Arch, std::uint8_t>(),
    detail::step_of_operator<Operator, Arch, std::int8_t>(), detail::word_step_of_operator<Operator, Arch>()};

/// What makes a type an operator: `kind`, its name; an output_shape; and a float form, `forward(const operands<float>&)`.
template <class Operator> concept describes_operator = requires(shape x) {
    { Operator::kind } -> std::convertible_to<const char*>;
    requires requires {
        { Operator::output_shape(x) } -> std::same_as<shape>;
    } || requires(std::span<const shape> xs) {
        { Operator::output_shape(xs) } -> std::same_as<shape>;
    };
    requires detail::has_form<Operator, default_architecture, float>;
};

/// Appends an operator over rows that are there already; for free-form graphs, and for the layers below. Returns its row.
template <op Kind, class Operator> constexpr int append(builder& b, std::span<const int> xs, const char* name = "") {
    shape shapes[max_inputs];
    if (xs.size() > max_inputs) {
        b.fail(rule::too_many_inputs, b.nodes[xs[0]].out);
        return xs[0];
    }
    for (std::size_t k = 0; k != xs.size(); ++k) shapes[k] = b.nodes[xs[k]].out;
    const std::span<const shape> in(shapes, xs.size());
    if (!detail::accepts<Operator>(in)) b.fail(rule::operand_shapes, in.front(), in.back());
    return b.described(Kind, xs, name, description_of<Operator>, steps_of<Operator>,
                       detail::output_shape_of<Operator>(in), detail::parameters_of<Operator>(shapes[0]).size());
}

/// An operator as a layer: over what goes in, or over the outputs of branches that all read what goes in.
template <op Kind, fixed_string Name, class Operator, class... Branches> struct operator_layer {
    static constexpr int nodes = (1 + ... + nodes_of<Branches>);
    static constexpr int lower(builder& b, int x) {
        if constexpr (sizeof...(Branches) == 0) {
            return append<Kind, Operator>(b, {&x, 1}, Name.text);
        } else {
            const int outputs[] = {sequential<Branches>::lower(b, x)...};
            return append<Kind, Operator>(b, outputs, Name.text);
        }
    }
};

/// A layer of the user's, `zp::custom<"name", Operator>`, or of several inputs, `zp::custom<"name", Operator, Branches...>`.
///
/// Operator has static members: `kind`, its name for people and files; `output_shape(shape x)`, or of a span of shapes;
/// `forward(const zp::operands<float>&)`. Without more it runs in float32, between a dequantize and a quantize. With
/// `forward(const zp::operands<T>&)` for std::uint8_t and std::int8_t it has an int8 form. All other members are optional:
///
/// - `takes_words`: true where `forward` takes std::int16_t as well, the codes of 16-bit activations. Else it is computed in
///   float32 among those.
/// - `parameters(shape x)` of the first input: how many floats it owns, "name.weight" in a file; or a zp::parameter_list.
/// - `accepts(shape x)`: false is a compile-time error. It may take a std::span<const shape> of all inputs instead.
/// - `options`: an array of int, what tells it from others of that kind: a file is loaded by a network of the same options.
/// - `range`: a zp::output_range; or `output_min`, `output_max`, its known range, which must hold 0.
/// - `prepared_bytes(const node&)`, `prepare(const preparation&)`: tables and factors that follow from scales and parameters.
/// - `problem(const preparation&)`: a sentence where scales are out of what it computes, which becomes an error; or null.
/// - `scratch_bytes(const node&)`; row.type tells the float form from that of codes.
/// - `macs(const node&)`: its multiply-accumulates, for tables and budgets.
/// - `elementwise`, `takes_volumes`, `moves_nothing`, `on_one_grid`, `picks_values`, `fuses_clamps`, `derive`: see operator_description.
template <fixed_string Name, class Operator, class... Branches>
struct custom : operator_layer<op::custom, Name, Operator, Branches...> {
    static_assert(describes_operator<Operator>,
                  "custom<Name, Operator, ...>: Operator must have static members `kind`, `output_shape(shape)` and "
                  "`forward(const zp::operands<float>&)`: see layer/operation.hpp");
};

}  // namespace v0
}  // namespace zp
