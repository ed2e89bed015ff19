// SPDX-License-Identifier: BSD-3-Clause
// A model as a table: what its rows say, under which algorithm, and how they print.
#include <doctest/doctest.h>

#include <cstdio>
#include <string>

#include <zeropoint/analysis/model_table.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/workflow/convert.hpp>

#include "../support/made_up.hpp"

namespace {

using zp::conv2d_algorithm;
using activations = zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>;
using weights = zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>;

struct net
    : zp::model<zp::input<8, 8, 3>, zp::conv2d<"conv1", zp::conv{.out_channels = 48, .kernel = 3, .padding = 1}>,
                zp::relu, zp::residual<zp::conv2d<"conv2", zp::conv{.out_channels = 48, .kernel = 3, .padding = 1}>>,
                zp::flatten, zp::linear<"fc", 10>> {};
struct config : zp::qconfig<activations, weights, zp::for_layer<"conv1", zp::algorithm<conv2d_algorithm::direct>>,
                            zp::for_layer<"conv2", zp::algorithm<zp::smallest>>> {};

struct config_of_sums : zp::qconfig<activations, weights> {};
struct sums
    : zp::model<
          zp::input<4, 4, 3>, zp::conv2d<"a", zp::conv{.out_channels = 4}>,
          zp::residual<zp::conv2d<"b", zp::conv{.out_channels = 4}>, zp::conv2d<"c", zp::conv{.out_channels = 4}>>,
          zp::relu> {};

struct image_head {
    static constexpr const char* kind = "mean_of_image";
    static constexpr zp::shape output_shape(zp::shape) { return {1, 1, 1}; }
    static constexpr int parameters(zp::shape) { return 0; }
    static void forward(const zp::operands<float>& o) { *o.y() = *o.x(); }
};
struct with_custom : zp::model<zp::input<2, 2, 1>, zp::custom<"head", image_head>> {};

auto int8_network() {
    return zp::convert(zp::calibrate(zp::prepare<config>(made_up::network<net>(1)), made_up::inputs<net>(4, 1)));
}

std::string line_of(const std::string& text, const std::string& part) {
    const std::size_t at = text.find(part);
    REQUIRE(at != std::string::npos);
    const std::size_t begin = text.rfind('\n', at) + 1;
    return text.substr(begin, text.find('\n', at) - begin);
}

}  // namespace

TEST_CASE("model table: rows, algorithms and bytes of an int8 network") {
    const auto model = int8_network();
    const zp::model_table table = zp::table_of(model);
    REQUIRE(table.rows.size() == 6);
    const zp::model_table_row &conv1 = table.rows[2], &conv2 = table.rows[3], &fc = table.rows[4];
    CHECK(table.rows[0].operation == "input");
    CHECK(table.rows[0].arena_offset == zp::in_user_input);
    CHECK(conv1.operation == "conv2d + relu");
    CHECK(conv1.name == "conv1");
    CHECK(conv1.inputs == std::vector<int>{1});
    CHECK(conv1.out == zp::shape{8, 8, 48});
    CHECK(conv1.type == zp::scalar_type::uint8);
    CHECK(conv1.algorithm == "direct");
    CHECK(conv1.why.substr(0, 7) == "named: ");
    CHECK(conv1.output_bytes == 8 * 8 * 48);
    CHECK(conv2.operation == "conv2d + add");
    CHECK(conv2.inputs == std::vector<int>{2, 2});
    CHECK(conv2.algorithm == "implicit_gemm");
    CHECK(conv2.why.substr(0, 10) == "smallest: ");
    constexpr bool wide = xsimd::batch<float, zp::default_architecture>::size > 8;
    CHECK((conv2.why.find("winograd_4x4: ") == std::string::npos) ==
          wide);  // faster, where panels have not more channels than these
    CHECK(conv2.why.find("direct") == std::string::npos);
    CHECK(fc.why.substr(0, 10) == "balanced: ");
    CHECK_FALSE(fc.panels.empty());
    for (const zp::model_table_row* row : {&conv1, &conv2, &fc}) {
        CHECK(row->packed_bytes > 0);
        CHECK(row->packed_bytes < row->parameter_bytes);
    }
    CHECK(table.rows.back().arena_offset == zp::in_user_output);
    CHECK(table.arena_bytes == model.arena_bytes);
    CHECK(conv1.macs == 64 * 48 * 27);
    CHECK(table.macs == 64 * 48 * 27 + 64 * 48 * 48 * 9 + 10 * 64 * 48);
    CHECK(conv1.quantization == model.ranges()[model.rows()[2].out.qparams_id]);
    CHECK(table.rows[0].quantization.scale == 0);
    CHECK(table.parameter_bytes == model.parameter_bytes);
}

TEST_CASE("model table: sums with a residual, as a part of a layer and on their own") {
    struct separate : zp::qconfig<activations, weights, zp::separate_sums> {};
    const auto calibration = made_up::inputs<sums>(4, 1);
    const zp::model_table merged =
        zp::table_of(zp::convert(zp::calibrate(zp::prepare<config_of_sums>(made_up::network<sums>(1)), calibration)));
    REQUIRE(merged.rows.size() == 6);
    CHECK(merged.rows[4].operation == "conv2d + add + relu");
    CHECK(merged.rows[4].inputs == std::vector<int>{3, 2});
    CHECK(merged.rows[4].arena_offset == merged.rows[2].arena_offset);  // over the residual
    const zp::model_table apart =
        zp::table_of(zp::convert(zp::calibrate(zp::prepare<separate>(made_up::network<sums>(1)), calibration)));
    REQUIRE(apart.rows.size() == 7);
    CHECK(apart.rows[4].operation == "conv2d");
    const zp::model_table_row& add = apart.rows[5];
    CHECK(add.operation == "add + relu");
    CHECK(add.inputs == std::vector<int>{4, 2});
    CHECK(add.algorithm.empty());
    CHECK(add.arena_offset == apart.rows[4].arena_offset);  // in place
    CHECK(add.quantization == merged.rows[4].quantization);
}

TEST_CASE("model table: a row is a line, its columns are aligned, and totals are below") {
    const auto model = int8_network();
    const std::string text = zp::to_string(model);
    const zp::model_table table = zp::table_of(model);
    CHECK(table.rows[2].called == "conv1");
    CHECK(table.rows[1].name.empty());
    CHECK(table.rows[1].called == "quantize_0");
    CHECK(line_of(text, "quantize_0").find("1  quantize") == 2);
    CHECK(line_of(text, "conv1").find("2  conv2d + relu  conv1 ") != std::string::npos);
    CHECK(line_of(text, "conv1").find("direct") == text.substr(0, text.find('\n')).find("algorithm"));
    CHECK(line_of(text, "input").find("caller's") != std::string::npos);
    CHECK(text.find(" \n") == std::string::npos);
    const std::string totals = "0 float/int8 boundaries inside\n" +
                               std::to_string(zp::budget_of<decltype(int8_network())>.macs) +
                               " multiply-accumulates, " + std::to_string(model.parameter_bytes) +
                               " bytes of parameters, " + std::to_string(model.arena_bytes) + " bytes of arena\n";
    CHECK(text.substr(text.size() - totals.size()) == totals);

    std::FILE* file = std::tmpfile();
    REQUIRE(file != nullptr);
    zp::print_tabular(model, file);
    std::rewind(file);
    std::string printed(text.size() + 1, '\0');
    printed.resize(std::fread(printed.data(), 1, printed.size(), file));
    std::fclose(file);
    CHECK(printed == text);
}

TEST_CASE("model table: boundaries between floats and codes are counted and named") {
    struct island : zp::qconfig<activations, weights, zp::keep_float<"conv2">> {};
    using network = zp::quantized<net, island>;
    static_assert(zp::budget_of<network>.boundaries == 2 && zp::budget_of<network>.rescales == 0);
    static_assert(zp::budget_of<zp::quantized<net, config>>.boundaries == 0);
    const auto model =
        zp::convert(zp::calibrate(zp::prepare<island>(made_up::network<net>(1)), made_up::inputs<net>(4, 1)));
    const std::string text = zp::to_string(model);
    CHECK(text.find("\n2 float/int8 boundaries inside: 3 dequantize of conv1, 5 quantize of conv2\n") !=
          std::string::npos);
}

TEST_CASE("model table: float networks and custom layers have one, too") {
    const std::string text = zp::to_string(made_up::network<net>(1));
    CHECK(line_of(text, "fc").find("linear") != std::string::npos);
    CHECK(text.find("implicit_gemm") == std::string::npos);
    CHECK(zp::to_string(zp::float_model<with_custom>()).find("mean_of_image") != std::string::npos);
}

TEST_CASE("model table: times and bytes for people") {
    const auto time_text = [](double ns) { return zp::detail::in_units(ns, {"ns", "us", "ms", "s"}); };
    const auto bytes_text = [](double bytes) { return zp::detail::in_units(bytes, {"B", "kB", "MB", "GB"}); };
    CHECK(time_text(0) == "0 ns");
    CHECK(time_text(12.34) == "12.3 ns");
    CHECK(time_text(999.4) == "999 ns");
    CHECK(time_text(999.6) == "1 us");
    CHECK(time_text(4567e3) == "4.57 ms");
    CHECK(bytes_text(832) == "832 B");
    CHECK(bytes_text(4719936) == "4.72 MB");
}
