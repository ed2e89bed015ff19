// SPDX-License-Identifier: BSD-3-Clause
// LSTM and GRU over codes of 16 bits, on their own: within a few codes of exact arithmetic, and the same codes on every architecture.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <zeropoint/kernel/recurrent/gates_int16.hpp>
#include <zeropoint/layer/static_layers.hpp>
#include <zeropoint/operators/lstm.hpp>

#include "../support/arrays.hpp"
#include "../support/made_up.hpp"

namespace {

constexpr int inputs = 21, hidden = 32, steps = 40;
constexpr float x_scale = 3.0f / 32767;

using policy = zp::fused_policy<zp::qint16, zp::qint8, zp::qint16>;
template <class Layer, class Arch = zp::default_architecture>
using alone = zp::static_layer<Layer, zp::shape{1, 1, inputs}, zp::op::none, policy, Arch>;
constexpr zp::qparams state_range{0x1p-15f, 0};

struct parameters {
    std::size_t sums;
    std::vector<float> weight_ih = made_up::values(sums * inputs, 1, -0.5f, 0.5f),
                       weight_hh = made_up::values(sums * hidden, 2, -0.5f, 0.5f),
                       bias_ih = made_up::values(sums, 3, -0.3f, 0.3f), bias_hh = made_up::values(sums, 4, -0.3f, 0.3f);
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// A layer of doubles, with the weights that 8 bits leave of the given ones.
class exact_layer {
public:
    explicit exact_layer(const parameters& p) : bias_ih_(p.bias_ih), bias_hh_(p.bias_hh), h(hidden), c(hidden) {
        weights(p.weight_ih, inputs, ih_);
        weights(p.weight_hh, hidden, hh_);
    }
    void step(const double* x) {
        const auto products = [](const std::vector<double>& w, const std::vector<float>& bias, const double* from) {
            const std::size_t depth = w.size() / bias.size();
            std::vector<double> y(bias.begin(), bias.end());
            for (std::size_t i = 0; i != w.size(); ++i) y[i / depth] += w[i] * from[i % depth];
            return y;
        };
        const std::vector<double> a = products(ih_, bias_ih_, x), b = products(hh_, bias_hh_, h.data());
        for (std::size_t i = 0; i != hidden; ++i) {
            const auto sum = [&](std::size_t gate) { return a[gate * hidden + i] + b[gate * hidden + i]; };
            if (bias_ih_.size() == 4 * hidden) {
                c[i] = sigmoid(sum(1)) * c[i] + sigmoid(sum(0)) * std::tanh(sum(2));
                h[i] = sigmoid(sum(3)) * std::tanh(c[i]);
            } else {
                const double n = std::tanh(a[2 * hidden + i] + sigmoid(sum(0)) * b[2 * hidden + i]);
                h[i] = n + sigmoid(sum(1)) * (h[i] - n);
            }
        }
    }

private:
    static void weights(const std::vector<float>& from, std::size_t depth, std::vector<double>& to) {
        std::vector<std::string> raised;
        const zp::quantized_weights quantized =
            zp::quantize_filters<zp::own_weight_quantizer, zp::default_architecture>(
                from, std::vector<float>(from.size() / depth), {}, "", raised);
        for (std::size_t i = 0; i != from.size(); ++i)
            to.push_back(static_cast<std::int8_t>(quantized.codes[i]) * double{quantized.scales[i / depth]});
    }
    std::vector<double> ih_, hh_;
    std::vector<float> bias_ih_, bias_hh_;

public:
    std::vector<double> h, c;
};

template <class Layer> void compare(std::size_t gates) {
    const parameters p{gates * hidden};
    std::vector<std::int16_t> codes;
    for (const float value : made_up::values(inputs * steps, 5, -3, 3))
        codes.push_back(static_cast<std::int16_t>(std::lround(value / x_scale)));
    codes[3] = -32768;
    std::vector<std::int16_t> first;
    arrays::for_each_architecture([&]<class Arch>() {
        using layer_type = alone<Layer, Arch>;
        const layer_type layer({p.weight_ih, p.weight_hh, p.bias_ih, p.bias_hh}, {x_scale, 0}, state_range);
        const auto memory = std::make_unique<typename layer_type::workspace>();
        typename layer_type::state state;
        exact_layer exact(p);
        std::vector<std::int16_t> all;
        double furthest = 0;
        for (int step = 0; step != steps; ++step) {
            std::vector<std::int16_t> y(hidden);
            layer.run(codes.data() + step * inputs, state, y.data(), *memory);
            all.insert(all.end(), y.begin(), y.end());
            if (!first.empty()) continue;
            std::vector<double> x;
            for (int i = 0; i != inputs; ++i)
                x.push_back(double{x_scale} * codes[static_cast<std::size_t>(step * inputs + i)]);
            exact.step(x.data());
            for (std::size_t i = 0; i != hidden; ++i)
                furthest = std::max(furthest, std::abs(exact.h[i] * 32768 - y[i]));
        }
        if (first.empty()) {
            first = all;
            INFO("codes of 2^-15 away: ", furthest);
            CHECK(furthest < 12);
            CHECK(furthest > 0.1);
        }
        CHECK(all == first);
    });
}

}  // namespace

TEST_CASE("recurrent of int16: LSTM") { compare<zp::lstm<"layer", hidden>>(4); }
TEST_CASE("recurrent of int16: GRU") { compare<zp::gru<"layer", hidden>>(3); }

TEST_CASE("recurrent of int16: gates far out, and tables") {
    const zp::kernel::gate_tables_int16 tables;
    double worst = 0;
    for (std::int64_t x = -2200000; x < 2200000; x += 197) {
        const double real = std::clamp(static_cast<double>(x) / 131072, -16.0, 16.0);
        const auto sigmoid_code = static_cast<double>(tables.at(tables.sigmoid, x)),
                   tanh_code = static_cast<double>(tables.at(tables.tanh, x));
        worst = std::max({worst, std::abs(sigmoid_code - std::min(32768 * sigmoid(real), 32767.0)),
                          std::abs(tanh_code - std::min(32768 * std::tanh(real), 32767.0))});
    }
    CHECK(worst < 0.8);
    // Arguments as large as they can be: everything saturates, nothing overflows.
    const std::int32_t multiplier[4] = {1 << 22, 1 << 22, 1 << 22, 1 << 22};
    const std::int64_t large = (std::int64_t{1} << 38), limit = std::int64_t{1} << 59,
                       bias[4] = {limit, limit, limit, limit};
    const zp::kernel::gate_arguments_int16 arguments{multiplier, multiplier, bias, bias, 1};
    const std::int64_t up[4] = {large, large, large, large}, down[3] = {-large, -large, -large};
    std::int32_t state = INT32_MAX;
    std::int16_t h = 0;
    zp::kernel::lstm_gates_int16(tables, arguments, up, up, 1, &state, &h);
    CHECK(state == INT32_MAX);
    CHECK(h == 32766);
    state = 0;
    zp::kernel::gru_gates_int16(tables, arguments, down, down, 1, &state, &h);
    CHECK(h <= -32767);
}

TEST_CASE("recurrent of int16: what does not fit is refused") {
    const parameters p{3 * hidden};
    const auto error_of = [&](float scale) {
        try {
            alone<zp::gru<"layer", hidden>> refused({p.weight_ih, p.weight_hh, p.bias_ih, p.bias_hh}, {scale, 0},
                                                    state_range);
        } catch (const zp::error& error) { return std::string(error.what()); }
        return std::string("no error");
    };
    CHECK(error_of(1e-4f) == "no error");
    CHECK(error_of(1e6f) ==
          "layer: expected scales of inputs times scales of weights must be below 16: calibrate on real data");
}
