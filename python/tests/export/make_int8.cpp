// SPDX-License-Identifier: BSD-3-Clause
// Writes an int8 file of a network with made-up parameters, calibrated on made-up inputs: program FILE
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <vector>

#include <zeropoint/operators.hpp>
#include <zeropoint/zeropoint.hpp>

#include "HEADER_NAME"

namespace {
std::uint32_t state = 1;
/// From -1 to 1, the same on every machine.
float number() {
    state = state * 1664525u + 1013904223u;
    return static_cast<float>(state >> 8) * 0x1p-23f - 1.0f;
}
}  // namespace

int main(int, char** argv) try {
    zp::float_model<NETWORK_TYPE> model;
    const auto rows = model.rows();
    for (const zp::node& row : rows) {
        const zp::parameter_list list = zp::parameters_of({rows.data(), row});
        auto* block = reinterpret_cast<float*>(model.parameters() + row.at.parameter_offset);
        const int channels = row.weights.channels == 0 ? 1 : row.weights.channels;
        const float size = std::sqrt(4.0f * static_cast<float>(channels) / static_cast<float>(row.weights.count + 1));
        for (int i = 0; i != list.count; ++i) {
            if (!list.arrays[i].in_state_dict) continue;
            for (int k = 0; k != list.arrays[i].size(); ++k)
                block[list.offset_of(i) + k] = list.arrays[i].is_variance
                                                   ? 1.25f + number()
                                                   : (row.weights.channels == 0 ? 1.0f : size) * number();
        }
    }
    std::vector<std::vector<float>> inputs(4);
    for (auto& x : inputs)
        for (int i = 0; i != zp::float_model<NETWORK_TYPE>::input_shape.size(); ++i) x.push_back(2 * number());
    zp::save(zp::convert(zp::calibrate(zp::prepare<QCONFIG_TYPE>(zp::fuse(model)), inputs)), argv[1]);
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
}
