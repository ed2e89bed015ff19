// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/training/fake_quantize.hpp>
#include <zeropoint/training/learned_step.hpp>
#include <zeropoint/training/observed_fake_quantize.hpp>

#include "../support/arrays.hpp"
#include "../support/errors.hpp"

namespace {

using floats = std::vector<float>;
constexpr zp::code_bounds int4{-8, 7};

}  // namespace

TEST_CASE("fake_quantize: spans, scales and codes that do not fit are refused with a sentence") {
    const floats x(12);
    floats y(12, 7);
    std::vector<std::uint8_t> mask(12);
    const std::vector<zp::qparams> three(3);
    const auto with = [&](std::span<const float> values, std::span<const zp::qparams> params, std::size_t inner,
                          zp::code_bounds bounds, std::span<std::uint8_t> into) {
        return zp_test::error_of([&] { zp::fake_quantize(values, params, inner, bounds, y, into); });
    };
    CHECK(with(x, three, 3, int4, mask) ==
          "fake_quantize: expected whole rows of 3 channels x 3 values, got 12 values");
    CHECK(with(x, {}, 1, int4, mask) == "fake_quantize: expected whole rows of 0 channels x 1 values, got 12 values");
    CHECK(with(x, three, 4, {1, 7}, mask) == "fake_quantize: expected codes of at most 16 bits around 0, got 1 to 7");
    CHECK(with(x, three, 4, int4, std::span(mask).first(5)) == "fake_quantize: expected 12 values of the mask, got 5");
    CHECK(with(std::span(x).first(9), three, 3, int4, {}) == "fake_quantize: expected 9 values of y, got 12");
    const zp::qparams wrong[] = {{1, 0}, {0, 0}, {1, 9}};
    CHECK(with(x, wrong, 4, int4, mask) ==
          "fake_quantize: channel 1 has scale 0 and zero point 0, expected a finite positive scale and a zero point "
          "from -8 to 7");
    CHECK(with(x, std::span(wrong + 2, 1), 4, int4, mask).find("channel 0 has scale 1 and zero point 9") !=
          std::string::npos);
    CHECK(y == floats(12, 7));
    CHECK(zp_test::error_of([&] { zp::fake_quantize_backward(x, std::span(mask).first(3), y); }) ==
          "fake_quantize_backward: expected 12 values of the mask, got 3");
    floats ds(2);
    CHECK(zp_test::error_of([&] { zp::learned_step_backward(x, x, three, 4, int4, 1, y, ds); }) ==
          "learned_step_backward: expected 3 values of dscale, got 2");
}

TEST_CASE("fake_quantize_bias: the value that the converted layer adds") {
    for (const float bias : {0.0f, 1.0f, -0.3333f, 123.456f, 1e-9f}) {
        const float fake = zp::fake_quantize_bias(bias, 0.02f, 0.003f);
        CHECK(double{fake} ==
              doctest::Approx(zp::quantize_bias(bias, 0.02f, 0.003f) * (double{0.02f} * double{0.003f})));
        CHECK(std::fabs(fake - bias) <= 0.5001f * 0.02f * 0.003f + 1e-7f * std::fabs(bias));
    }
    CHECK(zp_test::error_of([] { zp::fake_quantize_bias(1e9f, 1e-6f, 1e-6f); }).find("raise the weight scale") !=
          std::string::npos);
}

TEST_CASE("learned scales: floor, rounding of zero points, factors") {
    floats scales = {1, -0.5f, 0, 0x1p-23f, 0x1p-24f};
    CHECK(zp::apply_scale_floor(scales) == 3);
    CHECK(scales == floats{1, 0x1p-23f, 0x1p-23f, 0x1p-23f, 0x1p-23f});
    CHECK(zp::apply_scale_floor(scales) == 0);
    CHECK(zp::to_qparams({0.5f, 2.5f}, int4) == zp::qparams{0.5f, 2});
    CHECK(zp::to_qparams({0.5f, 99}, int4) == zp::qparams{0.5f, 7});
    CHECK(zp::to_qparams({0.5f, -8.6f}, int4) == zp::qparams{0.5f, -8});
    CHECK(zp::to_qparams({-1, 0}, int4) == zp::qparams{zp::smallest_learned_scale, 0});
    CHECK(zp_test::error_of([] {
              zp::to_qparams({std::nanf(""), 0}, int4);
          }) ==
          "to_qparams: expected a finite learned scale and zero point, got nan and 0: the learning rate of scales is "
          "too high");
    CHECK(zp::gradient_factor(zp::gradient_scaling::none, 100, int4) == 1);
    CHECK(zp::gradient_factor(zp::gradient_scaling::by_count, 100, int4) == 0.1f);
    CHECK(double{zp::gradient_factor(zp::gradient_scaling::lsq, 100, int4)} == doctest::Approx(1 / std::sqrt(700.0)));
    CHECK(zp_test::error_of([] { zp::initial_scale_lsq({}, int4); }) ==
          "initial_scale_lsq: expected finite values, at least one, got 0 and from them the scale nan");
    const floats zeros(10);
    CHECK(zp::initial_scale_lsq(zeros, int4) == zp::smallest_learned_scale);
    CHECK(zp::initial_scale_lsq_plus(zeros, int4) == zp::smallest_learned_scale);
    const zp::learned_qparams positive = zp::initial_qparams_lsq_plus(3, 15, int4);
    CHECK(positive == zp::learned_qparams{1, -8});
}

TEST_CASE("learned scales: gradients are slopes of a loss in scale and zero point, rounding left out") {
    // With every code far from a tie the loss is smooth in the scale, but for x / scale - code, which straight-through ignores:
    // of values that are clamped the slope is exact.
    const floats x = {5, -7, 100, -100, 9, 12}, dy = {1, 0.5f, -2, 3, 0.25f, 1};
    const double expected_scale =
        1 * 3 + 0.5 * -12 + -2 * 3 + 3 * -12 + 0.25 * 3 + 1 * 3;  // zero point 4, codes -8 and 7
    const zp::qparams params{0.5f, 4};
    floats dx(6), ds(1), dz(1);
    zp::learned_step_backward(x, dy, std::span(&params, 1), 1, int4, 0.5f, dx, ds, dz);
    CHECK(double{ds[0]} == doctest::Approx(0.5 * expected_scale));
    CHECK(double{dz[0]} == doctest::Approx(-0.5 * 0.5 * (1 + 0.5 - 2 + 3 + 0.25 + 1)));
    CHECK(dx == floats(6));
    const auto loss = [&](float scale) {
        floats y(6);
        zp::fake_quantize(x, zp::qparams{scale, 4}, int4, y);
        double sum = 0;
        for (std::size_t i = 0; i != 6; ++i) sum += double{dy[i]} * double{y[i]};
        return sum;
    };
    CHECK((loss(0.51f) - loss(0.49f)) / 0.02 == doctest::Approx(expected_scale).epsilon(1e-4));
}

TEST_CASE("observed_fake_quantize: ranges of a batch in parts are one batch") {
    const floats x = arrays::reals(240, 1), more = arrays::reals(240, 2);
    using tensor = zp::observed_fake_quantize<zp::quint8>;
    using channel = zp::observed_fake_quantize<zp::qint8, zp::per_channel_symmetric>;
    const auto in_parts = [&]<class Quantizer>(Quantizer& quantizer, int channels, int inner) {
        for (const floats& batch : {x, more}) {
            zp::per_channel_min_max_observer first, second;
            second.observe({std::span(batch).subspan(120), channels, inner});
            first.observe({std::span(batch).first(120), channels, inner});
            second.merge(first);
            if (channels == 1) zp::observe_range_of_batch(quantizer.range_observer(), second.range(), "x");
            else zp::observe_range_of_batch(quantizer.range_observer(), second, "x");
        }
        zp::observe_range_of_batch(quantizer.range_observer(), zp::observed_range{}, "x");  // of nothing
    };
    floats y(240);
    tensor whole, parts;
    whole.forward({x}, y);
    whole.forward({more}, y);
    in_parts(parts, 1, 1);
    CHECK(parts.range_observer().range() == whole.range_observer().range());
    CHECK(parts.range_observer().samples() == 2);
    channel whole_channels, channel_parts;
    whole_channels.forward({x, 4, 30}, y);
    whole_channels.forward({more, 4, 30}, y);
    in_parts(channel_parts, 4, 30);
    CHECK(channel_parts.calculate_qparams("x") == whole_channels.calculate_qparams("x"));
}

TEST_CASE("observed_fake_quantize: switched off, without data, with NaN") {
    floats x = arrays::reals(50, 1), y(50);
    std::vector<std::uint8_t> mask(50);
    zp::observed_fake_quantize<zp::quint8> quantizer;
    CHECK(zp_test::error_of([&] {
              quantizer.forward({x, 1, 1, "conv1"}, y, mask, {.observe = false});
          }) ==
          "conv1: moving_average_min_max_observer has seen no values, expected at least one batch: calibrate before "
          "converting");
    quantizer.forward({x, 1, 1, "conv1"}, y, mask, {.quantize = false});
    CHECK(y == x);
    CHECK(mask == std::vector<std::uint8_t>(50, 1));
    CHECK(quantizer.params().empty());
    const zp::observed_range range = quantizer.range_observer().range();
    x[17] = std::numeric_limits<float>::infinity();
    CHECK_THROWS_AS(quantizer.forward({x, 1, 1, "conv1"}, y, mask), zp::calibration_error);
    CHECK(quantizer.range_observer().range() == range);
    quantizer.forward({x, 1, 1, "conv1"}, y, mask, {.observe = false});
    CHECK(mask[17] == 0);
    CHECK(quantizer.params()[0] == zp::choose_qparams<zp::quint8, zp::per_tensor_affine>(range.min, range.max));
}
