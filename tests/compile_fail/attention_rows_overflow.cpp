// expect: this layer gives more than 2147483647 values .see error_in_layer<rule, Layer, input shape, output shape>., as attention over so many rows does
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/layer/transformer_encoder.hpp>

#ifdef ZEROPOINT_MUST_FAIL
constexpr int most_rows = 66312;
#else
constexpr int most_rows = 16;
#endif

constexpr int outputs = zp::multi_head_attention<8, 2, most_rows>::outputs;
