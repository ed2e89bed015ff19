// SPDX-License-Identifier: BSD-3-Clause
// Float filters to integer ones: scales per channel and per tensor, zero points, biases, and raised scales.
#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

#include <zeropoint/operators/quantize_filters.hpp>
#include <zeropoint/operators/requantization.hpp>
#include <zeropoint/observe/min_max_observer.hpp>

#include "../support/made_up.hpp"

namespace {

template <class DType, class QScheme, class Observer> struct quantizer {
    using dtype = DType;
    using qscheme = QScheme;
    using rule = zp::pytorch_rule;
    using observer_type = Observer;
};
using per_channel = quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>;
struct small : per_channel {
    using rule = zp::tflite_rule;  // which has no least scale
};
using per_tensor = quantizer<zp::qint8, zp::per_tensor_symmetric, zp::min_max_observer>;
using affine = quantizer<zp::quint8, zp::per_channel_affine, zp::per_channel_min_max_observer>;

struct filters {
    std::vector<float> weights = made_up::values(4 * 9, 5, -2, 3), bias{0.5f, -1.25f, 0, 100};
    std::vector<std::string> raised;
    double least_step = 0;
    template <class Quantizer> zp::quantized_weights quantized(float x_scale = 0.01f, bool keep_float_bias = false) {
        const zp::filter_quantization how{.x_scale = x_scale,
                                          .keeps_float_bias = keep_float_bias,
                                          .most_steps = keep_float_bias ? zp::float_bias::most_steps : zp::bias_limit,
                                          .least_step = least_step};
        return zp::quantize_filters<Quantizer, zp::default_architecture>(weights, bias, how, "layer", raised);
    }
};

}  // namespace

TEST_CASE_FIXTURE(filters, "filters: one scale an output channel, from that channel alone") {
    const auto q = quantized<per_channel>();
    REQUIRE(q.codes.size() == 36);
    CHECK(q.zero_points.empty());
    CHECK(q.offsets.empty());
    CHECK(q.float_bias.empty());
    for (std::size_t c = 0; c != 4; ++c) {
        float largest = 0;
        for (std::size_t k = 0; k != 9; ++k) largest = std::max(largest, std::abs(weights[c * 9 + k]));
        CHECK(q.scales[c] == largest / 127.5f);
        for (std::size_t k = 0; k != 9; ++k)
            CHECK(static_cast<std::int8_t>(q.codes[c * 9 + k]) ==
                  zp::quantize<zp::qint8>(weights[c * 9 + k], {q.scales[c], 0}));
        CHECK(q.bias[c] == zp::quantize_bias(bias[c], 0.01f, q.scales[c]));
    }
    CHECK(q.scales[0] != q.scales[1]);
    CHECK(raised.empty());
}

TEST_CASE_FIXTURE(filters, "filters: per tensor all channels have the same scale") {
    const auto q = quantized<per_tensor>();
    CHECK(q.scales == std::vector<float>(4, q.scales[0]));
}

TEST_CASE_FIXTURE(filters, "filters: affine weights have zero points") {
    const auto q = quantized<affine>();
    for (std::size_t c = 0; c != 4; ++c) {
        CHECK(q.zero_points[c] > 0);
        for (std::size_t k = 0; k != 9; ++k)
            CHECK(static_cast<std::uint8_t>(q.codes[c * 9 + k]) ==
                  zp::quantize<zp::quint8>(weights[c * 9 + k], {q.scales[c], q.zero_points[c]}));
    }
}

TEST_CASE_FIXTURE(filters, "filters: a float bias stays as it is") {
    const auto q = quantized<per_channel>(0.01f, true);
    CHECK(q.float_bias == bias);
    CHECK(q.bias.empty());
}

TEST_CASE_FIXTURE(filters, "filters: a bias that does not fit raises its channel's scale, with a note") {
    for (std::size_t k = 0; k != 9; ++k) weights[27 + k] = 1e-9f;
    const auto q = quantized<per_channel>(1e-6f);
    CHECK(raised == std::vector<std::string>{"layer: 1 of 4 channels"});
    CHECK(q.scales[3] > 1e-9f / 127.5f);
    CHECK(std::abs(q.bias[3]) <= 1 << 30);
    CHECK(std::abs(q.bias[3]) > (1 << 30) - 1000);
    for (std::size_t k = 0; k != 9; ++k) CHECK(static_cast<std::int8_t>(q.codes[27 + k]) == 0);
}

TEST_CASE_FIXTURE(filters,
                  "filters: a channel all but dead beside a float bias keeps a step that float arithmetic has") {
    for (std::size_t k = 0; k != 9; ++k) weights[27 + k] = 1e-38f;
    bias[3] = 0;
    const auto as_it_is = quantized<small>(0.01f, true);
    CHECK(as_it_is.scales[3] < 1e-39f);
    CHECK(raised.empty());
    least_step = zp::float_bias::least_step(1);
    const auto q = quantized<small>(0.01f, true);
    CHECK(raised == std::vector<std::string>{"layer: 1 of 4 channels"});
    CHECK(double{q.scales[3]} * 0.01f >= double{std::numeric_limits<float>::min()});
    CHECK(q.scales[3] < 1e-34f);
    CHECK(q.float_bias == bias);
    for (std::size_t k = 0; k != 9; ++k) CHECK(static_cast<std::int8_t>(q.codes[27 + k]) == 0);
    for (std::size_t c = 0; c != 3; ++c) CHECK(q.scales[c] == as_it_is.scales[c]);
}
