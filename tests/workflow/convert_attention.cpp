// SPDX-License-Identifier: BSD-3-Clause
// Self-attention and encoder layers as rows of a model: float as PyTorch's, dynamic and int8.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include <zeropoint/analysis/model_table.hpp>
#include <zeropoint/io/model_file.hpp>
#include <zeropoint/io/state_dict.hpp>
#include <zeropoint/operators/activations.hpp>
#include <zeropoint/operators/attention.hpp>
#include <zeropoint/layer/transformer_encoder.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/workflow/convert.hpp>
#include <zeropoint/workflow/quantize_dynamic.hpp>

#include "../support/made_up.hpp"
#include "../support/run.hpp"

namespace {

struct config : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                            zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>> {};
/// One of three linear layers whose weights are one tensor in PyTorch stays float.
struct mixed_config : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                                  zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>,
                                  zp::keep_float<"layer.self_attn.key">> {};

const zp::safetensors_file& golden() {
    static const auto file =
        zp::safetensors_file::read(ZEROPOINT_SOURCE_DIR "/tests/golden/operators_attention.safetensors");
    return file;
}
std::vector<float> values(const std::string& name) { return golden().values<float>(golden().expect(name)); }
/// The state dict of a group, each name behind `prefix`.
std::vector<std::byte> state_dict_of(const std::string& group, const std::string& prefix) {
    zp::safetensors_writer file;
    for (const zp::file_tensor& tensor : golden().tensors()) {
        if (tensor.name.rfind(group + "/", 0) != 0) continue;
        const std::string name = tensor.name.substr(group.size() + 1);
        if (name != "x" && name != "y") file.add(prefix + name, tensor.shape, golden().values<float>(tensor));
    }
    return file.bytes();
}

using zp_test::run;
double difference(const std::vector<float>& a, const std::vector<float>& b) {
    REQUIRE(a.size() == b.size());
    double largest = 0;
    for (std::size_t i = 0; i != a.size(); ++i) largest = std::max(largest, std::abs(double{a[i]} - double{b[i]}));
    return largest;
}
double signal_to_noise(const std::vector<float>& exact, const std::vector<float>& found) {
    double signal = 0, noise = 0;
    for (std::size_t i = 0; i != exact.size(); ++i) {
        const double off = double{exact[i]} - double{found[i]};
        signal += double{exact[i]} * double{exact[i]};
        noise += off * off;
    }
    return 10 * std::log10(signal / noise);
}

template <int Length> struct attention_of : zp::model<zp::input<1, Length, 12>, zp::self_attention<"attn", 3>> {};
constexpr zp::encoder_options norm_first{.norm_first = true};
struct norm_behind : zp::model<zp::input<1, 6, 12>, zp::encoder<"", 2, 3, 20>> {};
struct norm_before
    : zp::model<zp::input<1, 6, 12>, zp::encoder<"", 2, 3, 20, zp::gelu, norm_first>, zp::layer_norm<"norm">> {};
struct wide : zp::model<zp::input<1, 17, 64>, zp::encoder_layer<"layer", 4, 128>> {};

/// Weights of the size that PyTorch begins with, and normalizations that do little.
zp::float_model<wide> trained() {
    zp::float_model<wide> model;
    for (const zp::node& row : model.rows()) {
        auto* block = reinterpret_cast<float*>(model.parameters() + row.at.parameter_offset);
        const bool norm = zp_test::is(row, zp::op::layer_norm);
        const int inputs = zp_test::view_of(model.rows(), row).x_shape().channels;
        const float size = row.weights.channels == 0 ? 0.1f : 1.7f / std::sqrt(static_cast<float>(inputs));
        const auto values = made_up::values(static_cast<std::size_t>(row.at.parameter_bytes) / 4, 7, -size, size);
        std::copy(values.begin(), values.end(), block);
        for (int i = 0; norm && i != row.out.extents.channels; ++i) block[i] += 1;
    }
    return model;
}

}  // namespace

TEST_CASE("attention rows: float is near PyTorch's, from its own state dict, which is saved again") {
    const auto compare = [](const auto& model, const std::string& group, const std::vector<std::byte>& file) {
        CAPTURE(group);
        CHECK(difference(run(model, values(group + "/x")), values(group + "/y")) < 5e-6);
        CHECK(zp::to_bytes(model).size() >= file.size());  // with metadata
        CHECK(zp::to_bytes(zp::load<typename std::remove_cvref_t<decltype(model)>::net>(zp::to_bytes(model))) ==
              zp::to_bytes(model));
    };
    auto file = state_dict_of("attention/0", "attn.");
    compare(zp::load<attention_of<1>>(file), "attention/0", file);
    file = state_dict_of("attention/1", "attn.");
    compare(zp::load<attention_of<9>>(file), "attention/1", file);
    file = state_dict_of("encoder/0", "");
    compare(zp::load<norm_behind>(file), "encoder/0", file);
    file = state_dict_of("encoder/1", "");
    compare(zp::load<norm_before>(file), "encoder/1", file);
}

TEST_CASE("attention rows: quantize_dynamic takes the projections, as the layer by itself does") {
    const auto source = trained();
    const auto dynamic = zp::quantize_dynamic(source);
    const auto again = zp::load<zp::dynamically_quantized<wide>>(zp::to_bytes(dynamic));
    int taken = 0;
    for (const zp::node& row : dynamic.rows()) taken += row.is_dynamic();
    CHECK(taken == 7);  // four projections, two linear layers, and the products between them
    constexpr zp::transformer options{.model = 64, .heads = 4, .feed_forward = 128};
    using alone = zp::transformer_encoder_layer<options, 17>;
    const auto file = zp::safetensors_file::parse(zp::to_bytes(source), "float");
    zp::state_dict parameters(file, "layer.");
    const alone layer(parameters);
    const auto memory = std::make_unique<alone::workspace>();
    for (const auto& x : made_up::inputs<wide>(2, 5, -2, 2)) {
        std::vector<float> expected(x.size());
        layer(x, expected, *memory);
        const auto y = run(dynamic, x);
        CHECK(y == expected);
        CHECK(run(again, x) == y);
        CHECK(signal_to_noise(run(source, x), y) > 35);
    }
}

TEST_CASE("attention rows: int8 is near float, all of it or with a part in float") {
    const auto source = trained();
    const auto calibration = made_up::inputs<wide>(8, 3, -2, 2);
    const auto prepared = zp::calibrate(zp::prepare<config>(source), calibration);
    const auto int8 = zp::convert(prepared);
    static_assert(zp::budget_of<zp::quantized<wide, config>>.boundaries == 0);
    const auto again = zp::load<zp::quantized<wide, config>>(zp::to_bytes(int8));
    const auto mixed = zp::convert(zp::calibrate(zp::prepare<mixed_config>(source), calibration));
    const auto mixed_again = zp::load<zp::quantized<wide, mixed_config>>(zp::to_bytes(mixed));
    for (const auto& x : made_up::inputs<wide>(3, 5, -2, 2)) {
        const auto exact = run(source, x), y = run(int8, x);
        CHECK(signal_to_noise(exact, y) > 30);
        CHECK(run(again, x) == y);
        CHECK(signal_to_noise(exact, run(mixed, x)) > 30);
        CHECK(run(mixed_again, x) == run(mixed, x));
    }
    const std::string table = zp::to_string(int8);
    for (const char* name : {"layer.self_attn.query", "layer.self_attn.value", "layer.self_attn.out_proj"})
        CHECK(table.find(name) != table.npos);
}
