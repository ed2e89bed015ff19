// SPDX-License-Identifier: BSD-3-Clause
// Networks whose activations have 16 bits: every row equals the simulation, files come back, and so does the accuracy.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <ratio>
#include <string>
#include <type_traits>
#include <vector>

#include <zeropoint/analysis/model_table.hpp>
#include <zeropoint/io/model_file.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/operators.hpp>
#include <zeropoint/workflow/presets.hpp>

#include "integer_simulation.hpp"

namespace {

using simulation::activation;
using simulation::pooling;
using simulation::square;
using zp::conv;

struct net
    : zp::model<zp::input<7, 6, 3>, zp::conv2d<"a", conv{.out_channels = 20, .kernel = 3, .padding = 1}>,
                zp::batch_norm2d<"bn">, zp::relu,
                zp::residual<zp::conv2d<"b", conv{.kernel = 3, .padding = 1, .groups = zp::depthwise}>, zp::relu6>,
                zp::concat<zp::conv2d<"c", conv{.out_channels = 9}>, zp::tanh>, zp::avg_pool2d<2>, zp::max_pool2d<2>,
                zp::conv2d<"d", conv{.out_channels = 6, .bias = false}>, zp::sigmoid, zp::adaptive_avg_pool2d<1>,
                zp::flatten, zp::linear<"e", 5>> {};

struct as_tflite : zp::qconfig<typename zp::int16_qconfig::activation, typename zp::int16_qconfig::weight,
                               zp::requantize_with<zp::fixed_point_double_rounding>> {};
struct affine_weights : zp::qconfig<typename zp::int16_qconfig::activation,
                                    zp::quantizer<zp::quint8, zp::per_channel_affine, zp::per_channel_min_max_observer>,
                                    zp::requantize_with<zp::float_bias>> {};

template <class Config> void check(simulation::policy how) {
    const auto trained = made_up::network<net>(7);
    const auto calibration = made_up::inputs<net>(4, 7, -1, 2);
    const auto model = simulation::converted<Config>(trained, calibration);
    simulation::script<net, Config> s(trained, calibration, how);
    const zp::qparams fixed{1 / 32768.0f, 0};
    for (const auto& image : made_up::inputs<net>(2, 83, -1.2f, 2.4f)) {
        const auto x = s.quantize(s.input(image), s.range("input"));
        const auto a = s.convolve("a", x, square(3, 1, 1), s.range("a"), activation::relu, "bn");
        const auto b = s.convolve("b", a, square(3, 1, 1, 1, 20), s.range("b"), activation::relu6);
        const auto sum = s.add(b, a, s.range("add_6"));
        const auto c = s.convolve("c", sum, square(1), s.range("concat_9"));
        const auto tanh = s.lines(sum, fixed, [](double v) { return std::tanh(v); });
        const auto both = s.concat({c, s.rescale(tanh, s.range("concat_9"))});
        const auto pooled = s.pool(pooling::max, s.pool(pooling::average, both, square(2, 2)), square(2, 2));
        const auto d = s.convolve("d", pooled, square(1), s.range("d"));
        const auto sigmoid = s.lines(d, fixed, [](double v) { return 1 / (1 + std::exp(-v)); });
        s.dequantize(s.convolve("e", s.global_average(sigmoid), square(1), s.range("e")));
        CHECK(simulation::differences(model, s, image) == "");
    }
    const std::vector<std::byte> file = zp::to_bytes(model);
    const auto loaded = zp::load<zp::quantized<net, Config>>(file);
    CHECK((zp::to_bytes(loaded) == file));
    for (const auto& image : made_up::inputs<net>(3, 11)) {
        std::vector<float> y(5), z(5);
        model(image, y);
        loaded(image, z);
        CHECK((y == z));
    }
}

/// Of two activations, with operands that spread, and what moves values.
struct operators
    : zp::model<zp::input<4, 3, 6>, zp::mul<zp::identity, zp::sequential<zp::adaptive_avg_pool2d<1>, zp::sigmoid>>,
                zp::sub<zp::identity, zp::conv2d<"a", conv{.out_channels = 6}>>, zp::relu,
                zp::maximum<zp::tanh, zp::identity>, zp::transpose<zp::axis::height, zp::axis::width>,
                zp::channel_shuffle<2>, zp::mul_scalar<std::ratio<1, 3>>> {};

/// A mean, which has a grid of its own.
struct averaged : zp::model<zp::input<4, 3, 6>, zp::conv2d<"a", conv{.out_channels = 5}>, zp::mean<>> {};

/// From 8 bits to 16 and back: by a requantize, and by a layer whose outputs have 8 bits.
struct mixed : zp::model<zp::input<5, 4, 6>, zp::conv2d<"a", conv{.out_channels = 8}>, zp::requantize<"words">,
                         zp::conv2d<"b", conv{.out_channels = 7}>, zp::conv2d<"c", conv{.out_channels = 5}>,
                         zp::requantize<"bytes">, zp::conv2d<"d", conv{.out_channels = 3, .kernel = 3}>> {};
struct words : zp::qconfig<typename zp::int16_qconfig::activation, typename zp::int16_qconfig::weight> {};
struct mixed_config : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                                  zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>,
                                  zp::for_layer<"words", words>, zp::for_layer<"b", words>> {};

/// Transposed convolutions: of groups, depthwise, with outputs that no input reaches, and with windows that lie side by side.
struct transposed
    : zp::model<
          zp::input<3, 4, 6>,
          zp::conv_transpose2d<"grouped", zp::conv_transpose{.out_channels = 18,
                                                             .kernel = {4, 3},
                                                             .stride = {2, 3},
                                                             .padding = {1, 0},
                                                             .output_padding = {1, 2},
                                                             .groups = 2}>,
          zp::relu,
          zp::conv_transpose2d<"depthwise", zp::conv_transpose{.kernel = 3, .padding = 2, .groups = zp::depthwise}>,
          zp::conv_transpose2d<"gaps", zp::conv_transpose{.out_channels = 3, .kernel = 1, .stride = 2}>,
          zp::conv_transpose2d<"beside", zp::conv_transpose{.out_channels = 7, .kernel = {2, 3}, .stride = {2, 3}}>> {};

/// Weights on a grid of 1/128 that ends at 127/128, so that 8 bits hold them exactly.
template <class Net> zp::float_model<Net> exact_weights(std::uint64_t seed) {
    zp::float_model<Net> model = made_up::network<Net>(seed);
    for (const zp::node& row : model.rows()) {
        if (!row.op->multiplies) continue;
        auto* weights = reinterpret_cast<float*>(model.parameters() + row.at.parameter_offset);
        const int depth = row.weights.count / row.weights.channels;
        for (int i = 0; i != row.weights.count; ++i) {
            const float size = std::min(std::max(weights[i], -127 / 128.0f), 127 / 128.0f);
            weights[i] = i % depth == 0 ? 127 / 128.0f : std::round(size * 128) / 128;
        }
    }
    return model;
}

struct exact_net : zp::model<zp::input<8, 8, 3>, zp::conv2d<"a", conv{.out_channels = 16, .kernel = 3, .padding = 1}>,
                             zp::relu, zp::residual<zp::conv2d<"b", conv{.out_channels = 16}>>, zp::max_pool2d<2>,
                             zp::hardswish, zp::softmax, zp::adaptive_avg_pool2d<1>, zp::flatten, zp::linear<"c", 10>> {
};

/// A function that jumps from 0 to 0.1.
struct jumping : zp::model<zp::input<4, 4, 3>, zp::conv2d<"a", conv{.out_channels = 20}>, zp::threshold<100, 0>> {};

/// Signal-to-noise ratio of the outputs, in decibels, over what the ranges were observed on: nothing is clipped.
template <class Config> double signal_to_noise() {
    const auto trained = exact_weights<exact_net>(1);
    const auto model = zp::convert(zp::calibrate(zp::prepare<Config>(trained), made_up::inputs<exact_net>(64, 1)));
    double signal = 0, noise = 0;
    for (const auto& x : made_up::inputs<exact_net>(32, 1)) {
        std::vector<float> a(10), b(10);
        trained(x, a);
        model(x, b);
        for (std::size_t i = 0; i != 10; ++i) {
            signal += double{a[i]} * double{a[i]};
            noise += (double{a[i]} - double{b[i]}) * (double{a[i]} - double{b[i]});
        }
    }
    return 10 * std::log10(signal / noise);
}

}  // namespace

TEST_CASE("int16: every row equals the simulation, ties to even") {
    check<zp::int16_qconfig>(simulation::policy::nearest_even);
}
TEST_CASE("int16: ties away from zero, as TFLite") { check<as_tflite>(simulation::policy::double_rounding); }
TEST_CASE("int16: affine weights") { check<affine_weights>(simulation::policy::float_bias); }

TEST_CASE("int16: nearly the accuracy of floats; the table says what has 16 bits, and what stays in float") {
    const double words = signal_to_noise<zp::int16_qconfig>(), bytes = signal_to_noise<zp::default_qconfig>();
    INFO(words, " dB, with 8 bits ", bytes);
    CHECK(words > 60);
    CHECK(words > bytes + 25);
    using quantized = zp::quantized<exact_net, zp::int16_qconfig>;
    const std::string table = zp::to_string(zp::table_of(quantized()));
    CHECK(table.find("int16") != std::string::npos);
    CHECK(table.find("uint8") == std::string::npos);
    int islands = 0;
    for (const zp::node& row : quantized::rows())
        islands += row.op->kind == &zp::op::softmax && row.out.storage == zp::scalar_type::float32;
    CHECK(islands == 1);
}

TEST_CASE("int16: no function has values in its step, which lines between nodes would give") {
    const auto trained = made_up::network<jumping>(3);
    const auto inputs = made_up::inputs<jumping>(64, 3);
    const auto model = zp::convert(zp::calibrate(zp::prepare<zp::int16_qconfig>(trained), inputs));
    for (const auto& x : inputs) {
        std::vector<float> y(4 * 4 * 20);
        model(x, y);
        CHECK(std::all_of(y.begin(), y.end(), [](float value) { return value == 0 || value > 0.099f; }));
    }
}

TEST_CASE("int16: operators of two activations, and what moves values") {
    using config = zp::int16_qconfig;
    const auto trained = made_up::network<operators>(3);
    const auto calibration = made_up::inputs<operators>(4, 3);
    const auto model = simulation::converted<config>(trained, calibration);
    simulation::script<operators, config> s(trained, calibration);
    const auto rescaled = [](std::int64_t difference, double ratio) {
        const simulation::fixed_point m(ratio);
        return std::nearbyint(std::ldexp(double(difference) * double(m.multiplier), m.shift - 31));
    };
    const zp::qparams fixed{1 / 32768.0f, 0};
    for (const auto& image : made_up::inputs<operators>(2, 5, -1.5f, 1.5f)) {
        const auto x = s.quantize(s.input(image), s.range("input"));
        const auto gate = s.lines(s.global_average(x), fixed, [](double v) { return 1 / (1 + std::exp(-v)); });
        const zp::qparams product = s.range("mul_3"), difference = s.range("sub_5"), larger = s.range("maximum_8");
        const auto scaled = s.combine(x, gate, product, [&](int a, int b) {
            return rescaled(std::int64_t{a} * b, double{x.range.scale} * double{fixed.scale} / double{product.scale});
        });
        const auto a = s.convolve("a", scaled, square(1), s.range("a"));
        const auto left = s.combine(scaled, a, difference, [&](int u, int v) {
            const double ratio_u = double{scaled.range.scale} / double{difference.scale},
                         ratio_v = double{a.range.scale} / double{difference.scale};
            const int shift = 28 - std::ilogb(std::max(ratio_u, ratio_v));
            const double sum =
                std::nearbyint(std::ldexp(ratio_u, shift)) * u - std::nearbyint(std::ldexp(ratio_v, shift)) * v;
            return std::max(std::nearbyint(std::ldexp(sum, -shift)), 0.0);
        });
        const auto tanh = s.lines(left, fixed, [](double v) { return std::tanh(v); });
        auto most = s.combine(tanh, left, larger, [&](int u, int v) {
            return std::max(rescaled(u, double{fixed.scale} / double{larger.scale}),
                            rescaled(v, double{left.range.scale} / double{larger.scale}));
        });
        most.range.scale = static_cast<float>(double{most.range.scale} * double{1 / 3.0f});
        // Permuted to width x height, channels 0, 3, 1, 4, 2, 5.
        auto moved = most;
        std::swap(moved.extents.height, moved.extents.width);
        for (int i = 0; i != 3; ++i)
            for (int j = 0; j != 4; ++j)
                for (int c = 0; c != 6; ++c)
                    moved.codes[static_cast<std::size_t>((i * 4 + j) * 6 + c)] =
                        most.codes[static_cast<std::size_t>((j * 3 + i) * 6 + c / 2 + c % 2 * 3)];
        std::vector<float> y(static_cast<std::size_t>(model.output_shape.size()));
        model(image, y);
        for (std::size_t i = 0; i != y.size(); ++i)
            CHECK(y[i] == moved.range.scale * static_cast<float>(moved.codes[i]));
        CHECK(s.missing == "");
    }
}

TEST_CASE("int16: a mean is an exact sum, rounded once to a grid of its own") {
    using config = zp::int16_qconfig;
    const auto trained = made_up::network<averaged>(4);
    const auto calibration = made_up::inputs<averaged>(4, 4);
    const auto model = simulation::converted<config>(trained, calibration);
    simulation::script<averaged, config> s(trained, calibration);
    for (const auto& image : made_up::inputs<averaged>(3, 5, -1.2f, 1.2f)) {
        const auto a = s.convolve("a", s.quantize(s.input(image), s.range("input")), square(1), s.range("a"));
        const zp::qparams mean = s.range("mean_2");
        CHECK(mean.scale < a.range.scale);
        std::vector<float> y(5);
        model(image, y);
        for (std::size_t c = 0; c != 5; ++c) {
            std::int64_t sum = 0;
            for (std::size_t i = c; i < a.codes.size(); i += 5) sum += a.codes[i];
            const double steps = double(sum) * double{a.range.scale} / (double{mean.scale} * 12);
            CHECK(y[c] == mean.scale * static_cast<float>(std::clamp(std::nearbyint(steps), -32768.0, 32767.0)));
        }
        CHECK(s.missing == "");
    }
}

TEST_CASE("int16: beside layers of 8 bits") {
    const auto trained = made_up::network<mixed>(5);
    const auto calibration = made_up::inputs<mixed>(4, 5);
    const auto model = simulation::converted<mixed_config>(trained, calibration);
    simulation::script<mixed, mixed_config> s(trained, calibration);
    for (const auto& image : made_up::inputs<mixed>(2, 6, -1.3f, 1.3f)) {
        const auto x = s.quantize(s.input(image), s.range("input"));
        const auto a = s.convolve("a", x, square(1), s.range("a"));
        const auto wide = s.clamp(s.rescale<words>(a, s.range<words>("words")), activation::none);
        const auto b = s.convolve<words>("b", wide, square(1), s.range<words>("b"));
        const auto c = s.convolve("c", b, square(1), s.range("c"));
        const auto bytes = s.table(c, s.range("bytes"), [](double value) { return value; });
        s.dequantize(s.convolve("d", s.clamp(bytes, activation::none), square(3), s.range("d")));
        CHECK(simulation::differences(model, s, image) == "");
    }
}

TEST_CASE("int16: transposed convolutions") {
    const auto run = []<class Config>(std::type_identity<Config>, simulation::policy how) {
        const auto trained = made_up::network<transposed>(9);
        const auto calibration = made_up::inputs<transposed>(4, 9);
        const auto model = simulation::converted<Config>(trained, calibration);
        simulation::script<transposed, Config> s(trained, calibration, how);
        const auto window = [](simulation::window w, int height, int width) {
            w.transposed = true;
            w.output_padding_height = height;
            w.output_padding_width = width;
            return w;
        };
        for (const auto& image : made_up::inputs<transposed>(2, 10, -1.3f, 1.3f)) {
            const auto x = s.quantize(s.input(image), s.range("input"));
            const auto a = s.convolve("grouped", x, window({4, 3, 2, 3, 1, 0, 1, 1, 2}, 1, 2), s.range("grouped"),
                                      activation::relu);
            const auto b = s.convolve("depthwise", a, window(square(3, 1, 2, 1, 18), 0, 0), s.range("depthwise"));
            const auto c = s.convolve("gaps", b, window(square(1, 2), 0, 0), s.range("gaps"));
            s.dequantize(s.convolve("beside", c, window({2, 3, 2, 3}, 0, 0), s.range("beside")));
            CHECK(simulation::differences(model, s, image) == "");
        }
        const std::vector<std::byte> file = zp::to_bytes(model);
        CHECK((zp::to_bytes(zp::load<zp::quantized<transposed, Config>>(file)) == file));
    };
    run(std::type_identity<zp::int16_qconfig>{}, simulation::policy::nearest_even);
    run(std::type_identity<as_tflite>{}, simulation::policy::double_rounding);
}
