// SPDX-License-Identifier: BSD-3-Clause
// LSTM and GRU over codes of 8 bits, on their own: near the float layers, and the same codes on every architecture.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <zeropoint/layer/static_layers.hpp>
#include <zeropoint/operators/lstm.hpp>
#include <zeropoint/scheme/quantize.hpp>

#include "../support/arrays.hpp"
#include "../support/made_up.hpp"
#include "../support/recurrent_reference.hpp"

namespace {

constexpr int inputs = 21, hidden = 32, steps = 40;

using policy = zp::fused_policy<zp::quint8, zp::qint8, zp::qint8>;
template <class Layer, class Arch = zp::default_architecture>
using alone = zp::static_layer<Layer, zp::shape{1, 1, inputs}, zp::op::none, policy, Arch>;
constexpr zp::qparams state_range{0x1p-7f, 0};

struct parameters {
    std::size_t sums;
    std::vector<float> weight_ih = made_up::values(sums * inputs, 1, -0.3f, 0.3f),
                       weight_hh = made_up::values(sums * hidden, 2, -0.3f, 0.3f),
                       bias_ih = made_up::values(sums, 3, -0.3f, 0.3f), bias_hh = made_up::values(sums, 4, -0.3f, 0.3f);
    std::span<const float> operator()(const std::string& name, int, int, bool) const {
        return name == "weight_ih_l0"   ? weight_ih
               : name == "weight_hh_l0" ? weight_hh
               : name == "bias_ih_l0"   ? bias_ih
                                        : bias_hh;
    }
};

template <class Layer> void compare(zp::recurrent_cell cell) {
    const zp::recurrent_layer described{cell, hidden, {}};
    const parameters p{static_cast<std::size_t>(described.sums())};
    const auto x = made_up::values(inputs * steps, 5, -2, 3);
    const zp::qparams range = zp::choose_qparams<zp::quint8, zp::per_tensor_affine>(-2.0f, 3.0f);
    std::vector<std::uint8_t> codes;
    for (const float value : x) codes.push_back(zp::quantize<zp::quint8>(value, range));
    const auto expected = recurrent_reference::integers<recurrent_reference::bytes>(described, inputs, p, range,
                                                                                    {codes.begin(), codes.end()});
    const auto exact = recurrent_reference::floats<zp::float_policy>(described, inputs, p, x);
    arrays::for_each_architecture([&]<class Arch>() {
        using layer_type = alone<Layer, Arch>;
        const layer_type layer({p.weight_ih, p.weight_hh, p.bias_ih, p.bias_hh}, range, state_range);
        const auto memory = std::make_unique<typename layer_type::workspace>();
        typename layer_type::state state;
        std::vector<int> all;
        for (int step = 0; step != steps; ++step) {
            std::vector<std::int8_t> y(hidden);
            layer.run(codes.data() + step * inputs, state, y.data(), *memory);
            all.insert(all.end(), y.begin(), y.end());
        }
        CHECK(all == expected);
    });
    double signal = 0, error = 0;
    for (std::size_t i = 0; i != exact.size(); ++i) {
        const double off = double{exact[i]} - expected[i] * double{state_range.scale};
        signal += double{exact[i]} * double{exact[i]};
        error += off * off;
    }
    CHECK(10 * std::log10(signal / error) > 30);
}

}  // namespace

TEST_CASE("integer recurrent: LSTM") { compare<zp::lstm<"layer", hidden>>(zp::recurrent_cell::lstm); }
TEST_CASE("integer recurrent: GRU") { compare<zp::gru<"layer", hidden>>(zp::recurrent_cell::gru); }

TEST_CASE("integer recurrent: what does not fit is refused") {
    const parameters p{3 * hidden};
    const auto error_of = [&](std::span<const float> weight_hh, zp::qparams x) {
        try {
            alone<zp::gru<"layer", hidden>> refused({p.weight_ih, weight_hh, p.bias_ih, p.bias_hh}, x, state_range);
        } catch (const zp::error& error) { return std::string(error.what()); }
        return std::string("no error");
    };
    CHECK(error_of(p.weight_hh, {0.1f, 128}) == "no error");
    CHECK(error_of(p.weight_hh, {0.0f, 300}) ==
          "layer: expected a finite scale above 0 and a zero point from 0 to 255 of the input, found 0 and 300");
    CHECK(error_of(p.weight_hh, {1e6f, 0}) ==
          "layer: expected what gates sum up must stay below 65536 for all codes of the input: calibrate on real data");
    CHECK(error_of(p.weight_ih, {0.1f, 128}) == "layer: expected 3072 values of weight_hh_l0, found 2016");
}
