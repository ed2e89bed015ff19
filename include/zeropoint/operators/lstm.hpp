// SPDX-License-Identifier: BSD-3-Clause
// LSTM, GRU and RNN as layers of a model, over sequences of 1 x steps x features: PyTorch's, with a state of zeros.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

#include <zeropoint/kernel/dynamic/dynamic_linear.hpp>
#include <zeropoint/graph/define.hpp>
#include <zeropoint/operators/byte_recurrent.hpp>
#include <zeropoint/operators/coded_recurrent.hpp>
#include <zeropoint/operators/int16_recurrent.hpp>
#include <zeropoint/operators/rearrangement.hpp>
#include <zeropoint/operators/recurrent_steps.hpp>

namespace zp::inline v0 {
namespace operators {

struct any_range {};
/// What no state without a projection leaves.
struct range_of_states {
    static constexpr float output_min = -1, output_max = 1;
};

template <recurrent_cell Cell, int Hidden, recurrent_options Options>
struct recurrent_operator
    : std::conditional_t<Options.projection == 0 && Options.nonlinearity == rnn_nonlinearity::tanh, range_of_states,
                         any_range> {
    static constexpr const operator_kind& of = Cell == recurrent_cell::lstm  ? op::lstm
                                               : Cell == recurrent_cell::gru ? op::gru
                                                                             : op::rnn;
    static constexpr const char* kind = of.name;
    static constexpr recurrent_layer recurrent{Cell, Hidden, Options};
    static constexpr auto all_options = options_of_recurrent(recurrent);
    static constexpr std::span<const int> options{all_options.data(), Cell == recurrent_cell::rnn ? 7u : 6u};
    static constexpr int state_values = recurrent.outputs();
    static constexpr bool has_dynamic = true, has_weight_only = true;
    /// A projection has no form in integers: the scale of what it gives is not known before. Nor has an RNN.
    static constexpr bool has_codes = Options.projection == 0 && Cell != recurrent_cell::rnn;
    static constexpr bool keeps_codes = has_codes, takes_int16 = has_codes;
    static constexpr bool any_length = Options.output == recurrent_output::all_steps;
    static constexpr stream_rule stream =
        any_length && !Options.bidirectional ? stream_rule::stateful : stream_rule::whole;
    static constexpr bool goes_back = Options.bidirectional;

    static constexpr bool accepts(shape x) {
        return x.height == 1 && x.channels <= kernel::largest_dynamic_depth(true) &&
               recurrent.width() <= kernel::largest_dynamic_depth(true);
    }
    static constexpr shape output_shape(shape x) {
        return {1, Options.output == recurrent_output::all_steps ? x.width : 1, recurrent.width()};
    }
    static constexpr parameter_list parameters(shape x) { return parameters_of_recurrent({recurrent, x}); }
    static constexpr state_list states(const node_view& v) {
        return states_of_recurrent(recurrent, v.y_type().storage);
    }
    static constexpr std::int64_t macs(const node_view& v) { return recurrent_geometry(recurrent, v).macs(); }
};

template <fixed_string Name, class Operator> struct recurrent_node {
    static constexpr int nodes = 1;
    static constexpr int lower(builder& b, int x) {
        if (b.nodes[x].out.extents.height != 1) b.fail(rule::sequence_expected, b.nodes[x].out.extents);
        return append_operator<Operator::of, Operator>(b, {&x, 1}, Name.text);
    }
};

/// Options that the layers below refuse, made harmless, so that a mistake is one message.
constexpr recurrent_options allowed(recurrent_options options) {
    if (options.layers < 1 || options.layers > recurrent_names::most_layers) options.layers = 1;
    if (options.projection < 0) options.projection = 0;
    return options;
}
constexpr bool arrays_fit(const recurrent_options& options) {
    const recurrent_layer layer{recurrent_cell::lstm, 1, options};
    return options.layers >= 1 && options.layers <= recurrent_names::most_layers &&
           layer.arrays() <= parameter_list::most;
}

}  // namespace operators

struct recurrent_forms {
    static constexpr bool is_keyed = true;
    static constexpr recurrent_key key(const node_view& v) { return recurrent_key_of(v); }
    template <recurrent_key Key, class Arch>
    using form_of_codes =
        std::conditional_t<Key.is_bytes(), byte_recurrent_form<Key, Arch>, int16_recurrent_form<Key, Arch>>;
    template <recurrent_key Key, class Arch, class Policies>
    using form = std::conditional_t<Key.is_dynamic || Key.is_weight_only, coded_recurrent_form<Key, Arch, Policies>,
                                    std::conditional_t<Key.storage == scalar_type::float32,
                                                       float_recurrent_form<Key, Arch>, form_of_codes<Key, Arch>>>;
};
template <> struct forms_of<op::lstm> : recurrent_forms {};
template <> struct forms_of<op::gru> : recurrent_forms {};
template <> struct forms_of<op::rnn> : recurrent_forms {};

/// PyTorch's LSTM over a sequence of 1 x steps x features, from a state of zeros: 1 x steps x Hidden, twice as many of two
/// directions, `projection` in place of Hidden where there is one. `zp::lstm<"rnn", 64, zp::recurrent_options{.layers = 2}>`;
/// parameters "rnn.weight_ih_l0", "rnn.weight_hh_l0", "rnn.bias_ih_l0", "rnn.bias_hh_l0" and so on, as PyTorch names them.
/// In int8 all of a step is integers: codes of scale 2^-7, int8 weights with a scale a row, a cell of 16 bits (see
/// kernel/recurrent/byte_cell.hpp). With a projection it stays float32 in int8 models; quantize_dynamic takes both.
template <fixed_string Name, int Hidden, recurrent_options Options = recurrent_options{}>
struct lstm
    : operators::recurrent_node<Name,
                                operators::recurrent_operator<recurrent_cell::lstm, operators::at_least_one(Hidden),
                                                              operators::allowed(Options)>> {
    static_assert(
        Hidden >= 1 && Options.projection >= 0 && Options.projection < operators::at_least_one(Hidden) &&
            Options.nonlinearity == rnn_nonlinearity::tanh,
        "lstm<Name, Hidden, Options>: Hidden must be at least 1, and a projection has fewer values than it, as in "
        "PyTorch; 0 is none. Only an rnn has a nonlinearity");
    static_assert(operators::arrays_fit(Options),
                  "lstm<Name, Hidden, Options>: layers must be 1 to 8, and 1 to 5 of two directions (1 to 4 with a "
                  "projection): put another lstm behind this one");
};

/// PyTorch's GRU, the same way. In int8 its state has 16 bits of scale 2^-15.
template <fixed_string Name, int Hidden, recurrent_options Options = recurrent_options{}>
struct gru
    : operators::recurrent_node<Name,
                                operators::recurrent_operator<recurrent_cell::gru, operators::at_least_one(Hidden),
                                                              operators::allowed(Options)>> {
    static_assert(
        Hidden >= 1 && Options.projection == 0 && Options.nonlinearity == rnn_nonlinearity::tanh,
        "gru<Name, Hidden, Options>: Hidden must be at least 1, and only an lstm has a projection and only an "
        "rnn a nonlinearity");
    static_assert(
        operators::arrays_fit(Options),
        "gru<Name, Hidden, Options>: layers must be 1 to 8, and 1 to 5 of two directions: put another gru behind "
        "this one");
};

/// PyTorch's RNN, the same way, of `nonlinearity` tanh or relu. It has no form in integers: int8 networks compute it in float32.
template <fixed_string Name, int Hidden, recurrent_options Options = recurrent_options{}>
struct rnn
    : operators::recurrent_node<Name,
                                operators::recurrent_operator<recurrent_cell::rnn, operators::at_least_one(Hidden),
                                                              operators::allowed(Options)>> {
    static_assert(Hidden >= 1 && Options.projection == 0,
                  "rnn<Name, Hidden, Options>: Hidden must be at least 1, and only an lstm has a projection");
    static_assert(
        operators::arrays_fit(Options),
        "rnn<Name, Hidden, Options>: layers must be 1 to 8, and 1 to 5 of two directions: put another rnn behind "
        "this one");
};

}  // namespace zp::inline v0
