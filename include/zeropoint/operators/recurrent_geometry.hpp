// SPDX-License-Identifier: BSD-3-Clause
// What an LSTM, GRU or RNN node computes, as plain numbers: its cell, its extents, and the names of its parameters.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <zeropoint/graph/operator_info.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind lstm{"lstm"}, gru{"gru"}, rnn{"rnn"};
}

/// Which vectors a recurrent layer of a model gives.
enum class recurrent_output : std::uint8_t {
    all_steps,   ///< one for each step: PyTorch's `output`
    last_step,   ///< that of the last step alone: `output[-1]`; of the reversed direction, its first state
    final_state  ///< where each direction of the last layer ends: `h_n[-1]`, or `h_n[-2:]` side by side
};

/// Of an RNN.
enum class rnn_nonlinearity : std::uint8_t { tanh, relu };

/// Options of zp::lstm, zp::gru and zp::rnn, PyTorch's num_layers, bidirectional, proj_size, bias and nonlinearity. A projection
/// is an LSTM's, a nonlinearity an RNN's.
struct recurrent_options {
    int layers = 1;  // how many, one over the other
    /// Whether a second one runs from the last step to the first, and outputs stand side by side.
    bool bidirectional = false;
    int projection = 0;                                      // values that h is projected to; 0: none
    recurrent_output output = recurrent_output::all_steps;   // what comes out
    bool bias = true;                                        // whether there are bias_ih and bias_hh
    rnn_nonlinearity nonlinearity = rnn_nonlinearity::tanh;  // of an RNN
};

enum class recurrent_cell : std::uint8_t { lstm, gru, rnn };

/// A layer of a model: what does not depend on its input.
struct recurrent_layer {
    recurrent_cell cell = recurrent_cell::lstm;
    int hidden = 1;
    recurrent_options options;

    constexpr int gates() const { return cell == recurrent_cell::lstm ? 4 : cell == recurrent_cell::gru ? 3 : 1; }
    /// Sums of products in a step: a gate of every hidden value.
    constexpr int sums() const { return gates() * hidden; }
    constexpr int directions() const { return options.bidirectional ? 2 : 1; }
    /// Values of h, in one direction and in all.
    constexpr int outputs() const { return options.projection != 0 ? options.projection : hidden; }
    constexpr int width() const { return directions() * outputs(); }
    constexpr int matrices_each() const { return options.projection != 0 ? 3 : 2; }
    constexpr int arrays() const { return options.layers * directions() * (matrices_each() + (options.bias ? 2 : 0)); }
};

/// The options of a recurrent layer as its record has them, and back. An RNN's alone have its nonlinearity.
constexpr std::array<int, 7> options_of_recurrent(const recurrent_layer& layer) {
    const recurrent_options& o = layer.options;
    return {layer.hidden,
            o.layers,
            o.bidirectional,
            o.projection,
            static_cast<int>(o.output),
            o.bias,
            static_cast<int>(o.nonlinearity)};
}
constexpr recurrent_layer recurrent_layer_of(const operator_info& info) {
    const std::span<const int> o = info.options;
    const bool is_rnn = info.kind == &op::rnn;
    return {is_rnn                  ? recurrent_cell::rnn
            : info.kind == &op::gru ? recurrent_cell::gru
                                    : recurrent_cell::lstm,
            o[0],
            {o[1], o[2] != 0, o[3], static_cast<recurrent_output>(o[4]), o[5] != 0,
             is_rnn ? static_cast<rnn_nonlinearity>(o[6]) : rnn_nonlinearity::tanh}};
}

/// The same over inputs of known extents.
struct recurrent_geometry : recurrent_layer {
    int inputs = 1, steps = 1;

    constexpr recurrent_geometry(const recurrent_layer& layer, const shape& x)
        : recurrent_layer(layer), inputs(x.channels), steps(x.width) {}
    constexpr recurrent_geometry(const recurrent_layer& layer, const node_view& v)
        : recurrent_geometry(layer, v.x_shape()) {}
    constexpr explicit recurrent_geometry(const node_view& v) : recurrent_geometry(recurrent_layer_of(*v.n.op), v) {}

    constexpr int inputs_of(int layer) const { return layer == 0 ? inputs : width(); }
    constexpr bool gives_all(int layer) const {
        return layer + 1 != options.layers || options.output == recurrent_output::all_steps;
    }
    /// Steps that a layer takes in a direction: of what goes backwards, the last vector needs the first step alone.
    constexpr int steps_of(int layer, int direction) const {
        return direction == 1 && !gives_all(layer) && options.output == recurrent_output::last_step ? 1 : steps;
    }
    /// The step whose vector the last layer gives, where it gives one.
    constexpr int given_step(int direction) const {
        return direction == 1 && options.output == recurrent_output::final_state ? 0 : steps - 1;
    }
    constexpr std::int64_t weights_of(int layer) const {
        return std::int64_t{sums()} * (inputs_of(layer) + outputs()) + std::int64_t{options.projection} * hidden;
    }
    constexpr std::int64_t macs() const {
        std::int64_t sum = 0;
        for (int layer = 0; layer != options.layers; ++layer)
            for (int direction = 0; direction != directions(); ++direction)
                sum += steps_of(layer, direction) * weights_of(layer);
        return sum;
    }
    /// Values between two layers: of the vectors that a layer writes, and of those that it reads.
    constexpr int values_between() const { return steps * width() * (options.layers > 2 ? 2 : options.layers - 1); }
};

/// What steps leave: layer by layer, the directions of one side by side, as PyTorch's h_0 and c_0 have them. In integers a state
/// is also there with more bits, the cell of an LSTM or the h of a GRU: see kernel/recurrent/byte_cell.hpp and
/// gates_int16.hpp.
constexpr state_list states_of_recurrent(const recurrent_layer& layer, scalar_type storage) {
    const int rows = layer.options.layers * layer.directions();
    const bool is_float = storage == scalar_type::float32, is_lstm = layer.cell == recurrent_cell::lstm,
               is_int16 = storage == scalar_type::int16;
    state_list list;
    list.add("h", is_float || is_int16 ? storage : scalar_type::int8, rows * layer.outputs());
    if (is_lstm || !is_float)
        list.add(is_lstm ? "c" : "wide",
                 is_float   ? storage
                 : is_int16 ? scalar_type::int32
                            : scalar_type::int16,
                 rows * layer.hidden);
    return list;
}
/// Of the layer and direction whose turn it is: `H` and `Carried` are the types of the arrays, the latter what
/// steps carry with more bits.
template <class H, class Carried> struct recurrent_state {
    H* h = nullptr;
    Carried* carried = nullptr;

    constexpr recurrent_state() = default;
    recurrent_state(const recurrent_layer& layer, std::byte* states, int row)
        : h(reinterpret_cast<H*>(states) + row * layer.outputs()),
          carried(reinterpret_cast<Carried*>(states + states_of_recurrent(layer, scalar_type_of<H>).offset_of(1)) +
                  row * layer.hidden) {}
};

/// PyTorch's names of parameters: "weight_ih_l0", "bias_hh_l1_reverse".
struct recurrent_names {
    static constexpr int most_layers = 8, kinds = 5;
    enum : int { weight_ih, weight_hh, bias_ih, bias_hh, weight_hr };
    char text[most_layers][2][kinds][24] = {};

    constexpr recurrent_names() {
        constexpr const char* names[] = {"weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr"};
        for (int layer = 0; layer != most_layers; ++layer)
            for (int direction = 0; direction != 2; ++direction)
                for (int kind = 0; kind != kinds; ++kind) {
                    char* to = text[layer][direction][kind];
                    for (const char* from : {names[kind], "_l"})
                        for (; *from != 0; ++from) *to++ = *from;
                    *to++ = static_cast<char>('0' + layer);
                    if (direction == 0) continue;
                    for (const char* from = "_reverse"; *from != 0; ++from) *to++ = *from;
                }
    }
};
inline constexpr recurrent_names names_of_recurrent;

/// The arrays of a layer and direction behind each other, then those of the next, as PyTorch orders them. Matrices are
/// rows x columns in files.
constexpr parameter_list parameters_of_recurrent(const recurrent_geometry& g) {
    parameter_list list;
    for (int layer = 0; layer != g.options.layers; ++layer)
        for (int direction = 0; direction != g.directions(); ++direction) {
            const auto& names = names_of_recurrent.text[layer][direction];
            list.add_matrix(names[recurrent_names::weight_ih], g.sums(), g.inputs_of(layer));
            list.add_matrix(names[recurrent_names::weight_hh], g.sums(), g.outputs());
            if (g.options.bias)
                list.add(names[recurrent_names::bias_ih], g.sums()).add(names[recurrent_names::bias_hh], g.sums());
            if (g.options.projection != 0) list.add_matrix(names[recurrent_names::weight_hr], g.outputs(), g.hidden);
        }
    return list;
}

}  // namespace zp::inline v0
