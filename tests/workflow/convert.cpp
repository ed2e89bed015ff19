// SPDX-License-Identifier: BSD-3-Clause
// convert at the edges: constant inputs, dead weights with large biases, weights that are no numbers, tables and notes.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>

#include "integer_simulation.hpp"

namespace {

using simulation::square;
using zp::conv;

struct config : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                            zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>> {};
struct net : zp::model<zp::input<3, 3, 2>, zp::conv2d<"conv1", conv{.out_channels = 16}>, zp::relu, zp::flatten,
                       zp::linear<"fc", 3>> {};

template <class Net> float* floats_of(zp::float_model<Net>& model, int row) {
    return reinterpret_cast<float*>(model.parameters() +
                                    model.rows()[static_cast<std::size_t>(row)].at.parameter_offset);
}

void check_against_script(const zp::float_model<net>& trained, const std::vector<std::vector<float>>& calibration,
                          const zp::quantized<net, config>& int8) {
    simulation::script<net, config> s(trained, calibration);
    for (const auto& image : made_up::inputs<net>(4, 90, -2, 2)) {
        auto conv1 = s.convolve("conv1", s.quantize(s.input(image), s.range("input")), square(1), s.range("conv1"),
                                simulation::activation::relu);
        conv1.extents = {1, 1, conv1.extents.size()};
        s.dequantize(s.convolve("fc", conv1, square(1), s.range("fc")));
        CHECK(simulation::differences(int8, s, image) == "");
    }
}

}  // namespace

TEST_CASE("convert: a constant input is legal and exactly representable") {
    for (const float constant : {0.0f, 1.0f, -3.0f, 1e-20f, 1000.0f}) {
        const auto trained = made_up::network<net>(1);
        const std::vector<std::vector<float>> calibration(4, std::vector<float>(18, constant));
        const auto int8 = zp::convert(zp::calibrate(zp::prepare<config>(trained), calibration));
        const zp::qparams input = int8.ranges()[0];
        INFO("constant ", constant, ", scale ", input.scale, ", zero point ", input.zero_point);
        CHECK(input.scale > 0);
        CHECK(std::fabs(zp::fake_quantize<zp::quint8>(constant, input) - constant) <=
              2e-7f * std::fabs(constant) + 1e-7f);
        check_against_script(trained, calibration, int8);
    }
}

TEST_CASE("convert: a channel of zero weights with a large bias gets a larger weight scale, and a note") {
    auto trained = made_up::network<net>(2);
    const zp::node& row = trained.rows()[1];
    for (const int channel : {3, 11}) {
        floats_of(trained, 1)[channel * 2] = floats_of(trained, 1)[channel * 2 + 1] = 0;
        zp_test::array_of(trained, row, 1)[static_cast<std::size_t>(channel)] = 1000.0f;
    }
    const auto calibration = made_up::inputs<net>(8, 2);
    zp::conversion_notes notes;
    const auto int8 = zp::convert(zp::calibrate(zp::prepare<config>(trained), calibration), &notes);
    CHECK(notes.raised_weight_scales == std::vector<std::string>{"conv1: 2 of 16 channels"});
    check_against_script(trained, calibration, int8);
    // The bias arrives: the channel's output is 1000, to one step of its grid.
    std::vector<float> y(3);
    zp::quantized<net, config>::workspace memory;
    int8.run(made_up::inputs<net>(1, 3).front().data(), y.data(), memory.bytes, [&](int i, const void* codes) {
        if (i != 2) return;
        const zp::qparams range = int8.ranges()[int8.rows()[2].out.qparams_id];
        CHECK(std::fabs(zp::dequantize(static_cast<const std::uint8_t*>(codes)[3], range) - 1000.0f) < range.scale);
    });
}

TEST_CASE("convert: without anything to change there are no notes") {
    zp::conversion_notes notes;
    zp::convert(zp::calibrate(zp::prepare<config>(made_up::network<net>(1)), made_up::inputs<net>(4, 1)), &notes);
    CHECK(notes.raised_weight_scales.empty());
}

TEST_CASE("convert: weights that are no numbers are an error that names them") {
    auto trained = made_up::network<net>(3);
    floats_of(trained, 1)[5] = std::numeric_limits<float>::quiet_NaN();
    const auto message = [&] {
        try {
            // Zeros in, so that calibration itself sees 0 * NaN only where the data reach it.
            zp::quantize_filters<config::weight, zp::default_architecture>(
                std::span(floats_of(trained, 1), 32), std::vector<float>(16), {}, "conv1",
                *std::make_unique<std::vector<std::string>>());
        } catch (const zp::calibration_error& error) { return std::string(error.what()); }
        return std::string("no error");
    }();
    CHECK(message ==
          "conv1.weight: expected finite values, but value 5 of 32 (channel 2) is nan: clean the calibration data, or "
          "the weights before this layer");
}

TEST_CASE("convert: all weights zero is a network of its biases") {
    auto trained = made_up::network<net>(4);
    for (int i = 0; i != 32; ++i) floats_of(trained, 1)[i] = 0;
    for (int i = 0; i != 3 * 144; ++i) floats_of(trained, 3 + 1)[i] = 0;
    const auto calibration = made_up::inputs<net>(4, 4);
    check_against_script(trained, calibration, simulation::converted<config>(trained, calibration));
}

TEST_CASE("convert: values far outside of the calibrated range saturate") {
    const auto trained = made_up::network<net>(5);
    const auto calibration = made_up::inputs<net>(4, 5);
    const auto int8 = simulation::converted<config>(trained, calibration);
    simulation::script<net, config> s(trained, calibration);
    for (const float extreme :
         {1e30f, -1e30f, std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()}) {
        const std::vector<float> image(18, extreme);
        auto conv1 = s.convolve("conv1", s.quantize(s.input(image), s.range("input")), square(1), s.range("conv1"),
                                simulation::activation::relu);
        conv1.extents = {1, 1, conv1.extents.size()};
        s.dequantize(s.convolve("fc", conv1, square(1), s.range("fc")));
        CHECK(simulation::differences(int8, s, image) == "");
    }
    // NaN becomes the zero point.
    std::vector<float> zeros(18), nans(18, std::numeric_limits<float>::quiet_NaN()), a(3), b(3);
    int8(zeros, a);
    int8(nans, b);
    CHECK(a == b);
}

TEST_CASE("convert: the same network converts to the same integers") {
    const auto calibrated = zp::calibrate(zp::prepare<config>(made_up::network<net>(6)), made_up::inputs<net>(4, 6));
    const auto a = zp::convert(calibrated), b = zp::convert(calibrated);
    CHECK(std::equal(a.parameters(), a.parameters() + a.parameter_bytes, b.parameters()));
}

namespace {
// 255 * 128 * 32896 products and a bias of the same size again: all that 32 bits hold.
struct deepest : zp::model<zp::input<1, 1, 32896>, zp::linear<"fc", 3>> {};
struct deepest_convolution : zp::model<zp::input<3, 3, 3655>, zp::conv2d<"fc", conv{.out_channels = 3, .kernel = 3}>> {
};

template <class Net> void check_extremes(float low, float high) {
    auto trained = made_up::network<Net>(7);
    const zp::node& row = trained.rows()[1];
    const int depth = row.weights.count / 3;
    float* weights = floats_of(trained, 1);
    for (int k = 0; k != depth; ++k) {
        weights[k] = -1;
        weights[depth + k] = 1;
        weights[2 * depth + k] = k % 2 == 0 ? 1.0f : -1.0f;
    }
    // Steps of the accumulator are 1/255 * 1/127.5: these biases are just below half of int32.
    for (std::size_t c = 0; c != 3; ++c) zp_test::array_of(trained, row, 1)[c] = c == 1 ? 33024.0f : -33024.0f;
    const zp::node_view v = zp_test::view_of(trained.rows(), row);
    const auto size = static_cast<std::size_t>(v.x_shape().size());
    std::vector<std::vector<float>> inputs{std::vector<float>(size, low), std::vector<float>(size, high),
                                           std::vector<float>(size)};
    for (std::size_t i = 0; i != size; ++i) inputs[2][i] = i % 2 == 0 ? low : high;
    const auto int8 = simulation::converted<config>(trained, inputs);
    simulation::script<Net, config> s(trained, inputs);
    for (const auto& image : inputs) {
        const int side = row.op->geometry(v).kernel_height;
        s.dequantize(s.convolve("fc", s.quantize(s.input(image), s.range("input")), square(side), s.range("fc")));
        CHECK(simulation::differences(int8, s, image) == "");
    }
}
}  // namespace

TEST_CASE("convert: the deepest layers with the largest biases stay within 32 bits, the zero point at either end") {
    check_extremes<deepest>(0, 1);
    check_extremes<deepest>(-1, 0);
    check_extremes<deepest_convolution>(0, 1);
    check_extremes<deepest_convolution>(-1, 0);
}
