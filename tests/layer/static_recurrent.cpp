// Recurrent layers in integers: near the float layers, and the same codes on every architecture.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <zeropoint/layer/static_recurrent.hpp>
#include <zeropoint/scheme/quantize.hpp>

#include "../kernel/arrays.hpp"
#include "../support/made_up.hpp"

namespace {

constexpr int inputs = 21, hidden = 32, steps = 40;

template <class Cell> struct parameters {
    static constexpr std::size_t sums = std::size_t{Cell::gates} * hidden;
    std::vector<float> weight_ih = made_up::values(sums * inputs, 1, -0.3f, 0.3f),
                       weight_hh = made_up::values(sums * hidden, 2, -0.3f, 0.3f),
                       bias_ih = made_up::values(sums, 3, -0.3f, 0.3f), bias_hh = made_up::values(sums, 4, -0.3f, 0.3f);
    zp::recurrent_parameters spans() const { return {weight_ih, weight_hh, bias_ih, bias_hh, {}}; }
};

template <class Cell> void compare() {
    const parameters<Cell> p;
    const auto x = made_up::values(inputs * steps, 5, -2, 3);
    const zp::qparams range = zp::choose_qparams<zp::quint8, zp::per_tensor_affine>(-2.0f, 3.0f);
    std::vector<std::uint8_t> codes;
    for (const float value : x) codes.push_back(zp::quantize<zp::quint8>(value, range));

    const zp::recurrent<Cell, inputs, hidden, zp::float_policy> exact(p.spans());
    typename zp::recurrent<Cell, inputs, hidden, zp::float_policy>::workspace float_memory;
    typename zp::recurrent<Cell, inputs, hidden, zp::float_policy>::state float_state;
    std::vector<float> y(hidden);
    std::vector<std::int8_t> first;
    arrays::for_each_architecture([&]<class Arch>() {
        using layer_type = zp::static_recurrent<Cell, inputs, hidden, Arch>;
        const layer_type layer(p.spans(), range);
        const auto memory = std::make_unique<typename layer_type::workspace>();
        typename layer_type::state state;
        std::vector<std::int8_t> all;
        double signal = 0, error = 0;
        for (int step = 0; step != steps; ++step) {
            layer.run(codes.data() + step * inputs, state, *memory);
            all.insert(all.end(), state.h.begin(), state.h.end());
            if (!first.empty()) continue;
            exact.run(x.data() + step * inputs, 1, float_state, y.data(), float_memory);
            for (std::size_t i = 0; i != hidden; ++i) {
                const double off =
                    double{y[i]} - static_cast<double>(state.h[i]) * double{layer_type::output_qparams.scale};
                signal += double{y[i]} * double{y[i]};
                error += off * off;
            }
        }
        if (first.empty()) {
            first = all;
            CHECK(10 * std::log10(signal / error) > 30);
        }
        CHECK(all == first);
    });
}

}  // namespace

TEST_CASE("static_recurrent: LSTM") { compare<zp::lstm_cell>(); }
TEST_CASE("static_recurrent: GRU") { compare<zp::gru_cell>(); }

TEST_CASE("static_recurrent: what does not fit is refused") {
    using layer_type = zp::static_recurrent<zp::gru_cell, inputs, hidden>;
    const parameters<zp::gru_cell> p;
    const auto error_of = [](const zp::recurrent_parameters& wrong, zp::qparams x) {
        try {
            layer_type refused(wrong, x);
        } catch (const zp::error& error) { return std::string(error.what()); }
        return std::string("no error");
    };
    auto wrong = p.spans();
    CHECK(error_of(wrong, {0.1f, 128}) == "no error");
    CHECK(error_of(wrong, {0.0f, 300}) ==
          "static_recurrent: expected a scale above 0 and a zero point from 0 to 255, found 0 and 300");
    CHECK(error_of(wrong, {1e6f, 0}).find("static_recurrent: expected scales of inputs times scales of weights") == 0);
    wrong.weight_hh = wrong.weight_ih;
    CHECK(error_of(wrong, {0.1f, 128}) == "static_recurrent: expected 3072 values of weight_hh, found 2016");
}
