// SPDX-License-Identifier: BSD-3-Clause
// Activations that are tables, fused behind a layer and on their own, equal the simulation at every row.
#include <doctest/doctest.h>

#include <cmath>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>

#include "integer_simulation.hpp"

namespace {

using simulation::pooling;
using simulation::square;
using zp::conv;

using weights = zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>;
struct unsigned_config : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>, weights> {
};
struct signed_config : zp::qconfig<zp::quantizer<zp::qint8, zp::per_tensor_affine, zp::min_max_observer>, weights> {};
struct reduced_config : zp::qconfig<zp::quantizer<zp::quint8_reduced, zp::per_tensor_affine, zp::min_max_observer>,
                                    weights, zp::table_bits<8>> {};

/// Fused behind conv2d and linear; on their own behind a pool, an add and each other; in front of a concat.
struct net
    : zp::model<
          zp::input<5, 5, 3>, zp::conv2d<"a", conv{.out_channels = 6}>, zp::named<"leaky", zp::leaky_relu<100>>,
          zp::conv2d<"b", conv{.out_channels = 6}>, zp::named<"hard", zp::hardswish>, zp::max_pool2d<2>,
          zp::named<"tanh", zp::tanh>, zp::named<"leaky again", zp::leaky_relu<>>,
          zp::concat<zp::sequential<zp::conv2d<"c", conv{.out_channels = 4}>, zp::named<"gate", zp::sigmoid>>,
                     zp::sequential<zp::conv2d<"d", conv{.out_channels = 5}>, zp::named<"hard too", zp::hardswish>>,
                     zp::named<"gate of input", zp::sigmoid>>,
          zp::flatten, zp::linear<"e", 8>, zp::named<"last", zp::tanh>> {};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double tanh(double x) { return std::tanh(x); }
double hardswish(double x) { return x * std::min(std::max(x + 3, 0.0), 6.0) / 6; }
double identity(double x) { return x; }
auto leaky(float slope) {
    return [slope](double x) { return x > 0 ? x : x * double{slope}; };
}

template <class Config> void check(zp::qparams of_sigmoid, zp::qparams of_tanh, int bits = 10) {
    const auto trained = made_up::network<net>(6);
    const auto calibration = made_up::inputs<net>(5, 6, -2, 2);
    const auto int8 = simulation::converted<Config>(trained, calibration);
    simulation::script<net, Config> s(trained, calibration);
    s.table_bits = bits;
    for (const auto& image : made_up::inputs<net>(3, 82, -2.5f, 2.5f)) {
        const auto x = s.quantize(s.input(image), s.range("input"));
        const auto a = s.convolve_then("a", x, square(1), s.range("a"), s.range("leaky"), leaky(0.1f));
        const auto b = s.convolve_then("b", a, square(1), s.range("b"), s.range("hard"), hardswish);
        const auto t = s.table(s.pool(pooling::max, b, square(2, 2)), of_tanh, tanh);
        const auto again = s.table(t, s.range("leaky again"), leaky(0.01f));
        const auto all = s.range("concat_13");
        const auto gate = s.convolve_then("c", again, square(1), s.range("c"), of_sigmoid, sigmoid);
        const auto hard = s.convolve_then("d", again, square(1), s.range("d"), all, hardswish);
        const auto of_input = s.table(again, of_sigmoid, sigmoid);
        const auto moved = s.table(gate, all, identity), moved_too = s.table(of_input, all, identity);
        auto joined = s.concat({moved, hard, moved_too});
        joined.extents = {1, 1, joined.extents.size()};
        s.dequantize(s.convolve_then("e", joined, square(1), s.range("e"), of_tanh, tanh));
        CHECK(simulation::differences(int8, s, image) == "");
    }
}

}  // namespace

TEST_CASE("convert: tables over unsigned codes") { check<unsigned_config>({1.0f / 256, 0}, {2.0f / 256, 128}); }
TEST_CASE("convert: tables over signed codes") { check<signed_config>({1.0f / 256, -128}, {2.0f / 256, 0}); }
TEST_CASE("convert: tables of bytes over a reduced range") {
    check<reduced_config>({1.0f / 128, 0}, {2.0f / 128, 64}, 8);
}
