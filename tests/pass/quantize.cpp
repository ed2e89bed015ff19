// SPDX-License-Identifier: BSD-3-Clause
// The passes behind prepare and convert: which entry of a qconfig applies, who shares a scale, which rows an int8 model has.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/operators/requantize.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/workflow/stages.hpp>

#include "../support/nodes.hpp"

namespace {

using zp::conv;
namespace op = zp::op;

template <class DType> using activations = zp::quantizer<DType, zp::per_tensor_affine, zp::min_max_observer>;
template <class DType>
using weights = zp::quantizer<DType, zp::per_channel_symmetric, zp::per_channel_min_max_observer>;
template <class... Options> struct with : zp::qconfig<activations<zp::quint8>, weights<zp::qint8>, Options...> {};
struct int8 : zp::qconfig<activations<zp::qint8>, weights<zp::qint8_narrow>> {};
struct reduced : zp::qconfig<activations<zp::quint8_reduced>, weights<zp::qint4>> {};

/// The qparams ids of the prepared rows, an asterisk where the row is observed: "0* 1* 1".
template <class Net, class Config = with<>> std::string ids_of() {
    std::string text;
    for (const zp::node& row : zp::prepared_stage<Net, Config>::table)
        text += (text.empty() ? "" : " ") + std::to_string(row.out.qparams_id) + (row.flags.observed ? "*" : "");
    return text;
}
/// The rows of the int8 model: kind, fused activation, type by its letter, and inputs.
template <class Net, class Config = with<>> std::string rows_of() {
    std::string text;
    for (const zp::node& row : zp::quantized_stage<Net, Config>::table) {
        text += text.empty() ? "" : " ";
        text += row.op->kind->name;
        if (const zp::operator_info* fused = zp_test::fused_into(row)) text += "+" + std::string(fused->kind->name);
        text += row.out.storage == zp::scalar_type::float32 ? ":f"
                : row.out.storage == zp::scalar_type::uint8 ? ":u"
                                                            : ":s";
        for (int k = 0; k != row.input_count; ++k) text += (k == 0 ? "<" : ",") + std::to_string(row.inputs[k]);
    }
    return text;
}
struct separate : zp::qconfig<activations<zp::quint8>, weights<zp::qint8>, zp::separate_sums> {};

/// Which entry of the qconfig each fused row has; -1 is float32.
template <class Net, class Config> std::vector<int> entries_of() {
    std::vector<int> all;
    for (const zp::node& row : zp::prepared_stage<Net, Config>::table)
        all.push_back(row.flags.keep_float ? -1 : row.config);
    return all;
}

struct read_twice {
    static constexpr int nodes = 5;
    static constexpr void lower(zp::builder& b) {
        const int a = b.conv2d(b.input({2, 2, 2}), "a", {.out_channels = 2});
        b.add(a, zp::sigmoid::lower(b, a));
    }
};
struct many_concats {
    static constexpr int nodes = 40;
    static constexpr void lower(zp::builder& b) {
        const int x = b.input({1, 1, 4});
        int gates[zp::max_inputs], all[zp::max_inputs];
        for (int& gate : gates) gate = zp::sigmoid::lower(b, x);
        for (int& joined : all) joined = b.concat(gates);
        b.concat(all);
    }
};

struct three_convolutions
    : zp::model<zp::input<4, 4, 2>, zp::conv2d<"a", conv{.out_channels = 2}>, zp::relu, zp::max_pool2d<2>,
                zp::conv2d<"b", conv{.out_channels = 2}>, zp::flatten, zp::linear<"c", 2>> {};

}  // namespace

TEST_CASE("qconfig: a name goes before a type, the first of several options wins, keep_float is one of them") {
    CHECK(entries_of<three_convolutions, with<>>() == std::vector{0, 0, 0, 0, 0});
    CHECK(entries_of<three_convolutions, with<zp::for_layer<"b", int8>>>() == std::vector{0, 0, 0, 1, 0});
    CHECK(entries_of<three_convolutions, with<zp::for_type<op::conv2d, int8>, zp::for_layer<"b", reduced>>>() ==
          std::vector{0, 1, 1, 2, 0});
    CHECK(entries_of<three_convolutions, with<zp::for_type<op::conv2d, int8>, zp::for_type<op::conv2d, reduced>>>() ==
          std::vector{0, 1, 1, 1, 0});
    CHECK(entries_of<three_convolutions, with<zp::keep_float<"b">>>() == std::vector{0, 0, 0, -1, 0});
    CHECK(entries_of<three_convolutions, with<zp::keep_float_type<op::conv2d>, zp::for_layer<"a", int8>>>() ==
          std::vector{0, 2, 2, -1, 0});
    CHECK(entries_of<three_convolutions, with<zp::for_type<op::linear, int8>, zp::keep_float<"c">>>() ==
          std::vector{0, 0, 0, 0, -1});
    CHECK(entries_of<three_convolutions, with<zp::requantize_with<zp::float_bias>, zp::for_type<op::linear, int8>>>() ==
          std::vector{0, 0, 0, 0, 2});
}

TEST_CASE("qconfig: the requantization policy is the model's") {
    using std::is_same_v;
    CHECK(is_same_v<zp::qconfig_entries<with<>>::requantization, zp::nearest_even>);
    CHECK(is_same_v<zp::qconfig_entries<with<zp::keep_float<"a">, zp::requantize_with<zp::float_bias>>>::requantization,
                    zp::float_bias>);
}

TEST_CASE("qparams: pools, clamps and flattens share their input's") {
    CHECK(ids_of<three_convolutions>() == "0* 1* 1 2* 3*");
    struct chain : zp::model<zp::input<8, 8, 2>, zp::max_pool2d<2>, zp::relu, zp::avg_pool2d<2>, zp::sigmoid,
                             zp::adaptive_avg_pool2d<1>, zp::flatten, zp::relu6> {};
    CHECK(ids_of<chain>() == "0* 0 0 0 1* 1 1 1");
}
TEST_CASE("qparams: a row that stays float has one of its own") {
    CHECK(ids_of<three_convolutions, with<zp::keep_float_type<op::max_pool2d>>>() == "0* 1* 2* 3* 4*");
}
TEST_CASE("qparams: a concat shares its own with what nothing else reads, through what only picks values") {
    struct net : zp::model<zp::input<4, 4, 2>, zp::concat<zp::conv2d<"a", conv{.out_channels = 2}>,
                                                          zp::sequential<zp::conv2d<"b", conv{.out_channels = 2}>,
                                                                         zp::max_pool2d<zp::pool{.kernel = 1}>>,
                                                          zp::sigmoid>> {};
    // input, a, b, pool, sigmoid (fixed), concat
    CHECK(ids_of<net>() == "0* 1 1 1 2* 1*");
    CHECK(ids_of<net, with<zp::for_layer<"a", int8>>>() == "0* 1* 2 2 3* 2*");
    CHECK(ids_of<net, with<zp::keep_float<"a">>>() == "0* 1* 2 2 3* 2*");
    struct of_input : zp::model<zp::input<4, 4, 2>, zp::concat<zp::identity, zp::relu>,
                                zp::concat<zp::conv2d<"c", conv{.out_channels = 2}>, zp::identity>> {};
    CHECK(ids_of<of_input>() == "0 0 0* 1 1*");
    struct averaged : zp::model<zp::input<4, 4, 2>, zp::conv2d<"a", conv{.out_channels = 2}>, zp::avg_pool2d<2>,
                                zp::concat<zp::identity>> {};
    CHECK(ids_of<averaged>() == "0* 1* 1 2*");
    struct nested
        : zp::model<zp::input<4, 4, 2>,
                    zp::concat<zp::concat<zp::conv2d<"a", conv{.out_channels = 2}>, zp::identity>,
                               zp::sequential<zp::conv2d<"b", conv{.out_channels = 2}>, zp::relu, zp::max_pool2d<1>>,
                               zp::sequential<zp::conv2d<"c", conv{.out_channels = 2}>, zp::requantize<"own">>>> {};
    CHECK(ids_of<nested>() == "0* 1 1 1 1 2* 3* 1*");  // input, a, concat, b, pool, c, requantize, concat
}

TEST_CASE("rows: an int8 model quantizes its input and dequantizes its output") {
    CHECK(rows_of<three_convolutions>() ==
          "input:f quantize:u<0 conv2d+relu:u<1 max_pool2d:u<2 conv2d:u<3 linear:u<4 dequantize:f<5");
}
TEST_CASE("rows: float islands are entered and left once") {
    CHECK(rows_of<three_convolutions, with<zp::keep_float<"b">>>() ==
          "input:f quantize:u<0 conv2d+relu:u<1 max_pool2d:u<2 dequantize:f<3 conv2d:f<4 quantize:u<5 linear:u<6 "
          "dequantize:f<7");
    CHECK(rows_of<three_convolutions, with<zp::keep_float<"a">>>() ==
          "input:f conv2d+relu:f<0 quantize:u<1 max_pool2d:u<2 conv2d:u<3 linear:u<4 dequantize:f<5");
    CHECK(rows_of<three_convolutions, with<zp::keep_float<"c">>>() ==
          "input:f quantize:u<0 conv2d+relu:u<1 max_pool2d:u<2 conv2d:u<3 dequantize:f<4 linear:f<5");
    CHECK(rows_of<three_convolutions,
                  with<zp::keep_float_type<op::conv2d>, zp::keep_float<"c">, zp::keep_float_type<op::max_pool2d>>>() ==
          "input:f conv2d+relu:f<0 max_pool2d:f<1 conv2d:f<2 linear:f<3");
    // Two float readers of one value share its dequantize, two quantized readers its quantize.
    struct shared
        : zp::model<zp::input<2, 2, 2>, zp::conv2d<"a", conv{.out_channels = 2}>,
                    zp::add<zp::conv2d<"b", conv{.out_channels = 2}>, zp::conv2d<"c", conv{.out_channels = 2}>>,
                    zp::add<zp::conv2d<"d", conv{.out_channels = 2}>, zp::conv2d<"e", conv{.out_channels = 2}>>> {};
    CHECK(rows_of<shared, with<zp::keep_float<"b">, zp::keep_float<"c">, zp::keep_float_type<op::add>>>() ==
          "input:f quantize:u<0 conv2d:u<1 dequantize:f<2 conv2d:f<3 conv2d:f<3 add:f<4,5 quantize:u<6 conv2d:u<7 "
          "conv2d:u<7 dequantize:f<8 dequantize:f<9 add:f<10,11");
}
TEST_CASE("rows: layers of another dtype read and write codes directly") {
    CHECK(rows_of<three_convolutions, with<zp::for_layer<"b", int8>>>() ==
          "input:f quantize:u<0 conv2d+relu:u<1 max_pool2d:u<2 conv2d:s<3 linear:u<4 dequantize:f<5");
    CHECK(rows_of<three_convolutions, with<zp::for_layer<"a", int8>>>() ==
          "input:f quantize:u<0 conv2d+relu:s<1 max_pool2d:s<2 conv2d:u<3 linear:u<4 dequantize:f<5");
    CHECK(rows_of<three_convolutions, with<zp::for_layer<"input", int8>>>() ==
          "input:f quantize:s<0 conv2d+relu:u<1 max_pool2d:u<2 conv2d:u<3 linear:u<4 dequantize:f<5");
}
TEST_CASE("rows: activations that are tables go into the layer in front of them") {
    struct net
        : zp::model<zp::input<2, 2, 2>, zp::conv2d<"a", conv{.out_channels = 2}>, zp::hardswish, zp::max_pool2d<2>,
                    zp::tanh, zp::residual<zp::conv2d<"b", conv{.out_channels = 2}>, zp::relu, zp::sigmoid>,
                    zp::flatten, zp::linear<"c", 2>, zp::leaky_relu<>> {};
    CHECK(rows_of<net>() ==
          "input:f quantize:u<0 conv2d+hardswish:u<1 max_pool2d:u<2 tanh:u<3 conv2d+relu:u<4 sigmoid:u<5 add:u<6,4 "
          "linear+leaky_relu:u<7 dequantize:f<8");
    // Not where another layer reads the value, nor where the activation has another entry of the qconfig.
    CHECK(rows_of<net, with<zp::for_type<op::hardswish, int8>>>() ==
          "input:f quantize:u<0 conv2d:u<1 hardswish:s<2 max_pool2d:s<3 tanh:u<4 conv2d+relu:u<5 sigmoid:u<6 add:u<7,5 "
          "linear+leaky_relu:u<8 dequantize:f<9");
    CHECK(rows_of<read_twice>() == "input:f quantize:u<0 conv2d:u<1 sigmoid:u<2 add:u<2,3 dequantize:f<4");
}
TEST_CASE("rows: an add becomes a part of the layer that makes the later one of its operands") {
    using a = zp::conv2d<"a", conv{.out_channels = 2}>;
    using b = zp::conv2d<"b", conv{.out_channels = 2}>;
    using c = zp::conv2d<"c", conv{.out_channels = 2}>;
    struct block : zp::model<zp::input<2, 2, 2>, a, zp::relu, zp::residual<b, zp::relu, c>, zp::relu> {};
    CHECK(rows_of<block>() == "input:f quantize:u<0 conv2d+relu:u<1 conv2d+relu:u<2 conv2d+relu:u<3,2 dequantize:f<4");
    CHECK(rows_of<block, separate>() ==
          "input:f quantize:u<0 conv2d+relu:u<1 conv2d+relu:u<2 conv2d:u<3 add+relu:u<4,2 dequantize:f<5");
    CHECK(rows_of<block, with<zp::requantize_with<zp::float_bias>>>() == rows_of<block, separate>());
    CHECK(rows_of<block, with<zp::requantize_with<zp::fixed_point_double_rounding>>>() == rows_of<block, separate>());
    CHECK(rows_of<block, with<zp::requantize_with<zp::fixed_point_single_rounding>>>() == rows_of<block, separate>());
    CHECK(rows_of<block, with<zp::requantize_with<zp::nearest_even>>>() == rows_of<block>());
    CHECK(rows_of<block, int8>() ==
          "input:f quantize:s<0 conv2d+relu:s<1 conv2d+relu:s<2 conv2d+relu:s<3,2 dequantize:f<4");
    // Of two layers, the later one takes it, on either side of the add; a layer may add what it reads.
    struct downsampled
        : zp::model<zp::input<2, 2, 2>, a,
                    zp::add_relu<zp::sequential<b, zp::relu, c>, zp::conv2d<"d", conv{.out_channels = 2}>>> {};
    CHECK(rows_of<downsampled>() ==
          "input:f quantize:u<0 conv2d:u<1 conv2d+relu:u<2 conv2d:u<3 conv2d+relu:u<2,4 dequantize:f<5");
    struct left : zp::model<zp::input<2, 2, 2>, a, zp::add<zp::identity, b>> {};
    CHECK(rows_of<left>() == "input:f quantize:u<0 conv2d:u<1 conv2d:u<2,2 dequantize:f<3");
    struct of_input : zp::model<zp::input<1, 1, 2>, zp::residual<zp::linear<"a", 2>>> {};
    CHECK(rows_of<of_input>() == "input:f quantize:u<0 linear:u<1,1 dequantize:f<2");
    // A table behind the add is fused as well; a second add is not.
    struct gated : zp::model<zp::input<2, 2, 2>, zp::residual<zp::residual<a>>, zp::residual<b>, zp::sigmoid> {};
    CHECK(rows_of<gated>() == "input:f quantize:u<0 conv2d:u<1,1 add:u<2,1 conv2d+sigmoid:u<3,3 dequantize:f<4");
    // What it is not fused into: an activation, a value with another reader, one whose other operand comes later.
    struct active : zp::model<zp::input<2, 2, 2>, zp::residual<a, zp::relu>, zp::residual<b, zp::tanh>> {};
    CHECK(rows_of<active>() ==
          "input:f quantize:u<0 conv2d+relu:u<1 add:u<2,1 conv2d+tanh:u<3 add:u<4,3 dequantize:f<5");
    struct read_again : zp::model<zp::input<2, 2, 2>, a, zp::residual<zp::identity>, zp::residual<zp::max_pool2d<1>>> {
    };
    CHECK(rows_of<read_again>() == "input:f quantize:u<0 conv2d:u<1 add:u<2,2 max_pool2d:u<3 add:u<4,3 dequantize:f<5");
    struct earlier : zp::model<zp::input<2, 2, 2>, zp::add<a, zp::max_pool2d<1>>> {};
    CHECK(rows_of<earlier>() == "input:f quantize:u<0 conv2d:u<1 max_pool2d:u<1 add:u<2,3 dequantize:f<4");
    // Nor over float islands, nor between entries of a qconfig.
    CHECK(rows_of<block, with<zp::keep_float<"c">>>() ==
          "input:f quantize:u<0 conv2d+relu:u<1 conv2d+relu:u<2 dequantize:f<3 conv2d:f<4 quantize:u<5 add+relu:u<6,2 "
          "dequantize:f<7");
    CHECK(rows_of<block, with<zp::for_layer<"c", reduced>>>() == rows_of<block, separate>());
    CHECK(rows_of<block, with<zp::for_layer<"a", reduced>>>() == rows_of<block>());
}
TEST_CASE("rows: the output of a sum with a residual has the scale of the sum, and its bounds") {
    struct net : zp::model<zp::input<2, 2, 2>, zp::residual<zp::conv2d<"a", conv{.out_channels = 2}>>,
                           zp::clamp<-500, 750>, zp::residual<zp::conv2d<"b", conv{.out_channels = 2}>>, zp::tanh> {};
    const auto& prepared = zp::prepared_stage<net, with<>>::table.nodes;  // input, a, add, b, add, tanh
    const auto& rows = zp::quantized_stage<net, with<>>::table.nodes;     // input, quantize, a, b, dequantize
    CHECK(rows[2].out.qparams_id == prepared[2].out.qparams_id);
    CHECK(zp_test::has_clamp(rows[2], op::clamp));
    CHECK(rows[2].fused.lowest == -0.5f);
    CHECK(rows[2].fused.highest == 0.75f);
    CHECK(rows[2].from.self == 1);
    CHECK(rows[2].from.value() == 2);
    CHECK(std::string(rows[2].name) == "a");
    CHECK(rows[3].out.qparams_id == prepared[5].out.qparams_id);
    CHECK(rows[3].fused.lut_qparams_id == prepared[4].out.qparams_id);
    CHECK(rows[3].from.sum == 4);
    CHECK(rows[3].from.value() == 5);
    CHECK(rows[1].from.value() == 0);
}
TEST_CASE("rows: a concat rescales what could not take its scale") {
    struct net : zp::model<zp::input<4, 4, 2>, zp::concat<zp::conv2d<"a", conv{.out_channels = 2}>, zp::sigmoid,
                                                          zp::conv2d<"b", conv{.out_channels = 2}>>> {};
    CHECK(rows_of<net>() ==
          "input:f quantize:u<0 conv2d:u<1 sigmoid:u<1 conv2d:u<1 requantize:u<3 concat:u<2,5,4 dequantize:f<6");
    CHECK(rows_of<net, with<zp::for_layer<"b", int8>>>() ==
          "input:f quantize:u<0 conv2d:u<1 sigmoid:u<1 conv2d:s<1 requantize:u<3 requantize:u<4 concat:u<2,5,6 "
          "dequantize:f<7");
    CHECK(rows_of<net, with<zp::keep_float<"a">>>() ==
          "input:f conv2d:f<0 quantize:u<0 sigmoid:u<2 conv2d:u<2 quantize:u<1 requantize:u<5 requantize:u<3 "
          "concat:u<6,7,4 dequantize:f<8");
}
TEST_CASE("rows: many concats over many fixed scales fit the table") {
    CHECK(zp::quantized_stage<many_concats, with<>>::table.size == 1 + 1 + 8 + 8 * (8 + 1) + 1 + 1);
}
TEST_CASE("rows: the ranges of codes come from the entry") {
    const auto& rows = zp::quantized_stage<three_convolutions, with<zp::for_layer<"b", reduced>>>::table.nodes;
    CHECK(rows[1].out.quant_max == 255);
    CHECK(rows[4].out.quant_max == 127);
    CHECK(rows[4].weights.quant_min == -8);
    CHECK(rows[4].weights.quant_max == 7);
    CHECK(rows[2].weights.quant_min == -128);
    CHECK(rows[5].out.quant_max == 255);
    CHECK_FALSE(rows[4].weights.affine);
}

namespace {
template <class Net, class Config> zp::rule broken() {
    return zp::quantize_nodes<64>(
               zp::assign_qparams(zp::fused_stage<Net>::loose,
                                  [](const zp::node& row) { return zp::qconfig_entries<Config>::choose(row); }),
               zp::rule_of_entry<Config>,
               zp::qconfig_entries<Config>::template make_integer_weights<zp::default_architecture>,
               zp::qconfig_entries<Config>::merges_sums, zp::boundaries)
        .error.broken;
}
}  // namespace

TEST_CASE("rows: what cannot be quantized is a broken rule, unless it stays float") {
    struct late_norm : zp::model<zp::input<4, 4, 2>, zp::max_pool2d<2>, zp::batch_norm2d<"bn">> {};
    CHECK(broken<late_norm, with<>>() == zp::rule::no_quantized_form);
    CHECK(broken<late_norm, with<zp::keep_float<"bn">>>() == zp::rule::none);
    CHECK(broken<late_norm, with<zp::keep_float_type<op::batch_norm>>>() == zp::rule::none);
    struct sum : zp::model<zp::input<4, 4, 2>, zp::conv2d<"a", conv{.out_channels = 2}>,
                           zp::named<"sum", zp::residual<zp::conv2d<"b", conv{.out_channels = 2}>>>> {};
    CHECK(broken<sum, with<>>() == zp::rule::none);
    CHECK(broken<sum, with<zp::for_layer<"a", int8>>>() == zp::rule::operand_types_differ);
    CHECK(broken<sum, with<zp::for_layer<"sum", int8>>>() == zp::rule::operand_types_differ);
    CHECK(broken<sum, with<zp::for_layer<"a", int8>, zp::for_layer<"b", int8>, zp::for_layer<"sum", int8>>>() ==
          zp::rule::none);
    CHECK(broken<sum, with<zp::for_layer<"a", reduced>>>() == zp::rule::none);
    // 255 * 128 * depth must stay below half of int32: 32896 products.
    struct deep : zp::model<zp::input<1, 1, 32896>, zp::linear<"a", 1>> {};
    struct too_deep : zp::model<zp::input<1, 1, 32897>, zp::linear<"a", 1>> {};
    CHECK(broken<deep, with<>>() == zp::rule::none);
    CHECK(broken<too_deep, with<>>() == zp::rule::accumulator_overflow);
    CHECK(broken<too_deep, with<zp::for_layer<"a", reduced>>>() == zp::rule::none);
    CHECK(broken<too_deep, with<zp::keep_float<"a">>>() == zp::rule::none);
}
