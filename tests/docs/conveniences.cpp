// SPDX-License-Identifier: BSD-3-Clause
// Excerpts of docs/workflow.md, files.md, inspection.md and layers.md: options on top of a preset, names in files, profiles, blocks.
#include <doctest/doctest.h>

#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include <zeropoint/analysis/profile.hpp>
#include <zeropoint/operators.hpp>
#include <zeropoint/zeropoint.hpp>

#include "../support/made_up.hpp"

namespace {
namespace conveniences {

// clang-format off
// [blocks]
struct gestures : zp::model<zp::input<1, 64, 6>,                                        // 64 steps of 6 sensors
    zp::causal_conv1d<"c1", zp::conv{.out_channels = 16, .kernel = 3}>, zp::relu,
    zp::causal_conv1d<"c2", zp::conv{.out_channels = 16, .kernel = 3, .dilation = 2}>,  // looks 4 steps back
    zp::squeeze_excite<"se", 4>,                                                        // over all steps: no stream
    zp::relu, zp::linear<"classes", 5>> {};
// [/blocks]
// [with]
struct my_bytes : zp::with<zp::fbgemm_qconfig,          // its quantizers, its requantize_with and table_bits
    zp::keep_float<"classes">,                          // a layer by its name
    zp::keep_float<"mul_11">> {};                       // one without a name, as reports call it
// [/with]
// clang-format on

}  // namespace conveniences
}  // namespace

TEST_CASE("docs: conveniences") {
    using namespace conveniences;
    using net = gestures;
    zp::safetensors_writer writer;
    const auto made = made_up::network<net>();
    const auto written = zp::safetensors_file::parse(zp::to_bytes(made), "f");
    for (const zp::file_tensor& tensor : written.tensors()) {
        const std::string name = tensor.name.starts_with("classes") ? "head." + tensor.name.substr(8) : tensor.name;
        writer.add("model." + name, tensor.shape, std::span<const float>(written.floats(tensor)));
    }
    writer.add("model.loss.weight", {1}, std::span<const float>(std::array<float, 1>{}));
    const auto file = writer.bytes();
    // [load]
    std::vector<std::string> ignored;
    const auto trained = zp::load<net>(file, zp::load_options{
                                                 .prefix = "model.",                // "model.c1.weight" is "c1.weight"
                                                 .renames = {{"head", "classes"}},  // "head.bias" is "classes.bias"
                                                 .ignores_others = true,            // "loss.weight" is left aside
                                                 .ignored = &ignored,
                                             });
    // [/load]
    CHECK(ignored == std::vector<std::string>{"loss.weight"});

    const auto inputs = made_up::inputs<net>(33);
    const auto fused = zp::fuse(trained);
    const auto int8 = zp::convert(zp::calibrate(zp::prepare<my_bytes>(fused), inputs));
    const std::vector<float>& x = inputs[0];
    // [profile]
    const zp::network_profile times = zp::profile(int8, fused, x);  // or zp::profile(network, x), of any stage
    const std::string table = zp::to_string(times), json = zp::to_json(times);
    for (const std::string& warning : times.warnings()) std::puts(warning.c_str());  // rows that float computes faster
    // [/profile]
    CHECK(table.find("mul_11") != std::string::npos);
    CHECK(json.find("\"name\": \"mul_11\"") != std::string::npos);
    // [value]
    const auto y = int8(x);  // a std::array of 64 * 5 floats; outputs of up to 4096 bytes come by value
    // [/value]
    CHECK(y.size() == 320);
}
