// SPDX-License-Identifier: BSD-3-Clause
// Int8 convolutions of every kind, and a multilayer perceptron, equal the simulation at every row.
#include <doctest/doctest.h>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>

#include "integer_simulation.hpp"

namespace {

using simulation::activation;
using simulation::square;
using zp::conv;

struct config : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                            zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>> {};

struct convolutions
    : zp::model<
          zp::input<11, 9, 4>, zp::conv2d<"strided", conv{.out_channels = 18, .kernel = 3, .stride = 2, .padding = 1}>,
          zp::conv2d<"dilated", conv{.out_channels = 12, .kernel = {3, 2}, .padding = {2, 1}, .dilation = {2, 3}}>,
          zp::relu, zp::conv2d<"grouped", conv{.out_channels = 6, .kernel = 2, .groups = 3, .bias = false}>,
          zp::conv2d<"depthwise", conv{.kernel = 3, .stride = {2, 1}, .padding = 1, .groups = zp::depthwise}>,
          zp::relu6,
          zp::conv2d<"multiplier", conv{.out_channels = 12, .kernel = 3, .padding = 1, .groups = zp::depthwise}>,
          zp::conv2d<"wide", conv{.out_channels = 5, .kernel = {1, 2}}>> {};

struct perceptron
    : zp::model<zp::input<3, 2, 4>, zp::flatten, zp::linear<"a", 37, zp::with_bias::no>, zp::batch_norm1d<"bn_a">,
                zp::relu, zp::dropout, zp::linear<"b", 5>,
                zp::batch_norm1d<"bn_b", zp::norm{.epsilon_millionths = 100000, .affine = false}>, zp::linear<"c", 1>> {
};

}  // namespace

TEST_CASE("convert: strided, dilated, grouped, depthwise and pointwise convolutions") {
    const auto trained = made_up::network<convolutions>(4);
    const auto calibration = made_up::inputs<convolutions>(5, 4);
    const auto int8 = simulation::converted<config>(trained, calibration);
    simulation::script<convolutions, config> s(trained, calibration);
    for (const auto& image : made_up::inputs<convolutions>(3, 80, -1.2f, 1.2f)) {
        const auto x = s.quantize(s.input(image), s.range("input"));
        const auto strided = s.convolve("strided", x, square(3, 2, 1), s.range("strided"));
        const auto dilated =
            s.convolve("dilated", strided, {3, 2, 1, 1, 2, 1, 2, 3, 1}, s.range("dilated"), activation::relu);
        const auto grouped = s.convolve("grouped", dilated, square(2, 1, 0, 1, 3), s.range("grouped"));
        const auto depthwise =
            s.convolve("depthwise", grouped, {3, 3, 2, 1, 1, 1, 1, 1, 6}, s.range("depthwise"), activation::relu6);
        const auto multiplier = s.convolve("multiplier", depthwise, square(3, 1, 1, 1, 6), s.range("multiplier"));
        s.dequantize(s.convolve("wide", multiplier, {1, 2}, s.range("wide")));
        CHECK(simulation::differences(int8, s, image) == "");
    }
}

TEST_CASE("convert: linear layers with batch norms in one dimension") {
    const auto trained = made_up::network<perceptron>(5);
    const auto calibration = made_up::inputs<perceptron>(20, 5, 0, 1);
    const auto int8 = simulation::converted<config>(trained, calibration);
    simulation::script<perceptron, config> s(trained, calibration);
    for (const auto& image : made_up::inputs<perceptron>(5, 81, 0, 1)) {
        auto x = s.quantize(s.input(image), s.range("input"));
        x.extents = {1, 1, 24};
        const auto a = s.convolve("a", x, square(1), s.range("a"), activation::relu, "bn_a");
        const auto b = s.convolve("b", a, square(1), s.range("b"), activation::none, "bn_b");
        s.dequantize(s.convolve("c", b, square(1), s.range("c")));
        CHECK(simulation::differences(int8, s, image) == "");
    }
}
