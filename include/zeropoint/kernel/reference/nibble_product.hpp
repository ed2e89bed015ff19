// SPDX-License-Identifier: BSD-3-Clause
// The oracle of products with 4-bit weights in groups: its definition as loops, sharing nothing with the kernels.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <zeropoint/core/float_values.hpp>

namespace zp::inline v0::kernel::reference {

/// One row times one channel: weights are scales[g] * codes[k] + offsets[g] for the inputs k of group g, `group` of them; no
/// offsets where those are null. Activations become int8 codes,
///     x_scale = max(largest |x| / 127, 2^-100)        NaN where one is not finite
///     q[k] = rne(x[k] * (1 / x_scale))
/// and with exact sums S = sum of q * codes and X = sum of q over a group, each operation rounded to float, in order,
///     total = total + scales[g] * S;  total = total + offsets[g] * X
///     y = total * x_scale + bias
inline float nibble_product(const float* x, std::size_t depth, const int* codes, const float* scales,
                            const float* offsets, std::size_t group, float bias) {
    float largest = 0;
    bool all_finite = true;
    for (std::size_t k = 0; k != depth; ++k) {
        all_finite = all_finite && is_finite(x[k]);
        largest = std::fmax(largest, std::fabs(x[k]));
    }
    if (!all_finite) return not_a_number;
    const float x_scale = std::fmax(largest / 127.0f, 0x1p-100f), inverse = 1.0f / x_scale;
    volatile float total = 0;
    for (std::size_t g = 0; g * group < depth; ++g) {
        std::int64_t sum = 0, x_sum = 0;
        for (std::size_t k = g * group; k != depth && k != (g + 1) * group; ++k) {
            volatile float steps = x[k] * inverse;
            const auto q = static_cast<std::int64_t>(std::nearbyint(steps));
            sum += q * codes[k];
            x_sum += q;
        }
        volatile float product = scales[g] * static_cast<float>(sum);
        total = total + product;
        if (offsets == nullptr) continue;
        product = offsets[g] * static_cast<float>(x_sum);
        total = total + product;
    }
    volatile float scaled = total * x_scale;
    return scaled + bias;
}

}  // namespace zp::inline v0::kernel::reference
