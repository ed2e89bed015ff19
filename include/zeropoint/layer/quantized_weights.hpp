// The parameters of a quantized layer between a conversion, a file and the packed block that kernels read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace zp {
inline namespace v0 {

/// The parameters of a quantized convolution as files hold them: integers in the order out, height, width, in.
struct quantized_weights {
    std::vector<std::byte> codes;           // one byte a weight, of the row's weight_type
    std::vector<float> scales;              // one an output channel
    std::vector<std::int32_t> zero_points;  // one an output channel; empty where symmetric
    std::vector<std::int32_t> bias;         // one an output channel, in units of input scale * weight scale
    std::vector<std::int64_t>
        wide_bias;                    // the same where activations have 16 bits, whatever the policy; `bias` is empty
    std::vector<float> float_bias;    // policy float_bias: in real units, instead of `bias`
    std::vector<std::uint8_t> table;  // where an activation is fused that is no clamp: see fused_table.hpp
};

/// The parameters of a described operator whose matrices are kept as codes, both in the order of its parameter_list.
struct quantized_parameters {
    std::vector<quantized_weights>
        matrices;  // rows x columns, a scale a row; their codes, scales and zero points alone
    std::vector<std::vector<float>> vectors;  // what is no matrix
};

}  // namespace v0
}  // namespace zp
