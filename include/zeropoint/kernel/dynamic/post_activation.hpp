// SPDX-License-Identifier: BSD-3-Clause
// What becomes of the floats of a linear layer before they are stored: an activation, the sum with other rows.
#pragma once

#include <cstddef>

#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/vector/batch_group.hpp>
#include <zeropoint/kernel/vector/float_functions.hpp>
#include <zeropoint/kernel/vector/ieee_floats.hpp>
#include <zeropoint/kernel/vector/number.hpp>

// A sweep of its own over what a layer has written reads and writes all of it again; a layer's epilogue has each value in
// a register once. Either way it is one function of a value, the same bits.

namespace zp::inline v0::kernel {

/// The value itself.
struct as_it_is {
    template <class Number> [[gnu::always_inline]] Number operator()(const Number& value) const noexcept {
        return value;
    }
};

/// gelu, as bounded_gelu() says.
struct gelu_of_it {
    static constexpr bool is_long = true;
    template <class Number> [[gnu::always_inline]] Number operator()(const Number& value) const noexcept {
        return bounded_gelu(value);
    }
};

/// min(max(value, lowest), highest), and lowest for NaN, as kernel::clamp has it.
struct bounded_by {
    float lowest, highest;
    template <class Number> [[gnu::always_inline]] Number operator()(const Number& value) const noexcept {
        const Number low(lowest), high(highest);
        const Number raised = choose_number(low < value, value, low);
        return choose_number(raised < high, raised, high);
    }
};

/// rows[i] + value, where `rows` lie as the output does.
struct added_to {
    const float* rows = nullptr;
    template <class Number>
    [[gnu::always_inline]] Number operator()(const Number& value, const Number& other) const noexcept {
        return other + value;
    }
};

/// Whether `After` takes a value of other rows too.
template <class After> inline constexpr bool takes_rows = requires(const After& after) { after.rows; };

/// Whether it is worth a vector_group.
template <class After> inline constexpr bool is_long = requires { requires After::is_long; };

/// y[i] = after(y[i]) for `count` values, which are all of the output or its beginning.
template <class Arch, class After> void apply_after(const After& after, float* y, std::size_t count) noexcept {
    for_each_group<Arch>(
        count, [&](std::size_t i, auto number) __attribute__((always_inline)) {
            using Number = decltype(number);
            const Number value = load_number<Number>(y + i);
            if constexpr (takes_rows<After>)
                store_number(Number(after(value, load_number<Number>(after.rows + i))), y + i);
            else store_number(Number(after(value)), y + i);
        });
}

}  // namespace zp::inline v0::kernel
