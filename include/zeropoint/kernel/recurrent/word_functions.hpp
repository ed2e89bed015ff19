// SPDX-License-Identifier: BSD-3-Clause
// tanh and sigmoid of 16-bit integers, without tables of values: eight cubics in 16-bit arithmetic, the same integers everywhere.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <zeropoint/kernel/arch/operations.hpp>

// One product carries them, q15(a, b) = floor((a * b + 2^14) / 2^15), which most vectors have as an instruction (vpmulhrsw,
// sqrdmulh, i16x8.q15mulr_sat, vmhraddshs).
//
// word_tanh(v): v of scale 2^-12, -8 to 8; result of scale 2^-15, odd, at most 32767. What |v| has above 3.5 counts a sixteenth;
// then one of eight cubics, each over 2^11 steps, whose first coefficients are those below. Within 2^-12.5 of tanh for every v, and
// 2^-11.8 where a real argument is rounded to v. Not monotone to the last bit.
//
// word_sigmoid(v): v of scale 2^-11, -16 to 16: sigmoid(x) = (1 + tanh(x / 2)) / 2, so that the same integer is half of v.

namespace zp::inline v0::kernel {

/// Coefficients of t^0 to t^3, t being the place within an eighth in units of 2^-15: fitted to tanh on the compressed argument
/// (|v| up to 3.5, then 16 times as wide), least largest error with each operation rounded as it is here.
struct tanh_cubics {
    static constexpr int knee = 14336;  // a multiple of 16
    static constexpr std::int16_t fitted[4][8] = {
        {0, 15141, 24956, 29661, 31589, 32329, 32606, 32712},
        {16449, 12940, 6879, 2946, 1152, 432, 160, 594},
        {-280, -3273, -2613, -1272, -521, -196, -72, -1803},
        {-1026, 146, 438, 254, 109, 41, 14, 1701},
    };
    /// Rows of them in which the last goes on: beyond the knee |v| / 2^11 may take the place of the argument's.
    struct rows {
        alignas(64) std::int16_t of[4][32];
        constexpr const std::int16_t* operator[](std::size_t i) const { return of[i]; }
    };
    static constexpr rows coefficients = [] {
        rows all{};
        for (int i = 0; i != 4; ++i)
            for (int k = 0; k != 32; ++k) all.of[i][k] = fitted[i][k < 7 ? k : 7];
        return all;
    }();
};

constexpr int multiply_q15(int a, int b) { return (a * b + 16384) >> 15; }

/// For v that int16 holds.
constexpr int word_tanh(int v) {
    const int size = v < 0 ? -v : v, beyond = std::max(size - tanh_cubics::knee, 0), w = size - beyond + (beyond >> 4);
    const int t = w << 4 & 0x7fff, k = w >> 11;
    int p = tanh_cubics::coefficients.of[3][k];
    for (int i = 2; i >= 0; --i) p = tanh_cubics::coefficients.of[i][k] + multiply_q15(t, p);
    p = std::min(p, 32767);
    return v < 0 ? -p : p;
}
constexpr int word_sigmoid(int v) { return 16384 + (word_tanh(v) >> 1); }

/// The same of vectors of words.
template <class Operations> struct word_functions {
    using ops = Operations;
    using int16 = typename ops::int16;
    using uint16 = typename ops::template batch<std::uint16_t>;
    using table = decltype(ops::load_word_table(tanh_cubics::coefficients[0]));
    const table zeroth = ops::load_word_table(tanh_cubics::coefficients[0]),
                first = ops::load_word_table(tanh_cubics::coefficients[1]),
                second = ops::load_word_table(tanh_cubics::coefficients[2]),
                third = ops::load_word_table(tanh_cubics::coefficients[3]);

    [[gnu::always_inline]] int16 tanh(const int16& v) const noexcept {
        const uint16 size = xsimd::bitwise_cast<std::uint16_t>(xsimd::abs(v));  // of -32768 it is 32768
        // Above the knee, and only there, the sixteenth is the smaller one.
        const uint16 w = xsimd::min(size, uint16((size >> 4) + uint16(std::uint16_t{tanh_cubics::knee / 16 * 15})));
        const auto places =
            ops::word_places(xsimd::bitwise_cast<std::int16_t>((ops::takes_wide_places ? size : w) >> 11));
        const int16 t = xsimd::bitwise_cast<std::int16_t>((w << 4) & uint16(std::uint16_t{0x7fff}));
        int16 p = ops::look_up_words(second, places) + ops::multiply_q15(t, ops::look_up_words(third, places));
        p = ops::look_up_words(first, places) + ops::multiply_q15(t, p);
        p = xsimd::sadd(int16(ops::look_up_words(zeroth, places)), int16(ops::multiply_q15(t, p)));
        return ops::with_sign(p, v);
    }
    [[gnu::always_inline]] int16 sigmoid(const int16& v) const noexcept {
        return int16(std::int16_t{16384}) + (tanh(v) >> 1);
    }
};

}  // namespace zp::inline v0::kernel
