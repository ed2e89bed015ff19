// SPDX-License-Identifier: BSD-3-Clause
// The code of docs/inspection.md, and a network that int8 ruins: the digits network with uneven channels, the same function in float.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <vector>

// [headers]
#include <zeropoint/analysis/compare.hpp>            // zp::compare
#include <zeropoint/analysis/compare_simulated.hpp>  // the same of simulated networks
#include <zeropoint/analysis/comparison_files.hpp>   // to_json and to_csv of a comparison
#include <zeropoint/analysis/counted.hpp>            // zp::counted
#include <zeropoint/analysis/inspection.hpp>         // zp::inspect: all of it, for pages
#include <zeropoint/analysis/profile.hpp>            // zp::profile
#include <zeropoint/analysis/sensitivity.hpp>        // zp::sensitivity
#include <zeropoint/analysis/simulated.hpp>          // zp::simulate
#include <zeropoint/analysis/traits.hpp>             // is_fused, is_fully_quantized, ...
// [/headers]
#include <zeropoint/io/model_file.hpp>
#include <zeropoint/methods/equalize.hpp>
#include <zeropoint/operators.hpp>
#include <zeropoint/workflow/convert.hpp>
#include <zeropoint/workflow/presets.hpp>

#include "../../examples/01_digits/digits_cnn.hpp"
#include "../../examples/01_digits/digits_data.hpp"

namespace {
namespace inspection_page {

const std::string data = std::string(ZEROPOINT_SOURCE_DIR) + "/examples/01_digits/data";

// [traits]
using float_digits = zp::float_model<digits_cnn>;
using int8_digits = zp::quantized<digits_cnn, zp::default_qconfig>;
static_assert(!zp::is_fused<float_digits> && zp::is_fused<zp::fused<digits_cnn>>);
static_assert(zp::is_fully_quantized<int8_digits> && zp::boundary_count<int8_digits> == 0);
static_assert(!zp::observers_enabled<int8_digits>);
// [/traits]

/// Weights and biases of a row of the fused network.
std::span<float> floats_of(zp::fused<digits_cnn>& network, std::string_view name) {
    for (const zp::node& row : network.rows())
        if (row.name == name)
            return {reinterpret_cast<float*>(network.parameters() + row.at.parameter_offset),
                    static_cast<std::size_t>(row.at.parameter_bytes) / sizeof(float)};
    return {};
}

// [uneven]
/// Channel c of block.conv1 times 2^k(c), from 2^-6 to 2^6, and divided again in block.conv2: the same function in float.
zp::fused<digits_cnn> uneven(zp::fused<digits_cnn> network) {
    const std::span<float> makes = floats_of(network, "block.conv1"), reads = floats_of(network, "block.conv2");
    constexpr std::size_t channels = 48, weights = channels * 9 * channels;
    for (std::size_t c = 0; c != channels; ++c) {
        const float factor = std::ldexp(1.0f, static_cast<int>(c * 5 % 13) - 6);
        for (std::size_t k = 0; k != 9 * channels; ++k) makes[c * 9 * channels + k] *= factor;
        makes[weights + c] *= factor;  // the bias lies behind the weights
        for (std::size_t k = c; k < weights; k += channels) reads[k] /= factor;
    }
    return network;
}
// [/uneven]

// [accuracy]
/// The share of images whose largest output is their label, of any network: float, int8 or simulated.
template <class Model> double accuracy(const Model& model, const labelled_images& test) {
    const auto memory = std::make_unique<typename Model::workspace>();
    int right = 0;
    scores y;
    for (std::size_t i = 0; i != test.images.size(); ++i) {
        model(test.images[i], y, *memory);
        right += std::max_element(y.begin(), y.end()) - y.begin() == test.labels[i];
    }
    return right / static_cast<double>(test.images.size());
}
// [/accuracy]

}  // namespace inspection_page
}  // namespace

TEST_CASE("docs: where a network loses its accuracy") {
    using namespace inspection_page;
    const digits all_digits = load_digits(data);
    const labelled_images& test = all_digits.test;
    const std::vector<image>& images = all_digits.training.images;
    const auto fused = uneven(zp::fuse(zp::load<digits_cnn>(data + "/digits_cnn.safetensors")));
    const auto calibrated = zp::calibrate(zp::prepare<zp::default_qconfig>(fused), images);
    const auto int8 = zp::convert(calibrated);
    const double float_accuracy = accuracy(fused, test), int8_accuracy = accuracy(int8, test);
    MESSAGE("accuracy in float " << float_accuracy << ", in int8 " << int8_accuracy);
    CHECK(float_accuracy > 0.996);
    CHECK(int8_accuracy < float_accuracy - 0.02);

    // [compare]
    const zp::comparison whole = zp::compare(calibrated, int8, images);
    const zp::comparison alone = zp::compare(calibrated, int8, images, zp::comparison_mode::each_row);
    std::string table = zp::to_string(alone, alone.worst());  // zp::print(alone) writes it to stdout
    const zp::row_comparison worst = alone.worst().front();
    // [/compare]
    MESSAGE(zp::to_string(whole, whole.worst()) << table);
    CHECK(worst.name == "block.conv2");  // with the sum behind it; it reads block.conv1
    CHECK(whole.inputs == images.size());

    // [figures]
    const zp::row_comparison& row = *alone.find("block.conv1");
    double sqnr = row.sqnr(), cosine = row.values.cosine(), steps = row.rmse_in_steps();
    std::size_t codes = row.codes.used(), channels = row.weights[0].channels.size();
    double least = row.weights[0].channels[3].sqnr;  // of the weights of output channel 3
    auto by_error = alone.sorted([](const zp::row_comparison& r) { return -r.values.max_error(); });
    // [/figures]
    CHECK(channels == 48);
    CHECK(codes <= 256);
    CHECK((sqnr < 100 && cosine > 0 && steps > 0 && least > 0 && by_error.size() == alone.rows.size()));

    // [files]
    const std::string json = zp::to_json(alone), csv = zp::to_csv(alone);
    // [/files]
    CHECK(json.size() > csv.size());

    // [simulate]
    auto simulated = zp::simulate(calibrated);  // the int8 network's rows in float, each rounding switchable
    const double rounded = accuracy(simulated, test);
    simulated.disable("block.conv1");                                  // what it gives, and its weights
    simulated.set("block.conv2", zp::precision::as_converted, false);  // its weights alone
    const double without = accuracy(simulated, test);
    simulated.enable_all();
    for (const zp::simulated_row& one : simulated.switches())
        if (one.name == "block.conv1") simulated.set(one, zp::precision::int16, true);
    const double with_16_bits = accuracy(simulated, test);
    // [/simulate]
    MESSAGE("simulated " << rounded << ", without block.conv1 and the weights behind it " << without << ", 16 bits "
                         << with_16_bits);
    CHECK(std::abs(rounded - int8_accuracy) < 0.004);
    CHECK(without > float_accuracy - 0.01);
    CHECK(with_16_bits > rounded + 0.3);

    simulated.enable_all();
    double steps_apart = 0, share_apart = 0;
    for (const zp::row_comparison& one : zp::compare(simulated, int8, images).rows) {
        steps_apart = std::max(steps_apart, one.values.max_error() / double{one.quantization.scale});
        share_apart = std::max(share_apart, std::pow(one.rmse_in_steps(), 2));
    }
    MESSAGE("simulated beside int8: at most " << steps_apart << " steps apart, a share of " << share_apart);
    CHECK(steps_apart < 1.01);
    CHECK(share_apart < 0.02);  // in block.conv2, whose float sums cancel

    // [sensitivity]
    const auto by_accuracy = zp::sensitivity(simulated, [&](const auto& model) { return accuracy(model, test); });
    const auto by_noise = zp::sensitivity(simulated, std::span(images).first(64));  // no labels: SQNR of the output
    std::string sweep = zp::to_string(by_noise);
    // [/sensitivity]
    MESSAGE(zp::to_string(by_accuracy) << sweep);
    CHECK(by_noise.rows.size() == by_accuracy.rows.size());

    // [inspect]
    zp::inspection everything = zp::inspect(calibrated, int8, images);
    everything.sensitivity = by_noise;
    std::string text = zp::to_string(everything);
    std::string page =
        zp::to_json(everything, "digits", "default_qconfig");  // `zeropoint report digits.json` makes the page
    // [/inspect]
    for (const zp::advice& one : everything.advice) MESSAGE(one.finding << "\n  " << one.remedy);
    REQUIRE(!everything.advice.empty());
    CHECK(everything.advice[0].finding.find("it reads block.conv1, whose largest channel is") != std::string::npos);

    // [repair]
    const auto repaired = zp::calibrate(zp::prepare<zp::default_qconfig>(zp::equalize(fused)), images);
    const auto int8_again = zp::convert(repaired);
    // [/repair]
    const zp::comparison again = zp::compare(repaired, int8_again, images, zp::comparison_mode::each_row);
    MESSAGE("equalized: accuracy " << accuracy(int8_again, test) << ", worst row alone " << again.worst()[0].name << " "
                                   << again.worst()[0].sqnr() << " dB, output "
                                   << zp::compare(repaired, int8_again, images).rows.back().sqnr() << " dB");
    CHECK(accuracy(int8_again, test) > float_accuracy - 0.004);
    CHECK(again.worst()[0].sqnr() > 30);

    // [counted]
    zp::counted watched(int8);  // zp::counted<stage, false> would be the plain call
    int8_digits::workspace memory;
    scores y;
    for (const image& x : test.images) watched(x, y, memory);
    for (const zp::row_counts& one : watched.rows())
        if (one.saturated_share() > 0.001) std::printf("%s: %zu codes used\n", one.name.c_str(), one.codes.used());
    // [/counted]
    CHECK(watched.rows().front().values == 64 * test.images.size());

    // [finite]
    CHECK(zp::all_qparams_finite(int8));  // zp::qparams_problem(int8) says which is not
    // [/finite]
}
