// SPDX-License-Identifier: BSD-3-Clause
// AdaRound, GPTQ, sequential MSE and bias correction over whole networks: exactly the codes that were chosen come out, errors shrink.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include <zeropoint/methods/adaround.hpp>
#include <zeropoint/methods/correct_biases.hpp>
#include <zeropoint/methods/gptq.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/operators/activations.hpp>
#include <zeropoint/operators/add.hpp>
#include <zeropoint/operators/conv_transpose2d.hpp>
#include <zeropoint/operators/flatten.hpp>
#include <zeropoint/operators/linear.hpp>
#include <zeropoint/operators/pool2d.hpp>

#include "../support/golden_file.hpp"
#include "../support/made_up.hpp"

namespace {

using zp::conv;

/// Every kind of layer that has a form of its own: plain, depthwise and grouped filters, a residual, a table behind a layer, transposed.
struct net : zp::model<zp::input<8, 8, 3>, zp::conv2d<"a", conv{.out_channels = 8, .kernel = 3, .padding = 1}>,
                       zp::batch_norm2d<"a_norm">, zp::relu,
                       zp::residual<zp::conv2d<"b", conv{.kernel = 3, .padding = 1, .groups = zp::depthwise}>,
                                    zp::batch_norm2d<"b_norm">, zp::relu, zp::conv2d<"c", conv{.out_channels = 8}>>,
                       zp::conv2d<"d", conv{.out_channels = 6, .kernel = 3, .stride = 2, .groups = 2}>, zp::hardswish,
                       zp::conv_transpose2d<"e", zp::conv_transpose{.out_channels = 4, .kernel = 3, .stride = 2}>,
                       zp::relu, zp::flatten, zp::linear<"f", 5>> {};
using activations = zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>;
struct four_bits : zp::qconfig<activations, zp::quantizer<zp::quint4, zp::per_channel_affine, zp::min_max_observer>> {};

const std::vector<std::vector<float>>& data() {
    static const auto all = made_up::inputs<net>(64);
    return all;
}
template <class Config> auto calibrated() {
    return zp::calibrate(zp::prepare<Config>(made_up::network<net>(2)), data());
}
/// The sum of squared differences from the float network's outputs, over other inputs.
template <class Quantized> double error_of(const Quantized& model) {
    static const auto fused = zp::fuse(made_up::network<net>(2));
    double sum = 0;
    for (const auto& x : made_up::inputs<net>(32, 77)) {
        const auto y = model(x), wanted = fused(x);
        for (std::size_t i = 0; i != y.size(); ++i) sum += std::pow(double{y[i]} - double{wanted[i]}, 2);
    }
    return sum;
}
/// How many weights are no values of their layer's codes, and how many codes of convert's are not those that they mean.
template <class Config> int off_grid(const zp::calibrated<net, Config, zp::default_architecture>& network) {
    int wrong = 0;
    const zp::coded_layers<net, Config, zp::default_architecture> walk(network);
    for (const int row : walk.rows()) {
        const zp::coded_layer layer = walk.layer(row);
        for (std::size_t i = 0; i != layer.weights.size(); ++i) wrong += layer.weights[i] != layer.rounded[i];
    }
    return wrong;
}
std::string text_of(const std::vector<zp::layer_repair>& report) {
    std::string text;
    for (const auto& one : report)
        text += one.name + ": " + std::to_string(one.before) + " -> " + std::to_string(one.after) + ", " +
                std::to_string(one.changed) + " of " + std::to_string(one.weights) + "\n";
    return text;
}

template <class Config> void check_methods() {
    const auto nearest = calibrated<Config>();
    const double before = error_of(zp::convert(nearest));
    std::vector<zp::layer_repair> report;
    const auto check = [&](const auto& repaired, bool on_grid, double factor) {
        INFO(text_of(report));
        REQUIRE(report.size() == 6);
        std::size_t changed = 0;
        for (const auto& one : report) {
            CHECK(one.after <= one.before);
            changed += one.changed;
        }
        CHECK(changed > 20);
        if (on_grid) CHECK(off_grid<Config>(repaired) == 0);
        const double after = error_of(zp::convert(repaired));
        CHECK(after < factor * before);
    };
    check(zp::adaround(nearest, data(), {.iterations = 300, .batch = 64}, &report), true, 0.8);
    check(zp::gptq(nearest, data(), {}, &report), true, 0.85);
    check(zp::gptq(nearest, data(), {.act_order = true}, &report), true, 0.85);
    const auto scaled = zp::sequential_mse(nearest, data(), {}, &report);
    check(scaled, false, 1.0);
    check(zp::gptq(scaled, data(), {}, &report), true, 0.85);
}

}  // namespace

TEST_CASE("adaround, gptq, sequential_mse: codes that were chosen come out, and outputs come nearer") {
    check_methods<four_bits>();
}

TEST_CASE("inputs of layers: rows that have run stay, up to a layer that changes") {
    using layers = zp::coded_layers<net, four_bits, zp::default_architecture>;
    const auto inputs_of = [](layers& walk, int row) {
        std::vector<float> all;
        const zp::coded_layer layer = walk.layer(row);
        const auto size = static_cast<std::size_t>(
            zp::quantized<net, four_bits>::rows()[static_cast<std::size_t>(layer.input)].out.extents.size());
        walk.visit_inputs_of(layer, data(), [&](const float* x) { all.insert(all.end(), x, x + size); });
        return all;
    };
    const auto anew = [&](const layers& walk, int row) {
        layers other(walk.result);
        return inputs_of(other, row);
    };
    const auto change = [](layers& walk, int row) {  // weights of a channel one place further
        const zp::coded_layer layer = walk.layer(row);
        std::vector<float> values = layer.rounded;
        for (auto at = values.begin(); at != values.end(); at += static_cast<std::ptrdiff_t>(layer.grid.depth))
            std::rotate(at, at + 1, at + static_cast<std::ptrdiff_t>(layer.grid.depth));
        walk.set_weights(layer, values);
    };
    layers walk(calibrated<four_bits>());
    const std::vector<int> rows = layers::rows();
    for (const int row : rows) {
        CHECK(inputs_of(walk, row) == anew(walk, row));
        if (row != rows.back()) change(walk, row);
    }
    const auto before = inputs_of(walk, rows.back());
    change(walk, rows[1]);
    const auto after = inputs_of(walk, rows.back());
    CHECK(after != before);
    CHECK(after == anew(walk, rows.back()));
}

TEST_CASE("adaround: the same seed gives the same bits, another one others") {
    const auto nearest = calibrated<four_bits>();
    const auto made = [&](std::uint64_t seed) {
        const auto network = zp::adaround(nearest, data(), {.iterations = 40, .batch = 32, .seed = seed});
        return std::vector<std::byte>(network.parameters(), network.parameters() + network.parameter_bytes);
    };
    const auto first = made(1);
    CHECK(first == made(1));
    CHECK(first != made(2));
}

TEST_CASE("correct_biases_by_data: means over the data are those of the float network") {
    const auto nearest = calibrated<four_bits>();
    std::vector<std::string> report;
    const auto corrected = zp::correct_biases_by_data(nearest, data(), &report);
    CHECK(report.size() == 6);
    CHECK(error_of(zp::convert(corrected)) < error_of(zp::convert(nearest)));
    // The mean of each output over the data.
    const auto mean_shift = [&](const auto& network) {
        const auto fused = zp::fuse(made_up::network<net>(2));
        const auto simulated = zp::simulate(network);
        std::vector<double> shifts(5);
        for (const auto& x : data()) {
            const auto y = simulated(x);
            const auto wanted = fused(x);
            for (std::size_t i = 0; i != 5; ++i) shifts[i] += (double{y[i]} - double{wanted[i]}) / 64;
        }
        double most = 0;
        for (const double shift : shifts) most = std::max(most, std::abs(shift));
        return most;
    };
    CHECK(mean_shift(corrected) < 0.2 * mean_shift(nearest));
    // Behind a method that has put codes in place of floats, the floats come from elsewhere.
    const auto rounded = zp::gptq(nearest, data());
    const auto both = zp::correct_biases_by_data(rounded, nearest, data());
    CHECK(mean_shift(both) < 0.2 * mean_shift(rounded));
    CHECK(off_grid<four_bits>(both) == 0);
}

TEST_CASE("clipped_normal_mean is that of four million samples") {
    const zp_test::golden_file golden("methods");
    const auto beta = golden.values<float>("analytic/beta"), gamma = golden.values<float>("analytic/gamma"),
               low = golden.values<float>("analytic/low"), high = golden.values<float>("analytic/high"),
               mean = golden.values<float>("analytic/mean");
    for (std::size_t i = 0; i != mean.size(); ++i)
        CHECK(zp::clipped_normal_mean(double{beta[i]}, double{gamma[i]}, double{low[i]}, double{high[i]}) ==
              doctest::Approx(double{mean[i]}).epsilon(3e-3));
    CHECK(zp::clipped_normal_mean(-2, 0, 0, 6) == 0);
}

TEST_CASE("correct_biases_by_norms: layers behind batch norms, with their padding") {
    const auto trained = made_up::network<net>(2);
    const auto nearest = calibrated<four_bits>();
    const auto statistics = zp::norm_statistics(trained);
    std::vector<std::string> report;
    const auto corrected = zp::correct_biases_by_norms(nearest, statistics, &report);
    REQUIRE(report.size() == 2);
    CHECK(report[0].substr(0, 2) == "b:");
    CHECK(report[1].substr(0, 2) == "c:");
    // By hand for one channel of "b", 3x3 with padding 1 on 8x8: taps at the edge meet 56 or 49 of 64 pixels.
    const zp::coded_layers<net, four_bits, zp::default_architecture> walk(nearest);
    const zp::coded_layer b = walk.layer(walk.rows()[1]);
    REQUIRE(b.name == "b");
    const auto norm = made_up::parameters_of(trained, "a_norm");
    const double mean = zp::clipped_normal_mean(double{norm.bias[3]}, double{norm.weights[3]}, 0, zp::infinity);
    double shift = 0;
    for (std::size_t tap = 0; tap != 9; ++tap) {
        const double share = (tap / 3 == 1 ? 8 : 7) * (tap % 3 == 1 ? 8 : 7) / 64.0;
        shift += share * mean * (double{b.rounded[27 + tap]} - double{b.weights[27 + tap]});
    }
    const auto bias = made_up::parameters_of(corrected, "b").bias;
    CHECK(double{bias[3]} == doctest::Approx(double{b.bias[3]} - shift).epsilon(1e-5));
    CHECK_THROWS_WITH_AS(zp::correct_biases_by_norms(nearest, std::span(statistics).subspan(1)),
                         doctest::Contains("expected statistics of"), zp::value_error);
}

TEST_CASE("methods: options and data that make no sense are sentences") {
    const auto nearest = calibrated<four_bits>();
    const std::vector<std::vector<float>> nothing;
    CHECK_THROWS_WITH_AS(zp::gptq(nearest, nothing), doctest::Contains("at least one input"), zp::shape_error);
    CHECK_THROWS_WITH_AS(zp::adaround(nearest, data(), {.iterations = 0}), doctest::Contains("iterations"),
                         zp::value_error);
    CHECK_THROWS_WITH_AS(zp::sequential_mse(nearest, data(), {.candidates = 0}), doctest::Contains("candidates"),
                         zp::value_error);
}
