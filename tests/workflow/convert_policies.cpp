// SPDX-License-Identifier: BSD-3-Clause
// Every requantization policy equals the simulation at every row, over unsigned and signed codes.
#include <doctest/doctest.h>

#include <zeropoint/io/model_file.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>

#include "integer_simulation.hpp"

namespace {

using simulation::activation;
using simulation::policy;
using simulation::square;
using zp::conv;

template <class DType> using activations = zp::quantizer<DType, zp::per_tensor_affine, zp::min_max_observer>;
using weights = zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>;
template <class Policy>
struct unsigned_config : zp::qconfig<activations<zp::quint8>, weights, zp::requantize_with<Policy>> {};
template <class Policy>
struct signed_config : zp::qconfig<activations<zp::qint8>, weights, zp::requantize_with<Policy>> {};

/// One layer of every algorithm; the last has few inputs and large outputs, so that its multipliers exceed 1.
struct net : zp::model<zp::input<6, 6, 5>, zp::conv2d<"a", conv{.out_channels = 19, .kernel = 3, .padding = 1}>,
                       zp::relu, zp::conv2d<"b", conv{.kernel = 3, .groups = zp::depthwise}>, zp::hardswish,
                       zp::conv2d<"c", conv{.out_channels = 38, .groups = 19}>, zp::adaptive_avg_pool2d<1>, zp::flatten,
                       zp::linear<"d", 3>> {};

template <class Config> void check(policy how) {
    auto trained = made_up::network<net>(8);
    // A nearly dead channel: 2^-20 of the others' weights, so multipliers range over many powers of two.
    for (const zp::node& row : trained.rows())
        if (row.op->kind == &zp::op::conv2d)
            for (int k = 0; k != row.weights.count / row.weights.channels; ++k)
                reinterpret_cast<float*>(trained.parameters() + row.at.parameter_offset)[k] *= 0x1p-20f;
    const auto calibration = made_up::inputs<net>(4, 8);
    const auto int8 = simulation::converted<Config>(trained, calibration);
    simulation::script<net, Config> s(trained, calibration, how);
    for (const auto& image : made_up::inputs<net>(4, 84, -1.5f, 1.5f)) {
        const auto x = s.quantize(s.input(image), s.range("input"));
        const auto a = s.convolve("a", x, square(3, 1, 1), s.range("a"), activation::relu);
        const auto b = s.convolve_then("b", a, square(3, 1, 0, 1, 19), s.range("b"), s.range("hardswish_4"),
                                       [](double v) { return v * std::min(std::max(v + 3, 0.0), 6.0) / 6; });
        const auto c = s.convolve("c", b, square(1, 1, 0, 1, 19), s.range("c"));
        s.dequantize(s.convolve("d", s.global_average(c), square(1), s.range("d")));
        CHECK(simulation::differences(int8, s, image) == "");
    }
}

}  // namespace

TEST_CASE("convert: nearest_even") { check<unsigned_config<zp::nearest_even>>(policy::nearest_even); }
TEST_CASE("convert: float_bias") {
    check<unsigned_config<zp::float_bias>>(policy::float_bias);
    check<signed_config<zp::float_bias>>(policy::float_bias);
}
TEST_CASE("convert: fixed_point_double_rounding") {
    check<unsigned_config<zp::fixed_point_double_rounding>>(policy::double_rounding);
    check<signed_config<zp::fixed_point_double_rounding>>(policy::double_rounding);
}
TEST_CASE("convert: fixed_point_single_rounding") {
    check<unsigned_config<zp::fixed_point_single_rounding>>(policy::single_rounding);
}

TEST_CASE("convert: a dead channel under float_bias gives its bias") {
    struct one : zp::model<zp::input<1, 1, 2>, zp::linear<"fc", 2>> {};
    using small_weights =
        zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer, zp::tflite_rule>;
    struct config : zp::qconfig<activations<zp::quint8>, small_weights, zp::requantize_with<zp::float_bias>> {};
    for (const float nearly_nothing : {1e-38f, 1e-40f}) {
        auto trained = made_up::network<one>(3);
        const auto weights = zp_test::array_of(trained, trained.rows()[1], 0),
                   bias = zp_test::array_of(trained, trained.rows()[1], 1);
        weights[0] = weights[1] = nearly_nothing;
        bias[0] = 0.5f;
        zp::conversion_notes notes;
        const auto int8 = zp::convert(zp::calibrate(zp::prepare<config>(trained), made_up::inputs<one>(8, 2)), &notes);
        CHECK(notes.raised_weight_scales == std::vector<std::string>{"fc: 1 of 2 channels"});
        const float step = int8.ranges()[int8.rows()[2].out.qparams_id].scale;
        for (const auto& x : made_up::inputs<one>(8, 5)) CHECK(std::abs(int8(x)[0] - 0.5f) <= step / 2);
        // By hand scales of weights may still be so small: an error of the file.
        auto by_hand = int8;
        by_hand.ranges()[int8.rows()[1].out.qparams_id].scale = 1e-30f;
        CHECK_THROWS_WITH_AS((zp::load<zp::quantized<one, config>>(zp::to_bytes(by_hand), "memory")),
                             doctest::Contains("too small for float arithmetic with its bias"), zp::file_error);
    }
}
