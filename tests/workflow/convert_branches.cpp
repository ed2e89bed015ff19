// SPDX-License-Identifier: BSD-3-Clause
// Int8 networks with batch norms, residuals, concat and pools equal the simulation at every row.
#include <doctest/doctest.h>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/operators/requantize.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/workflow/presets.hpp>

#include "integer_simulation.hpp"

namespace {

using simulation::activation;
using simulation::pooling;
using simulation::square;
using zp::conv;

using activations = zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>;
using weights = zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>;
struct config : zp::qconfig<activations, weights> {};
struct separate : zp::qconfig<activations, weights, zp::separate_sums> {};

/// As the demo: convolutions with batch norms and relu, a residual block, a depthwise-separable one, pools, linear layers.
struct digits
    : zp::model<
          zp::input<8, 8, 1>, zp::conv2d<"conv1", conv{.out_channels = 10, .kernel = 3, .padding = 1, .bias = false}>,
          zp::batch_norm2d<"bn1">, zp::relu,
          zp::residual<zp::conv2d<"a", conv{.out_channels = 10, .kernel = 3, .padding = 1, .bias = false}>,
                       zp::batch_norm2d<"bn_a">, zp::relu,
                       zp::conv2d<"b", conv{.out_channels = 10, .kernel = 3, .padding = 1}>, zp::batch_norm2d<"bn_b">>,
          zp::relu, zp::max_pool2d<2>,
          zp::conv2d<"depthwise", conv{.kernel = 3, .padding = 1, .groups = zp::depthwise}>, zp::batch_norm2d<"bn2">,
          zp::relu6, zp::conv2d<"pointwise", conv{.out_channels = 7}>, zp::relu, zp::avg_pool2d<2>, zp::flatten,
          zp::dropout, zp::linear<"fc1", 9>, zp::relu, zp::linear<"fc2", 10>> {};

/// The scale of a concat is that of branches that nothing else reads, but of none that is averaged.
struct inception
    : zp::model<
          zp::input<6, 6, 3>, zp::conv2d<"stem", conv{.out_channels = 5}>, zp::relu,
          zp::concat<zp::conv2d<"one", conv{.out_channels = 4}>,
                     zp::sequential<zp::conv2d<"two", conv{.out_channels = 6, .kernel = 3, .padding = 1}>, zp::relu>,
                     zp::sequential<zp::max_pool2d<zp::pool{.kernel = 3, .stride = 1, .padding = 1}>,
                                    zp::conv2d<"three", conv{.out_channels = 2}>>,
                     zp::sequential<zp::conv2d<"four", conv{.out_channels = 3}>,
                                    zp::avg_pool2d<zp::pool{.kernel = 3, .stride = 1, .padding = 1}>>>,
          zp::relu, zp::conv2d<"last", conv{.out_channels = 3}>, zp::adaptive_avg_pool2d<1>, zp::flatten> {};

/// Concats of values that other layers read, of the input, of each other, and through a max pool that nothing else reads.
struct dense
    : zp::model<
          zp::input<5, 4, 3>,
          zp::concat<zp::identity, zp::conv2d<"a", conv{.out_channels = 5, .kernel = 3, .padding = 1}>>,
          zp::concat<zp::identity, zp::sequential<zp::conv2d<"b", conv{.out_channels = 4, .kernel = 3, .padding = 1}>,
                                                  zp::max_pool2d<zp::pool{.kernel = 3, .stride = 1, .padding = 1}>>>,
          zp::concat<zp::conv2d<"c", conv{.out_channels = 2}>, zp::identity>> {};
/// A range of its own in front of a concat, and behind what the concat reads as well.
struct recoded : zp::model<zp::input<5, 4, 3>, zp::conv2d<"a", conv{.out_channels = 5}>,
                           zp::concat<zp::sequential<zp::avg_pool2d<zp::pool{.kernel = 1}>, zp::requantize<"own">>,
                                      zp::conv2d<"b", conv{.out_channels = 4}>>,
                           zp::requantize<"last">> {};

/// Layers that are not fused: a relu behind a pool, an add of the input itself, a relu behind a value with two readers.
struct loose
    : zp::model<
          zp::input<4, 4, 4>, zp::max_pool2d<zp::pool{.kernel = 2, .stride = 1}>, zp::relu,
          zp::conv2d<"a", conv{.out_channels = 4}>, zp::residual<zp::relu6>,
          zp::residual<zp::avg_pool2d<zp::pool{.kernel = 3, .stride = 1, .padding = 1, .count_include_pad = false}>>> {
};

template <class Config> void check_digits() {
    const auto trained = made_up::network<digits>(1);
    const auto calibration = made_up::inputs<digits>(6, 1);
    const auto int8 = simulation::converted<Config>(trained, calibration);
    simulation::script<digits, Config> s(trained, calibration);
    for (const auto& image : made_up::inputs<digits>(3, 77, -1.5f, 1.5f)) {
        const auto x = s.quantize(s.input(image), s.range("input"));
        const auto stem = s.convolve("conv1", x, square(3, 1, 1), s.range("conv1"), activation::relu, "bn1");
        const auto a = s.convolve("a", stem, square(3, 1, 1), s.range("a"), activation::relu, "bn_a");
        const auto b = [&] {
            const auto range = s.range("add_9");
            if constexpr (std::is_same_v<Config, separate>)
                return s.add(s.convolve("b", a, square(3, 1, 1), s.range("b"), activation::none, "bn_b"), stem, range,
                             activation::relu);
            else return s.convolve_add("b", a, square(3, 1, 1), stem, range, activation::relu, "bn_b");
        }();
        const auto pooled = s.pool(pooling::max, b, square(2, 2));
        const auto depthwise =
            s.convolve("depthwise", pooled, square(3, 1, 1, 1, 10), s.range("depthwise"), activation::relu6, "bn2");
        const auto pointwise = s.convolve("pointwise", depthwise, square(1), s.range("pointwise"), activation::relu);
        auto averaged = s.pool(pooling::average, pointwise, square(2, 2));
        averaged.extents = {1, 1, averaged.extents.size()};
        const auto fc1 = s.convolve("fc1", averaged, square(1), s.range("fc1"), activation::relu);
        s.dequantize(s.convolve("fc2", fc1, square(1), s.range("fc2")));
        CHECK(simulation::differences(int8, s, image) == "");
    }
}

}  // namespace

TEST_CASE("convert: conv + batch_norm + relu, a residual, depthwise, pools and linear layers") {
    check_digits<config>();
}
TEST_CASE("convert: the same with an 8-bit intermediate in front of the residual sum") { check_digits<separate>(); }

TEST_CASE("convert: branches that meet in a concat share its scale, pools keep their input's") {
    const auto trained = made_up::network<inception>(2);
    const auto calibration = made_up::inputs<inception>(6, 2);
    const auto int8 = simulation::converted<config>(trained, calibration);
    simulation::script<inception, config> s(trained, calibration);
    const auto all = s.range("concat_10");
    for (const auto& image : made_up::inputs<inception>(3, 78)) {
        const auto x = s.quantize(s.input(image), s.range("input"));
        const auto stem = s.convolve("stem", x, square(1), s.range("stem"), activation::relu);
        const auto one = s.convolve("one", stem, square(1), all);
        const auto two = s.convolve("two", stem, square(3, 1, 1), all, activation::relu);
        const auto three = s.convolve("three", s.pool(pooling::max, stem, square(3, 1, 1)), square(1), all);
        const auto four =
            s.pool(pooling::average, s.convolve("four", stem, square(1), s.range("four")), square(3, 1, 1));
        const auto clamped = s.clamp(s.concat({one, two, three, four}, all), activation::relu);
        const auto last = s.convolve("last", clamped, square(1), s.range("last"));
        s.dequantize(s.flatten(s.global_average(last)));
        CHECK(simulation::differences(int8, s, image) == "");
    }
}

template <class Config> void check_dense() {
    const auto trained = made_up::network<dense>(12);
    const auto calibration = made_up::inputs<dense>(6, 12, -3, 3);
    const auto int8 = simulation::converted<Config>(trained, calibration);
    simulation::script<dense, Config> s(trained, calibration);
    for (const auto& image : made_up::inputs<dense>(3, 80, -3, 3)) {
        const auto x = s.quantize(s.input(image), s.range("input"));
        const auto first = s.range("concat_2"), second = s.range("concat_5"), third = s.range("concat_7");
        const auto all = s.concat({x, s.convolve("a", x, square(3, 1, 1), first)}, first);
        const auto b = s.pool(pooling::max, s.convolve("b", all, square(3, 1, 1), second), square(3, 1, 1));
        const auto more = s.concat({all, b}, second);
        s.dequantize(s.concat({s.convolve("c", more, square(1), third), more}, third));
        CHECK(simulation::differences(int8, s, image) == "");
    }
}
TEST_CASE("convert: what a concat reads beside others keeps its scale, and the concat requantizes it") {
    check_dense<config>();
    check_dense<zp::int16_qconfig>();
}
TEST_CASE("convert: a requantize has a range of its own, whatever is in front of it and behind") {
    const auto trained = made_up::network<recoded>(13);
    const auto calibration = made_up::inputs<recoded>(6, 13);
    const auto int8 = simulation::converted<config>(trained, calibration);
    simulation::script<recoded, config> s(trained, calibration);
    const auto same = [](double x) { return x; };
    for (const auto& image : made_up::inputs<recoded>(3, 81)) {
        const auto x = s.quantize(s.input(image), s.range("input"));
        const auto a = s.convolve("a", x, square(1), s.range("a"));
        s.rows.push_back(a);  // averages of one value
        const auto own = s.table(a, s.range("own"), same);
        s.rows.push_back(own);
        const auto b = s.convolve("b", a, square(1), s.range("concat_5"));
        const auto both = s.concat({own, b}, s.range("concat_5"));
        const auto last = s.table(both, s.range("last"), same);
        s.rows.push_back(last);
        s.dequantize(last);
        CHECK(simulation::differences(int8, s, image) == "");
    }
}

TEST_CASE("convert: layers that nothing fuses keep their input's scale") {
    const auto trained = made_up::network<loose>(3);
    const auto calibration = made_up::inputs<loose>(6, 3, -4, 9);
    const auto int8 = simulation::converted<config>(trained, calibration);
    simulation::script<loose, config> s(trained, calibration);
    for (const auto& image : made_up::inputs<loose>(3, 79, -4, 9)) {
        const auto x = s.quantize(s.input(image), s.range("input"));
        const auto positive = s.clamp(s.pool(pooling::max, x, square(2)), activation::relu);
        const auto a = s.convolve("a", positive, square(1), s.range("a"));
        const auto sum = s.add(s.clamp(a, activation::relu6), a, s.range("add_5"));
        const auto averaged = s.pool(pooling::average_without_padding, sum, square(3, 1, 1));
        s.dequantize(s.add(averaged, sum, s.range("add_7")));
        CHECK(simulation::differences(int8, s, image) == "");
    }
}
