// SPDX-License-Identifier: BSD-3-Clause
// A program as it ships: it loads an int8 model and runs it. No observer, no calibration and no float weight is in it.
#include <cstdio>

#include <zeropoint/deploy.hpp>

#include "../01_digits/digits_cnn.hpp"
#include "../01_digits/digits_data.hpp"

int main(int argc, char** argv) try {
    if (argc > 2) return std::fprintf(stderr, "usage: %s [int8 model]\n", argv[0]), 2;
    const char* path = ZEROPOINT_SOURCE_DIR "/tests/identity/models/per_channel_histogram.safetensors";
    const auto model = zp::load<zp::quantized<digits_cnn, per_channel_histogram>>(argc == 2 ? argv[1] : path);

    const labelled_images test = load_digits(ZEROPOINT_SOURCE_DIR "/examples/01_digits/data").test;
    const double accuracy = percent_equal(read_digits(model, test.images), test.labels);
    std::printf("%zu digits, %.2f %% read right\n", test.images.size(), accuracy);
    std::printf("%d bytes of parameters, %d bytes of working memory\n", model.parameter_bytes, model.arena_bytes);
    return accuracy >= 98 ? 0 : 1;
} catch (const zp::error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
}
