// SPDX-License-Identifier: BSD-3-Clause
// The codes that a clamp leaves: of its own, or fused into another operator.
#pragma once

#include <zeropoint/core/float_values.hpp>
#include <zeropoint/graph/node.hpp>
#include <zeropoint/kernel/epilogue/requantize.hpp>
#include <zeropoint/scheme/quantize.hpp>

namespace zp::inline v0 {

/// Codes of the output: relu cuts at real 0, relu6 at real 6 as well.
constexpr kernel::output_codes clamped_codes(const node& n, const qparams& range) {
    const std::int32_t quant_min = n.out.quant_min, quant_max = n.out.quant_max;
    kernel::output_codes codes{range.zero_point, quant_min, quant_max, nullptr};
    if (n.fused.lowest > -infinity) codes.min = quantize_narrow(n.fused.lowest, range, quant_min, quant_max);
    if (n.fused.highest < infinity) codes.max = quantize_narrow(n.fused.highest, range, quant_min, quant_max);
    return codes;
}

}  // namespace zp::inline v0
