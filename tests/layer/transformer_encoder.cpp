// SPDX-License-Identifier: BSD-3-Clause
// Attention and transformer encoders: near plain loops in double, and rows that are not there change nothing.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <memory>
#include <numbers>
#include <span>
#include <string>
#include <vector>

#include <zeropoint/kernel/reference/attention.hpp>
#include <zeropoint/layer/linear.hpp>
#include <zeropoint/layer/transformer_encoder.hpp>

#include "../support/made_up.hpp"

namespace {

using matrix = std::vector<std::vector<double>>;
constexpr int model = 24, heads = 3, feed_forward = 40, most = 19;
using zp::feed_forward_activation;
constexpr zp::transformer post{model, heads, feed_forward};
constexpr zp::transformer pre{model, heads, feed_forward, feed_forward_activation::gelu, true};

/// The parameters that a layer asks for, made up when it does.
struct made_up_parameters {
    std::map<std::string, std::vector<float>> tensors;
    bool has_norm = false;

    std::span<const float> operator()(const std::string& name, int rows, int columns, bool) {
        if (name == "norm.weight" && !has_norm) return {};
        auto& values = tensors[name];
        const auto size = static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns == 0 ? 1 : columns);
        if (values.empty()) {
            values = made_up::values(size, tensors.size(), -0.3f, 0.3f);
            if (name.find("norm") != std::string::npos && name.find("weight") != std::string::npos)
                for (float& value : values) value += 1;
        }
        return values;
    }
    matrix linear(const matrix& x, const std::string& weight, const std::string& bias) const {
        matrix y;
        const auto &w = tensors.at(weight), &b = tensors.at(bias);
        for (const auto& row : x) {
            y.emplace_back();
            for (std::size_t c = 0; c != b.size(); ++c) {
                double sum = double{b[c]};
                for (std::size_t k = 0; k != row.size(); ++k) sum += row[k] * double{w[c * row.size() + k]};
                y.back().push_back(sum);
            }
        }
        return y;
    }
    matrix norm(matrix x, const std::string& name) const {
        const auto &weight = tensors.at(name + ".weight"), &bias = tensors.at(name + ".bias");
        for (auto& row : x) {
            double mean = 0, variance = 0;
            for (const double v : row) mean += v / static_cast<double>(row.size());
            for (const double v : row) variance += (v - mean) * (v - mean) / static_cast<double>(row.size());
            for (std::size_t i = 0; i != row.size(); ++i)
                row[i] = (row[i] - mean) / std::sqrt(variance + 1e-5) * double{weight[i]} + double{bias[i]};
        }
        return x;
    }
    matrix attention(const matrix& x, const std::string& prefix) const {
        const matrix qkv = linear(x, prefix + "in_proj_weight", prefix + "in_proj_bias");
        matrix context(x.size(), std::vector<double>(model));
        constexpr std::size_t depth = model / heads;
        for (std::size_t first = 0; first != model; first += depth)
            for (std::size_t i = 0; i != x.size(); ++i) {
                std::vector<double> weights;
                double sum = 0;
                for (std::size_t j = 0; j != x.size(); ++j) {
                    double score = 0;
                    for (std::size_t d = first; d != first + depth; ++d) score += qkv[i][d] * qkv[j][model + d];
                    weights.push_back(std::exp(score / std::sqrt(double{depth})));
                    sum += weights.back();
                }
                for (std::size_t j = 0; j != x.size(); ++j)
                    for (std::size_t d = first; d != first + depth; ++d)
                        context[i][d] += weights[j] / sum * qkv[j][2 * model + d];
            }
        return linear(context, prefix + "out_proj.weight", prefix + "out_proj.bias");
    }
    matrix layer(const matrix& x, const std::string& prefix, const zp::transformer& options) const {
        const auto add = [](matrix a, const matrix& b) {
            for (std::size_t i = 0; i != a.size(); ++i)
                for (std::size_t k = 0; k != a[i].size(); ++k) a[i][k] += b[i][k];
            return a;
        };
        const auto fed_forward = [&](const matrix& from) {
            matrix inner = linear(from, prefix + "linear1.weight", prefix + "linear1.bias");
            for (auto& row : inner)
                for (double& v : row)
                    v = options.activation == feed_forward_activation::relu
                            ? std::max(v, 0.0)
                            : 0.5 * v * (1 + std::erf(v / std::numbers::sqrt2));
            return linear(inner, prefix + "linear2.weight", prefix + "linear2.bias");
        };
        if (options.norm_first) {
            const matrix sum = add(x, attention(norm(x, prefix + "norm1"), prefix + "self_attn."));
            return add(sum, fed_forward(norm(sum, prefix + "norm2")));
        }
        const matrix sum = norm(add(x, attention(x, prefix + "self_attn.")), prefix + "norm1");
        return norm(add(sum, fed_forward(sum)), prefix + "norm2");
    }
};

matrix rows_of(const std::vector<float>& x) {
    matrix rows;
    for (auto row = x.begin(); row != x.end(); row += model) rows.emplace_back(row, row + model);
    return rows;
}

double sqnr(const matrix& expected, const std::vector<float>& y) {
    double signal = 0, error = 1e-300;
    for (std::size_t i = 0; i != y.size(); ++i) {
        const double exact = expected[i / model][i % model];
        signal += exact * exact;
        error += (exact - double{y[i]}) * (exact - double{y[i]});
    }
    return 10 * std::log10(signal / error);
}

template <class Layer> std::vector<float> run(const Layer& layer, std::span<const float> x) {
    const auto memory = std::make_unique<typename Layer::workspace>();
    std::vector<float> y(x.size());
    layer(x, y, *memory);
    return y;
}

/// A stack of two layers under Policy, near plain loops for 1, 7 and `most` rows.
template <zp::transformer Options, class Policy> void compare(double least_sqnr) {
    using encoder = zp::transformer_encoder<Options, 2, most, Policy>;
    made_up_parameters parameters;
    parameters.has_norm = Options.norm_first;
    const encoder layers(parameters);
    for (const int count : {1, 7, most}) {
        const auto rows = static_cast<std::size_t>(count);
        const auto x = made_up::values(rows * std::size_t{model}, 50 + rows, -2, 2);
        matrix expected = rows_of(x);
        for (const char* prefix : {"layers.0.", "layers.1."}) expected = parameters.layer(expected, prefix, Options);
        if (Options.norm_first) expected = parameters.norm(expected, "norm");
        CHECK(sqnr(expected, run(layers, x)) > least_sqnr);
    }
}

}  // namespace

TEST_CASE("transformer_encoder: float, near plain loops") {
    compare<post, zp::float_policy>(110);
    compare<pre, zp::float_policy>(110);
}

TEST_CASE("transformer_encoder: dynamic int8, near plain loops") {
    compare<post, zp::dynamic_policy<>>(30);
    compare<pre, zp::dynamic_policy<>>(30);
}

TEST_CASE("multi_head_attention: dynamic int8, the bits of its parts") {
    constexpr std::size_t width = model;
    using policy = zp::dynamic_policy<>;
    made_up_parameters parameters;
    const zp::multi_head_attention<model, heads, most, policy> layer(parameters);
    const auto& tensors = parameters.tensors;
    const zp::dynamic_linear<model, 3 * model, policy, zp::default_architecture, most> input(
        tensors.at("in_proj_weight"), tensors.at("in_proj_bias"));
    const zp::dynamic_linear<model, model, policy, zp::default_architecture, most> output(tensors.at("out_proj.weight"),
                                                                                          tensors.at("out_proj.bias"));
    for (const int count : {1, 7, most}) {
        const auto rows = static_cast<std::size_t>(count);
        const auto x = made_up::values(rows * width, 70 + rows, -2, 2);
        const auto input_memory = std::make_unique<decltype(input)::workspace>();
        const auto output_memory = std::make_unique<decltype(output)::workspace>();
        std::vector<float> projected(3 * x.size()), context(x.size()), expected(x.size());
        input(x, projected, *input_memory);
        zp::kernel::reference::integer_attention(projected.data(), rows, heads, width / heads, context.data());
        output(context, expected, *output_memory);
        CHECK(run(layer, x) == expected);
    }
    using floats = zp::dynamic_policy<zp::quint8, zp::per_row_affine, zp::qint8, zp::per_channel_symmetric,
                                      zp::pytorch_rule, zp::pytorch_rule, zp::attention_products::float32>;
    static_assert(zp::has_int8_attention<policy> && !zp::has_int8_attention<floats>);
    static_assert(!zp::has_int8_attention<zp::float_policy>);
}

TEST_CASE("transformer_encoder: the rows of a call alone decide, in place too, and nothing else is written") {
    made_up_parameters parameters;
    using layer_type = zp::transformer_encoder_layer<post, most>;
    const layer_type layer(parameters);
    const zp::transformer_encoder_layer<post, 64> roomy(parameters);
    const auto x = made_up::values(most * model, 1);
    const auto memory = std::make_unique<layer_type::workspace>();
    for (const int count : {1, 2, 15, 16, 17, 18}) {
        const auto rows = static_cast<std::size_t>(count);
        const auto some = std::span(x).first(rows * std::size_t{model});
        const auto alone = run(layer, some);
        CHECK(run(roomy, some) == alone);
        // A workspace in which more rows were before, rows behind that are NaN, and y = x.
        std::vector<float> y = x;
        layer.run(x.data(), most, y.data(), *memory);
        y = x;
        std::fill(y.begin() + static_cast<std::ptrdiff_t>(rows * std::size_t{model}), y.end(), -1e30f);
        layer.run(y.data(), static_cast<int>(rows), y.data(), *memory);
        CHECK(std::equal(alone.begin(), alone.end(), y.begin()));
        CHECK(std::all_of(y.begin() + static_cast<std::ptrdiff_t>(rows * std::size_t{model}), y.end(),
                          [](float v) { return v == -1e30f; }));
    }
}

TEST_CASE("transformer_encoder: what does not fit is refused") {
    made_up_parameters parameters;
    using layer_type = zp::transformer_encoder_layer<post, 2, zp::float_policy>;
    const layer_type layer(parameters);
    const auto memory = std::make_unique<layer_type::workspace>();
    const auto error_of = [](auto call) {
        try {
            call();
        } catch (const zp::shape_error& error) { return std::string(error.what()); }
        return std::string("no error");
    };
    std::vector<float> x(3 * model), y(3 * model);
    CHECK(error_of([&] { layer(x, y, *memory); }) == "alone: expected 1 to 2 rows of 24 values, found 72 values");
    parameters.tensors["norm2.bias"].resize(5);
    CHECK(error_of([&] { layer_type refused(parameters); }) == "alone: expected 24 values of norm2.bias, found 5");
    static_assert(noexcept(layer.run(nullptr, 1, nullptr, *memory)));
}
