// SPDX-License-Identifier: BSD-3-Clause
// The excerpts of docs/repair.md.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include <zeropoint/methods/correct_biases.hpp>
#include <zeropoint/methods/equalize.hpp>
#include <zeropoint/methods/fall_back.hpp>
#include <zeropoint/methods/gptq.hpp>
#include <zeropoint/methods/reconstruct_blocks.hpp>
#include <zeropoint/methods/smooth.hpp>

#include "network.hpp"

namespace {

// clang-format off
// [qconfig]
template <int Bits> using signed_bits = zp::custom_range<std::int8_t, -(1 << (Bits - 1)), (1 << (Bits - 1)) - 1>;
using activations = zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::mse_observer<>>;
struct eight_bits : zp::qconfig<activations, zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::mse_observer<>>> {};
struct three_bits : zp::qconfig<
    activations, zp::quantizer<signed_bits<3>, zp::per_channel_symmetric, zp::mse_observer<>>,
    zp::for_layer<"conv1", eight_bits>, zp::for_layer<"fc", eight_bits>> {};  // the first and the last layer keep 8 bits
// [/qconfig]
// clang-format on

}  // namespace

TEST_CASE("docs: methods that repair accuracy") {
    const auto trained = made_up::network<digits_cnn>();
    const auto images = made_up::inputs<digits_cnn>(48);
    // [equalize]
    zp::equalization equalized;
    const zp::fused<digits_cnn> floats = zp::equalize(trained, {}, &equalized);  // or of a fused network
    for (const std::string& line : equalized.skipped) std::puts(line.c_str());   // "conv1: add_6 (add) reads it"
    // [/equalize]
    CHECK(equalized.pairs.size() + equalized.skipped.size() > 0);
    // [smooth]
    const zp::fused<digits_cnn> smoothed = zp::smooth(floats, images, {.alpha = 0.5f});
    // [/smooth]
    // [smooth-convolutions]
    const auto even = zp::smooth(floats, images, {.alpha = 0.7f, .convolutions = true, .floor = 1});
    // [/smooth-convolutions]
    // [calibrate]
    const auto calibrated = zp::calibrate(zp::prepare<three_bits>(floats), images);
    // [/calibrate]
    // [adaround]
    std::vector<zp::layer_repair> report;
    const auto rounded = zp::adaround(calibrated, images, {.iterations = 200}, &report);
    const auto int3 = zp::convert(rounded);  // exactly the codes that adaround chose
    // [/adaround]
    CHECK(report.size() == 3);
    // [others]
    const auto by_blocks = zp::reconstruct_blocks(calibrated, images, {.iterations = 100});
    const auto by_gptq = zp::gptq(calibrated, images, {.damping = 0.01, .act_order = false});
    const auto scaled = zp::sequential_mse(calibrated, images);  // scales alone: adaround may follow
    const auto corrected =
        zp::correct_biases_by_data(by_gptq, calibrated, images);  // beside the floats of `calibrated`
    // [/others]
    // [given]
    auto own = calibrated;
    own.given().give_range(0, {1 / 255.0f, 0});    // the activations of a qparams_id
    own.given().give_weights(1, 0, {{0.01f, 0}});  // array 0 of row 1: one scale, or one a channel
    const auto with_own_scales = zp::convert(own);
    // [/given]
    CHECK(with_own_scales.ranges()[0] == zp::qparams{1 / 255.0f, 0});
    const auto closeness = [&](const auto& model) {
        double sum = 0;
        const auto fused = zp::fuse(trained);
        for (const auto& x : images) {
            const auto y = model(x), wanted = fused(x);
            for (std::size_t i = 0; i != y.size(); ++i) sum -= std::pow(double{y[i]} - double{wanted[i]}, 2);
        }
        return sum;
    };
    CHECK(closeness(int3) > closeness(zp::convert(calibrated)));
    // [fall_back]
    const auto simulated = zp::simulate(calibrated);
    const auto order = zp::sensitivity(simulated, images);
    const auto found = zp::fall_back(simulated, order, closeness, {.max_drop = 1.0});
    const std::string text = zp::to_string(found);  // what was tried, and the options to paste
    // [/fall_back]
    CHECK(text.find("quantized") != std::string::npos);
    CHECK(zp::convert(corrected)(images[0]).size() == 10);
    CHECK(zp::convert(by_blocks)(images[0]).size() == 10);
    CHECK(zp::convert(scaled)(images[0]).size() == 10);
    CHECK(smoothed(images[0]).size() == 10);
    CHECK(even(images[0]).size() == 10);
}
