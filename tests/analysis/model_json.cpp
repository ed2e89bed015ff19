// SPDX-License-Identifier: BSD-3-Clause
// Stages as JSON: the whole text of a small network, and what only some nodes have.
#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include <zeropoint/analysis/model_json.hpp>
#include <zeropoint/io/model_file.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/operators.hpp>
#include <zeropoint/workflow/convert.hpp>
#include <zeropoint/workflow/presets.hpp>
#include <zeropoint/workflow/quantize_dynamic.hpp>

#include "../support/made_up.hpp"

namespace {
namespace described {

struct small : zp::model<zp::input<2, 3, 1>, zp::conv2d<"c\"1", zp::conv{.out_channels = 2, .kernel = 2}>, zp::relu> {};
struct larger : zp::model<zp::input<4, 4, 4>,
                          zp::residual<zp::conv2d<"a", zp::conv{.out_channels = 4, .kernel = 3, .padding = 1}>>,
                          zp::relu6, zp::conv2d<"b", zp::conv{.out_channels = 4}>, zp::silu,
                          zp::slice<zp::axis::channels, 1, 3>, zp::flatten, zp::linear<"fc", 40>> {};

bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

}  // namespace described
}  // namespace

TEST_CASE("model json: a float network, whole") {
    CHECK(
        zp::to_json<zp::float_stage<described::small>>() ==
        R"({"format": "pt", "qparams_count": 0, "inputs": [{"name": "input", "extents": [1, 2, 3, 1], "storage": "float32", "node": 0}], "outputs": [{"name": "output", "extents": [1, 1, 2, 2], "storage": "float32", "node": 2}], "nodes": [
{"name": "input", "op": {"kind": "input", "name": "input", "range": "observed", "is_input": true}, "inputs": [], "options": {"port": 0}, "out": {"extents": [1, 2, 3, 1], "storage": "float32"}, "tensors": []},
{"name": "c\"1", "op": {"kind": "conv2d", "name": "conv2d", "range": "observed"}, "inputs": [0], "options": {"kernel_height": 2, "kernel_width": 2, "stride_height": 1, "stride_width": 1, "padding_top": 0, "padding_left": 0, "dilation_height": 1, "dilation_width": 1, "groups": 1, "count_include_pad": 1, "one_dimensional": 0}, "out": {"extents": [1, 1, 2, 2], "storage": "float32"}, "weights": {"storage": "float32", "products": "float32", "count": 8, "channels": 2, "has_bias": true}, "tensors": [0, 1]},
{"name": "", "op": {"kind": "relu", "name": "relu", "range": "of_input", "elementwise": true, "picks_values": true}, "inputs": [1], "out": {"extents": [1, 1, 2, 2], "storage": "float32"}, "fused": {"clamp": "relu", "lowest": 0, "highest": null}, "tensors": []}], "tensors": [
{"name": "c\"1.weight", "dtype": "F32", "shape": [2, 1, 2, 2], "node": 1, "array": "weight"},
{"name": "c\"1.bias", "dtype": "F32", "shape": [2], "node": 1, "array": "bias"}]}
)");
}

TEST_CASE("model json: an int8 network, its ranges and what is fused") {
    using namespace described;
    const auto model = zp::convert(zp::calibrate(
        zp::prepare<zp::default_qconfig>(zp::fuse(made_up::network<larger>(1))), made_up::inputs<larger>(3)));
    const std::string text = zp::to_json(model);
    CHECK(
        has(text, R"("format": "zeropoint.int8", "format_version": 2, "arithmetic": "nearest_even", "signature": ")"));
    const auto file = zp::safetensors_file::parse(zp::to_bytes(model), "the file");
    CHECK(has(text,
              "\"signature\": \"" + file.expect_metadata("signature") + "\", \"requantization\": \"nearest_even\""));
    CHECK(has(text, R"("fused": {"clamp": "relu6", "lowest": 0, "highest": 6, "adds_input_1": true})"));
    CHECK(has(text, R"("table_bits": 10)"));
    CHECK(has(text, R"("kernel_height": 3, "kernel_width": 3, "stride_height": 1)"));
    CHECK(has(text, R"({"kind": "slice", "name": "slice", "options": [2, 1, 3, 1])"));
    CHECK(has(text, "\"scale\": " + zp::number_text(model.ranges()[0].scale)));
    CHECK(!has(zp::to_json<typename decltype(model)::stage>(), "\"ranges\""));
}

TEST_CASE("model json: a dynamic network") {
    using config = zp::dynamic_qconfig<zp::dynamic_policy<>, zp::quantize_every_layer>;
    const auto model = zp::quantize_dynamic<config>(zp::fuse(made_up::network<described::larger>(1)));
    const std::string text = zp::to_json(model);
    const auto file = zp::safetensors_file::parse(zp::to_bytes(model), "the file");
    CHECK(described::has(text, "\"signature\": \"" + file.expect_metadata("signature") + "\""));
    CHECK(described::has(text, "\"is_dynamic\": true"));
    CHECK(described::has(text, R"("products": "int8")"));
}
