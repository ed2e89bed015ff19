// SPDX-License-Identifier: BSD-3-Clause
// Transposed convolutions, matrix products and embeddings used on their own: equal to the formula, close to the float
// operator, and what does not fit is refused.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <zeropoint/kernel/reference/conv_transpose2d.hpp>
#include <zeropoint/kernel/reference/matmul.hpp>
#include <zeropoint/layer/static_layers.hpp>
#include <zeropoint/layer/quantized_embedding.hpp>
#include <zeropoint/layer/quantized_matmul.hpp>

#include "../support/errors.hpp"
#include "../support/generator.hpp"

namespace {

using zp::shape;

// Normally distributed, nearly: the sum of twelve uniform numbers.
std::vector<float> normal(std::size_t count, std::uint64_t seed) {
    zp_test::generator next(seed);
    std::vector<float> values(count);
    for (float& value : values) {
        value = 0;
        for (int i = 0; i != 12; ++i) value += next.real(-0.5f, 0.5f);
    }
    return values;
}

double signal_to_noise(const std::vector<float>& wanted, const std::vector<float>& found) {
    double signal = 0, noise = 0;
    for (std::size_t i = 0; i != wanted.size(); ++i) {
        const double off = double{wanted[i]} - double{found[i]};
        signal += double{wanted[i]} * double{wanted[i]};
        noise += off * off;
    }
    return 10 * std::log10(signal / noise);
}

template <class DType> zp::tensor<DType> quantized(const std::vector<float>& values, shape extents) {
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    zp::tensor<DType> tensor(extents, zp::choose_qparams<DType, zp::per_tensor_affine>(*low, *high));
    zp::quantize<DType>(values, tensor.quantization, tensor.values());
    return tensor;
}

using zp_test::error_of;

constexpr zp::conv_transpose options{
    .out_channels = 6, .kernel = {4, 3}, .stride = {2, 3}, .padding = {1, 0}, .output_padding = {1, 2}, .groups = 2};
using unsigned_policy = zp::fused_policy<>;
using signed_policy = zp::fused_policy<zp::qint8, zp::qint8, zp::qint8>;
using float_bias_policy = zp::fused_policy<zp::quint8, zp::qint8, zp::quint8, zp::float_bias>;

}  // namespace

TEST_CASE_TEMPLATE("static layers: quantized_conv_transpose2d equals the formula, 30 dB from the float operator",
                   Policy, unsigned_policy, signed_policy, float_bias_policy) {
    using layer_type = zp::quantized_conv_transpose2d<shape{5, 4, 8}, options, zp::op::relu, Policy>;
    static_assert(layer_type::output_shape == shape{11, 14, 6});
    using dtype = typename Policy::input;
    const auto weights = normal(8 * 3 * 12, 1), bias = normal(6, 2), values = normal(5 * 4 * 8, 3);
    const auto g = zp::geometry_of(options, {5, 4, 8});
    std::vector<float> ordered(weights.size()), wanted(11 * 14 * 6), found(wanted.size());
    // Weights of a file are in x out/groups x taps, those of the reference out x taps x in/groups.
    for (int out = 0, to = 0; out != 6; ++out)
        for (int tap = 0; tap != 12; ++tap)
            for (int in = 0; in != 4; ++in)
                ordered[static_cast<std::size_t>(to++)] =
                    weights[static_cast<std::size_t>(((out / 3 * 4 + in) * 3 + out % 3) * 12 + tap)];
    // The float operator, in whole 2^-12ths through the integer reference.
    std::vector<std::int16_t> x_steps, weight_steps;
    for (const float value : values) x_steps.push_back(static_cast<std::int16_t>(std::lround(value * 4096)));
    for (const float value : ordered) weight_steps.push_back(static_cast<std::int16_t>(std::lround(value * 4096)));
    zp::kernel::reference::conv_transpose2d(
        g, x_steps.data(), 0, weight_steps.data(), nullptr, nullptr,
        [&](std::int32_t sum, int c) {
            return std::max(static_cast<float>(sum) * 0x1p-24f + bias[static_cast<std::size_t>(c)], 0.0f);
        },
        wanted.data());
    const auto x = quantized<dtype>(values, {5, 4, 8});
    const auto y_range =
        zp::choose_qparams<dtype, zp::per_tensor_affine>(0, *std::max_element(wanted.begin(), wanted.end()));
    const layer_type layer(weights, bias, x.quantization, y_range);
    zp::tensor<dtype> y(layer_type::output_shape, y_range);
    const auto memory = std::make_unique<typename layer_type::workspace>();
    layer(x, y, *memory);
    for (std::size_t i = 0; i != found.size(); ++i) found[i] = zp::dequantize(y.values()[i], y_range);
    CHECK(signal_to_noise(wanted, found) > 30);

    // The formula, from weights quantized by hand.
    std::vector<float> scales;
    std::vector<std::int8_t> codes(ordered.size());
    std::vector<std::int32_t> integer_bias;
    const std::size_t depth = ordered.size() / 6;
    for (std::size_t c = 0; c != 6; ++c) {
        float largest = 0;
        for (std::size_t k = 0; k != depth; ++k) largest = std::max(largest, std::abs(ordered[c * depth + k]));
        scales.push_back(largest / 127.5f);
        for (std::size_t k = 0; k != depth; ++k)
            codes[c * depth + k] = zp::quantize<zp::qint8>(ordered[c * depth + k], {scales[c], 0});
        integer_bias.push_back(static_cast<std::int32_t>(
            std::nearbyint(double{bias[c]} / (double{x.quantization.scale} * double{scales[c]}))));
    }
    const bool real_bias = std::is_same_v<Policy, float_bias_policy>;
    std::vector<int> expected(found.size());
    zp::kernel::reference::conv_transpose2d(
        g, x.data(), x.quantization.zero_point, codes.data(), nullptr, real_bias ? nullptr : integer_bias.data(),
        [&](std::int32_t sum, int channel) {
            const auto c = static_cast<std::size_t>(channel);
            const float product = x.quantization.scale * scales[c];
            float steps = static_cast<float>(sum) *
                          static_cast<float>(double{x.quantization.scale} * double{scales[c]} / double{y_range.scale});
            if (real_bias) steps = (static_cast<float>(sum) + bias[c] / product) * (product / y_range.scale);
            return std::clamp(static_cast<int>(std::nearbyint(steps)) + y_range.zero_point, y_range.zero_point,
                              int{dtype::quant_max});
        },
        expected.data());
    CHECK(std::equal(expected.begin(), expected.end(), y.values().begin()));
}

TEST_CASE("static layers: quantized_conv_transpose2d refuses what does not fit") {
    using layer_type = zp::quantized_conv_transpose2d<shape{5, 4, 8}, options>;
    const auto weights = normal(8 * 3 * 12, 1);
    const zp::qparams range{0.1f, 100}, other{0.2f, 100};
    CHECK(error_of([&] { layer_type(std::vector<float>(5), {}, range, range); }) ==
          "quantized_conv_transpose2d: expected 288 values of weight, found 5");
    CHECK(error_of([&] { layer_type(weights, std::vector<float>(5), range, range); }) ==
          "quantized_conv_transpose2d: expected 6 values of bias, found 5");
    const layer_type layer(weights, {}, range, range);
    const auto memory = std::make_unique<layer_type::workspace>();
    zp::tensor<zp::quint8> x({5, 4, 8}, range), small({4, 4, 8}, range), y(layer_type::output_shape, range),
        another(layer_type::output_shape, other);
    CHECK(error_of([&] { layer(small, y, *memory); }) ==
          "quantized_conv_transpose2d: the input is 5x4x8, but a tensor of 4x4x8 came");
    CHECK(error_of([&] { layer(x, another, *memory); }).rfind("quantized_conv_transpose2d: the output was made", 0) ==
          0);
    CHECK(error_of([&] { layer(x, y, *memory); }) == "no error");
    constexpr auto fits = [](const zp::conv_transpose& window) { return zp::fits(window, zp::shape{5, 4, 8}); };
    static_assert(!fits({.out_channels = 0}) && !fits({.out_channels = 3, .groups = 2}));
    static_assert(!fits({.out_channels = 4, .kernel = 3, .output_padding = 1}));
    static_assert(!fits({.out_channels = 4, .kernel = 3, .padding = 9}));
}

TEST_CASE("static layers: quantized_matmul equals the formula, 30 dB from the float product") {
    constexpr zp::matmul_options scores{.rows = 9, .depth = 33, .columns = 21, .transposed = true, .batches = 3};
    using layer_type = zp::quantized_matmul<scores, zp::quint8, zp::qint8, zp::quint8>;
    static_assert(layer_type::b_shape == shape{3, 21, 33} && layer_type::output_shape == shape{3, 9, 21});
    const auto left = normal(3 * 9 * 33, 4), right = normal(3 * 21 * 33, 5);
    const auto g = zp::kernel::dense_matmul(9, 33, 21, true, 3);
    std::vector<float> wanted(3 * 9 * 21), found(wanted.size());
    zp::kernel::reference::matmul_float(g, left.data(), right.data(), wanted.data());
    const auto a = quantized<zp::quint8>(left, layer_type::a_shape);
    const auto b = quantized<zp::qint8>(right, layer_type::b_shape);
    auto y = quantized<zp::quint8>(wanted, layer_type::output_shape);
    const layer_type layer(a.quantization, b.quantization, y.quantization);
    const auto memory = std::make_unique<layer_type::workspace>();
    layer(a, b, y, *memory);
    for (std::size_t i = 0; i != found.size(); ++i) found[i] = zp::dequantize(y.values()[i], y.quantization);
    CHECK(signal_to_noise(wanted, found) > 30);
    std::vector<int> expected(wanted.size());
    const auto multiplier =
        static_cast<float>(double{a.quantization.scale} * double{b.quantization.scale} / double{y.quantization.scale});
    zp::kernel::reference::matmul(
        g, a.data(), a.quantization.zero_point, b.data(), b.quantization.zero_point,
        [&](std::int32_t sum, int) {
            const auto steps = static_cast<int>(std::nearbyint(static_cast<float>(sum) * multiplier));
            return std::clamp(steps + y.quantization.zero_point, 0, 255);
        },
        expected.data());
    CHECK(std::equal(expected.begin(), expected.end(), y.values().begin()));
    CHECK(error_of([&] { layer(y, b, y, *memory); }) ==
          "quantized_matmul: the first operand is 3x9x33, but a tensor of 3x9x21 came");
}

TEST_CASE("rounded_to_float16: 11 significant bits, ties to even, steps of 2^-24 below 2^-14") {
    static_assert(zp::rounded_to_float16(1 + 0x1p-11f) == 1 && zp::rounded_to_float16(1 + 0x3p-11f) == 1 + 0x1p-9f);
    static_assert(zp::rounded_to_float16(-1 - 0x1.8p-11f) == -1 - 0x1p-10f && zp::rounded_to_float16(65504) == 65504);
    static_assert(zp::rounded_to_float16(0x1p-25f) == 0 && zp::rounded_to_float16(-0x3p-25f) == -0x1p-23f);
    static_assert(zp::rounded_to_float16(0x1p-14f) == 0x1p-14f && zp::rounded_to_float16(0x1.ffep-15f) == 0x1p-14f);
}

TEST_CASE_TEMPLATE("static layers: quantized_embedding and its bags", Bits, std::integral_constant<int, 8>,
                   std::integral_constant<int, 4>) {
    constexpr int rows = 13, columns = 21;
    auto weights = normal(rows * columns, 6);
    std::fill_n(weights.begin(), columns, 1.5f);  // a constant row
    const zp::quantized_embedding<Bits::value> table(weights, columns);
    const std::vector<std::int64_t> indices = {12, 0, 7, 7, 3};
    const std::vector<std::int64_t> offsets = {0, 2, 2};
    std::vector<float> y(5 * columns), bags(3 * columns), means(3 * columns), weighted(3 * columns);
    table(std::span(indices), y);
    for (std::size_t i = 0; i != y.size(); ++i) {
        const float weight = weights[static_cast<std::size_t>(indices[i / columns]) * columns + i % columns];
        CHECK(std::abs(y[i] - weight) <= (Bits::value == 8 ? 0.02f : 0.3f));
    }
    CHECK(std::abs(y[columns] - 1.5f) < 1e-6f);

    const zp::quantized_embedding_bag<Bits::value> sum(weights, columns),
        mean(weights, columns, zp::embedding_bag_mode::mean), padded(weights, columns, zp::embedding_bag_mode::sum, 7);
    sum(std::span(indices), std::span(offsets), bags);
    mean(std::span(indices), std::span(offsets), means);
    const std::vector<float> factors = {1, -2, 0.5f, 0.5f, 4};
    sum(std::span(indices), std::span(offsets), weighted, factors);
    for (std::size_t c = 0; c != columns; ++c) {
        const auto row = [&](std::size_t i) { return y[i * columns + c]; };
        CHECK(bags[c] == row(0) + row(1));
        CHECK(bags[columns + c] == 0);
        CHECK(bags[2 * columns + c] == (row(2) + row(3)) + row(4));
        CHECK(means[2 * columns + c] == ((row(2) + row(3)) + row(4)) / 3);
        CHECK(weighted[c] == row(0) - 2 * row(1));
    }
    padded(std::span(indices), std::span(offsets), bags);
    CHECK(bags[2 * columns] == y[4 * columns]);

    const std::vector<std::int32_t> wrong = {1, 13};
    CHECK(error_of([&] { table(std::span(wrong), std::span(y).first(2 * columns)); }) ==
          "quantized_embedding: index 13 at position 1 is outside of the table's 13 rows");
    CHECK(error_of([&] { table(std::span(indices), std::span(y).first(5)); }) ==
          "quantized_embedding: expected 105 outputs, found 5");
    const std::vector<std::int64_t> falling = {0, 3, 2};
    CHECK(
        error_of([&] { sum(std::span(indices), std::span(falling), bags); }) ==
        "quantized_embedding_bag: offset 2 at position 2: offsets begin with 0, rise, and are at most 5, the number of "
        "indices");
    CHECK(error_of([&] { mean(std::span(indices), std::span(offsets), means, factors); }) ==
          "quantized_embedding_bag: weights are for sums, not for means");
    using bag_type = zp::quantized_embedding_bag<Bits::value>;
    CHECK(error_of([&] { bag_type(weights, columns, zp::embedding_bag_mode::sum, 13); }) ==
          "quantized_embedding_bag: expected a padding_index below 13, or -1 for none, got 13");
    CHECK(error_of([&] { bag_type(weights, 20); }) ==
          "quantized_embedding: expected whole rows of 20 weights, found 273 weights");
    weights[30] = std::numeric_limits<float>::infinity();
    CHECK(error_of([&] { zp::quantize_rows<Bits::value>(weights, columns); }).rfind("quantize_rows: expected", 0) == 0);
}
