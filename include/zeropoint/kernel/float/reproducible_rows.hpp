// SPDX-License-Identifier: BSD-3-Clause
// What transformers do to a row of floats: softmax and its parts; the same bits on every architecture.
#pragma once

#include <cstddef>
#include <cstring>
#include <limits>

#include <zeropoint/core/float_values.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/vector/batch_group.hpp>
#include <zeropoint/kernel/vector/float_functions.hpp>
#include <zeropoint/kernel/vector/ieee_floats.hpp>
#include <zeropoint/kernel/vector/number.hpp>
#include <zeropoint/kernel/vector/uncontracted.hpp>

namespace zp::inline v0::kernel {

/// The partial sums of a row: value i belongs to number i % 16, on every architecture.
inline constexpr std::size_t row_lanes = 16;

/// 16 numbers in one order: the upper half onto the lower one, until one is left.
template <class Arch> [[gnu::always_inline]] inline float sum_by_halves(float (&numbers)[row_lanes]) noexcept {
    if constexpr (has_ieee_vectors<Arch>) {
        typedef float four __attribute__((vector_size(16)));
        four parts[4];
        std::memcpy(parts, numbers, sizeof parts);
        const four sum = (parts[0] + parts[2]) + (parts[1] + parts[3]);
        return (sum[0] + sum[2]) + (sum[1] + sum[3]);
    }
    for (std::size_t half = row_lanes / 2; half != 0; half /= 2)
        for (std::size_t j = 0; j != half; ++j) numbers[j] += numbers[j + half];
    return numbers[0];
}

/// term(0) + ... + term(count - 1) in one order: 16 partial sums by index, then halves of them onto one another.
/// `term(i, number)` returns what numbers_in<decltype(number)> values from i on are, rounded.
template <class Arch, class Term>
[[gnu::always_inline]] inline float ordered_sum(std::size_t count, const Term& term) noexcept {
    float partial[row_lanes] = {};
    std::size_t i = 0;
    if constexpr (has_ieee_vectors<Arch>) {
        using floats = xsimd::batch<float, Arch>;
        if constexpr (row_lanes % floats::size == 0) {
            constexpr std::size_t vectors = row_lanes / floats::size;
            floats sums[vectors];
            for (floats& sum : sums) sum = floats(0.0f);
            for (; i + row_lanes <= count; i += row_lanes)
                for (std::size_t v = 0; v != vectors; ++v) sums[v] = sums[v] + term(i + v * floats::size, floats());
            for (std::size_t v = 0; v != vectors; ++v) sums[v].store_unaligned(partial + v * floats::size);
        }
    }
    const std::size_t rest = count - i;
    std::size_t j = 0;
    if constexpr (has_ieee_vectors<Arch>) {
        using floats = xsimd::batch<float, Arch>;
        if constexpr (row_lanes % floats::size == 0)
            for (; rest - j >= floats::size; j += floats::size)
                store_number(floats(load_number<floats>(partial + j) + term(i + j, floats())), partial + j);
    }
    for (; j != rest; ++j) partial[j % row_lanes] += term(i + j, float());
    return sum_by_halves<Arch>(partial);
}

/// The largest of a row's values but NaN; -infinity of none.
template <class Arch> float largest_of_row(const float* x, std::size_t count) noexcept {
    float largest = -infinity;
    std::size_t i = 0;
    if constexpr (has_ieee_vectors<Arch>) {
        using floats = xsimd::batch<float, Arch>;
        if (count >= floats::size) {
            const auto larger = [](const floats& value, const floats& than) __attribute__((always_inline)) {
                return xsimd::select(value > than, value, than);
            };
            floats most(largest), other(largest);  // each waits for itself
            for (; i + 2 * floats::size <= count; i += 2 * floats::size) {
                most = larger(floats::load_unaligned(x + i), most);
                other = larger(floats::load_unaligned(x + i + floats::size), other);
            }
            for (; i + floats::size <= count; i += floats::size) most = larger(floats::load_unaligned(x + i), most);
            largest = xsimd::reduce_max(larger(other, most));
        }
    }
    for (; i < count; ++i) largest = x[i] > largest ? x[i] : largest;
    return largest;
}

/// x[i] = exp(x[i] - largest) in place, and the sum of those, ordered_sum()'s; `largest` is largest_of_row(). A NaN or an
/// infinity above makes the sum NaN.
template <class Arch> float exponentials_row(float* x, std::size_t count, float largest) noexcept {
    for_each_group<Arch>(
        count, [&](std::size_t i, auto number) __attribute__((always_inline)) {
            using Number = decltype(number);
            store_number(exp_of_nonpositive(Number(load_number<Number>(x + i) - Number(largest))), x + i);
        });
    return ordered_sum<Arch>(
        count, [&](std::size_t i, auto number)
                   __attribute__((always_inline)) { return load_number<decltype(number)>(x + i); });
}

/// x[i] = x[i] * factor.
template <class Arch> void scale_row(float* x, std::size_t count, float factor) noexcept {
    for_each_number<Arch>(
        count, [&](std::size_t i, auto number) __attribute__((always_inline)) {
            using Number = decltype(number);
            store_number(Number(load_number<Number>(x + i) * Number(factor)), x + i);
        });
}

}  // namespace zp::inline v0::kernel
