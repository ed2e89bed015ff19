// SPDX-License-Identifier: BSD-3-Clause
// Weights between the two codes beside them, by a variable each, and the way of a gradient back to the variables.
#pragma once

#include <cstddef>

#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/vector/float_functions.hpp>
#include <zeropoint/kernel/vector/number.hpp>
#include <zeropoint/kernel/vector/uncontracted.hpp>

// Sigmoids are bounded_sigmoid and every product is rounded to float, so that values have the same bits on every machine.

namespace zp::inline v0::kernel {

/// Arrays of a value a weight. Codes are floor + up, in steps from the zero point, within [lowest, highest].
struct soft_codes {
    const float *floors, *scales, *lowest, *highest;
    float *up, *slopes;  ///< h(variable) = clamp(1.2 sigmoid - 0.1, 0, 1), and its derivative
};

/// up, slopes and weight = scale * clamp(floor + up).
template <class Arch>
void soft_weights(const float* variables, const soft_codes& codes, std::size_t count, float* weights) noexcept {
    for_each_number<Arch>(
        count, [&](std::size_t i, auto number) __attribute__((always_inline)) {
            using Number = decltype(number);
            const Number zero(0.0f), one(1.0f), stretch(1.2f);
            const Number share = bounded_sigmoid(load_number<Number>(variables + i));
            const Number stretched = rounded(Number(stretch * share)), raw = stretched - Number(0.1f);
            const Number above = choose_number(raw < zero, zero, raw), up = choose_number(above > one, one, above);
            store_number(up, codes.up + i);
            const Number slope = choose_number(raw < zero, zero, rounded(Number(stretched * (one - share))));
            store_number(Number(choose_number(raw > one, zero, slope)), codes.slopes + i);
            const Number low = load_number<Number>(codes.lowest + i), high = load_number<Number>(codes.highest + i);
            const Number code = load_number<Number>(codes.floors + i) + up;
            const Number risen = choose_number(code < low, low, code);
            const Number kept = choose_number(risen > high, high, risen);
            store_number(rounded(Number(load_number<Number>(codes.scales + i) * kept)), weights + i);
        });
}
/// From a gradient by these weights to that by the variables, in place: 0 where the code is clamped.
template <class Arch> void soft_weights_gradient(const soft_codes& codes, std::size_t count, float* gradient) noexcept {
    for_each_number<Arch>(
        count, [&](std::size_t i, auto number) __attribute__((always_inline)) {
            using Number = decltype(number);
            const Number zero(0.0f), code = load_number<Number>(codes.floors + i) + load_number<Number>(codes.up + i);
            const Number scaled =
                rounded(Number(load_number<Number>(gradient + i) * load_number<Number>(codes.scales + i)));
            const Number chained = rounded(Number(scaled * load_number<Number>(codes.slopes + i)));
            const Number risen = choose_number(code < load_number<Number>(codes.lowest + i), zero, chained);
            store_number(Number(choose_number(code > load_number<Number>(codes.highest + i), zero, risen)),
                         gradient + i);
        });
}

}  // namespace zp::inline v0::kernel
