// SPDX-License-Identifier: BSD-3-Clause
// One program for every machine: it holds the model's kernels for several architectures and runs the best that it finds.
#include <cstdint>
#include <cstdio>
#include <cstring>

#include <zeropoint/kernel/machine/machine.hpp>

#include "digit_reader.hpp"

int main(int argc, char** argv) try {
    if (argc > 2) return std::fprintf(stderr, "usage: %s [int8 model]\n", argv[0]), 2;
    const char* path = ZEROPOINT_SOURCE_DIR "/tests/identity/models/per_channel_histogram.safetensors";
    const labelled_images test = load_digits(ZEROPOINT_SOURCE_DIR "/examples/01_digits/data").test;

    const zp::dispatched<digit_reader> read;  // of what this program was compiled for, what this machine runs best
    const digit_reader::result result = read(argc == 2 ? argv[1] : path, test.images);

    std::uint32_t checksum = 1;  // of the bits of all scores
    for (const float score : result.scores) {
        std::uint32_t bits;
        std::memcpy(&bits, &score, sizeof bits);
        checksum = checksum * 16777619u ^ bits;
    }
    // What is computed goes to stdout, on every machine the same; what computed it, to stderr.
    std::fprintf(stderr, "%s, of %s\n", read.architecture().data(), zp::names_of(zp::compiled_architectures()).c_str());
    std::printf("%zu digits, %.2f %% read right, scores %08x\n", test.images.size(),
                percent_equal(result.digits, test.labels), checksum);
    return 0;
} catch (const zp::error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
}
