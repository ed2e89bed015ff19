// Softmax whose exponentials are codes of 8 bits, and the sum of those: one sweep behind that for the largest score.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <zeropoint/core/rounding.hpp>
#include <zeropoint/kernel/architecture.hpp>
#include <zeropoint/kernel/dispatch.hpp>
#include <zeropoint/kernel/float_vectors.hpp>
#include <zeropoint/kernel/gates.hpp>
#include <zeropoint/kernel/rounded.hpp>
#include <zeropoint/kernel/symmetric_codes.hpp>
#include <zeropoint/kernel/unroll.hpp>

namespace zp {
inline namespace v0 {
namespace kernel {

/// 255 * 2^x for x in [-1/2, 1/2], fitted for the least largest relative error: 1.1e-4, a 40th of a code; 255 of 0.
inline constexpr float exp2_as_code[] = {255.0f, 176.787140f, 61.7637444f, 14.0272303f};
/// What lies further below the largest score has code 0.
inline constexpr float least_exponent = -20;

/// rne(255 * 2^t) for t = max((score - largest) * factor, -20): 2^n * P(t - n) for the n nearest to t, each operation rounded
/// to float. score <= largest, both finite, factor >= 0: 0 to 255, and 255 of the largest.
inline std::int32_t softmax_code(float score, float largest, float factor) noexcept {
    const float exponent = rounded(rounded(score - largest) * factor);
    const float t = exponent > least_exponent ? exponent : least_exponent;
    const std::int32_t n = round_half_even(t);
    const float value = polynomial(t - static_cast<float>(n), exp2_as_code);
    return round_half_even(std::bit_cast<float>(std::bit_cast<std::int32_t>(value) + n * (1 << 23)));
}

/// The sum of a vector's lanes, modulo 2^32.
template <class Arch>
[[gnu::always_inline]] inline std::int32_t sum_of_lanes(const xsimd::batch<std::int32_t, Arch>& x) noexcept {
    if constexpr (std::is_base_of_v<xsimd::sse2, Arch> || std::is_base_of_v<xsimd::avx, Arch> ||
                  std::is_base_of_v<xsimd::avx512f, Arch>) {
        return xsimd::reduce_add(x);
    } else {
        std::int32_t lanes[xsimd::batch<std::int32_t, Arch>::size], sum = 0;
        x.store_unaligned(lanes);
        for (const std::int32_t lane : lanes) sum += lane;
        return sum;
    }
}

/// How many scores softmax_codes() reads and how many codes it writes at a time.
template <class Arch> inline constexpr int softmax_step = has_code_vectors<Arch> ? 4 * operations<Arch>::lanes : 1;

/// codes[j] = softmax_code(scores[j], largest, factor) for j in [0, count), and their sum. Where `Flipped`, the sign bits of
/// codes are flipped, which makes them int8, 128 less. Up to a multiple of softmax_step scores are read, which have no effect,
/// and zeros written.
template <class Arch, bool Flipped>
std::int32_t softmax_codes(const float* scores, int count, float largest, float factor, std::uint8_t* codes) noexcept {
    constexpr std::uint8_t flip = Flipped ? 128 : 0;
    if constexpr (has_code_vectors<Arch>) {
        using ops = operations<Arch>;
        using floats = typename ops::real;
        using ints = typename ops::int32;
        constexpr int size = ops::lanes, step = softmax_step<Arch>;
        static constexpr struct lane_masks {
            std::int32_t lanes[2 * step] = {};
            constexpr lane_masks() {
                for (int i = 0; i != step; ++i) lanes[i] = -1;
            }
        } masks;  // those of the first step are set
        const floats most(largest), factors(factor), least(least_exponent);
        const typename ops::int16 offset(0);
        ints sum(0);
        // Each operation for four vectors, which do not wait for one another.
        const auto sweep = [&](int at, auto is_last) __attribute__((always_inline)) {
            floats t[4], value[4];
            ints n[4];
            [[maybe_unused]] const auto mask = [&](int v) __attribute__((always_inline)) {
                return ints::load_unaligned(masks.lanes + (step - (count - at)) + v * size);
            };
            unroll<4>([&](auto v) __attribute__((always_inline)) {
                t[v] = floats::load_unaligned(scores + at + v * size) - most;
                if constexpr (is_last)  // of what is not there: 0, as of the largest
                    t[v] = xsimd::bitwise_cast<float>(xsimd::bitwise_cast<std::int32_t>(t[v]) & mask(v));
                t[v] = xsimd::max(floats(rounded(floats(t[v] * factors))), least);
            });
            unroll<4>([&](auto v) __attribute__((always_inline)) {
                n[v] = round_to_nearest(t[v]);
                t[v] = t[v] - xsimd::to_float(n[v]);
                value[v] = floats(exp2_as_code[3]);
            });
            unroll<3>([&](auto i) __attribute__((always_inline)) {
                unroll<4>([&](auto v) __attribute__((always_inline)) {
                    value[v] = rounded(floats(value[v] * t[v])) + floats(exp2_as_code[2 - i]);
                });
            });
            unroll<4>([&](auto v) __attribute__((always_inline)) {
                n[v] = round_to_nearest(
                    xsimd::bitwise_cast<float>(ints(xsimd::bitwise_cast<std::int32_t>(value[v]) + ints(n[v] << 23))));
                if constexpr (is_last) n[v] = n[v] & mask(v);
                sum = sum + n[v];
            });
            const auto packed = ops::pack(n, offset);
            if constexpr (Flipped) ops::store(codes + at, packed ^ typename ops::uint8(flip));
            else ops::store(codes + at, packed);
        };
        int at = 0;
        for (; at + step <= count; at += step) sweep(at, std::false_type{});
        if (at != count) sweep(at, std::true_type{});
        return sum_of_lanes(sum);
    } else {
        std::int32_t sum = 0;
        for (int j = 0; j != count; ++j) {
            const std::int32_t code = softmax_code(scores[j], largest, factor);
            codes[j] = static_cast<std::uint8_t>(code ^ flip);
            sum += code;
        }
        return sum;
    }
}

}  // namespace kernel
}  // namespace v0
}  // namespace zp
