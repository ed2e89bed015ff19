// SPDX-License-Identifier: BSD-3-Clause
// Weights as codes, on their way between quantization, files and packed kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace zp::inline v0 {

/// Filters with their bias, a matrix, or the table of an embedding: what an array of parameters is as codes.
struct quantized_weights {
    std::vector<std::byte> codes;           // one byte a weight, of the node's weight storage
    std::vector<float> scales;              // one an output channel, or a row; none of a table on the output's own grid
    std::vector<std::int32_t> zero_points;  // as many; empty where symmetric
    std::vector<std::int32_t> bias;         // one an output channel, in units of input scale * weight scale
    std::vector<std::int64_t>
        int64_bias;                 // the same where activations have 16 bits, whatever the policy; `bias` is empty
    std::vector<float> float_bias;  // policy float_bias: in real units, instead of `bias`
    std::vector<float> offsets;     // of a table: one a row, added to scale * code
};

}  // namespace zp::inline v0
