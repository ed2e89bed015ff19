// SPDX-License-Identifier: BSD-3-Clause
// Stacked and bidirectional recurrent layers: PyTorch's names, the order of its outputs and states.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <zeropoint/layer/recurrent.hpp>

#include "../support/made_up.hpp"
#include "../support/recurrent_reference.hpp"

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

constexpr zp::recurrent_options with(int projection) {
    return {.layers = layers, .bidirectional = true, .projection = projection};
}

template <class Stack, class Policy> void compare(zp::recurrent_cell cell, int projection = 0) {
    const zp::recurrent_layer described{cell, hidden, with(projection)};
    constexpr std::ptrdiff_t outputs = Stack::outputs / 2;
    made_up_parameters tensors;
    const Stack layer(tensors);
    CHECK(tensors.tensors.size() == (projection != 0 ? 20 : 16));
    CHECK(tensors.tensors.count("weight_hh_l1_reverse") == 1);

    const auto x = made_up::values(steps * inputs, 77);
    const auto expected = recurrent_reference::floats<Policy>(described, inputs, tensors, x);
    const auto memory = std::make_unique<typename Stack::workspace>();
    typename Stack::state state;
    std::vector<float> y(steps * Stack::outputs);
    layer(x, state, y, *memory);
    CHECK(y == expected);
    // h_n: the last step of a forward layer, the first row of a reversed one.
    const std::span<float> h = state.values("h");
    REQUIRE(h.size() == 4 * outputs);
    CHECK(std::equal(h.begin() + 2 * outputs, h.begin() + 3 * outputs, expected.end() - 2 * outputs));
    CHECK(std::equal(h.begin() + 3 * outputs, h.end(), expected.begin() + outputs));
    // Of fewer steps than there is memory for.
    typename Stack::state other;
    std::vector<float> shorter(2 * Stack::outputs);
    layer(std::span(x).first(2 * inputs), other, shorter, *memory);
    CHECK(shorter ==
          recurrent_reference::floats<Policy>(described, inputs, tensors, {x.begin(), x.begin() + 2 * inputs}));
    CHECK_THROWS_AS(layer({x.data(), inputs + 1}, state, y, *memory), zp::shape_error);
}

}  // namespace

TEST_CASE("recurrent stacks: two layers, both directions") {
    using zp::default_architecture, zp::dynamic_policy, zp::float_policy, zp::recurrent_cell;
    compare<zp::dynamic_gru<inputs, hidden, dynamic_policy<>, default_architecture, steps, with(0)>, dynamic_policy<>>(
        recurrent_cell::gru);
    compare<zp::float_lstm<inputs, hidden, default_architecture, steps, with(0)>, float_policy>(recurrent_cell::lstm);
    compare<zp::float_lstm<inputs, hidden, default_architecture, steps, with(3)>, float_policy>(recurrent_cell::lstm,
                                                                                                3);
    compare<zp::float_rnn<inputs, hidden, default_architecture, steps, with(0)>, float_policy>(recurrent_cell::rnn);
}

TEST_CASE("recurrent stacks: biases may be absent, but not one of two") {
    using stack = zp::float_gru<inputs, hidden, zp::default_architecture, steps>;
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
    CHECK(message == "alone: expected all biases of a layer or none, found bias_hh_l0 and no bias_ih_l0");
}
