// SPDX-License-Identifier: BSD-3-Clause
// Products of two activations through the stages: against the formula row by row, files, and 30 dB from the float network.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include <zeropoint/io/model_file.hpp>
#include <zeropoint/operators/matmul.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>

#include "integer_simulation.hpp"

namespace {

using simulation::square;
using zp::conv;

struct config : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                            zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>> {};
struct signed_config
    : zp::qconfig<zp::quantizer<zp::qint8, zp::per_tensor_affine, zp::min_max_observer>, config::weight> {};

// Two matrices of five rows: scores, cut at 0, times values.
using scores = zp::sequential<
    zp::matmul_transposed<zp::conv2d<"query", conv{.out_channels = 9}>, zp::conv2d<"key", conv{.out_channels = 9}>>,
    zp::relu>;
struct net : zp::model<zp::input<2, 5, 3>, zp::matmul<scores, zp::conv2d<"value", conv{.out_channels = 17}>>,
                       zp::conv2d<"out", conv{.out_channels = 2}>> {};
// One matrix on the right for all on the left.
struct shared : zp::model<zp::input<3, 6, 6>,
                          zp::matmul<zp::conv2d<"a", conv{.out_channels = 6}>, zp::adaptive_avg_pool2d<1, 6>>> {};

simulation::value product(const simulation::value& a, const simulation::value& b, bool transposed, zp::qparams range,
                          bool relu) {
    simulation::value y = a;
    y.range = range;
    y.codes.clear();
    const int depth = a.extents.channels, columns = transposed ? b.extents.width : b.extents.channels;
    y.extents.channels = columns;
    const auto multiplier = static_cast<float>(double{a.range.scale} * double{b.range.scale} / double{range.scale});
    for (int row = 0; row != a.extents.pixels(); ++row) {
        const int first = b.extents.height == 1 ? 0 : row / a.extents.width * b.extents.width;
        for (int column = 0; column != columns; ++column) {
            std::int64_t sum = 0;
            for (int k = 0; k != depth; ++k) {
                const int of_b = transposed ? (first + column) * depth + k : (first + k) * columns + column;
                sum += std::int64_t{a.codes[static_cast<std::size_t>(row * depth + k)] - a.range.zero_point} *
                       (b.codes[static_cast<std::size_t>(of_b)] - b.range.zero_point);
            }
            const float steps = std::nearbyint(static_cast<float>(sum) * multiplier);
            const int code = static_cast<int>(std::fmin(std::fmax(steps, -1000.0f), 1000.0f)) + range.zero_point;
            y.codes.push_back(std::min(std::max(code, relu ? range.zero_point : y.min), y.max));
        }
    }
    return y;
}

}  // namespace

TEST_CASE_TEMPLATE("convert: matmul and matmul_transposed equal the formula", Config, config, signed_config) {
    const auto trained = made_up::network<net>(5);
    const auto calibration = made_up::inputs<net>(6, 5, -2, 2);
    const auto int8 = simulation::converted<Config>(trained, calibration);
    simulation::script<net, Config> s(trained, calibration);
    for (const auto& image : made_up::inputs<net>(4, 82, -2, 2)) {
        const auto x = s.quantize(s.input(image), s.range("input"));
        const auto query = s.convolve("query", x, square(1), s.range("query"));
        const auto key = s.convolve("key", x, square(1), s.range("key"));
        s.rows.push_back(product(query, key, true, s.range("matmul_3"), true));
        const auto scored = s.rows.back();
        const auto value = s.convolve("value", x, square(1), s.range("value"));
        s.rows.push_back(product(scored, value, false, s.range("matmul_6"), false));
        s.dequantize(s.convolve("out", s.rows.back(), square(1), s.range("out")));
        CHECK(s.missing == "");
        CHECK(simulation::differences(int8, s, image) == "");
    }
}

TEST_CASE("convert: one second operand for all matrices, 30 dB from the float network") {
    const auto trained = made_up::network<shared>(7);
    const auto calibration = made_up::inputs<shared>(6, 5, -2, 2);
    const auto int8 = simulation::converted<config>(trained, calibration);
    std::vector<float> y(3 * 6 * 6), wanted(y.size());
    for (const auto& image : calibration) {
        trained(image, wanted);
        int8(image, y);
        double signal = 0, noise = 0;
        for (std::size_t i = 0; i != y.size(); ++i) {
            signal += double{wanted[i]} * double{wanted[i]};
            noise += (double{wanted[i]} - double{y[i]}) * (double{wanted[i]} - double{y[i]});
        }
        CHECK(10 * std::log10(signal / noise) > 30);
    }
}

TEST_CASE("load and save: a model with products") {
    const auto trained = made_up::network<net>(5);
    const auto int8 = simulation::converted<config>(trained, made_up::inputs<net>(6, 5));
    const auto bytes = zp::to_bytes(int8);
    const auto loaded = zp::load<zp::quantized<net, config>>(bytes, "int8");
    CHECK(zp::to_bytes(loaded) == bytes);
    std::vector<float> y(2 * 5 * 2), again(y.size());
    for (const auto& image : made_up::inputs<net>(4, 83)) {
        int8(image, y);
        loaded(image, again);
        CHECK(y == again);
    }
}
