// SPDX-License-Identifier: BSD-3-Clause
// Scale and zero point: what turns an integer code into a real number.
#pragma once

#include <cstdint>

#include <zeropoint/core/dtype.hpp>
#include <zeropoint/scheme/uncontracted.hpp>

namespace zp::inline v0 {

/// real = scale * (code - zero_point). The scale is finite and positive, the zero point lies in the dtype's range, so
/// real zero always has a code of its own.
struct qparams {
    float scale = 1;              // the real distance of two codes that follow each other; finite, above 0
    std::int32_t zero_point = 0;  // the code of real zero

    constexpr bool operator==(const qparams&) const = default;
};

/// Whether `params` may be used with codes in [quant_min, quant_max]: what a file's numbers are checked with.
constexpr bool is_valid(const qparams& params, std::int32_t quant_min, std::int32_t quant_max) {
    return is_finite(params.scale) && params.scale > 0 && params.zero_point >= quant_min &&
           params.zero_point <= quant_max;
}
template <quantized_dtype DType> constexpr bool is_valid(const qparams& params) {
    return is_valid(params, DType::quant_min, DType::quant_max);
}

}  // namespace zp::inline v0
