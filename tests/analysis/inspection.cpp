// SPDX-License-Identifier: BSD-3-Clause
// Advice from figures that are made by hand, and the JSON that pages are made of.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include <zeropoint/analysis/inspection.hpp>

#include "inspected_network.hpp"

namespace {
namespace inspection_test {

/// A row that has seen these values, rounded to a grid of 8 bits from `low` to `high`.
zp::row_comparison row_of(const std::vector<float>& values, int channels, float low, float high) {
    zp::row_comparison row;
    row.row = 3;
    row.name = row.layer = "layer";
    row.out = {1, static_cast<int>(values.size()) / channels, channels};
    row.type = zp::scalar_type::uint8;
    row.quantization = zp::choose_qparams<zp::quint8, zp::per_tensor_affine>(low, high);
    row.quant_max = 255;
    row.values = zp::pair_statistics(channels);
    row.codes = zp::code_counts(0, 255);
    std::vector<float> rounded;
    for (const float x : values) {
        const int code = zp::quantize<zp::quint8>(x, row.quantization);
        row.codes.add(code);
        rounded.push_back(zp::dequantize(code, row.quantization));
    }
    row.values.add(values, rounded.data(), "layer");
    const float ends[] = {zp::dequantize(0, row.quantization), zp::dequantize(255, row.quantization)};
    for (const float x : values)
        row.clipped_share += (x < ends[0] || x > ends[1]) ? 1.0 / static_cast<double>(values.size()) : 0.0;
    return row;
}
std::string findings(const zp::row_comparison& row, const zp::row_comparison* last = nullptr) {
    zp::comparison whole, alone;
    whole.rows = {last == nullptr ? row : *last};
    alone.rows = {row};
    std::string text;
    for (const zp::advice& one : zp::advise(whole, alone)) text += one.finding + " | " + one.remedy + "\n";
    return text;
}
bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace inspection_test
}  // namespace

TEST_CASE("advice: each finding where its cause is, and nothing where there is none") {
    using namespace inspection_test;
    const std::vector<float> even = made_up::values(8000, 1);
    CHECK(findings(row_of(even, 8, -1, 1)).empty());

    const std::string clipped = findings(row_of(even, 8, -0.5f, 0.5f));
    CAPTURE(clipped);
    CHECK(has(clipped, "lie outside of what its codes reach, from -0.49"));
    CHECK(has(clipped, "min_max_observer"));

    std::vector<float> outliers = even;
    outliers[100] = 60;
    const std::string rare = findings(row_of(outliers, 8, -1, 60));
    CHECK(has(rare, "layer: its largest value is 60"));
    CHECK(has(rare, "zp::entropy_observer"));

    std::vector<float> uneven = even;
    for (std::size_t i = 0; i != uneven.size(); ++i) uneven[i] *= i % 8 < 2 ? 1 : 0.01f;
    const std::string channels = findings(row_of(uneven, 8, -1, 1));
    CHECK(!has(channels, "layer: its largest channel"));  // a quarter of all values is enough of a signal: 41 dB
    for (std::size_t i = 0; i != uneven.size(); ++i) uneven[i] = even[i] * (i % 80 == 0 ? 40.0f : 0.2f);
    CHECK(has(findings(row_of(uneven, 80, -40, 40)), "layer: its largest channel is"));
    CHECK(has(findings(row_of(uneven, 80, -40, 40)), "zp::equalize before calibration"));

    zp::row_comparison plain = row_of(even, 8, -40, 40);
    CHECK(has(findings(plain), "nothing about its range explains that"));
    CHECK(has(findings(plain), "zp::int16_qconfig for layer and for a zp::requantize in front of it"));
    CHECK(has(findings(plain), "zp::keep_float<\"layer\"> and of the layers that read it"));
    plain.lost_channels = 2;
    CHECK(has(findings(plain), "2 of 8 channels are zero in every input, and not in float"));
    plain.layer.clear();
    CHECK(has(findings(plain), "zp::keep_float of layer (give it a name by zp::named)"));

    // A row that is bad because of what it reads.
    zp::comparison whole, alone;
    zp::row_comparison reader = row_of(even, 8, -40, 40), input = row_of(uneven, 80, -40, 40);
    reader.row = 4;
    reader.name = reader.layer = "reader";
    reader.reads = {2, 3};
    whole.rows = alone.rows = {input, reader};
    const std::vector<zp::advice> found = zp::advise(whole, alone);
    CHECK(has(found.at(0).finding, "reader: alone it has 1"));
    CHECK(has(found.at(0).finding, "it reads layer, whose largest channel is"));
    CHECK(has(found.at(0).remedy, "zp::equalize before calibration"));
    CHECK(has(found.at(0).remedy, "else zp::keep_float<\"layer\"> and zp::keep_float<\"reader\">"));
}

TEST_CASE("advice: weights with one scale, of few bits, and errors that have a direction") {
    using namespace inspection_test;
    const std::vector<float> even = made_up::values(8000, 1);
    zp::row_comparison row = row_of(even, 8, -1, 1);
    zp::weight_comparison& weights = row.weights.emplace_back();
    weights.name = "weight";
    weights.sqnr = 12;
    weights.quant_min = -128;
    weights.quant_max = 127;
    weights.channels = {{-1, 1, 0.01f, 0, 40}, {-0.01f, 0.02f, 0.01f, 0, 2}};
    CHECK(has(findings(row),
              "layer.weight: its weights have 12.0 dB with one scale, and its channels differ by 50 times"));
    CHECK(has(findings(row), "zp::per_channel_symmetric"));
    weights.channels[1].scale = 0.001f;
    weights.quant_min = -7;
    weights.quant_max = 7;
    CHECK(has(findings(row), "in codes from -7 to 7"));
    weights.sqnr = 45;
    CHECK(findings(row).empty());

    zp::row_comparison shifted = row;
    shifted.values = zp::pair_statistics(8);
    std::vector<float> rounded = even;
    for (float& x : rounded) x += 0.1f;
    shifted.values.add(even, rounded.data(), "layer");
    CHECK(has(findings(row, &shifted), "zp::correct_biases"));
    for (std::size_t i = 0; i != rounded.size(); ++i) rounded[i] = even[i] + (i % 2 == 0 ? 0.2f : -0.2f);
    shifted.values = zp::pair_statistics(8);
    shifted.values.add(even, rounded.data(), "layer");
    CHECK(has(findings(row, &shifted), "no row is bad by itself"));
}

TEST_CASE("inspection: one JSON, one text") {
    const auto calibrated = inspected::calibrated();
    const auto int8 = zp::convert(calibrated);
    const auto inputs = made_up::inputs<inspected::net>(4);
    zp::inspection all = zp::inspect(calibrated, int8, inputs);
    const std::string without = zp::to_json(all, "net", "default_qconfig");
    CHECK(inspection_test::has(without, "\"sensitivity\": null"));
    all.sensitivity = zp::sensitivity(zp::simulate(calibrated), inputs);
    const std::string json = zp::to_json(all, "net", "default_qconfig");
    for (const char* part : {"{\"format\": \"zeropoint.inspection\", \"version\": 1, \"network\": \"net\", "
                             "\"qconfig\": \"default_qconfig\"",
                             "\"whole\": {\"mode\": \"whole_networks\", \"inputs\": 4",
                             "\"alone\": {\"mode\": \"each_row\", \"inputs\": 4",
                             "\"sensitivity\": {\"metric\": ", "\"calibration\": {\"inputs\": 64", "\"advice\": ["})
        CHECK_MESSAGE(inspection_test::has(json, part), part);
    const std::string text = zp::to_string(all);
    CHECK(inspection_test::has(text, "whole_networks, 4 inputs"));
    CHECK(inspection_test::has(text, "each_row, 4 inputs"));
    CHECK(inspection_test::has(text, "all but it"));
}

TEST_CASE("inspection: histograms of both on one axis") {
    using namespace inspection_test;
    const zp::row_comparison row = row_of(made_up::values(8000, 1), 8, -2, 2);
    const zp::paired_histogram h =
        zp::histogram_of(row.values.histogram(), row.codes, row.quantization, row.quant_min, row.quant_max, 40);
    REQUIRE(h.real.size() == 40);
    REQUIRE(h.rounded.size() == 40);
    CHECK(h.low == doctest::Approx(-2).epsilon(0.01));
    CHECK(h.high == doctest::Approx(2).epsilon(0.01));
    double real = 0, rounded = 0;
    for (std::size_t i = 0; i != 40; ++i) {
        real += h.real[i];
        rounded += h.rounded[i];
        const double expected = i >= 11 && i < 29 ? 0.05 : 0;  // even between -1 and 1; the edge bins have a part
        if (i != 9 && i != 10 && i != 29 && i != 30) CHECK(std::abs(h.real[i] - expected) < 0.01);
        CHECK(std::abs(h.real[i] - h.rounded[i]) < 0.02);
    }
    CHECK(real == doctest::Approx(1));
    CHECK(rounded == doctest::Approx(1));
}
