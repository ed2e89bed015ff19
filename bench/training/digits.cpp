// SPDX-License-Identifier: BSD-3-Clause
// Few bits on the digits network: rounding to nearest after calibration, and training with learned step sizes (LSQ). Prints a table of accuracy on
// the 599 test images over seeds. Usage: digits [seeds] [epochs] [rate] [case]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <zeropoint/training/train.hpp>
#include <zeropoint/zeropoint.hpp>

#include "../../examples/01_digits/digits_cnn.hpp"
#include "../../examples/01_digits/digits_data.hpp"

namespace {

template <int WeightMax, int ActivationMax>
struct bits : zp::qconfig<zp::quantizer<zp::custom_range<std::uint8_t, 0, ActivationMax>, zp::per_tensor_affine,
                                        zp::learned_step<zp::histogram_observer<>>>,
                          zp::quantizer<zp::custom_range<std::int8_t, -WeightMax, WeightMax>, zp::per_channel_symmetric,
                                        zp::learned_step<zp::mse_observer<>>>> {};

template <class QConfig>
void compare(const char* name, const zp::float_model<digits_cnn>& trained, const digits& data, int seeds, int epochs,
             double rate) {
    std::vector<std::vector<float>> calibration;
    for (std::size_t i = 0; i != 256; ++i)
        calibration.emplace_back(data.training.images[i].begin(), data.training.images[i].end());
    const auto calibrated = zp::calibrate(zp::prepare<QConfig>(zp::fuse(trained)), calibration);
    const auto accuracy = [&](const auto& int8) {
        return percent_equal(read_digits(int8, data.test.images), data.test.labels);
    };
    const double nearest = accuracy(zp::convert(calibrated));
    std::vector<double> found;
    const auto begin = std::chrono::steady_clock::now();
    for (int seed = 1; seed <= seeds; ++seed) {
        auto qat = zp::prepare_qat(calibrated);
        zp::train(qat, zp::labelled(data.training.images, data.training.labels),
                  {.epochs = epochs,
                   .batch = 32,
                   .optimizer = zp::sgd{.lr = rate, .momentum = 0.9, .weight_decay = 1e-4},
                   .schedule = zp::cosine{},
                   .clip_norm = 5,
                   .seed = static_cast<std::uint64_t>(seed)});
        found.push_back(accuracy(zp::convert(qat)));
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    double mean = 0;
    for (const double one : found) mean += one / static_cast<double>(found.size());
    std::printf("| %s | %.2f | %.2f | %.2f to %.2f | %.1f |\n", name, nearest, mean,
                *std::min_element(found.begin(), found.end()), *std::max_element(found.begin(), found.end()),
                seconds / seeds);
    std::fflush(stdout);
}

}  // namespace

int main(int count, char** arguments) {
    const int seeds = count > 1 ? std::atoi(arguments[1]) : 5, epochs = count > 2 ? std::atoi(arguments[2]) : 20;
    const double rate = count > 3 ? std::atof(arguments[3]) : 0.01;
    const std::string only = count > 4 ? arguments[4] : "";
    const std::string folder = ZEROPOINT_SOURCE_DIR "/examples/01_digits/data";
    const digits data = load_digits(folder);
    const auto trained = zp::load<digits_cnn>(folder + "/digits_cnn.safetensors");
    std::printf(
        "float %.2f %%, %d seeds, %d epochs, rate %g\n\n| bits | nearest | trained, mean | least to most | seconds "
        "|\n|---|---|---|---|---|\n",
        percent_equal(read_digits(trained, data.test.images), data.test.labels), seeds, epochs, rate);
    const auto is_wanted = [&](const char* name) { return only.empty() || only == name; };
    if (is_wanted("W4A4")) compare<bits<7, 15>>("W4A4", trained, data, seeds, epochs, rate);
    if (is_wanted("W3A3")) compare<bits<3, 7>>("W3A3", trained, data, seeds, epochs, rate);
    if (is_wanted("W2A4")) compare<bits<1, 15>>("W2A4", trained, data, seeds, epochs, rate);
}
