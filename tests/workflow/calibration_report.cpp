// SPDX-License-Identifier: BSD-3-Clause
// The calibration report: what was seen, activation by activation, and what should worry its reader.
#include <doctest/doctest.h>

#include <algorithm>
#include <ratio>

#include <string>
#include <vector>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/operators/activations.hpp>
#include <zeropoint/operators/binary.hpp>
#include <zeropoint/operators/constant.hpp>
#include <zeropoint/operators/masked_softmax.hpp>
#include <zeropoint/operators/mul_scalar.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/observe/fixed_qparams_observer.hpp>
#include <zeropoint/workflow/calibration_report.hpp>

#include "../support/made_up.hpp"
#include "../support/nodes.hpp"

namespace {

using zp::conv;
using weights = zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>;
struct config : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>, weights> {};

struct net
    : zp::model<
          zp::input<2, 2, 3>, zp::conv2d<"conv", conv{.out_channels = 4}>, zp::relu,
          zp::max_pool2d<zp::pool{.kernel = 1}>,
          zp::concat<zp::identity, zp::sequential<zp::conv2d<"branch", conv{.out_channels = 2}>, zp::max_pool2d<1>>>,
          zp::flatten, zp::linear<"fc", 2>> {};

/// The identity in the first three channels, the fourth always zero.
zp::float_model<net> trained() {
    auto model = made_up::network<net>(1);
    const std::span<float> filters = zp_test::array_of(model, model.rows()[1], 0),
                           bias = zp_test::array_of(model, model.rows()[1], 1);
    for (std::size_t i = 0; i != 12; ++i) filters[i] = i / 3 == i % 3 ? 1.0f : 0.0f;
    for (std::size_t c = 0; c != 4; ++c) bias[c] = c == 3 ? -1.0f : 0.0f;
    return model;
}
std::string names(const zp::calibration_report& report) {
    std::string text;
    for (const auto& activation : report.activations) text += activation.name + " ";
    return text;
}
bool warns(const zp::calibration_report& report, const std::string& sentence) {
    for (const std::string& warning : report.warnings)
        if (warning.find(sentence) != std::string::npos) return true;
    return false;
}

}  // namespace

TEST_CASE("report: one line an activation, with samples, ranges and the scale that convert takes") {
    const auto inputs = made_up::inputs<net>(40, 1, 0, 2);
    const auto calibrated = zp::calibrate(zp::prepare<config>(trained()), inputs);
    const auto report = zp::report(calibrated);
    const auto int8 = zp::convert(calibrated);
    float largest = 0;
    for (const auto& x : inputs)
        for (const float value : x) largest = std::max(largest, value);
    // The concat's scale is that of the branch that nothing else reads; the convolution in front has its own.
    CHECK(names(report) == "input conv concat_6 fc ");
    CHECK(report.samples == 40);
    CHECK(report.activations[0].samples == 40);
    CHECK(report.activations[0].count == 40 * 12);
    CHECK(report.activations[0].max == largest);
    CHECK(report.activations[0].channels == 3);
    CHECK(report.activations[0].dead_channels == 0);
    CHECK(report.activations[1].samples == 40);
    CHECK(report.activations[1].channels == 4);
    CHECK(report.activations[2].channels == 6);
    CHECK(report.activations[2].dead_channels == 1);
    CHECK(report.activations[1].clipped_share == 0);
    for (std::size_t i = 0; i != 3; ++i) {
        CHECK(report.activations[i].range == int8.ranges()[i]);
        CHECK(report.activations[i].quantized_min == zp::dequantize(0, int8.ranges()[i]));
        CHECK(report.activations[i].quantized_max == zp::dequantize(255, int8.ranges()[i]));
    }
    CHECK(warns(report, "concat_6: 1 of 6 channels were always zero"));
    CHECK_FALSE(warns(report, "inputs only"));
    const std::string text = zp::to_string(report);
    CHECK(text.find("concat_6 ") != std::string::npos);
    CHECK(text.find("warning: concat_6: 1 of 6 channels were always zero\n") != std::string::npos);
}

TEST_CASE("report: a value that loses half a bit to the range of others is named, with the layer whose range it has") {
    struct uneven
        : zp::model<zp::input<4, 4, 3>, zp::conv2d<"a", conv{.out_channels = 3}>,
                    zp::concat<zp::conv2d<"wide", conv{.out_channels = 2}>, zp::identity,
                               zp::sequential<zp::conv2d<"narrow", conv{.out_channels = 2}>, zp::max_pool2d<1>>>,
                    zp::adaptive_avg_pool2d<1>> {};
    auto model = made_up::network<uneven>(3);
    for (const zp::node& row : model.rows()) {
        const float factor = std::string(row.name) == "wide" ? 8.0f : std::string(row.name) == "a" ? 0.5f : 1.0f;
        for (const int i : {0, 1})
            if (row.op->multiplies)
                for (float& value : zp_test::array_of(model, row, i)) value *= factor;
    }
    auto calibrated = zp::calibrate(zp::prepare<config>(model), made_up::inputs<uneven>(40, 3));
    const auto report = zp::report(calibrated);
    std::string names;
    for (const auto& value : report.coarse) names += value.name + " on " + value.grid + ", ";
    CHECK(names == "narrow on concat_5, max_pool2d_4 on concat_5, a on concat_5, adaptive_avg_pool2d_6 on concat_5, ");
    const auto range_of = [&](int row) { return calibrated.range_of_values(row); };
    const auto width = [&](int row) { return std::max(range_of(row).max, 0.0f) - std::min(range_of(row).min, 0.0f); };
    CHECK(report.coarse[2].bits == doctest::Approx(std::log2(width(5) / width(1))));
    CHECK(report.coarse[2].min == range_of(1).min);
    CHECK(warns(report, "a: its values, from " + zp::number_text(range_of(1).min) + " to "));
    CHECK(warns(report, ", are on the grid of concat_5, which costs them "));
    // The ranges of copies that have seen parts of the data are merged.
    auto half = zp::prepare<config>(model);
    const auto inputs = made_up::inputs<uneven>(40, 3);
    for (std::size_t i = 0; i != 20; ++i) half.observe(inputs[i].data());
    auto rest = zp::prepare<config>(model);
    for (std::size_t i = 20; i != 40; ++i) rest.observe(inputs[i].data());
    half.merge(rest);
    CHECK(half.range_of_values(4) == range_of(4));
}

TEST_CASE("report: too few samples and constant data are warned about") {
    const std::vector<std::vector<float>> same(3, std::vector<float>(12, 0.5f));
    const auto report = zp::report(zp::calibrate(zp::prepare<config>(trained()), same));
    CHECK(warns(report, "calibrated with 3 inputs only: take at least 32"));
    CHECK(warns(report, "input: every value was 0.5;"));
    CHECK(report.activations[0].constant_channels == 3);
    const std::vector<std::vector<float>> large(1, std::vector<float>(12, 2e9f));
    const auto one = zp::report(zp::calibrate(zp::prepare<config>(trained()), large));
    CHECK(warns(one, "input: every value was 2e+09; was"));
    CHECK(warns(one, "calibrated with 1 input only"));
    const auto enough = zp::report(zp::calibrate(zp::prepare<config>(trained()), made_up::inputs<net>(32, 1)));
    CHECK_FALSE(warns(enough, "inputs only"));
}

TEST_CASE("report: constants of a network are not warned about") {
    struct shifted : zp::model<zp::input<2, 3, 4>, zp::add<zp::identity, zp::constant<"shift", 1, 1, 1>>> {};
    const auto report =
        zp::report(zp::calibrate(zp::prepare<config>(made_up::network<shifted>(1)), made_up::inputs<shifted>(40, 1)));
    CHECK(std::none_of(report.warnings.begin(), report.warnings.end(),
                       [](const std::string& warning) { return warning.find("shift") != std::string::npos; }));
}

TEST_CASE("report: values that the codes do not reach are counted") {
    struct narrow
        : zp::qconfig<
              zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::fixed_qparams_observer<zp::qparams{1.0f / 255, 0}>>,
              weights> {};
    const auto report = zp::report(zp::calibrate(zp::prepare<narrow>(trained()), made_up::inputs<net>(100, 2, -1, 1)));
    CHECK(report.activations[0].clipped_share == doctest::Approx(0.5).epsilon(0.05));
    CHECK(warns(report, "input: "));
    CHECK(warns(report, "% of the values lie outside of the codes' range"));
}

TEST_CASE("report: the 1 of tanh and of a mask is not clipped, what a given range leaves out is") {
    struct saturated
        : zp::model<zp::named<"ids", zp::indices<6>>, zp::named<"mask", zp::attention_mask>, zp::input<1, 1, 6>,
                    zp::mul_scalar<std::ratio<100>>, zp::tanh, zp::mul<zp::identity, zp::from<"mask">>> {};
    const std::vector<std::int32_t> ids{1, 0, 1, 1, 0, 1};
    const std::vector<float> x{-1, 1, 1, -1, 1, 0};
    auto prepared = zp::prepare<config>(zp::float_model<saturated>());
    const auto report = zp::report(zp::calibrate(prepared, zp::in(ids, x)));
    CHECK_FALSE(warns(report, "of the values lie outside"));
    for (const zp::activation_report& activation : report.activations) CHECK(activation.clipped_share == 0);
    for (const zp::node& row : prepared.rows())
        if (std::string(row.op->name) == "tanh") prepared.given().give_range(row.out.qparams_id, {1.0f / 128, 128});
    CHECK(warns(zp::report(zp::calibrate(prepared, zp::in(ids, x))), "50.00 % of the values lie outside"));
}

TEST_CASE("report: a network that has seen nothing has no report") {
    CHECK_THROWS_AS(zp::report(zp::calibrate(zp::prepare<config>(trained()), std::vector<std::vector<float>>{})),
                    zp::calibration_error);
}
