// SPDX-License-Identifier: BSD-3-Clause
// mul_scalar: codes stay, the scale follows; alone, behind a clamp, on both sides of an add, and next to floats.
#include <doctest/doctest.h>

#include <ratio>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>

#include "integer_simulation.hpp"

namespace {

using simulation::square;
using zp::conv;

struct config : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                            zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>> {};

/// The value of "a" is read after the row that multiplies it, and so are the codes, which lie in one place.
struct net
    : zp::model<zp::input<5, 4, 3>, zp::conv2d<"a", conv{.out_channels = 6}>,
                zp::named<"sum", zp::residual<zp::mul_scalar<std::ratio<1, 3>>>>, zp::mul_scalar<std::ratio<5, 2>>,
                zp::relu6, zp::concat<zp::mul_scalar<std::ratio<2>>, zp::conv2d<"b", conv{.out_channels = 2}>>,
                zp::conv2d<"c", conv{.out_channels = 4, .kernel = 3, .padding = 1}>> {};

struct floats : zp::qconfig<config::activation, config::weight, zp::keep_float<"scaled">> {};
struct kept : zp::model<zp::input<1, 1, 4>, zp::linear<"a", 8>, zp::named<"scaled", zp::mul_scalar<std::ratio<1, 8>>>,
                        zp::linear<"b", 2>> {};

}  // namespace

TEST_CASE("convert: mul_scalar changes scales and no codes") {
    const auto trained = made_up::network<net>(6);
    const auto calibration = made_up::inputs<net>(5, 6, -2, 2);
    const auto int8 = simulation::converted<config>(trained, calibration);
    simulation::script<net, config> s(trained, calibration);
    for (const auto& image : made_up::inputs<net>(3, 82, -2.5f, 2.5f)) {
        const auto x = s.quantize(s.input(image), s.range("input"));
        const auto a = s.convolve("a", x, square(1), s.range("a"));
        const auto third = s.multiply(a, static_cast<float>(1.0 / 3));
        const auto sum = s.add(third, a, s.range("sum"));
        const auto bounded = s.clamp(s.multiply(sum, 2.5f), simulation::activation::relu6);
        const auto doubled = s.multiply(bounded, 2);
        const auto all = s.range("concat_8");
        const auto b = s.convolve("b", bounded, square(1), all);
        const auto moved = s.table(doubled, all, [](double value) { return value; });
        s.dequantize(s.convolve("c", s.concat({moved, b}), square(3, 1, 1), s.range("c")));
        CHECK(simulation::differences(int8, s, image) == "");
    }
}

TEST_CASE("convert: a mul_scalar that stays float is observed") {
    const auto trained = made_up::network<kept>(3);
    const auto inputs = made_up::inputs<kept>(5, 6, -2, 2);
    const auto int8 = simulation::converted<floats>(trained, inputs);
    std::vector<float> exact(2), y(2);
    for (const auto& x : inputs) {
        trained(x, exact);
        int8(x, y);
        for (std::size_t i = 0; i != 2; ++i) CHECK(y[i] == doctest::Approx(exact[i]).epsilon(0.05));
    }
}
