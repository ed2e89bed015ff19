// Stacked and bidirectional recurrent layers: PyTorch's names, the order of its outputs and states.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <zeropoint/layer/dynamic_recurrent_stack.hpp>

#include "../support/made_up.hpp"

namespace {

constexpr int inputs = 6, hidden = 5, layers = 2, steps = 4;
using stack = zp::dynamic_recurrent_stack<zp::gru_cell, inputs, hidden, layers, true, steps>;

std::map<std::string, std::vector<float>> state_dict() {
    std::map<std::string, std::vector<float>> tensors;
    std::uint64_t seed = 1;
    for (int layer = 0; layer != layers; ++layer)
        for (const char* direction : {"", "_reverse"}) {
            const std::string suffix = "_l" + std::to_string(layer) + direction;
            const std::size_t width = layer == 0 ? inputs : 2 * hidden;
            tensors["weight_ih" + suffix] = made_up::values(3 * hidden * width, ++seed);
            tensors["weight_hh" + suffix] = made_up::values(3 * hidden * hidden, ++seed);
            tensors["bias_ih" + suffix] = made_up::values(3 * hidden, ++seed);
            tensors["bias_hh" + suffix] = made_up::values(3 * hidden, ++seed);
        }
    return tensors;
}

/// One layer of one direction by the single-layer class, row by row; reversed by reversing the rows.
template <int Width>
std::vector<float> single(std::vector<float> x, const zp::recurrent_parameters& parameters, bool reversed) {
    using layer_type = zp::dynamic_gru<Width, hidden>;
    const layer_type layer(parameters);
    const auto memory = std::make_unique<typename layer_type::workspace>();
    typename layer_type::state state;
    std::vector<float> y(steps * hidden);
    for (std::size_t i = 0; i != steps; ++i) {
        const std::size_t row = reversed ? steps - 1 - i : i;
        layer(std::span(x).subspan(row * Width, Width), state, std::span(y).subspan(row * hidden, hidden), *memory);
    }
    return y;
}
std::vector<float> side_by_side(const std::vector<float>& a, const std::vector<float>& b) {
    std::vector<float> y;
    for (std::size_t row = 0; row != steps; ++row) {
        const auto first = static_cast<std::ptrdiff_t>(row * hidden);
        y.insert(y.end(), a.begin() + first, a.begin() + first + hidden);
        y.insert(y.end(), b.begin() + first, b.begin() + first + hidden);
    }
    return y;
}

}  // namespace

TEST_CASE("dynamic_recurrent_stack: two layers, both directions") {
    const auto tensors = state_dict();
    const auto find = [&](const std::string& name) { return std::span<const float>(tensors.at(name)); };
    const auto x = made_up::values(steps * inputs, 77);
    const auto of = [&](int layer, bool reversed) { return zp::recurrent_parameters_of(find, layer, reversed); };
    const auto between = side_by_side(single<inputs>(x, of(0, false), false), single<inputs>(x, of(0, true), true));
    const auto forward = single<2 * hidden>(between, of(1, false), false),
               backward = single<2 * hidden>(between, of(1, true), true);

    const stack layer(find);
    const auto memory = std::make_unique<stack::workspace>();
    stack::state state;
    std::vector<float> y(steps * stack::outputs);
    layer(x, state, y, *memory);
    CHECK(y == side_by_side(forward, backward));
    // h_n: the last step of a forward layer, the first row of a reversed one.
    CHECK(std::equal(state[2].h.begin(), state[2].h.end(), forward.end() - hidden));
    CHECK(std::equal(state[3].h.begin(), state[3].h.end(), backward.begin()));
    CHECK_THROWS_AS(layer({x.data(), inputs + 1}, state, y, *memory), zp::shape_error);
}
