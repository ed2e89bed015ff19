// SPDX-License-Identifier: BSD-3-Clause
// Any callable as an activation, and clamps: fused behind a layer and on their own, they equal the simulation at every row.
#include <doctest/doctest.h>

#include <cmath>

#include <zeropoint/analysis/model_table.hpp>
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
struct narrow_config : zp::qconfig<zp::quantizer<zp::qint8_narrow, zp::per_tensor_affine, zp::min_max_observer>,
                                   weights, zp::table_bits<12>> {};

/// A user's: its range is known, and it has floats only.
template <int Hundredths> struct bump {
    static constexpr const char* kind = "bump";
    static constexpr float constants[] = {static_cast<float>(Hundredths / 1e2)};
    static constexpr float output_min = -1, output_max = 3;
    float operator()(float x) const { return 1 / (1 + constants[0] * x * x); }
};

/// Fused behind conv2d and linear; on their own behind a pool, a clamp and each other. The clamps: fused and not.
struct net : zp::model<zp::input<5, 5, 3>, zp::conv2d<"a", conv{.out_channels = 6}>, zp::named<"silu", zp::silu>,
                       zp::conv2d<"b", conv{.out_channels = 6}>, zp::hardtanh<-500, 700>, zp::max_pool2d<2>,
                       zp::clamp<-250, 6000>, zp::named<"elu", zp::elu<500>>,
                       zp::named<"bump", zp::activation<bump<50>>>, zp::conv2d<"c", conv{.out_channels = 7}>,
                       zp::activation<bump<200>>, zp::flatten, zp::linear<"d", 8>, zp::hard_sigmoid> {};

double silu(double x) { return x / (1 + std::exp(-x)); }
double elu(double x) { return x > 0 ? x : 0.5 * std::expm1(x); }
double hard_sigmoid(double x) { return std::min(std::max(x + 3, 0.0), 6.0) / 6; }
template <int Hundredths> double bumped(double x) {
    const auto value = static_cast<float>(x);
    return double{1 / (1 + static_cast<float>(Hundredths / 1e2) * value * value)};
}

template <class Config> void check(zp::qparams of_bump, zp::qparams of_hard_sigmoid, int bits) {
    const auto trained = made_up::network<net>(6);
    const auto calibration = made_up::inputs<net>(5, 6, -2, 2);
    const auto int8 = simulation::converted<Config>(trained, calibration);
    simulation::script<net, Config> s(trained, calibration);
    s.table_bits = bits;
    for (const auto& image : made_up::inputs<net>(3, 82, -2.5f, 2.5f)) {
        const auto x = s.quantize(s.input(image), s.range("input"));
        const auto a = s.convolve_then("a", x, square(1), s.range("a"), s.range("silu"), silu);
        const auto b = s.convolve_clamped("b", a, square(1), s.range("b"), -0.5f, 0.7f);
        const auto pooled = s.clamp(s.pool(pooling::max, b, square(2, 2)), -0.25f, 6.0f);
        const auto e = s.table(pooled, s.range("elu"), elu);
        const auto own = s.table(e, of_bump, bumped<50>);
        auto c = s.convolve_then("c", own, square(1), s.range("c"), of_bump, bumped<200>);
        c.extents = {1, 1, c.extents.size()};
        s.dequantize(s.convolve_then("d", c, square(1), s.range("d"), of_hard_sigmoid, hard_sigmoid));
        CHECK(simulation::differences(int8, s, image) == "");
    }
    const std::string text = zp::to_string(int8);
    for (const char* operation : {"conv2d + silu ", "conv2d + clamp(-0.5, 0.7)", "  clamp(-0.25, 6)", "  elu(0.5)",
                                  "  bump(0.5)", "conv2d + bump(2)", "linear + hard_sigmoid"}) {
        CAPTURE(text);
        CHECK(text.find(operation) != text.npos);
    }
}

}  // namespace

TEST_CASE("convert: functions and clamps over unsigned codes") {
    check<unsigned_config>({4.0f / 256, 64}, {1.0f / 256, 0}, 10);
}
TEST_CASE("convert: functions and clamps over narrow signed codes, with tables of 4096 entries") {
    check<narrow_config>({4.0f / 255, -64}, {1.0f / 255, -127}, 12);
}
