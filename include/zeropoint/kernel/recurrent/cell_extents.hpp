// SPDX-License-Identifier: BSD-3-Clause
// What a step of a recurrent layer over 8-bit codes is told: its extents, its input's codes, its numbers.
#pragma once

#include <cstdint>

namespace zp::inline v0::kernel {

/// Codes of 8 bits that a step reads.
struct byte_codes {
    std::int32_t zero_point = 0;
    bool is_signed = true;
};

/// Extents of a layer; `fixed_cell` has them when it is compiled.
struct cell_extents {
    int inputs, hidden;
    static constexpr int known_inputs = 0;
};
template <int Inputs, int Hidden> struct fixed_cell {
    static constexpr int inputs = Inputs, hidden = Hidden, known_inputs = Inputs;
};

/// What a row of weights computes with beside them, as integers: gate by gate, unit by unit. A half is in x_bias, and in h_bias of
/// a GRU's third gate.
struct cell_numbers {
    const std::int32_t *x_multiplier, *h_multiplier;
    const std::int64_t *x_bias, *h_bias;
};

}  // namespace zp::inline v0::kernel
