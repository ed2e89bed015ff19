// SPDX-License-Identifier: BSD-3-Clause
// The algorithm policy: what a qconfig says reaches its layers, and changes neither results nor files.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include <zeropoint/io/model_file.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/workflow/convert.hpp>

#include "../support/made_up.hpp"
#include "../support/same_tensors.hpp"

namespace {

using zp::conv2d_algorithm;
namespace op = zp::op;

using activations = zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>;
using weights = zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>;
template <class... Options> struct with : zp::qconfig<activations, weights, Options...> {};

struct net : zp::model<zp::input<6, 6, 3>, zp::conv2d<"a", zp::conv{.out_channels = 16, .kernel = 3, .padding = 1}>,
                       zp::relu, zp::conv2d<"b", zp::conv{.kernel = 3, .padding = 1, .groups = zp::depthwise}>,
                       zp::conv2d<"c", zp::conv{.out_channels = 16, .kernel = 3, .groups = 4}>, zp::flatten,
                       zp::linear<"d", 5>> {};

/// What computes each of the layers: "implicit_gemm depthwise direct implicit_gemm".
template <class Config> std::string algorithms_of() {
    std::string text;
    for (const zp::node& row : zp::quantized<net, Config>::rows())
        if (row.op->multiplies) text += (text.empty() ? "" : " ") + std::string(zp::kernel::name_of(row.by.algorithm));
    return text;
}
template <class Config> std::string goals_of() {
    std::string text;
    for (const zp::node& row : zp::quantized<net, Config>::rows())
        if (row.op->multiplies) text += (text.empty() ? "" : " ") + std::string(zp::name_of(row.by.policy.goal));
    return text;
}

struct direct : with<zp::algorithm<conv2d_algorithm::direct>> {};
struct panels : with<zp::algorithm<conv2d_algorithm::implicit_gemm>> {};
struct tiles : with<zp::for_layer<"a", zp::algorithm<conv2d_algorithm::winograd_4x4>>,
                    zp::for_layer<"c", zp::algorithm<conv2d_algorithm::winograd_2x2>>> {};
struct mixed : with<zp::for_layer<"b", zp::algorithm<conv2d_algorithm::depthwise>>,
                    zp::for_type<op::linear, zp::algorithm<conv2d_algorithm::implicit_gemm>>,
                    zp::algorithm<conv2d_algorithm::direct>> {};

}  // namespace

TEST_CASE("algorithms: a qconfig names one for all layers, for a type, or for a layer, and the narrower goes first") {
    CHECK(algorithms_of<direct>() == "direct direct direct direct");
    CHECK(algorithms_of<panels>() == "implicit_gemm implicit_gemm implicit_gemm implicit_gemm");
    CHECK(algorithms_of<tiles>() == "winograd_4x4 depthwise winograd_2x2 implicit_gemm");
    CHECK(algorithms_of<mixed>() == "direct depthwise direct implicit_gemm");
    CHECK(goals_of<mixed>() == "named named named named");
    CHECK(goals_of<with<>>() == "balanced balanced balanced balanced");
    CHECK(goals_of<with<zp::for_type<op::conv2d, zp::algorithm<zp::fastest>>, zp::algorithm<zp::smallest>,
                        zp::for_layer<"c", zp::algorithm<zp::balanced>>>>() == "fastest fastest balanced smallest");
    // Among several the first that matches counts.
    CHECK(goals_of<with<zp::for_type<op::linear, zp::algorithm<zp::fastest>>,
                        zp::for_type<op::linear, zp::algorithm<zp::smallest>>>>() ==
          "balanced balanced balanced fastest");
    // `automatic` names none.
    CHECK(goals_of<with<zp::algorithm<conv2d_algorithm::automatic>>>() == "balanced balanced balanced balanced");
}

TEST_CASE("algorithms: an option beside one about numbers for the same layer") {
    using narrow = zp::qconfig<activations, zp::quantizer<zp::qint4, zp::per_channel_symmetric, zp::min_max_observer>>;
    using config = with<zp::for_layer<"a", zp::algorithm<conv2d_algorithm::direct>>, zp::for_layer<"a", narrow>>;
    const zp::node& row = zp::quantized<net, config>::rows()[2];
    CHECK(row.weights.quant_max == 7);
    CHECK(row.by.algorithm == conv2d_algorithm::direct);
}

/// The form of node I of a network: layers of one form share their code.
template <class Network, int I> using form_of = zp::form_at<typename Network::stage, I>;

TEST_CASE("algorithms: layers have one form where they compute alike, and other forms elsewhere") {
    using all_direct = zp::quantized<net, direct>;  // input, quantize, a, b, c, d, dequantize
    using all_panels = zp::quantized<net, panels>;
    using some = zp::quantized<net, mixed>;
    static_assert(std::is_same_v<form_of<all_direct, 2>, form_of<all_direct, 3>>);
    static_assert(std::is_same_v<form_of<all_direct, 2>, form_of<all_direct, 4>>);
    static_assert(std::is_same_v<form_of<all_direct, 2>, form_of<all_direct, 5>>);
    static_assert(!std::is_same_v<form_of<all_direct, 2>, form_of<all_panels, 2>>);
    static_assert(std::is_same_v<form_of<some, 2>, form_of<all_direct, 2>>);
    static_assert(!std::is_same_v<form_of<some, 3>, form_of<all_direct, 3>>);
    constexpr auto key = zp::operators::matrix_key_of(all_direct::stage::loose.view(2));
    static_assert(key.algorithm == conv2d_algorithm::direct && key.input == zp::scalar_type::uint8 &&
                  key.weights == zp::scalar_type::int8 && key.output == zp::scalar_type::uint8 && !key.residual);
}

TEST_CASE("algorithms: a sum with a residual has a form of its own") {
    struct block
        : zp::model<zp::input<6, 6, 3>, zp::conv2d<"a", zp::conv{.out_channels = 16}>,
                    zp::residual<zp::conv2d<"b", zp::conv{.kernel = 3, .padding = 1, .groups = zp::depthwise}>>,
                    zp::conv2d<"c", zp::conv{.kernel = 3, .groups = zp::depthwise}>, zp::flatten, zp::linear<"d", 5>> {
    };
    using network = zp::quantized<block, with<>>;  // input, quantize, a, b + a, c, d, dequantize
    constexpr const auto& nodes = network::stage::loose;
    constexpr auto sum = zp::operators::matrix_key_of(nodes.view(3)),
                   plain = zp::operators::matrix_key_of(nodes.view(4));
    static_assert(sum.algorithm == conv2d_algorithm::depthwise && sum.residual);
    static_assert(plain.algorithm == conv2d_algorithm::depthwise && !plain.residual);
    static_assert(!std::is_same_v<form_of<network, 3>, form_of<network, 4>>);
    for (const zp::node& row : network::rows()) CHECK_FALSE(zp_test::is(row, op::add));
}

TEST_CASE("algorithms: all give the same results and the same file, which any of them loads") {
    const auto trained = made_up::network<net>(1);
    const auto calibration = made_up::inputs<net>(16, 1);
    const auto a = zp::convert(zp::calibrate(zp::prepare<direct>(trained), calibration));
    const auto b = zp::convert(zp::calibrate(zp::prepare<mixed>(trained), calibration));
    const auto c = zp::convert(zp::calibrate(zp::prepare<tiles>(trained), calibration));
    const std::vector<std::byte> file = zp::to_bytes(a);
    CHECK(zp_test::same_tensors(file, zp::to_bytes(b)));
    CHECK(zp_test::same_tensors(file, zp::to_bytes(c)));
    const auto loaded = zp::load<zp::quantized<net, panels>>(file, "file");
    for (const auto& x : made_up::inputs<net>(8, 2)) {
        std::vector<float> y(5), other(5);
        a(x, y);
        b(x, other);
        CHECK(y == other);
        c(x, other);
        CHECK(y == other);
        loaded(x, other);
        CHECK(y == other);
    }
}
