// SPDX-License-Identifier: BSD-3-Clause
// Dynamic linear layers: equal to the definition over quantized weights, whatever rows come together.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <zeropoint/kernel/reference/dynamic.hpp>
#include <zeropoint/layer/linear.hpp>
#include <zeropoint/layer/runtime_dynamic_linear.hpp>

#include "../support/errors.hpp"
#include "../support/made_up.hpp"

namespace {

/// The outputs of a layer of per-channel symmetric int8 weights, of rows with a range each.
std::vector<float> expected_of(const std::vector<float>& x, const std::vector<float>& weights,
                               const std::vector<float>& bias, std::size_t inputs, std::size_t outputs) {
    std::vector<float> y;
    std::vector<std::uint8_t> q(inputs);
    std::vector<std::int8_t> w(inputs);
    for (std::size_t row = 0; row != x.size() / inputs; ++row) {
        float scale = 0;
        std::int32_t zero_point = 0;
        zp::kernel::reference::dynamic_quantize(
            x.data() + row * inputs, inputs, 0, 255,
            [](float low, float high) { return zp::choose_qparams<zp::quint8, zp::per_tensor_affine>(low, high); },
            scale, zero_point, q.data());
        for (std::size_t c = 0; c != outputs; ++c) {
            float largest = 0;
            for (std::size_t k = 0; k != inputs; ++k) largest = std::max(largest, std::abs(weights[c * inputs + k]));
            const zp::qparams range{largest / 127.5f, 0};
            for (std::size_t k = 0; k != inputs; ++k) w[k] = zp::quantize<zp::qint8>(weights[c * inputs + k], range);
            y.push_back(zp::kernel::reference::dynamic_linear(q.data(), scale, zero_point, w.data(), 0, inputs,
                                                              range.scale, bias.empty() ? 0.0f : bias[c]));
        }
    }
    return y;
}

using zp_test::error_of;

}  // namespace

TEST_CASE("dynamic_linear: one row, small") {
    const auto weights = made_up::values(37 * 21, 1), bias = made_up::values(21, 2), x = made_up::values(37, 3, -1, 4);
    const zp::dynamic_linear<37, 21> with(weights, bias), without(weights);
    zp::dynamic_linear<37, 21>::workspace memory;
    std::vector<float> y(21);
    with(x, y, memory);
    CHECK(y == expected_of(x, weights, bias, 37, 21));
    without(x, y, memory);
    CHECK(y == expected_of(x, weights, {}, 37, 21));
}

TEST_CASE("dynamic_linear: a row is the same alone, among others, and with extents known at run time") {
    constexpr int rows = 9, inputs = 70, outputs = 35;
    using many = zp::dynamic_linear<inputs, outputs, zp::dynamic_policy<>, zp::default_architecture, rows>;
    const auto weights = made_up::values(inputs * outputs, 4), bias = made_up::values(outputs, 5);
    auto x = made_up::values(rows * inputs, 6);
    for (std::size_t i = 0; i != inputs; ++i) x[i] *= 1000;
    const auto expected = expected_of(x, weights, bias, inputs, outputs);
    const many layer(weights, bias);
    const auto memory = std::make_unique<many::workspace>();
    std::vector<float> y(rows * outputs);
    layer(x, y, *memory);
    CHECK(y == expected);
    for (std::size_t row = 0; row != rows; ++row)
        layer(std::span(x).subspan(row * inputs, inputs), std::span(y).subspan(row * outputs, outputs), *memory);
    CHECK(y == expected);
    const zp::runtime_dynamic_linear<> runtime(weights, bias, inputs, outputs);
    zp::aligned_buffer scratch(runtime.scratch_bytes(rows));
    std::fill(y.begin(), y.end(), 0.0f);
    runtime(x, y, {scratch.data(), scratch.size()});
    CHECK(y == expected);
}

TEST_CASE("dynamic_linear: close to the float layer") {
    constexpr int inputs = 128, outputs = 64;
    const auto weights = made_up::values(inputs * outputs, 7), x = made_up::values(inputs, 8);
    const zp::dynamic_linear<inputs, outputs> layer(weights);
    zp::dynamic_linear<inputs, outputs>::workspace memory;
    std::vector<float> y(outputs);
    layer(x, y, memory);
    double signal = 0, error = 0;
    for (std::size_t c = 0; c != outputs; ++c) {
        double sum = 0;
        for (std::size_t k = 0; k != inputs; ++k) sum += double{x[k]} * double{weights[c * inputs + k]};
        signal += sum * sum;
        error += (sum - double{y[c]}) * (sum - double{y[c]});
    }
    CHECK(10 * std::log10(signal / error) > 35);
}

TEST_CASE("dynamic_linear: the deepest product of the largest codes fits, and no deeper one is taken") {
    using affine = zp::dynamic_policy<zp::quint8, zp::per_row_affine, zp::qint8, zp::per_channel_affine>;
    const auto all_ones = [&]<class Policy>(int depth) {
        const std::vector<float> ones(static_cast<std::size_t>(depth), 1.0f);
        const zp::runtime_dynamic_linear<Policy> layer(ones, {}, depth, 1);
        zp::aligned_buffer scratch(layer.scratch_bytes(1));
        float y = 0;
        layer(ones, {&y, 1}, {scratch.data(), scratch.size()});
        return y;
    };
    CHECK(all_ones.operator()<affine>(33025) == doctest::Approx(33025).epsilon(1e-5));
    CHECK(error_of([&] { all_ones.operator()<affine>(33026); }).find("expected 1 to 33025 inputs") !=
          std::string::npos);
    CHECK(all_ones.operator()<zp::dynamic_policy<>>(65793) == doctest::Approx(65793).epsilon(1e-2));
    CHECK(error_of([&] { all_ones.operator()<zp::dynamic_policy<>>(65794); }).find("expected 1 to 65793 inputs") !=
          std::string::npos);
}

TEST_CASE("dynamic_linear: what does not fit is refused") {
    using layer_type = zp::dynamic_linear<8, 3>;
    const auto weights = made_up::values(24, 1);
    CHECK(error_of([&] { layer_type(made_up::values(23, 1)); }) == "alone: expected 24 values of weight, found 23");
    CHECK(error_of([&] { layer_type(weights, made_up::values(2, 1)); }) == "alone: expected 3 values of bias, found 2");
    const layer_type layer(weights);
    layer_type::workspace memory;
    std::vector<float> x(16), y(3);
    CHECK(error_of([&] { layer(x, y, memory); }) == "linear: expected 1 to 1 rows of 8 values, found 16 values");
    CHECK(error_of([&] { layer({x.data(), 8}, {y.data(), 2}, memory); }) == "linear: expected 3 outputs, found 2");
    const zp::runtime_dynamic_linear<> runtime(weights, {}, 8, 3);
    CHECK(error_of([&] { runtime({x.data(), 8}, y, {}); }).find("runtime_dynamic_linear: 1 rows need ") == 0);
    CHECK(error_of([&] {
              zp::runtime_dynamic_linear<>(weights, {}, 0, 3);
          }).find("runtime_dynamic_linear: expected 1") == 0);
    static_assert(noexcept(layer.run(nullptr, 1, nullptr, memory)));
}
