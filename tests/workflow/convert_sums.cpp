// SPDX-License-Identifier: BSD-3-Clause
// Sums with a residual in one rounding: int8 networks equal the simulation at every row, by every algorithm.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <zeropoint/io/model_file.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>

#include "integer_simulation.hpp"

namespace {

using simulation::activation;
using simulation::square;
using zp::conv;
using zp::conv2d_algorithm;

template <class DType> using activations = zp::quantizer<DType, zp::per_tensor_affine, zp::min_max_observer>;
using weights = zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>;
struct usual : zp::qconfig<activations<zp::quint8>, weights> {};
struct signed_codes : zp::qconfig<activations<zp::qint8>, weights> {};
struct affine_weights
    : zp::qconfig<activations<zp::quint8>,
                  zp::quantizer<zp::quint8, zp::per_channel_affine, zp::per_channel_min_max_observer>> {};
struct separate : zp::qconfig<activations<zp::quint8>, weights, zp::separate_sums> {};
/// The 3x3 windows of stride 1 by one algorithm, all others by another.
template <conv2d_algorithm Tiles, conv2d_algorithm Others>
struct by : zp::qconfig<activations<zp::quint8>, weights, zp::for_layer<"b", zp::algorithm<Tiles>>,
                        zp::for_layer<"d", zp::algorithm<Tiles>>, zp::algorithm<Others>> {};

constexpr conv wide{.out_channels = 18, .kernel = 3, .padding = 1};
constexpr conv narrow{.out_channels = 24, .kernel = 3, .stride = 2, .padding = 1};

/// A block with an identity, one that halves the image, where both operands are convolutions, a depthwise one; a sum of a
/// sum; a function and bounds behind sums; linear layers.
struct blocks
    : zp::model<
          zp::input<9, 7, 5>, zp::conv2d<"stem", wide>, zp::relu,
          zp::named<"sum_b", zp::residual<zp::conv2d<"a", wide>, zp::relu, zp::conv2d<"b", wide>>>, zp::relu,
          zp::named<"sum_e",
                    zp::add<zp::sequential<zp::conv2d<"c", narrow>, zp::relu,
                                           zp::conv2d<"d", conv{.out_channels = 24, .kernel = 3, .padding = 1}>>,
                            zp::conv2d<"e", conv{.out_channels = 24, .stride = 2}>>>,
          zp::relu,
          zp::named<"sum_f", zp::residual<zp::conv2d<"f", conv{.kernel = 3, .padding = 1, .groups = zp::depthwise}>>>,
          zp::named<"sum_2", zp::residual<zp::named<"sum_g", zp::residual<zp::conv2d<"g", conv{.out_channels = 24}>>>>>,
          zp::named<"sum_h", zp::residual<zp::conv2d<"h", conv{.out_channels = 24}>>>, zp::named<"gate", zp::hardswish>,
          zp::named<"sum_i", zp::residual<zp::conv2d<"i", conv{.out_channels = 24, .groups = 3}>>>,
          zp::clamp<-500, 750>, zp::adaptive_avg_pool2d<1>, zp::flatten,
          zp::named<"sum_k", zp::residual<zp::linear<"j", 30>, zp::relu, zp::linear<"k", 24>>>, zp::relu6,
          zp::linear<"fc", 10>> {};

template <class Config> void check() {
    const auto trained = made_up::network<blocks>(11);
    const auto calibration = made_up::inputs<blocks>(5, 11);
    const auto int8 = simulation::converted<Config>(trained, calibration);
    simulation::script<blocks, Config> s(trained, calibration);
    for (const auto& image : made_up::inputs<blocks>(3, 87, -1.4f, 1.4f)) {
        const auto x = s.quantize(s.input(image), s.range("input"));
        const auto stem = s.convolve("stem", x, square(3, 1, 1), s.range("stem"), activation::relu);
        const auto a = s.convolve("a", stem, square(3, 1, 1), s.range("a"), activation::relu);
        const auto b = s.convolve_add("b", a, square(3, 1, 1), stem, s.range("sum_b"), activation::relu);
        const auto c = s.convolve("c", b, square(3, 2, 1), s.range("c"), activation::relu);
        const auto d = s.convolve("d", c, square(3, 1, 1), s.range("d"));
        const auto e = s.convolve_add("e", b, square(1, 2), d, s.range("sum_e"), activation::relu);
        const auto f = s.convolve_add("f", e, square(3, 1, 1, 1, 24), e, s.range("sum_f"));
        const auto g = s.convolve_add("g", f, square(1), f, s.range("sum_g"));
        const auto sum = s.add(g, f, s.range("sum_2"));
        const auto h = s.convolve_then(
            "h", sum, square(1), s.range("sum_h"), s.range("gate"),
            [](double v) { return v * std::min(std::max(v + 3, 0.0), 6.0) / 6; }, &sum);
        const auto i = s.convolve_clamped("i", h, square(1, 1, 0, 1, 3), s.range("sum_i"), -0.5f, 0.75f, &h);
        const auto flat = s.flatten(s.global_average(i));
        const auto j = s.convolve("j", flat, square(1), s.range("j"), activation::relu);
        const auto k = s.convolve_add("k", j, square(1), flat, s.range("sum_k"), activation::relu6);
        s.dequantize(s.convolve("fc", k, square(1), s.range("fc")));
        CHECK(simulation::differences(int8, s, image) == "");
    }
    const auto file = zp::to_bytes(int8);
    const auto loaded = zp::load<zp::quantized<blocks, Config>>(file);
    CHECK(std::equal(int8.parameters(), int8.parameters() + int8.parameter_bytes, loaded.parameters()));
}

/// The algorithms of rows with a residual.
template <class Config> std::string algorithms_of() {
    std::string text;
    for (const zp::node& row : zp::quantized<blocks, Config>::rows())
        if (row.fused.adds_input_1)
            text += std::string(text.empty() ? "" : " ") + zp::kernel::name_of(row.by.algorithm);
    return text;
}

}  // namespace

TEST_CASE("convert: sums with a residual, unsigned and signed codes, weights with zero points") {
    check<usual>();
    check<signed_codes>();
    check<affine_weights>();
}

TEST_CASE("convert: sums with a residual by every algorithm") {
    using enum conv2d_algorithm;
    CHECK(algorithms_of<by<winograd_4x4, automatic>>() ==
          "winograd_4x4 implicit_gemm depthwise implicit_gemm implicit_gemm implicit_gemm implicit_gemm");
    check<by<winograd_4x4, automatic>>();
    check<by<winograd_2x2, direct>>();
    check<by<implicit_gemm, implicit_gemm>>();
}

TEST_CASE("convert: one rounding is nearer to the float network than two") {
    struct one : zp::model<zp::input<6, 6, 12>, zp::residual<zp::conv2d<"a", conv{.out_channels = 12}>>> {};
    const auto trained = made_up::network<one>(1);
    const auto calibration = made_up::inputs<one>(20, 1);
    const auto merged = simulation::converted<usual>(trained, calibration);
    const auto apart = simulation::converted<separate>(trained, calibration);
    double squares[2] = {};
    for (const auto& x : calibration) {
        std::vector<float> exact(6 * 6 * 12), y(exact.size()), z(exact.size());
        trained(x, exact);
        merged(x, y);
        apart(x, z);
        for (std::size_t i = 0; i != exact.size(); ++i) {
            squares[0] += double{y[i] - exact[i]} * double{y[i] - exact[i]};
            squares[1] += double{z[i] - exact[i]} * double{z[i] - exact[i]};
        }
    }
    CHECK(squares[0] < 0.85 * squares[1]);
}

TEST_CASE("convert: weights too small for the residual behind them get a larger scale") {
    struct net
        : zp::model<zp::input<1, 1, 2>, zp::linear<"huge", 2, zp::with_bias::no>,
                    zp::residual<zp::linear<"one", 2, zp::with_bias::no>, zp::linear<"tiny", 2, zp::with_bias::no>>> {};
    auto trained = made_up::network<net>(1);
    const float factors[] = {1e20f, 1e-20f, 1e-20f};
    for (int i = 1; i != 4; ++i)
        for (float& weight : zp_test::array_of(trained, trained.rows()[static_cast<std::size_t>(i)], 0))
            weight *= factors[i - 1];
    const auto inputs = made_up::inputs<net>(4, 1);
    // Scales of weights that are as small as these weights.
    using small_weights =
        zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer, zp::tflite_rule>;
    using merged = zp::qconfig<usual::activation, small_weights>;
    using apart = zp::qconfig<usual::activation, small_weights, zp::separate_sums>;
    // They are nothing beside it: the sum is that of the network which rounds twice, within a step.
    zp::conversion_notes notes;
    const auto int8 = zp::convert(zp::calibrate(zp::prepare<merged>(trained), inputs), &notes);
    CHECK(notes.raised_weight_scales == std::vector<std::string>{"tiny: 2 of 2 channels"});
    const auto two_roundings = zp::convert(zp::calibrate(zp::prepare<apart>(trained), inputs));
    for (const auto& x : inputs) {
        const auto y = int8(x), expected = two_roundings(x);
        const float step = int8.ranges()[int8.rows()[4].out.qparams_id].scale;
        for (std::size_t i = 0; i != y.size(); ++i) CHECK(std::abs(y[i] - expected[i]) <= step);
    }
    // Of 2^-23 at least, under PyTorch's rule: what "one" reads is then too coarse for what it gives.
    CHECK_THROWS_WITH_AS(
        zp::convert(zp::calibrate(zp::prepare<usual>(trained), inputs)),
        doctest::Contains("convert: one (linear): expected input scales that times weight scales are below 2^31 "
                          "output scales, found scales 2^"),
        zp::value_error);
}
