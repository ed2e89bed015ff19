// SPDX-License-Identifier: BSD-3-Clause
// SVDF as a row of models: in float its formula, in int8 the integers of the row alone, step by step, saved and loaded again.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <zeropoint/analysis/model_table.hpp>
#include <zeropoint/io/model_file.hpp>
#include <zeropoint/layer/alone.hpp>
#include <zeropoint/layer/static_layers.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/operators/svdf.hpp>
#include <zeropoint/workflow/convert.hpp>
#include <zeropoint/workflow/streaming.hpp>

#include "../support/made_up.hpp"
#include "../support/run.hpp"

namespace {

constexpr int features = 20, units = 12, rank = 2, memory = 7, filters = units * rank, length = 45;

template <class DType, class... Options>
struct config_of
    : zp::qconfig<zp::quantizer<DType, zp::per_tensor_affine, zp::min_max_observer>,
                  zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>, Options...> {};
struct unsigned_config : config_of<zp::quint8> {};
struct signed_config : config_of<zp::qint8> {};
struct fixed_point_config : config_of<zp::qint8, zp::requantize_with<zp::fixed_point_double_rounding>> {};
struct float_bias_config : config_of<zp::quint8, zp::requantize_with<zp::float_bias>> {};

template <zp::svdf_options Options>
struct net : zp::model<zp::input<1, length, features>, zp::svdf<"spot", units, rank, memory, Options>, zp::relu> {};
using bound_net = net<zp::svdf_options{}>;
using given_net = net<zp::svdf_options{.state_scale = true}>;
struct deep_net : zp::model<zp::input<1, length, features>, zp::svdf<"first", 24, 1, 8>, zp::relu,
                            zp::svdf<"second", 16, 2, 5, zp::svdf_options{.bias = false}>, zp::linear<"scores", 4>> {};

/// Filters of unit size over features that are about 1, one behind the other as a float network has its parameters.
struct parameters {
    std::vector<float> feature = made_up::values(filters * features, 11, -0.4f, 0.4f),
                       time = made_up::values(filters * memory, 12, -0.5f, 0.5f),
                       bias = made_up::values(units, 13, -0.3f, 0.3f);

    template <class Net> zp::float_model<Net> network(float state_scale = 0) const {
        zp::float_model<Net> model;
        const auto put = [&](int array, const std::vector<float>& file) {
            const zp::node_view v{model.rows().data(), model.rows()[1]};
            const auto to = zp_test::array_of(model, v.n, array);
            zp::array_from_file(zp::parameters_of(v).arrays[array], file.data(), to.data());
        };
        put(0, feature), put(1, time), put(2, bias);
        if (state_scale != 0) put(3, {state_scale});
        return model;
    }
    /// In double, step by step, columns of the oldest step first; `most` becomes the largest state.
    std::vector<float> outputs(const std::vector<float>& x, double* most = nullptr) const {
        std::vector<double> columns(filters * memory);
        std::vector<float> y;
        for (std::size_t step = 0; step != length; ++step) {
            for (std::size_t f = 0; f != filters; ++f) {
                const auto row = columns.begin() + static_cast<std::ptrdiff_t>(f * memory);
                std::copy(row + 1, row + memory, row);
                row[memory - 1] = 0;
                for (std::size_t i = 0; i != features; ++i)
                    row[memory - 1] += double{feature[f * features + i]} * double{x[step * features + i]};
                if (most != nullptr) *most = std::max(*most, std::abs(row[memory - 1]));
            }
            for (std::size_t u = 0; u != units; ++u) {
                double sum = double{bias[u]};
                for (std::size_t i = u * rank * memory; i != (u + 1) * rank * memory; ++i)
                    sum += columns[i] * double{time[i]};
                y.push_back(static_cast<float>(std::max(sum, 0.0)));
            }
        }
        return y;
    }
};

using zp_test::run;
template <class Network> std::vector<float> run_steps(const Network& model, const std::vector<float>& x) {
    const auto stream = std::make_unique<zp::streaming<Network>>(model);
    constexpr std::size_t outputs = Network::output_shape.channels;
    std::vector<float> y(length * outputs);
    for (int round = 0; round != 2; ++round, stream->reset())
        for (std::size_t step = 0; step != length; ++step)
            (*stream)(std::span(x).subspan(step * features, features), std::span(y).subspan(step * outputs, outputs));
    return y;
}
double signal_to_noise(const std::vector<float>& exact, const std::vector<float>& found) {
    double signal = 0, noise = 0;
    for (std::size_t i = 0; i != exact.size(); ++i) {
        const double off = double{exact[i]} - double{found[i]};
        signal += double{exact[i]} * double{exact[i]};
        noise += off * off;
    }
    return 10 * std::log10(signal / noise);
}
template <class Config, class Net>
auto quantize(const zp::float_model<Net>& model, float lowest = -1, float highest = 1) {
    return zp::convert(zp::calibrate(zp::prepare<Config>(model), made_up::inputs<Net>(6, 1, lowest, highest)));
}

/// The model is the row alone between a quantize and a dequantize.
template <class DType, class Requantization, class Network>
void compare_with_row_alone(const Network& model, float state_scale) {
    using alone = zp::static_layer<zp::svdf<"spot", units, rank, memory, zp::svdf_options{.state_scale = true}>,
                                   zp::shape{1, length, features}, zp::op::relu,
                                   zp::fused_policy<DType, zp::qint8, DType, Requantization>>;
    const parameters p;
    const zp::qparams x_range = model.ranges()[model.rows()[1].out.qparams_id],
                      y_range = model.ranges()[model.rows()[2].out.qparams_id];
    const std::vector<float> scale = {state_scale};
    const alone layer({p.feature, p.time, p.bias, scale}, x_range, y_range);
    zp::tensor<DType> x(alone::input_shape, x_range), y(alone::output_shape, y_range);
    const auto memory_of_call = std::make_unique<typename alone::workspace>();
    for (const auto& values : made_up::inputs<bound_net>(3, 5)) {
        zp::quantize<DType>(values, x_range, x.values());
        const auto state = std::make_unique<typename alone::state>();
        layer(x, *state, y, *memory_of_call);
        std::vector<float> expected(y.values().size());
        for (std::size_t i = 0; i != expected.size(); ++i) expected[i] = zp::dequantize(y.values()[i], y_range);
        CHECK(run(model, values) == expected);
    }
}

/// The least scale with which no codes of the input leave 16 bits.
template <class Network> float bound_of(const Network& model, int lowest, int highest) {
    const parameters p;
    const zp::qparams x = model.ranges()[model.rows()[1].out.qparams_id];
    double most = 0;
    for (std::size_t f = 0; f != filters; ++f) {
        float largest = 0;
        for (std::size_t i = 0; i != features; ++i) largest = std::max(largest, std::abs(p.feature[f * features + i]));
        const zp::qparams w{largest / 127.5f, 0};
        double low = 0, high = 0;
        for (std::size_t i = 0; i != features; ++i) {
            const int code = zp::quantize<zp::qint8>(p.feature[f * features + i], w);
            const int ends[] = {code * (lowest - x.zero_point), code * (highest - x.zero_point)};
            low += std::min(ends[0], ends[1]);
            high += std::max(ends[0], ends[1]);
        }
        most = std::max(most, double{x.scale} * double{w.scale} * std::max(-low, high));
    }
    return static_cast<float>(most / 32767);
}

}  // namespace

TEST_CASE("convert svdf: floats are the formula, whole and step by step") {
    const parameters p;
    const auto model = p.network<bound_net>();
    const auto fused = zp::fuse(model);
    CHECK(fused.rows().size() == 2);  // the relu is fused
    for (const auto& x : made_up::inputs<bound_net>(2, 3)) {
        const auto expected = p.outputs(x);
        for (const auto& y : {run(model, x), run(fused, x), run_steps(model, x), run_steps(fused, x)})
            for (std::size_t i = 0; i != y.size(); ++i) CHECK(std::abs(y[i] - expected[i]) < 1e-5f);
        // On its own, some steps at a time.
        using row = zp::sequential<zp::svdf<"", units, rank, memory>, zp::relu>;
        using alone = zp::alone<row, features, zp::float_policy, zp::default_architecture, 8>;
        const alone layer(p.feature, p.time, p.bias);
        alone::state state;
        alone::workspace of_call;
        std::vector<float> y(expected.size());
        for (std::size_t first = 0, count = 1; first != length;
             first += count, count = std::min(length - first, 8 - count % 8))
            layer(std::span(x).subspan(first * features, count * features), state,
                  std::span(y).subspan(first * units, count * units), of_call);
        for (std::size_t i = 0; i != y.size(); ++i) CHECK(std::abs(y[i] - expected[i]) < 1e-5f);
    }
}

TEST_CASE("convert svdf: int8 models have the integers of the row alone, the scale of the state being its bound") {
    const auto model = parameters().network<bound_net>();
    for (const float lowest : {-2.0f, -0.25f}) {  // the largest sum is below zero for one, above it for the other
        const auto of_unsigned = quantize<unsigned_config>(model, lowest, lowest + 2.25f);
        compare_with_row_alone<zp::quint8, zp::nearest_even>(of_unsigned, bound_of(of_unsigned, 0, 255));
    }
    const auto of_fixed_point = quantize<fixed_point_config>(model);
    compare_with_row_alone<zp::qint8, zp::fixed_point_double_rounding>(of_fixed_point,
                                                                       bound_of(of_fixed_point, -128, 127));
    // A float bias has no form here.
    const auto of_float_bias = quantize<float_bias_config>(model);
    compare_with_row_alone<zp::quint8, zp::nearest_even>(of_float_bias, bound_of(of_float_bias, 0, 255));
    // A scale that the model brings.
    compare_with_row_alone<zp::quint8, zp::nearest_even>(
        quantize<unsigned_config>(parameters().network<given_net>(2e-4f)), 2e-4f);
}

TEST_CASE_TEMPLATE("convert svdf: int8 is at 35 dB, a state of the bound as good as one of the largest value seen",
                   Config, unsigned_config, signed_config, fixed_point_config) {
    const parameters p;
    const auto samples = made_up::inputs<bound_net>(6, 1);
    double most = 0;
    for (const auto& x : samples) p.outputs(x, &most);
    const auto bound = quantize<Config>(p.network<bound_net>());
    const auto seen = quantize<Config>(p.network<given_net>(static_cast<float>(most / 32767)));
    double of_bound = 0, of_seen = 0;
    for (const auto& x : made_up::inputs<bound_net>(4, 9)) {
        const auto exact = p.outputs(x);
        of_bound += signal_to_noise(exact, run(bound, x)) / 4;
        of_seen += signal_to_noise(exact, run(seen, x)) / 4;
    }
    CHECK(of_bound > 35);
    CHECK(of_bound > of_seen - 0.1);
}

TEST_CASE_TEMPLATE("convert svdf: a network of several is the same step by step, and from its file", Config,
                   unsigned_config, signed_config, fixed_point_config) {
    auto trained = made_up::network<deep_net>(3);
    for (float& bias : zp_test::array_of(trained, trained.rows()[3], 2)) bias = 0;  // "second" has none
    // A bias so large that the weights over time beside it get a coarser scale, and weights of nothing.
    const auto time = zp_test::array_of(trained, trained.rows()[1], 1);
    for (std::size_t i = 0; i != time.size(); ++i) time[i] *= i % 24 == 3 ? 1e-7f : i % 24 == 4 ? 0.0f : 1.0f;
    const auto int8 = quantize<Config>(trained);
    const std::vector<std::byte> file = zp::to_bytes(int8);
    const auto again = zp::load<std::remove_cvref_t<decltype(int8)>>(file);
    CHECK(zp::to_bytes(again) == file);
    const auto floats = zp::to_bytes(trained);
    CHECK(zp::to_bytes(zp::load<zp::float_model<deep_net>>(floats)) == floats);
    for (const auto& x : made_up::inputs<deep_net>(3, 5)) {
        const auto y = run(int8, x);
        CHECK(y == run_steps(int8, x));
        CHECK(y == run(again, x));
        CHECK(signal_to_noise(run(trained, x), y) > 25);
    }
    const zp::model_table table = zp::table_of(int8);
    CHECK(std::count_if(table.rows.begin(), table.rows.end(),
                        [](const auto& row) { return row.operation.starts_with("svdf"); }) == 2);
}

TEST_CASE("convert svdf: errors name the layer") {
    const auto model = parameters().network<given_net>(-1.0f);
    CHECK_THROWS_WITH_AS(quantize<unsigned_config>(model), doctest::Contains("spot (svdf): state_scale must be"),
                         zp::value_error);
}
