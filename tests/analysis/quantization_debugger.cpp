// SPDX-License-Identifier: BSD-3-Clause
// to_csv beside the tables that TensorFlow's QuantizationDebugger writes of the same network over the same inputs
// (scripts/golden/quantization_debugger.py).
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/analysis/compare.hpp>
#include <zeropoint/analysis/comparison_files.hpp>
#include <zeropoint/io/load_options.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/operators/activations.hpp>
#include <zeropoint/operators/add.hpp>
#include <zeropoint/operators/conv2d.hpp>
#include <zeropoint/operators/linear.hpp>
#include <zeropoint/operators/pool2d.hpp>
#include <zeropoint/operators/sum.hpp>
#include <zeropoint/workflow/convert.hpp>
#include <zeropoint/workflow/presets.hpp>

#include "../support/golden_file.hpp"

namespace {
namespace quantization_debugger_test {

using zp::conv;

struct net
    : zp::model<zp::input<13, 13, 3>, zp::conv2d<"stem", conv{.out_channels = 8, .kernel = 3, .padding = 1}>, zp::relu6,
                zp::residual<zp::conv2d<"depthwise", conv{.kernel = 3, .padding = 1, .groups = zp::depthwise}>,
                             zp::relu6, zp::conv2d<"project", conv{.out_channels = 8}>>,
                zp::relu, zp::conv2d<"down", conv{.out_channels = 12, .kernel = 3, .stride = 2, .padding = 1}>,
                zp::relu, zp::avg_pool2d<zp::pool{.kernel = 3, .stride = 2}>,
                zp::max_pool2d<zp::pool{.kernel = 2, .stride = 1}>, zp::mean<>, zp::linear<"fc1", 16>, zp::relu,
                zp::linear<"fc2", 6>> {};

/// XNNPACK multiplies sums with one float factor and rounds once.
struct as_xnnpack : zp::with<zp::tflite_qconfig, zp::requantize_with<zp::nearest_even>, zp::separate_sums> {};
struct as_reference : zp::with<zp::tflite_qconfig, zp::requantize_with<zp::fixed_point_litert>> {};
struct with_a_float_layer : zp::with<zp::tflite_qconfig, zp::requantize_with<zp::fixed_point_litert>,
                                     zp::keep_float<"depthwise">, zp::codes_in<>> {};

/// The lines of a table, by the names of its columns. No cell has a comma here.
using table = std::vector<std::map<std::string, std::string>>;
table parsed(const std::string& text) {
    std::istringstream lines(text);
    std::string line, cell;
    std::vector<std::string> names;
    table all;
    while (std::getline(lines, line)) {
        std::istringstream cells(line);
        std::vector<std::string> row;
        while (std::getline(cells, cell, ',')) row.push_back(cell);
        if (names.empty()) {
            names = row;
            continue;
        }
        REQUIRE(row.size() == names.size());
        all.emplace_back();
        for (std::size_t i = 0; i != row.size(); ++i) all.back()[names[i]] = row[i];
    }
    return all;
}

/// What the operators are called here.
std::string own_name(const std::string& theirs) {
    static const std::map<std::string, std::string> names{{"CONV_2D", "conv2d"},
                                                          {"DEPTHWISE_CONV_2D", "conv2d"},
                                                          {"ADD", "add"},
                                                          {"AVERAGE_POOL_2D", "avg_pool2d"},
                                                          {"MAX_POOL_2D", "max_pool2d"},
                                                          {"MEAN", "mean"},
                                                          {"FULLY_CONNECTED", "linear"}};
    return names.at(theirs);
}

/// The same rows in the same order, and the same figures but for what floats round: all are of the size of values, so that they may
/// be apart by so much of a row's range (2^-23 is the last bit of its largest values).
template <class QConfig> void check(const std::string& name, std::size_t rows) {
    constexpr double tolerance = 1e-7;
    const zp_test::golden_file golden("quantization_debugger");
    std::vector<float> inputs;
    for (const std::int8_t code : golden.values<std::int8_t>("inputs")) inputs.push_back(static_cast<float>(code) / 32);
    const auto bytes = golden.values<std::uint8_t>(name + "/csv");
    const auto fused = zp::fuse(
        zp::load<net>(zp_test::golden_path("quantization_debugger"), {.prefix = "model/", .ignores_others = true}));
    const auto int8 = zp::convert(zp::calibrate(zp::prepare<QConfig>(fused), inputs));
    const zp::comparison all = zp::compare(fused, int8, inputs, zp::comparison_mode::shadow);
    CHECK(all.rows[0].quantization.scale == golden.values<float>("input_scale")[0]);
    CHECK(all.rows[0].quantization.zero_point == golden.values<std::int32_t>("input_zero_point")[0]);
    const table theirs = parsed({bytes.begin(), bytes.end()}), ours = parsed(zp::to_csv(all));
    REQUIRE(theirs.size() == rows);
    REQUIRE(ours.size() == rows);
    for (std::size_t r = 0; r != rows; ++r) {
        const auto their = [&](const char* column) { return std::stod(theirs[r].at(column)); };
        const auto our = [&](const char* column) { return std::stod(ours[r].at(column)); };
        const std::string operation = ours[r].at("op_name");
        CAPTURE(operation);
        CHECK(operation.substr(0, operation.find(' ')) == own_name(theirs[r].at("op_name")));
        CHECK(our("num_elements") == their("num_elements"));
        CHECK(our("zero_point") == their("zero_point"));
        CHECK(std::abs(our("scale") / their("scale") - 1) < 2e-7);  // float networks sum in another order
        const double range = 255 * their("scale");
        CHECK(std::abs(our("range") / range - 1) < 2e-7);
        if (operation == "avg_pool2d") {  // TensorFlow compares it with itself
            CHECK(their("max_abs_error") < tolerance * range);
            CHECK(our("max_abs_error") > 0.4 * their("scale"));
            continue;
        }
        for (const char* column : {"stddev", "mean_error", "max_abs_error"}) {
            CAPTURE(column);
            CHECK(std::abs(our(column) - their(column)) < tolerance * range);
        }
        CHECK(std::abs(std::sqrt(our("mean_squared_error")) - std::sqrt(their("mean_squared_error"))) <
              tolerance * range);
    }
}

}  // namespace quantization_debugger_test
}  // namespace

TEST_CASE("to_csv: the figures of TensorFlow's debugger as it comes") {
    quantization_debugger_test::check<quantization_debugger_test::as_xnnpack>("delegate", 10);
}
TEST_CASE("to_csv: the figures of TensorFlow's debugger with reference kernels") {
    quantization_debugger_test::check<quantization_debugger_test::as_reference>("reference", 10);
}
TEST_CASE("to_csv: the figures of TensorFlow's debugger where codes come in and a layer stays in float") {
    quantization_debugger_test::check<quantization_debugger_test::with_a_float_layer>("keeps_float", 9);
}
