// Stacked and bidirectional recurrent layers: PyTorch's names, the order of its outputs and states.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <zeropoint/layer/recurrent_stack.hpp>

#include "../support/made_up.hpp"

namespace {

constexpr int inputs = 6, hidden = 5, layers = 2, steps = 4;

/// The parameters that a stack asks for, made up when it does.
struct made_up_parameters {
    std::map<std::string, std::vector<float>> tensors;
    bool has_bias = true;

    std::span<const float> operator()(const std::string& name, int rows, int columns, bool optional) {
        if (optional && !has_bias) return {};
        auto& values = tensors[name];
        const auto size = static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns == 0 ? 1 : columns);
        if (values.empty()) values = made_up::values(size, tensors.size());
        CHECK(values.size() == size);
        return values;
    }
};

/// One layer of one direction by the single-layer class, row by row; reversed by reversing the rows.
template <class Cell, class Policy, int Width>
std::vector<float> single(std::vector<float> x, made_up_parameters& parameters, int number, bool reversed) {
    using layer_type = zp::recurrent<Cell, Width, hidden, Policy>;
    const layer_type layer(zp::recurrent_parameters_of<layer_type, Cell>(parameters, number, reversed));
    const auto memory = std::make_unique<typename layer_type::workspace>();
    typename layer_type::state state;
    constexpr std::size_t outputs = layer_type::outputs;
    std::vector<float> y(steps * outputs);
    for (std::size_t i = 0; i != steps; ++i) {
        const std::size_t row = reversed ? steps - 1 - i : i;
        layer(std::span(x).subspan(row * Width, Width), state, std::span(y).subspan(row * outputs, outputs), *memory);
    }
    return y;
}
std::vector<float> side_by_side(const std::vector<float>& a, const std::vector<float>& b) {
    std::vector<float> y;
    const auto width = static_cast<std::ptrdiff_t>(a.size() / steps);
    for (std::ptrdiff_t row = 0; row != steps; ++row) {
        y.insert(y.end(), a.begin() + row * width, a.begin() + (row + 1) * width);
        y.insert(y.end(), b.begin() + row * width, b.begin() + (row + 1) * width);
    }
    return y;
}

template <class Cell, class Policy> void compare() {
    using stack = zp::recurrent_stack<Cell, inputs, hidden, layers, true, steps, Policy>;
    constexpr int outputs = stack::outputs / 2;
    made_up_parameters tensors;
    const stack layer(tensors);
    CHECK(tensors.tensors.size() == (Cell::projection != 0 ? 20 : 16));
    CHECK(tensors.tensors.count("weight_hh_l1_reverse") == 1);

    const auto x = made_up::values(steps * inputs, 77);
    const auto between = side_by_side(single<Cell, Policy, inputs>(x, tensors, 0, false),
                                      single<Cell, Policy, inputs>(x, tensors, 0, true));
    const auto forward = single<Cell, Policy, 2 * outputs>(between, tensors, 1, false),
               backward = single<Cell, Policy, 2 * outputs>(between, tensors, 1, true);
    const auto memory = std::make_unique<typename stack::workspace>();
    typename stack::state state;
    std::vector<float> y(steps * stack::outputs);
    layer(x, state, y, *memory);
    CHECK(y == side_by_side(forward, backward));
    // h_n: the last step of a forward layer, the first row of a reversed one.
    CHECK(std::equal(state[2].h.begin(), state[2].h.end(), forward.end() - outputs));
    CHECK(std::equal(state[3].h.begin(), state[3].h.end(), backward.begin()));
    CHECK_THROWS_AS(layer({x.data(), inputs + 1}, state, y, *memory), zp::shape_error);
}

}  // namespace

TEST_CASE("recurrent_stack: two layers, both directions") {
    compare<zp::gru_cell, zp::dynamic_policy<>>();
    compare<zp::lstm_cell, zp::float_policy>();
    compare<zp::projected_lstm_cell<3>, zp::float_policy>();
    compare<zp::rnn_tanh_cell, zp::float_policy>();
}

TEST_CASE("recurrent_stack: biases may be absent, but not one of two") {
    using stack = zp::recurrent_stack<zp::gru_cell, inputs, hidden, 1, false, steps, zp::float_policy>;
    made_up_parameters tensors;
    tensors.has_bias = false;
    const stack layer(tensors);
    CHECK(tensors.tensors.size() == 2);
    std::string message;
    try {
        stack refused([&](const std::string& name, int rows, int columns, bool optional) {
            tensors.has_bias = name == "bias_hh_l0";
            return tensors(name, rows, columns, optional);
        });
    } catch (const zp::shape_error& error) { message = error.what(); }
    CHECK(message == "recurrent: expected bias_ih_l0 and bias_hh_l0, or neither, found only bias_hh_l0");
}
