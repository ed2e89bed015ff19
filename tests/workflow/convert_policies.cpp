// Every requantization policy equals the simulation at every row, over unsigned and signed codes.
#include <doctest/doctest.h>

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
        const auto b = s.convolve_then("b", a, square(3, 1, 0, 1, 19), s.range("b"), s.range("hardswish_3"),
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
