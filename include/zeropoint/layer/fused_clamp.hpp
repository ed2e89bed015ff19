// The bounds that relu, relu6 and clamp give, as rows of their own or fused into others: in floats and in codes.
#pragma once

#include <algorithm>

#include <zeropoint/core/rounding.hpp>
#include <zeropoint/kernel/requantize.hpp>
#include <zeropoint/layer/node.hpp>
#include <zeropoint/scheme/quantize.hpp>

namespace zp {
inline namespace v0 {

/// Between which bounds a row clamps by what it is, or by what is fused into it.
constexpr float lower_bound(const node& row, op clamp) {
    if (clamp == op::clamp) return row.lowest;
    return is_clamp(clamp) ? 0.0f : -infinity;
}
constexpr float upper_bound(const node& row, op clamp) {
    if (clamp == op::clamp) return row.highest;
    return clamp == op::relu6 ? 6.0f : infinity;
}

/// The codes that a clamp leaves, the row's own or one that is fused into it: relu cuts at real 0, relu6 at real 6 as well.
constexpr kernel::output_codes clamped_codes(const node& row, op clamp, const qparams& range) {
    kernel::output_codes codes{range.zero_point, row.quant_min, row.quant_max, nullptr};
    const auto code = [&](float bound) { return quantize(bound, range, row.quant_min, row.quant_max); };
    if (is_clamp(clamp)) codes.min = std::max(row.quant_min, range.zero_point);
    if (clamp == op::relu6) codes.max = std::min(row.quant_max, code(6.0f));
    if (clamp == op::clamp) {
        codes.min = code(row.lowest);
        codes.max = code(row.highest);
    }
    return codes;
}

}  // namespace v0
}  // namespace zp
