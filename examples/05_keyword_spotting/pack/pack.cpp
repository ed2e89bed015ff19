// SPDX-License-Identifier: BSD-3-Clause
// From an int8 file to the bytes that go into flash, on the machine that builds.
//
//     keyword_pack data/keyword_net.int8.safetensors keyword_net.image
#include <cstdio>

#include <zeropoint/deploy.hpp>
#include <zeropoint/io/packed_image_writer.hpp>

#include "../keyword_net.hpp"

int main(int argc, char** argv) try {
    if (argc != 3) return std::fprintf(stderr, "usage: %s <int8 .safetensors> <image>\n", argv[0]), 2;
    // A file holds no layout. int8_keyword_net is for zp::portable, as the microcontroller is.
    zp::save_packed_image(zp::load<int8_keyword_net>(argv[1]), argv[2]);
} catch (const zp::error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
}
