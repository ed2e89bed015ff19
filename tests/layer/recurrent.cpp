// SPDX-License-Identifier: BSD-3-Clause
// Recurrent layers, float and quantized: near PyTorch's formulas in double, and the same bits however a sequence is cut.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <zeropoint/layer/recurrent.hpp>

#include "../support/made_up.hpp"

namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

struct parameters {
    std::vector<float> weight_ih, weight_hh, bias_ih, bias_hh, weight_hr;
    parameters(std::size_t gates, std::size_t inputs, std::size_t hidden, std::size_t projection = 0)
        : weight_ih(made_up::values(gates * hidden * inputs, 1, -0.3f, 0.3f)),
          weight_hh(made_up::values(gates * hidden * (projection == 0 ? hidden : projection), 2, -0.3f, 0.3f)),
          bias_ih(made_up::values(gates * hidden, 3, -0.3f, 0.3f)),
          bias_hh(made_up::values(gates * hidden, 4, -0.3f, 0.3f)),
          weight_hr(made_up::values(projection * hidden, 5, -0.3f, 0.3f)) {}
    template <class Layer> Layer make() const {
        if (weight_hr.empty()) return Layer(weight_ih, weight_hh, bias_ih, bias_hh);
        return Layer(weight_ih, weight_hh, bias_ih, bias_hh, weight_hr);
    }
};

/// weight * x + bias in double.
std::vector<double> linear(const std::vector<float>& weight, const std::vector<float>& bias,
                           const std::vector<double>& x) {
    std::vector<double> y;
    for (std::size_t row = 0; row != weight.size() / x.size(); ++row) {
        double sum = bias.empty() ? 0.0 : double{bias[row]};
        for (std::size_t k = 0; k != x.size(); ++k) sum += double{weight[row * x.size() + k]} * x[k];
        y.push_back(sum);
    }
    return y;
}

/// torch.nn.LSTM, torch.nn.GRU and torch.nn.RNN of one layer, as their documentation defines them.
std::vector<double> expected_of(char kind, const parameters& p, const std::vector<float>& x, std::size_t inputs,
                                std::size_t hidden) {
    std::vector<double> out(hidden), h(p.weight_hr.empty() ? hidden : p.weight_hr.size() / hidden), c(hidden), y;
    for (std::size_t step = 0; step != x.size() / inputs; ++step) {
        const auto row = x.begin() + static_cast<std::ptrdiff_t>(step * inputs);
        const auto a = linear(p.weight_ih, p.bias_ih, {row, row + static_cast<std::ptrdiff_t>(inputs)});
        const auto b = linear(p.weight_hh, p.bias_hh, h);
        for (std::size_t i = 0; i != hidden; ++i) {
            const auto sum = [&](std::size_t gate) { return a[gate * hidden + i] + b[gate * hidden + i]; };
            if (kind == 'l') {
                c[i] = sigmoid(sum(1)) * c[i] + sigmoid(sum(0)) * std::tanh(sum(2));
                out[i] = sigmoid(sum(3)) * std::tanh(c[i]);
            } else if (kind == 'g') {
                const double n = std::tanh(a[2 * hidden + i] + sigmoid(sum(0)) * b[2 * hidden + i]),
                             z = sigmoid(sum(1));
                out[i] = (1 - z) * n + z * h[i];
            } else {
                out[i] = kind == 't' ? std::tanh(sum(0)) : std::max(sum(0), 0.0);
            }
        }
        h = p.weight_hr.empty() ? out : linear(p.weight_hr, {}, out);
        y.insert(y.end(), h.begin(), h.end());
    }
    return y;
}

/// Decibels of `expected` over what y is off.
double sqnr(const std::vector<double>& expected, const std::vector<float>& y) {
    double signal = 0, error = 1e-300;
    for (std::size_t i = 0; i != y.size(); ++i) {
        signal += expected[i] * expected[i];
        error += (expected[i] - double{y[i]}) * (expected[i] - double{y[i]});
    }
    return 10 * std::log10(signal / error);
}

template <template <int, int, class, class, int, zp::recurrent_options> class Layer, class Policy,
          zp::recurrent_options Options = zp::recurrent_options{}>
void compare(char kind, double least_sqnr) {
    constexpr int inputs = 19, hidden = 24, steps = 12;
    using whole = Layer<inputs, hidden, Policy, zp::default_architecture, steps, Options>;
    using streaming = Layer<inputs, hidden, Policy, zp::default_architecture, 1, Options>;
    constexpr std::size_t outputs = whole::outputs;
    const parameters p(kind == 'l' ? 4 : kind == 'g' ? 3 : 1, inputs, hidden, Options.projection);
    const auto x = made_up::values(steps * inputs, 5, -2, 2);
    std::vector<float> y(steps * outputs), cut(steps * outputs), streamed(steps * outputs);

    const auto layer = p.template make<whole>();
    const auto memory = std::make_unique<typename whole::workspace>();
    typename whole::state state;
    layer(x, state, y, *memory);
    CHECK(sqnr(expected_of(kind, p, x, inputs, hidden), y) > least_sqnr);

    typename whole::state other;
    layer(std::span(x).first(5 * inputs), other, std::span(cut).first(5 * outputs), *memory);
    layer(std::span(x).subspan(5 * inputs), other, std::span(cut).subspan(5 * outputs), *memory);
    CHECK(cut == y);
    CHECK(other.bytes == state.bytes);

    const auto one = p.template make<streaming>();
    const auto small = std::make_unique<typename streaming::workspace>();
    typename streaming::state stream;
    for (std::size_t step = 0; step != steps; ++step)
        one(std::span(x).subspan(step * inputs, inputs), stream, std::span(streamed).subspan(step * outputs, outputs),
            *small);
    CHECK(streamed == y);
    CHECK(stream.bytes == state.bytes);
    const std::span<float> h = state.values("h");
    CHECK(std::equal(h.begin(), h.end(), y.end() - static_cast<std::ptrdiff_t>(outputs), y.end()));
}

using int8 = zp::dynamic_policy<>;
constexpr zp::recurrent_options projected{.projection = 9}, relu{.nonlinearity = zp::rnn_nonlinearity::relu};

}  // namespace

TEST_CASE("recurrent: dynamic int8 near the float layer, the same whole, cut and streamed") {
    compare<zp::dynamic_lstm, int8>('l', 35);
    compare<zp::dynamic_gru, int8>('g', 35);
    compare<zp::dynamic_lstm, int8, projected>('l', 33);
}

TEST_CASE("recurrent: float, near PyTorch's formulas") {
    compare<zp::dynamic_lstm, zp::float_policy>('l', 120);
    compare<zp::dynamic_gru, zp::float_policy>('g', 120);
    compare<zp::dynamic_lstm, zp::float_policy, projected>('l', 120);
    compare<zp::dynamic_rnn, zp::float_policy>('t', 120);
    compare<zp::dynamic_rnn, zp::float_policy, relu>('r', 120);
}

TEST_CASE("recurrent: weights of 8 and 4 bits") {
    compare<zp::dynamic_gru, zp::weight_only_policy<>>('g', 38);
    compare<zp::dynamic_lstm, zp::weight_only_policy<zp::qint4, 8>>('l', 18);
}

TEST_CASE("recurrent: what does not fit is refused") {
    const parameters p(3, 5, 4);
    const auto layer = p.make<zp::dynamic_gru<5, 4>>();
    zp::dynamic_gru<5, 4>::workspace memory;
    zp::dynamic_gru<5, 4>::state state;
    std::vector<float> x(10), y(4);
    CHECK_THROWS_WITH_AS(layer(x, state, y, memory), doctest::Contains("gru: expected"), zp::shape_error);
    static_assert(noexcept(layer.run(nullptr, 1, state, nullptr, memory)));

    const auto error_of = [](const auto&... tensors) {
        try {
            zp::float_gru<5, 4> refused(tensors...);
        } catch (const zp::shape_error& error) { return std::string(error.what()); }
        return std::string("no error");
    };
    CHECK(error_of(std::span(p.weight_ih).first(59), p.weight_hh, p.bias_ih, p.bias_hh) ==
          "alone: expected 60 values of weight_ih_l0, found 59");
    CHECK(error_of(p.weight_ih, p.weight_hh, p.bias_ih) ==
          "alone: expected all biases of a layer or none, found bias_ih_l0 and no bias_hh_l0");
    CHECK(error_of(p.weight_ih, p.weight_hh) == "no error");
    CHECK_THROWS_AS(state.values("c"), zp::value_error);
}
