// SPDX-License-Identifier: BSD-3-Clause
// The excerpts of docs/workflow.md about several inputs and outputs, and codes at both ends.
#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include <zeropoint/operators.hpp>
#include <zeropoint/zeropoint.hpp>

#include "../support/made_up.hpp"
#include "network.hpp"

namespace {

// clang-format off
// [networks]
struct rear_view : zp::model<                                     // two cameras, two heads
    zp::named<"left", zp::input<16, 16, 3>>,
    zp::named<"left_edges", zp::conv2d<"edges", zp::conv{.out_channels = 8, .kernel = 3, .stride = 2}>>,
    zp::named<"right", zp::input<16, 16, 3>>,                     // the layers behind it go on from here
    zp::conv2d<"right_edges", zp::conv{.out_channels = 8, .kernel = 3, .stride = 2}>,
    zp::concat<zp::from<"left_edges">, zp::identity>, zp::relu, zp::output<"features">,
    zp::adaptive_avg_pool2d<1>, zp::linear<"distance", 4>, zp::output<"distance">> {};
struct comments : zp::model<
    zp::named<"ids", zp::indices<12>>,
    zp::add<zp::embedding<"words", 1000, 16>,
            zp::sequential<zp::named<"types", zp::indices<12>>, zp::embedding<"kinds", 2, 16>>>,
    zp::named<"sum", zp::relu>,
    zp::named<"mask", zp::input<1, 12, 1>>,                       // 1 for a token, 0 for padding
    zp::mul<zp::from<"sum">, zp::identity>, zp::mean<zp::axes::width>, zp::linear<"classes", 5>> {};
// [/networks]

// [codes]
struct camera_bytes : zp::qconfig<  // byte b stands for (b / 255 - 0.5) / 0.5
    zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::fixed_qparams_observer<zp::qparams_of_bytes(0.5, 0.5)>>,
    my_qconfig::weight> {};
struct codes_qconfig : zp::qconfig<
    my_qconfig::activation, my_qconfig::weight,
    zp::for_layer<"left", camera_bytes>, zp::for_layer<"right", camera_bytes>,
    zp::codes_in<"left">, zp::codes_in<"right">, zp::codes_out<"distance">> {};
// [/codes]
// clang-format on

}  // namespace

TEST_CASE("docs: several inputs and outputs") {
    const auto trained = made_up::network<rear_view>();
    const auto batch = made_up::values(4 * 768, 1);
    const std::vector<float>&lefts = batch, &rights = batch;
    std::array<float, 768> left{}, right{};
    std::array<float, 784> features{};
    std::array<float, 4> distance{};
    // [run]
    const auto int8 = zp::convert(zp::calibrate(zp::prepare<my_qconfig>(trained), zp::in(lefts, rights)));
    decltype(int8)::workspace memory;
    int8(zp::in(left, right), zp::out(features, distance), memory);  // in the order of declaration
    int8(zp::in(zp::as<"right">(right), zp::as<"left">(zp::nchw(left))), zp::out(features, distance), memory);
    // [/run]
    CHECK(int8.inputs()[1].name == std::string("right"));
}

TEST_CASE("docs: a mask, and one output that comes by value") {
    const auto trained = made_up::network<comments>();
    const std::array<std::int32_t, 12> ids{}, types{};
    const std::array<float, 12> mask{1, 1, 1};
    // [batches]
    std::vector<std::tuple<std::vector<std::int32_t>, std::vector<std::int32_t>, std::vector<float>>> batches;
    // [/batches]
    batches.emplace_back(std::vector<std::int32_t>(24, 1), std::vector<std::int32_t>(24, 1), std::vector<float>(24, 1));
    const auto int8 = zp::convert(zp::calibrate(zp::prepare<my_qconfig>(trained), batches));
    // [value]
    const auto classes = int8(zp::in(ids, types, mask));  // std::array<float, 5>
    // [/value]
    CHECK(classes.size() == 5);
}

TEST_CASE("docs: camera bytes in, codes out") {
    const auto trained = made_up::network<rear_view>();
    const std::vector<std::uint8_t> left_images(4 * 768, 100), right_images(4 * 768, 150);
    // [run-codes]
    const auto int8 =  // calibrated with images as the cameras gave them
        zp::convert(zp::calibrate(zp::prepare<codes_qconfig>(trained), zp::in(left_images, right_images)));
    std::array<float, 784> features{};
    decltype(int8)::workspace memory;
    std::array<std::uint8_t, 768> left_image{}, right_image{};  // as the cameras give them
    std::array<std::uint8_t, 4> distance{};
    int8(zp::in(left_image, right_image), zp::out(features, distance), memory);
    const zp::qparams meaning = int8.qparams_of<"distance">();
    const float metres = zp::dequantize(distance[0], meaning);
    // [/run-codes]
    CHECK(metres == meaning.scale * static_cast<float>(distance[0] - meaning.zero_point));
}
