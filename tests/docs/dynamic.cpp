// SPDX-License-Identifier: BSD-3-Clause
// The code of the page on dynamic quantization, recurrent layers and encoders.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <zeropoint/analysis/model_table.hpp>
#include <zeropoint/io/model_file.hpp>
#include <zeropoint/io/safetensors.hpp>
#include <zeropoint/io/state_dict.hpp>
#include <zeropoint/layer/linear.hpp>
#include <zeropoint/layer/recurrent.hpp>
#include <zeropoint/layer/static_layers.hpp>
#include <zeropoint/operators/svdf.hpp>
#include <zeropoint/layer/transformer_encoder.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/workflow/dynamic_presets.hpp>
#include <zeropoint/workflow/quantize_dynamic.hpp>

#include "../support/made_up.hpp"

// [model]
struct classifier : zp::model<zp::input<1, 1, 64>, zp::linear<"hidden", 128>, zp::relu, zp::linear<"scores", 10>> {};
// [/model]

namespace {

std::vector<float> weights_of(std::size_t outputs, std::size_t inputs) { return made_up::values(outputs * inputs, 3); }

/// What a page reads from a file: a GRU of two layers, and an encoder of one.
zp::safetensors_file state_dict_file() {
    zp::safetensors_writer writer;
    const auto add = [&](const std::string& name, zp::file_shape shape) {
        std::size_t size = 1;
        for (const auto extent : shape) size *= static_cast<std::size_t>(extent);
        writer.add(name, shape, made_up::values(size, size, -0.2f, 0.2f));
    };
    for (const std::string layer : {"0", "1"}) {
        add("rnn.weight_ih_l" + layer, {48, layer == "0" ? 10 : 16});
        add("rnn.weight_hh_l" + layer, {48, 16});
        add("rnn.bias_ih_l" + layer, {48});
        add("rnn.bias_hh_l" + layer, {48});
    }
    const std::string layer = "encoder.layers.0.";
    add(layer + "self_attn.in_proj_weight", {48, 16});
    add(layer + "self_attn.in_proj_bias", {48});
    add(layer + "self_attn.out_proj.weight", {16, 16});
    add(layer + "self_attn.out_proj.bias", {16});
    add(layer + "linear1.weight", {32, 16});
    add(layer + "linear1.bias", {32});
    add(layer + "linear2.weight", {16, 32});
    add(layer + "linear2.bias", {16});
    for (const std::string norm : {"norm1", "norm2"}) {
        add(layer + norm + ".weight", {16});
        add(layer + norm + ".bias", {16});
    }
    return zp::safetensors_file::parse(writer.bytes(), "model.safetensors");
}

}  // namespace

TEST_CASE("docs: dynamic linear layers") {
    const std::vector<float> weights = weights_of(21, 64), bias = made_up::values(21, 2), x = made_up::values(64, 4);
    std::vector<float> y(21);
    // [linear]
    using linear = zp::dynamic_linear<64, 21>;
    const linear layer(weights, bias);  // quantizes and packs, once
    linear::workspace memory;           // all that calls write to
    layer(x, y, memory);                // 64 floats in, 21 out: noexcept, nothing is allocated
    // [/linear]
    CHECK(y[0] != 0.0f);

    // [policies]
    using per_row = zp::dynamic_policy<>;                       // quint8 a row, qint8 an output
    using seven_bits = zp::dynamic_policy<zp::quint8_reduced>;  // as PyTorch's reduce_range; the fastest with AVX2
    using pytorch = zp::dynamic_policy<zp::quint8_reduced, zp::per_tensor_affine, zp::qint8, zp::per_tensor_symmetric,
                                       zp::fbgemm_rule>;  // its quantize_dynamic
    using float_products =                                // attention multiplies floats between its projections
        zp::dynamic_policy<zp::quint8, zp::per_row_affine, zp::qint8, zp::per_channel_symmetric, zp::pytorch_rule,
                           zp::pytorch_rule, zp::attention_products::float32>;
    using eight_bits = zp::weight_only_policy<>;              // float activations, int8 weights
    using four_bits = zp::weight_only_policy<zp::qint4, 32>;  // a scale for 32 inputs of an output
    using grouped = zp::dynamic_group_policy<zp::qint4, 32>;  // the same weights, int8 activations
    using minimums = zp::dynamic_group_policy<zp::quint4, 128, zp::group_range::least_squares>;
    // [/policies]
    static_assert(per_row::is_per_row && seven_bits::is_per_row && !pytorch::is_per_row);
    static_assert(float_products::attention != per_row::attention);
    static_assert(eight_bits::bits == 8 && four_bits::bits == 4);
    static_assert(grouped::group_size == 32 && minimums::group_size == 128);
}

TEST_CASE("docs: recurrent layers") {
    const auto file = state_dict_file();
    const auto frames = made_up::values(7 * 10, 5);
    // [stack]
    zp::state_dict parameters(file, "rnn.");  // rnn.weight_ih_l0, ..., rnn.bias_hh_l1
    constexpr zp::recurrent_options two{.layers = 2};
    using layers = zp::dynamic_gru<10, 16, zp::dynamic_policy<>, zp::default_architecture, 100, two>;
    const layers gru(parameters);
    const auto memory = std::make_unique<layers::workspace>();  // for up to 100 steps a call
    layers::state state;                                        // zeros
    std::vector<float> y(7 * 16);
    gru(frames, state, y, *memory);  // 7 steps of 10 floats
    // [/stack]
    std::vector<float> last(16);
    layers::state streamed;
    // [stream]
    for (std::size_t step = 0; step != 7; ++step)
        gru(std::span(frames).subspan(step * 10, 10), streamed, last, *memory);
    CHECK(std::equal(last.begin(), last.end(), y.end() - 16));  // the same bits
    // [/stream]
}

TEST_CASE("docs: models that are quantized dynamically") {
    const auto trained = made_up::network<classifier>();
    // [quantize-dynamic]
    const auto model = zp::quantize_dynamic(trained);  // int8 weights of "hidden"; "scores" has too few of them
    const std::vector<std::byte> bytes = zp::to_bytes(model);
    const auto again = zp::load<zp::dynamically_quantized<classifier>>(bytes);
    // [/quantize-dynamic]
    CHECK(zp::to_bytes(again) == bytes);
    CHECK(model.rows()[1].is_dynamic());
    CHECK_FALSE(model.rows()[2].is_dynamic());
    // [cost-rule]
    struct large_layers {
        static constexpr const char* why_float(const zp::node_view& v) {
            return v.n.weights.count < 100000 ? "stays float32: fewer than 100 000 weights" : nullptr;
        }
    };
    using config = zp::dynamic_qconfig<zp::dynamic_policy<>, large_layers, zp::keep_float<"scores">>;
    std::string table = zp::to_string(zp::quantize_dynamic<config>(trained));  // says what stays float32, and why
    // [/cost-rule]
    CHECK(table.find("stays float32: fewer than 100 000 weights") != table.npos);
    // [weight-only]
    using small_file = zp::dynamic_qconfig<zp::weight_only_policy<zp::qint4, 32>>;
    const auto small = zp::quantize_dynamic<small_file>(trained);  // 4-bit weights of "hidden", floats for the rest
    // [/weight-only]
    // [groups]
    using four_by_eight = zp::dynamic_qconfig<zp::dynamic_group_policy<zp::qint4, 32>>;
    const auto fast = zp::quantize_dynamic<four_by_eight>(trained);  // 4-bit weights of "hidden", int8 activations
    // [/groups]
    // [preset]
    const auto four_bits = zp::quantize_dynamic<zp::int4_dynamic_qconfig>(trained);
    const auto four_bits_again =
        zp::load<zp::dynamically_quantized<classifier, zp::int4_dynamic_qconfig>>(zp::to_bytes(four_bits));
    // [/preset]
    CHECK(zp::to_bytes(four_bits_again) == zp::to_bytes(four_bits));
    CHECK(small.rows()[1].is_weight_only());
    CHECK(2 * zp::to_bytes(small).size() < zp::to_bytes(trained).size());
}

TEST_CASE("docs: streaming SVDF") {
    const auto feature = weights_of(32, 10), time = weights_of(32, 6), bias = weights_of(16, 1);
    const zp::qparams x{2.0f / 255, 128}, y{1.0f / 255, 0};
    // [svdf]
    using spotter = zp::svdf<"spot", 16, 2, 6>;  // 16 units of rank 2 over 6 steps
    using layer = zp::static_layer<spotter, zp::shape{1, 1, 10}, zp::op::relu>;
    const layer spot({feature, time, bias}, x, y);  // x and y: scale and zero point, which any observer finds
    layer::state state;                             // zeros
    layer::workspace memory;
    std::uint8_t codes[10] = {}, scores[16];
    spot.run(codes, state, scores, memory);  // one step
    // [/svdf]
    CHECK(spot.output_qparams() == y);
    CHECK(std::any_of(scores, scores + 16, [](std::uint8_t code) { return code > 0; }));
}

TEST_CASE("docs: encoders") {
    const auto file = state_dict_file();
    // [encoder]
    constexpr zp::transformer options{
        .model = 16, .heads = 4, .feed_forward = 32, .activation = zp::feed_forward_activation::gelu};
    using encoder = zp::transformer_encoder<options, 1, 128>;  // one layer, up to 128 rows
    zp::state_dict parameters(file, "encoder.");
    const encoder layers(parameters);
    const auto memory = std::make_unique<encoder::workspace>();
    std::vector<float> tokens = made_up::values(9 * 16, 6);
    layers(tokens, tokens, *memory);  // 9 rows: attention is over these, no padding, no mask
    // [/encoder]
    CHECK(tokens[0] != 0.0f);
}
