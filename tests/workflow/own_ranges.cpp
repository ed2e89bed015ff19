// SPDX-License-Identifier: BSD-3-Clause
// Ranges that belong to their values: a concat does not coarsen what else reads its inputs.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include <zeropoint/analysis/model_table.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/operators.hpp>
#include <zeropoint/workflow/calibration_report.hpp>
#include <zeropoint/workflow/convert.hpp>
#include <zeropoint/workflow/presets.hpp>

#include "../support/made_up.hpp"
#include "../support/nodes.hpp"

namespace {

using zp::conv;

struct config : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                            zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>> {};
struct words : zp::int16_qconfig {};

/// A narrow value that a concat reads, and another convolution.
struct dense {
    static constexpr int nodes = 10;
    static constexpr void lower(zp::builder& b) {
        const int x = b.input({6, 6, 4});
        const int wide = b.conv2d(x, "wide", {.out_channels = 4}), narrow = b.conv2d(x, "narrow", {.out_channels = 4});
        const int both[] = {wide, narrow};
        const int c = b.conv2d(b.concat(both), "c", {.out_channels = 4});
        b.add(c, b.conv2d(narrow, "e", {.out_channels = 4}));
    }
};
/// Averages of values that are as different.
struct averaged
    : zp::model<zp::input<6, 6, 4>,
                zp::concat<zp::sequential<zp::conv2d<"wide", conv{.out_channels = 4}>, zp::adaptive_avg_pool2d<1>>,
                           zp::sequential<zp::conv2d<"narrow", conv{.out_channels = 4}>, zp::adaptive_avg_pool2d<1>>>,
                zp::flatten, zp::linear<"fc", 4>> {};

/// Its "wide" layer gives values `factor` times as large, and what reads the concat takes them back: "c" all of it, "fc" the wide half.
template <class Net> zp::float_model<Net> uneven(float factor) {
    auto model = made_up::network<Net>(3);
    for (const zp::node& row : model.rows()) {
        const std::string name = row.name;
        if (name == "wide")
            for (const int i : {0, 1})
                for (float& value : zp_test::array_of(model, row, i)) value *= factor;
        if (name != "c" && name != "fc") continue;
        const std::span<float> weights = zp_test::array_of(model, row, 0);
        for (std::size_t i = 0; i != weights.size(); ++i)
            if (name == "c" || i % 8 < 4) weights[i] /= factor;
    }
    return model;
}

/// The signal to noise ratio of the int8 network's outputs, in dB.
template <class Net, class Config> double snr(float factor) {
    const auto trained = uneven<Net>(factor);
    const auto int8 = zp::convert(zp::calibrate(zp::prepare<Config>(trained), made_up::inputs<Net>(64, 4)));
    double signal = 0, noise = 0;
    for (const auto& x : made_up::inputs<Net>(64, 4)) {
        std::vector<float> expected(static_cast<std::size_t>(trained.output_shape.size())), y(expected.size());
        trained(x, expected);
        int8(x, y);
        for (std::size_t i = 0; i != y.size(); ++i) {
            signal += double{expected[i]} * double{expected[i]};
            noise += double{y[i] - expected[i]} * double{y[i] - expected[i]};
        }
    }
    return 10 * std::log10(signal / noise);
}

template <class Network> zp::qparams range_of(const Network& int8, const std::string& name) {
    for (std::size_t i = 0; i != int8.rows().size(); ++i)
        if (zp::display_name(int8.rows(), static_cast<int>(i)) == name)
            return int8.ranges()[int8.rows()[i].out.qparams_id];
    return {};
}

}  // namespace

TEST_CASE("own ranges: a value that a concat and another layer read keeps its grid") {
    const double even = snr<dense, config>(1), much = snr<dense, config>(16);
    MESSAGE("dense: " << even << " dB, 16 times uneven: " << much << " dB");
    CHECK(even > 35);
    CHECK(much > even - 3);
    CHECK(snr<dense, words>(16) > 35);
}
TEST_CASE("own ranges: averages keep the grid of what they average, and not that of a concat") {
    const double even = snr<averaged, config>(1), much = snr<averaged, config>(16);
    MESSAGE("averaged: " << even << " dB, 16 times uneven: " << much << " dB");
    CHECK(even > 20);
    CHECK(much > 20);
    CHECK(snr<averaged, words>(16) > 24);
}
