// SPDX-License-Identifier: BSD-3-Clause
// What rows are called, and by what names they are found.
#include <doctest/doctest.h>

#include <string>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/operators/activations.hpp>
#include <zeropoint/workflow/stages.hpp>

namespace {
namespace row_name_test {

struct net : zp::model<zp::input<4, 4, 3>, zp::conv2d<"stem", zp::conv{.out_channels = 4}>, zp::batch_norm2d<"bn">,
                       zp::relu, zp::residual<zp::conv2d<"a", zp::conv{.out_channels = 4}>, zp::silu>,
                       zp::max_pool2d<2>, zp::flatten, zp::linear<"fc", 2>> {};
using activations = zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>;
using weights = zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>;
struct all : zp::qconfig<activations, weights> {};
struct but_the_sum : zp::qconfig<activations, weights, zp::keep_float<"add_6">> {};

template <class Stage> std::string names() {
    std::string text;
    for (int i = 0; i != Stage::table.size; ++i)
        text += zp::display_name({Stage::table.nodes, static_cast<std::size_t>(Stage::table.size)}, i) + " ";
    return text;
}

}  // namespace row_name_test
}  // namespace

TEST_CASE("row names: a row is called the same in every stage, and a qconfig takes that name") {
    using namespace row_name_test;
    CHECK(names<zp::float_stage<net>>() == "input stem bn relu_3 a silu_5 add_6 max_pool2d_7 flatten_8 fc ");
    CHECK(names<zp::fused_stage<net>>() == "input stem a silu_5 add_6 max_pool2d_7 fc ");
    CHECK(names<zp::prepared_stage<net, all>>() == "input stem a silu_5 add_6 max_pool2d_7 fc ");
    CHECK(names<zp::quantized_stage<net, all>>() == "input quantize_0 stem a add_6 max_pool2d_7 fc dequantize_9 ");
    CHECK(names<zp::quantized_stage<net, but_the_sum>>() ==
          "input quantize_0 stem a dequantize_5 dequantize_1 add_6 quantize_6 max_pool2d_7 fc dequantize_9 ");
    constexpr const auto& table = zp::fused_stage<net>::table;
    CHECK(zp::node_named(table, "add_6") == 4);
    CHECK(zp::node_named(table, "add_4") == -1);  // its place in this stage
    CHECK(zp::node_named(table, "add_06") == -1);
    CHECK(zp::node_named(table, "add_") == -1);
    CHECK(zp::node_named(table, "add_6x") == -1);
    CHECK(zp::node_named(table, "linear_9") == -1);  // it has a name
    CHECK(zp::node_named(table, "input") == 0);
    CHECK(zp::nearest_row(table, "add_20").view() == "add_6");
    CHECK(zp::nearest_row(table, "stam").view() == "stem");
    CHECK(zp::nearest_row(table, "head").view() == "");
}
