// SPDX-License-Identifier: BSD-3-Clause
// The code of the pages about layers of models over sequences.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <zeropoint/analysis/model_table.hpp>
#include <zeropoint/io/model_file.hpp>
#include <zeropoint/operators/attention.hpp>
#include <zeropoint/operators/conv_transpose2d.hpp>
#include <zeropoint/operators/embedding.hpp>
#include <zeropoint/operators/layer_norm.hpp>
#include <zeropoint/operators/masked_softmax.hpp>
#include <zeropoint/operators/pad.hpp>
#include <zeropoint/operators/lstm.hpp>
#include <zeropoint/operators/sum.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/workflow/calibrate.hpp>
#include <zeropoint/workflow/convert.hpp>
#include <zeropoint/workflow/presets.hpp>
#include <zeropoint/workflow/quantize_dynamic.hpp>
#include <zeropoint/workflow/calibrate_sequences.hpp>
#include <zeropoint/workflow/stateful.hpp>
#include <zeropoint/workflow/streaming.hpp>

#include "../support/made_up.hpp"

// [model]
constexpr zp::recurrent_options both_ways{
    .layers = 2, .bidirectional = true, .output = zp::recurrent_output::final_state};
struct keywords : zp::model<zp::input<1, 25, 13>,            // 25 steps of 13 features
                            zp::lstm<"rnn", 32, both_ways>,  // rnn.weight_ih_l0, ..., rnn.bias_hh_l1_reverse
                            zp::linear<"classes", 10>> {};   // over the 2 x 32 values where the two directions end
// [/model]

// [encoder]
constexpr zp::encoder_options norm_first{.norm_first = true};
struct tokens
    : zp::model<zp::input<1, 24, 32>,                                    // 24 vectors of 32
                zp::encoder<"encoder", 2, 4, 64, zp::gelu, norm_first>,  // 2 layers, 4 heads, 64 values within
                zp::layer_norm<"encoder.norm">> {};
// [/encoder]

// [indices]
struct sentences
    : zp::model<zp::indices<24>,  // 24 token ids
                zp::add<zp::embedding<"words", 1000, 32>, zp::position_embedding<"positions", 64, 32>>,
                zp::encoder<"encoder", 2, 4, 64, zp::gelu>, zp::mean<zp::axes::width>, zp::linear<"classes", 3>> {};
struct ratings : zp::model<zp::indices<2>,  // a user and a film, each with a table of its own
                           zp::concat<zp::embedding<"user", 500, 16, zp::embedding_options{.first = 0, .count = 1}>,
                                      zp::embedding<"film", 800, 16, zp::embedding_options{.first = 1, .count = 1}>>,
                           zp::linear<"hidden", 32>, zp::relu, zp::linear<"rating", 1>> {};
// [/indices]

// [masked]
struct padded : zp::model<zp::named<"input_ids", zp::indices<24>>, zp::named<"attention_mask", zp::indices<24>>,
                          zp::named<"mask", zp::attention_mask>,  // 1 for a token, 0 for padding
                          zp::from<"input_ids">,
                          zp::add<zp::embedding<"words", 1000, 32>, zp::position_embedding<"positions", 64, 32>>,
                          zp::encoder<"encoder", 2, 4, 64, zp::gelu, zp::encoder_options{}, zp::from<"mask">>> {};
// [/masked]

// [stream-model]
template <zp::fixed_string Name, int Kernel, int Channels>
struct causal_conv1d  // looks back only
    : zp::sequential<zp::zero_pad2d<zp::sides(Kernel - 1, 0, 0, 0)>,
                     zp::conv1d<Name, zp::conv{.out_channels = Channels, .kernel = Kernel}>> {};
struct wake_word
    : zp::model<zp::input<1, 98, 40>,  // 98 frames, as they are trained and calibrated with
                causal_conv1d<"one", 5, 32>, zp::relu, causal_conv1d<"two", 9, 32>, zp::relu, zp::linear<"score", 2>> {
};
// [/stream-model]

// [strides-model]
struct codec  // 8 samples of sound to 4 numbers, and back
    : zp::model<zp::input<1, 1600, 1>, zp::zero_pad2d<zp::sides(2, 0, 0, 0)>,
                zp::conv1d<"down1", zp::conv{.out_channels = 16, .kernel = 4, .stride = 2}>, zp::relu,
                zp::zero_pad2d<zp::sides(4, 0, 0, 0)>,
                zp::conv1d<"down2", zp::conv{.out_channels = 4, .kernel = 8, .stride = 4}>, zp::tanh,
                zp::conv_transpose1d<"up1", zp::conv_transpose{.out_channels = 16, .kernel = 8, .stride = 4}>, zp::relu,
                zp::conv_transpose1d<"up2", zp::conv_transpose{.out_channels = 1, .kernel = 4, .stride = 2}>> {};
// [/strides-model]

TEST_CASE("docs: streaming") {
    const auto trained = made_up::network<wake_word>();
    const auto recordings = made_up::inputs<wake_word>(2);
    std::vector<float> y(98 * 2), scores(2);
    // [stream-run]
    const auto int8 = zp::convert(zp::calibrate(zp::prepare<zp::default_qconfig>(trained), recordings));
    zp::streaming<zp::quantized<wake_word, zp::default_qconfig>> stream(int8);
    for (std::size_t frame = 0; frame != 98; ++frame)  // 40 floats in, 2 scores out: nothing is allocated
        stream(std::span(recordings[0]).subspan(frame * 40, 40), scores);
    // [/stream-run]
    int8(recordings[0], y);
    CHECK(scores == std::vector<float>(y.end() - 2, y.end()));
}

TEST_CASE("docs: streaming with strides") {
    const auto trained = made_up::network<codec>();
    const auto recordings = made_up::inputs<codec>(2);
    const auto int8 = zp::convert(zp::calibrate(zp::prepare<zp::default_qconfig>(trained), recordings));
    std::vector<float> y(static_cast<std::size_t>(int8.output_shape.size())), heard(1600);
    // [strides-run]
    zp::streaming<zp::quantized<codec, zp::default_qconfig>> stream(int8);
    static_assert(stream.input_shape.width == 8 && stream.output_shape.width == 8);  // known when it is compiled
    for (std::size_t at = 0; at != 1600; at += 8)
        stream(std::span(recordings[0]).subspan(at, 8), std::span(heard).subspan(at, 8));
    std::array<std::byte, stream.state_bytes> kept;
    std::ranges::copy(stream.state(), kept.begin());
    stream.reset();        // another sequence may come between
    stream.restore(kept);  // and this one goes on
    // [/strides-run]
    int8(recordings[0], y);
    CHECK(std::equal(heard.begin(), heard.end(), y.begin()));
}

// [frames-model]
struct voice  // whether somebody speaks in a frame of 256 samples
    : zp::model<zp::input<1, 256, 1>, zp::conv1d<"windows", zp::conv{.out_channels = 32, .kernel = 64, .stride = 32}>,
                zp::relu, zp::avg_pool1d<7>, zp::lstm<"memory", 16>, zp::linear<"score", 1>, zp::sigmoid> {};
// [/frames-model]

TEST_CASE("docs: frame by frame") {
    const auto trained = made_up::network<voice>();
    const std::vector recordings{made_up::values(20 * 256, 1), made_up::values(30 * 256, 2)};
    std::array<float, 1> probability{}, alone{};
    const std::span<const float> sound = recordings[0];
    // [frames-run]
    const auto int8 = zp::convert(zp::calibrate_sequences(zp::prepare<zp::default_qconfig>(trained), recordings));
    zp::stateful<zp::quantized<voice, zp::default_qconfig>> stream(int8);
    for (std::size_t frame = 0; frame != 20; ++frame)  // nothing is allocated
        stream(sound.subspan(frame * 256, 256), probability);
    stream.reset();  // another recording
    // [/frames-run]
    int8(sound.last(256), alone);
    CHECK(probability != alone);
    stream(sound.last(256), probability);
    CHECK(probability == alone);
}

TEST_CASE("docs: an encoder") {
    const auto trained = made_up::network<tokens>();
    CHECK(std::string_view(trained.rows()[2].name) == "encoder.layers.0.self_attn.query");
    CHECK(trained.output_shape == zp::shape{1, 24, 32});
}

TEST_CASE("docs: models of indices") {
    const auto trained = made_up::network<ratings>();
    const std::vector<std::vector<std::int32_t>> pairs{{0, 799}, {499, 0}, {17, 230}};
    // [run-indices]
    const auto int8 = zp::convert(zp::calibrate(zp::prepare<zp::default_qconfig>(trained), pairs));
    const auto dynamic = zp::quantize_dynamic(trained);  // int8 weights; tables stay floats
    std::array<float, 1> rating;
    int8(std::array{42, 300}, rating);                 // an index outside of its table raises value_error
    int8(zp::unchecked(std::array{42, 300}), rating);  // none is looked at: noexcept
    // [/run-indices]
    CHECK(int8.rows()[1].out.storage == zp::scalar_type::uint8);
    CHECK(dynamic.rows()[1].weights.storage == zp::scalar_type::float32);
    CHECK_THROWS_AS(int8(std::array{500, 0}, rating), zp::value_error);
    CHECK(zp::float_model<sentences>::output_shape == zp::shape{1, 1, 3});
}

TEST_CASE("docs: a mask") {
    const auto model = made_up::network<padded>();
    std::array<std::int32_t, 24> ids{}, mask{};
    std::fill_n(mask.begin(), 7, 1);
    std::array<float, 24 * 32> y, other;
    const auto call = [&](auto& vectors) {
        // [run-masked]
        model(zp::in(ids, mask), vectors);
        // [/run-masked]
    };
    call(y);
    ids[7] = 5;  // padding
    call(other);
    CHECK(std::equal(y.begin(), y.begin() + 7 * 32, other.begin()));
    CHECK(y != other);
    mask[2] = 2;
    CHECK_THROWS_AS(call(y), zp::value_error);
}

TEST_CASE("docs: a recurrent model") {
    const auto trained = made_up::network<keywords>();
    const auto recordings = made_up::inputs<keywords>(2);
    // [quantize]
    const auto dynamic = zp::quantize_dynamic(trained);  // int8 weights, float gates; nothing to calibrate
    const auto int8 =
        zp::convert(zp::calibrate(zp::prepare<zp::default_qconfig>(trained), recordings));  // integers throughout
    // [/quantize]
    CHECK(dynamic.rows()[1].is_dynamic());
    CHECK(int8.rows()[2].out.storage == zp::scalar_type::uint8);
}
