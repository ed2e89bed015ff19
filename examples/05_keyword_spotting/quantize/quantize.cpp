// SPDX-License-Identifier: BSD-3-Clause
// From what scripts/train_keywords.py trained to the int8 file of this example, which is committed: floats of another machine may
// round otherwise, and one file for all gives one checksum for all.
//
//     keyword_quantize ds_cnn.safetensors data/keyword_net.int8.safetensors
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <zeropoint/zeropoint.hpp>

#include "../keyword_net.hpp"

int main(int argc, char** argv) try {
    if (argc != 3) return std::fprintf(stderr, "usage: %s <trained> <int8>, both .safetensors\n", argv[0]), 2;
    const auto prepared = zp::prepare<keyword_qconfig>(zp::fuse(zp::load<keyword_net>(argv[1])));
    std::vector<std::array<float, features>> said(240);
    for (std::size_t i = 0; i != said.size(); ++i) {
        float spectrogram[features];
        say(static_cast<std::uint32_t>(50'000 + i), spectrogram);
        std::copy_n(spectrogram, features, said[i].begin());
    }
    zp::save(zp::convert(zp::calibrate(prepared, said)), argv[2]);
} catch (const zp::error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
}
