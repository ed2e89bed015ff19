// SPDX-License-Identifier: BSD-3-Clause
// Writes the int8 files of the blocks that checksum.cpp runs: made-up weights, calibrated on made-up images. Calibration
// is float arithmetic, which compilers may contract: the files are made once and committed.
#include <cstdint>
#include <cstdio>
#include <string>

#include <zeropoint/zeropoint.hpp>

#include "../support/made_up.hpp"
#include "blocks.hpp"

int main(int argc, char** argv) try {
    if (argc != 2) return std::fprintf(stderr, "usage: %s <folder>\n", argv[0]), 2;
    std::uint64_t seed = 1;
    for_each_block([&]<class Block>(const std::string& name) {
        const auto fused = zp::fuse(made_up::network<Block>(seed++));
        const auto images = made_up_images(zp::fused<Block>::input_shape, 16, seed++);
        const quantized_block<Block> int8 = zp::convert(zp::calibrate(zp::prepare<zp::default_qconfig>(fused), images));
        zp::save(int8, argv[1] + ("/" + name) + ".safetensors");
    });
    return 0;
} catch (const zp::error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
