// SPDX-License-Identifier: BSD-3-Clause
// Any function of one 16-bit code as a table of nodes, and straight lines between them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <zeropoint/core/rounding.hpp>

namespace zp::inline v0::kernel {

/// Codes from one node to the next, and the nodes: those of codes -32768, -32736, ... 32736 and 32768.
inline constexpr int table_int16_step = 32, table_int16_nodes = 65536 / table_int16_step + 1;

/// Fills nodes[table_int16_nodes] with rne(256 * clamp(function(x) / y_scale, -65536, 65536)), x = x_scale * code, computed
/// in double; where the function gives NaN, 0. A node has 8 bits behind the point, so that what is between two nodes is
/// rounded once, to within 0.51 of a code of the straight line, and may lie beyond the codes, which are cut off after that.
/// Code 0 is a node: functions with a bend there keep it. `function` takes and returns double.
template <class Function>
constexpr void make_table_int16(Function&& function, float x_scale, float y_scale, std::int32_t* nodes) {
    const double inverse_scale = 1 / double{y_scale};
    for (int i = 0; i != table_int16_nodes; ++i) {
        const double scaled = function(double{x_scale} * (i * table_int16_step - 32768)) * inverse_scale;
        const double number = scaled == scaled ? scaled : 0;
        const double limited = number < -65536 ? -65536 : number > 65536 ? 65536 : number;
        nodes[i] = static_cast<std::int32_t>(round_half_even(256 * limited));
    }
}

/// y[i] = clamp(floor(((32 - f) * nodes[k] + f * nodes[k + 1]) / 2^13 + 1/2), quant_min, quant_max), where x[i] + 32768 =
/// 32 * k + f and f < 32, for `count` codes. y may be x.
template <class Arch>
void table_int16(const std::int16_t* x, std::size_t count, const std::int32_t* nodes, std::int32_t quant_min,
                 std::int32_t quant_max, std::int16_t* y) noexcept {
    static_assert(table_int16_step == 32, "table_int16: 5 bits of a code lie between nodes");
    for (std::size_t i = 0; i != count; ++i) {
        const int place = x[i] + 32768, f = place & 31;
        const std::int32_t* node = nodes + (place >> 5);
        const std::int32_t code = (32 * node[0] + f * (node[1] - node[0]) + (1 << 12)) >> 13;
        y[i] = static_cast<std::int16_t>(std::clamp(code, quant_min, quant_max));
    }
}

}  // namespace zp::inline v0::kernel
