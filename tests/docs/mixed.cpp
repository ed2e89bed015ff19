// SPDX-License-Identifier: BSD-3-Clause
// The excerpts of docs/workflow.md about layers with integer weights between floats.
#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include <zeropoint/operators.hpp>
#include <zeropoint/zeropoint.hpp>

#include "../support/made_up.hpp"
#include "network.hpp"

namespace {

// clang-format off
// [networks]
struct speech : zp::model<zp::input<1, 40, 13>,  // 40 frames
    zp::conv1d<"conv", zp::conv{.out_channels = 32, .kernel = 5, .padding = 2}>, zp::relu,
    zp::lstm<"rnn", 64, zp::recurrent_options{.projection = 32}>, zp::linear<"letters", 29>> {};
struct topics : zp::model<zp::indices<24>,  // words
    zp::embedding<"words", 1000, 16>, zp::linear<"widen", 32>, zp::encoder<"encoder", 1, 4, 64, zp::gelu>,
    zp::mean<zp::axes::width>, zp::linear<"classes", 5>> {};
// [/networks]

// [qconfigs]
struct speech_qconfig : zp::qconfig<
    my_qconfig::activation, my_qconfig::weight,
    zp::dynamic<"rnn">> {};                                               // int8 weights, ranges as they come
struct topics_qconfig : zp::qconfig<
    my_qconfig::activation, my_qconfig::weight,
    zp::embedding_bits<4>,                                                // tables of 4 bits
    zp::weight_only<"widen", zp::weight_only_policy<zp::qint4, 16>>> {};  // 4-bit weights, times floats
// [/qconfigs]
// clang-format on

}  // namespace

TEST_CASE("docs: a dynamic LSTM in an int8 network") {
    const auto model =
        zp::convert(zp::calibrate(zp::prepare<speech_qconfig>(made_up::network<speech>()), made_up::inputs<speech>(4)));
    const std::string table = zp::to_string(model);
    CHECK(table.find("dynamic lstm") != table.npos);
    CHECK(zp::budget_of<zp::quantized<speech, speech_qconfig>>.boundaries == 2);
}

TEST_CASE("docs: weights of 4 bits in an int8 transformer") {
    std::vector<std::vector<std::int32_t>> sentences(4, std::vector<std::int32_t>(24));
    for (std::size_t i = 0; i != 96; ++i) sentences[i / 24][i % 24] = static_cast<std::int32_t>(37 * i % 1000);
    const auto model = zp::convert(zp::calibrate(zp::prepare<topics_qconfig>(made_up::network<topics>()), sentences));
    const std::string table = zp::to_string(model);
    CHECK(table.find("embedding of 4 bits") != table.npos);
    CHECK(table.find("weight-only linear of 4 bits") != table.npos);
    CHECK(zp::budget_of<zp::quantized<topics, topics_qconfig>>.boundaries ==
          1);  // the table's floats are what "widen" reads
}
