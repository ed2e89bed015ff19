// SPDX-License-Identifier: BSD-3-Clause
// Softmax and normalizing layers through every stage: floats against plain loops, codes against the references.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <zeropoint/io/model_file.hpp>
#include <zeropoint/kernel/reference/normalize.hpp>
#include <zeropoint/kernel/reference/softmax.hpp>
#include <zeropoint/operators/unfused_batch_norm.hpp>
#include <zeropoint/operators/group_norm.hpp>
#include <zeropoint/operators/layer_norm.hpp>
#include <zeropoint/operators/rms_norm.hpp>
#include <zeropoint/operators/softmax.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>

#include "integer_simulation.hpp"

namespace {

namespace reference = zp::kernel::reference;

struct config : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                            zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>> {};
struct signed_config
    : zp::qconfig<zp::quantizer<zp::qint8, zp::per_tensor_affine, zp::min_max_observer>, config::weight> {};
template <class Config> using code = std::conditional_t<std::is_same_v<Config, config>, std::uint8_t, std::int8_t>;

constexpr std::size_t pixels = 20, channels = 12, size = 240;

// What the stages are compared with: where the values of each group lie, and which parameters a value has.
struct grouping {
    std::size_t groups, together;
    std::size_t (*at)(std::size_t group, std::size_t i);
    std::size_t (*parameter)(std::size_t group, std::size_t i);
};
constexpr grouping of_channels{pixels, channels, [](std::size_t g, std::size_t i) { return g * channels + i; },
                               [](std::size_t, std::size_t i) { return i; }};
constexpr grouping of_image{1, size, [](std::size_t, std::size_t i) { return i; },
                            [](std::size_t, std::size_t i) { return i; }};
constexpr grouping of_four_channels{3, pixels * 4,
                                    [](std::size_t g, std::size_t i) { return i / 4 * channels + g * 4 + i % 4; },
                                    [](std::size_t g, std::size_t i) { return g * 4 + i % 4; }};
constexpr grouping of_one_channel{channels, pixels, [](std::size_t g, std::size_t i) { return i * channels + g; },
                                  [](std::size_t g, std::size_t) { return g; }};

template <class Layer, class... More> struct one : zp::model<zp::input<5, 4, 12>, Layer, More...> {};
template <zp::norm Options> using own_batch_norm = zp::unfused_batch_norm<"norm", Options>;

using softmax = one<zp::softmax>;
using log_softmax = one<zp::log_softmax>;
using batch_norm = one<own_batch_norm<zp::norm{}>>;
using plain_batch_norm = one<own_batch_norm<zp::norm{.epsilon_millionths = 1000, .affine = false}>>;

template <class Net> std::vector<std::vector<float>> normal_inputs(std::size_t count, std::uint64_t seed) {
    zp_test::generator next(seed);
    std::vector<std::vector<float>> all(count, std::vector<float>(size));
    for (auto& image : all)
        for (float& value : image) {
            value = -6;
            for (int i = 0; i != 12; ++i) value += next.real(0.0f, 1.0f);
        }
    return all;
}

// A trained network whose factors are near 1; running statistics of batch norms near 0 and 1.
template <class Net> zp::float_model<Net> trained_network() {
    auto model = made_up::network<Net>(3);
    const zp::node& row = model.rows()[1];
    auto* values = reinterpret_cast<float*>(model.parameters() + row.at.parameter_offset);
    for (int i = 0; i != row.weights.count; ++i) values[i] = values[i] / 4 + (i < row.weights.count / 2 ? 1.0f : 0.0f);
    if (zp_test::is(row, zp::op::unfused_batch_norm))
        for (int i = row.weights.count - 12; i != row.weights.count; ++i) values[i] = 1 + std::abs(values[i]);
    return model;
}
template <class Net> const float* parameters_of(const zp::float_model<Net>& model) {
    const zp::node& row = model.rows()[1];
    return row.weights.count == 0 ? nullptr
                                  : reinterpret_cast<const float*>(model.parameters() + row.at.parameter_offset);
}

// All stages of a network of one row: `exact(x, y)` gives the output as doubles, `codes(x, row, ranges, y)` the codes.
template <class Net, class Config, class Exact, class Codes> void check_stages(Exact exact, Codes expected_codes) {
    const auto trained = trained_network<Net>();
    const auto inputs = normal_inputs<Net>(12, 4);
    const auto int8 = simulation::converted<Config>(trained, inputs);
    REQUIRE(int8.rows().size() == 4);  // input, quantize, the layer, dequantize
    const zp::node& row = int8.rows()[2];
    const zp::qparams x_range = int8.ranges()[int8.rows()[1].out.qparams_id],
                      y_range = int8.ranges()[row.out.qparams_id];
    const auto bytes = zp::to_bytes(int8);
    const auto loaded = zp::load<zp::quantized<Net, Config>>(bytes, "int8");
    CHECK(zp::to_bytes(loaded) == bytes);
    const auto float_bytes = zp::to_bytes(trained);
    CHECK(zp::to_bytes(zp::load<Net>(float_bytes, "float")) == float_bytes);
    const auto fused = zp::fuse(trained);
    double signal = 0, noise = 0;
    std::vector<float> floats(size), y(size), again(size);
    std::vector<double> real(size);
    for (const auto& image : inputs) {
        trained(image, floats);
        fused(image, again);
        CHECK(again == floats);
        int8(image, y);
        loaded(image, again);
        CHECK(again == y);
        exact(image, real, parameters_of(trained));
        std::vector<code<Config>> x(size), codes(size);
        for (std::size_t i = 0; i != size; ++i)
            x[i] = static_cast<code<Config>>(zp::quantize(image[i], x_range, row.out.quant_min, row.out.quant_max));
        expected_codes(x, row, x_range, y_range, codes, parameters_of(trained));
        for (std::size_t i = 0; i != size; ++i) {
            CHECK(std::abs(double{floats[i]} - real[i]) < 1e-5 * (1 + std::abs(real[i])));
            CHECK(y[i] == y_range.scale * static_cast<float>(codes[i] - y_range.zero_point));
            signal += real[i] * real[i];
            noise += (double{y[i]} - real[i]) * (double{y[i]} - real[i]);
        }
    }
    const double sqnr = 10 * std::log10(signal / noise);
    CAPTURE(std::string(row.op->name));
    CHECK(sqnr > 30);  // dB
}

// `weights` and `biases` parameters stand in front of each other in a row's block.
template <class Net, class Config> void check_norm(const grouping& g, float epsilon, bool affine, bool relu = false) {
    const std::size_t numbers = g.together == size ? size : channels;
    const auto weight = [=](const float* p) { return affine ? p : nullptr; };
    const auto bias = [=](const float* p) { return affine ? p + numbers : nullptr; };
    check_stages<Net, Config>(
        [=](const std::vector<float>& x, std::vector<double>& y, const float* p) {
            const auto n = static_cast<double>(g.together);
            for (std::size_t group = 0; group != g.groups; ++group) {
                double mean = 0, variance = 0;
                for (std::size_t i = 0; i != g.together; ++i) mean += double{x[g.at(group, i)]} / n;
                for (std::size_t i = 0; i != g.together; ++i)
                    variance += std::pow(double{x[g.at(group, i)]} - mean, 2) / n;
                for (std::size_t i = 0; i != g.together; ++i) {
                    const std::size_t c = g.parameter(group, i);
                    double& value = y[g.at(group, i)];
                    value = (double{x[g.at(group, i)]} - mean) / std::sqrt(variance + double{epsilon});
                    if (affine) value = value * double{weight(p)[c]} + double{bias(p)[c]};
                    if (relu) value = std::max(value, 0.0);
                }
            }
        },
        [=](const auto& x, const zp::node& row, zp::qparams x_range, zp::qparams y_range, auto& y, const float* p) {
            for (std::size_t group = 0; group != g.groups; ++group)
                reference::normalize(
                    x.data(), g.together, [&](std::size_t i) { return g.at(group, i); },
                    [&](std::size_t i) { return g.parameter(group, i); }, x_range.scale, epsilon, weight(p), bias(p),
                    y_range.scale, y_range.zero_point, relu ? y_range.zero_point : row.out.quant_min, row.out.quant_max,
                    y.data());
        });
}

template <class Net, class Config> void check_rms_norm(float epsilon, bool affine, std::size_t groups = 1) {
    const std::size_t together = channels / groups;
    const auto weight = [=](const float* p) { return affine ? p : nullptr; };
    check_stages<Net, Config>(
        [=](const std::vector<float>& x, std::vector<double>& y, const float* p) {
            for (std::size_t at = 0; at != size; at += together) {
                double mean = 0;
                for (std::size_t c = 0; c != together; ++c)
                    mean += std::pow(double{x[at + c]}, 2) / static_cast<double>(together);
                for (std::size_t c = 0; c != together; ++c)
                    y[at + c] =
                        double{x[at + c]} / std::sqrt(mean + double{epsilon}) * (affine ? double{weight(p)[c]} : 1.0);
            }
        },
        [=](const auto& x, const zp::node& row, zp::qparams x_range, zp::qparams y_range, auto& y, const float* p) {
            for (std::size_t at = 0; at != size; at += together)
                reference::rms_normalize(x.data() + at, together, x_range.scale, x_range.zero_point, epsilon, weight(p),
                                         y_range.scale, y_range.zero_point, row.out.quant_min, row.out.quant_max,
                                         y.data() + at);
        });
}

template <class Net, class Config> void check_batch_norm(float epsilon, bool affine) {
    const auto arrays = [=](const float* p) { return affine ? p + 2 * channels : p; };
    const auto weight = [=](const float* p) { return affine ? p : nullptr; };
    const auto bias = [=](const float* p) { return affine ? p + channels : nullptr; };
    check_stages<Net, Config>(
        [=](const std::vector<float>& x, std::vector<double>& y, const float* p) {
            for (std::size_t i = 0; i != size; ++i) {
                const std::size_t c = i % channels;
                const double deviation = std::sqrt(double{arrays(p)[channels + c]} + double{epsilon});
                y[i] = (double{x[i]} - double{arrays(p)[c]}) / deviation;
                if (affine) y[i] = y[i] * double{weight(p)[c]} + double{bias(p)[c]};
            }
        },
        [=](const auto& x, const zp::node& row, zp::qparams x_range, zp::qparams y_range, auto& y, const float* p) {
            reference::batch_norm(x.data(), pixels, channels, x_range.scale, x_range.zero_point, weight(p), bias(p),
                                  arrays(p), arrays(p) + channels, epsilon, y_range.scale, y_range.zero_point,
                                  row.out.quant_min, row.out.quant_max, y.data());
        });
}

template <class Net, class Config> void check_softmax(bool logarithm) {
    check_stages<Net, Config>(
        [=](const std::vector<float>& x, std::vector<double>& y, const float*) {
            for (std::size_t at = 0; at != size; at += channels) {
                double sum = 0;
                for (std::size_t c = 0; c != channels; ++c) sum += std::exp(double{x[at + c]});
                for (std::size_t c = 0; c != channels; ++c) {
                    const double value = double{x[at + c]} - std::log(sum);
                    y[at + c] = logarithm ? value : std::exp(value);
                }
            }
        },
        [=](const auto& x, const zp::node& row, zp::qparams x_range, zp::qparams y_range, auto& y, const float*) {
            CHECK(y_range.scale == (logarithm ? 16.0f / 256 : 1.0f / 256));
            CHECK(y_range.zero_point == (logarithm ? row.out.quant_max : row.out.quant_min));
            (logarithm ? reference::log_softmax<code<Config>, code<Config>>
                       : reference::softmax<code<Config>, code<Config>>)(x.data(), pixels, channels, x_range.scale,
                                                                         y_range.scale, y_range.zero_point,
                                                                         row.out.quant_min, row.out.quant_max,
                                                                         y.data());
        });
}

}  // namespace

TEST_CASE("convert: softmax and log_softmax") {
    check_softmax<softmax, config>(false);
    check_softmax<softmax, signed_config>(false);
    check_softmax<log_softmax, signed_config>(true);
}

TEST_CASE("convert: layer_norm over channels and over an image, with and without parameters, with relu") {
    using zp::layer_norm;
    using zp::layer_norm_options;
    check_norm<one<layer_norm<"norm">>, config>(of_channels, 1e-5f, true);
    check_norm<one<layer_norm<"norm", layer_norm_options{.over = zp::normalized::image}>, zp::relu>, signed_config>(
        of_image, 1e-5f, true, true);
    using plain =
        layer_norm<"", layer_norm_options{.epsilon_millionths = 0, .epsilon_trillionths = 1, .affine = false}>;
    check_norm<one<plain>, config>(of_channels, 1e-12f, false);
}

TEST_CASE("convert: rms_norm, with and without a weight, over heads") {
    check_rms_norm<one<zp::rms_norm<"norm">>, config>(1e-6f, true);
    using plain =
        zp::rms_norm<"", zp::rms_norm_options{.epsilon_millionths = 0, .epsilon_trillionths = 119209, .affine = false}>;
    check_rms_norm<one<plain>, signed_config>(119209e-12f, false);
    using of_heads = zp::rms_norm<"norm", zp::rms_norm_options{.groups = 4}>;
    check_rms_norm<one<of_heads>, config>(1e-6f, true, 4);
}

TEST_CASE("convert: group_norm and instance_norm") {
    check_norm<one<zp::group_norm<"norm", 3>>, signed_config>(of_four_channels, 1e-5f, true);
    check_norm<one<zp::instance_norm<>>, config>(of_one_channel, 1e-5f, false);
    check_norm<one<zp::instance_norm<"norm", zp::norm{}>, zp::relu>, signed_config>(of_one_channel, 1e-5f, true, true);
}

TEST_CASE("convert: batch_norm that stands alone") {
    check_batch_norm<batch_norm, config>(1e-5f, true);
    check_batch_norm<plain_batch_norm, signed_config>(1e-3f, false);
}

TEST_CASE("layer_norm over an image: PyTorch's order in files; a bias may be left out") {
    using net = one<zp::layer_norm<"norm", zp::layer_norm_options{.over = zp::normalized::image, .bias = false}>>;
    const auto trained = trained_network<net>();
    const auto file = zp::safetensors_file::parse(zp::to_bytes(trained), "net");
    CHECK(file.tensors().size() == 1);
    const std::vector<float> weights = file.finite_floats("norm.weight", {12, 5, 4});
    for (std::size_t i = 0; i != size; ++i)
        CHECK(weights[i % channels * pixels + i / channels] == parameters_of(trained)[i]);
}

TEST_CASE("convert: a weight that no float holds in steps of the output is an error with the layer's name") {
    using net = one<zp::layer_norm<"norm">>;
    auto trained = trained_network<net>();
    auto* values = reinterpret_cast<float*>(trained.parameters() + trained.rows()[1].at.parameter_offset);
    std::fill_n(values, channels, 1.0f);
    values[0] = 3e38f;  // of a channel that always is the mean: the outputs stay small
    std::vector<float> image(size);
    for (std::size_t i = 0; i != size; ++i) image[i] = i % channels % 11 == 0 ? 0.0f : i % 2 == 0 ? 1.0f : -1.0f;
    CHECK_THROWS_WITH_AS(simulation::converted<config>(trained, {image, image}),
                         doctest::Contains("norm (layer_norm): its weight or bias is beyond a float"), zp::value_error);
}
