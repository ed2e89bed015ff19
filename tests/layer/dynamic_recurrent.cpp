// Recurrent dynamic layers: near PyTorch's formulas in double, and the same bits however a sequence is cut.
#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <zeropoint/layer/dynamic_recurrent.hpp>

#include "../support/made_up.hpp"

namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

struct parameters {
    std::vector<float> weight_ih, weight_hh, bias_ih, bias_hh;
    parameters(std::size_t gates, std::size_t inputs, std::size_t hidden)
        : weight_ih(made_up::values(gates * hidden * inputs, 1, -0.3f, 0.3f)),
          weight_hh(made_up::values(gates * hidden * hidden, 2, -0.3f, 0.3f)),
          bias_ih(made_up::values(gates * hidden, 3, -0.3f, 0.3f)),
          bias_hh(made_up::values(gates * hidden, 4, -0.3f, 0.3f)) {}
    operator zp::recurrent_parameters() const { return {weight_ih, weight_hh, bias_ih, bias_hh}; }
};

/// weight * x + bias in double.
std::vector<double> linear(const std::vector<float>& weight, const std::vector<float>& bias,
                           const std::vector<double>& x) {
    std::vector<double> y;
    for (std::size_t row = 0; row != bias.size(); ++row) {
        double sum = double{bias[row]};
        for (std::size_t k = 0; k != x.size(); ++k) sum += double{weight[row * x.size() + k]} * x[k];
        y.push_back(sum);
    }
    return y;
}

/// torch.nn.LSTM and torch.nn.GRU of one layer, as their documentation defines them.
std::vector<double> expected_of(bool lstm, const parameters& p, const std::vector<float>& x, std::size_t inputs,
                                std::size_t hidden) {
    std::vector<double> h(hidden), c(hidden), y;
    for (std::size_t step = 0; step != x.size() / inputs; ++step) {
        const auto row = x.begin() + static_cast<std::ptrdiff_t>(step * inputs);
        const auto a = linear(p.weight_ih, p.bias_ih, {row, row + static_cast<std::ptrdiff_t>(inputs)});
        const auto b = linear(p.weight_hh, p.bias_hh, h);
        for (std::size_t i = 0; i != hidden; ++i) {
            const auto sum = [&](std::size_t gate) { return a[gate * hidden + i] + b[gate * hidden + i]; };
            if (lstm) {
                c[i] = sigmoid(sum(1)) * c[i] + sigmoid(sum(0)) * std::tanh(sum(2));
                h[i] = sigmoid(sum(3)) * std::tanh(c[i]);
            } else {
                const double n = std::tanh(a[2 * hidden + i] + sigmoid(sum(0)) * b[2 * hidden + i]),
                             z = sigmoid(sum(1));
                h[i] = (1 - z) * n + z * h[i];
            }
        }
        y.insert(y.end(), h.begin(), h.end());
    }
    return y;
}

template <class Cell> void compare(std::size_t gates) {
    constexpr int inputs = 19, hidden = 24, steps = 12;
    using whole = zp::dynamic_recurrent<Cell, inputs, hidden, zp::dynamic_policy<>, zp::default_architecture, steps>;
    using streaming = zp::dynamic_recurrent<Cell, inputs, hidden>;
    const parameters p(gates, inputs, hidden);
    const auto x = made_up::values(steps * inputs, 5, -2, 2);
    std::vector<float> y(steps * hidden), cut(steps * hidden), streamed(steps * hidden);

    const whole layer(p);
    const auto memory = std::make_unique<typename whole::workspace>();
    typename whole::state state;
    layer(x, state, y, *memory);
    const auto expected = expected_of(gates == 4, p, x, inputs, hidden);
    double signal = 0, error = 0;
    for (std::size_t i = 0; i != y.size(); ++i) {
        signal += expected[i] * expected[i];
        error += (expected[i] - double{y[i]}) * (expected[i] - double{y[i]});
    }
    CHECK(10 * std::log10(signal / error) > 35);

    typename whole::state other;
    layer(std::span(x).first(5 * inputs), other, std::span(cut).first(5 * hidden), *memory);
    layer(std::span(x).subspan(5 * inputs), other, std::span(cut).subspan(5 * hidden), *memory);
    CHECK(cut == y);

    const streaming one(p);
    const auto small = std::make_unique<typename streaming::workspace>();
    typename streaming::state stream;
    for (std::size_t step = 0; step != steps; ++step)
        one(std::span(x).subspan(step * inputs, inputs), stream, std::span(streamed).subspan(step * hidden, hidden),
            *small);
    CHECK(streamed == y);
    CHECK(stream.h == state.h);
}

}  // namespace

TEST_CASE("dynamic_lstm: near the float layer, the same whole, cut and streamed") { compare<zp::lstm_cell>(4); }
TEST_CASE("dynamic_gru: near the float layer, the same whole, cut and streamed") { compare<zp::gru_cell>(3); }

TEST_CASE("dynamic_recurrent: what does not fit is refused") {
    const parameters p(3, 5, 4);
    const zp::dynamic_gru<5, 4> layer(p);
    zp::dynamic_gru<5, 4>::workspace memory;
    zp::dynamic_gru<5, 4>::state state;
    std::vector<float> x(10), y(4);
    std::string message;
    try {
        layer(x, state, y, memory);
    } catch (const zp::shape_error& error) { message = error.what(); }
    CHECK(message == "dynamic_recurrent: expected 1 to 1 steps of 5 values and as many of 4 to write, found 10 and 4");
    static_assert(noexcept(layer.run(nullptr, 1, state, nullptr, memory)));
}
