// SPDX-License-Identifier: BSD-3-Clause
// When sums of products stay within 16 bits: what makes the byte kernels exact, decided from actual weights.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <zeropoint/kernel/arch/operations.hpp>
#include <zeropoint/kernel/gemm/bands.hpp>
#include <zeropoint/kernel/geometry/conv2d.hpp>

// pmaddubsw adds a0 * w0 + a1 * w1 in saturating 16 bits. With activations in [0, highest] that is exact if and only if
//
//   highest * (the positive weights of the pair) <= 32767  and  highest * (the negative ones) >= -32768.
//
// The same bound on the weights of several pairs says that their sums may be added up in 16 bits before they are
// widened. Activations in [-128, 127], as magnitudes and flips (signed_quads in gemm.hpp), never break it: 2 * 128 * -128
// is -32768.

namespace zp::inline v0::kernel {

constexpr std::int32_t above_zero(std::int32_t x) { return x < 0 ? 0 : x; }

/// Bounds on the positive and on the negative weights that a 16-bit sum may have together.
struct pair_limits {
    std::int32_t positive, negative;

    constexpr bool fit(std::int32_t w0, std::int32_t w1) const {
        return above_zero(w0) + above_zero(w1) <= positive && above_zero(-w0) + above_zero(-w1) <= negative;
    }
};

/// The limits for unsigned activations in [0, highest].
constexpr pair_limits limits_for(std::int32_t highest) {
    const std::int32_t most = highest < 1 ? 1 : highest;
    return {32767 / most, 32768 / most};
}
/// The highest of codes after zero_based_shift. Padding holds the zero point, which counts.
constexpr std::int32_t highest_code(activation_codes codes) {
    return std::max(codes.max, codes.zero_point) + zero_based_shift(codes);
}
constexpr pair_limits limits_for(activation_codes codes) { return limits_for(highest_code(codes)); }

/// Whether a0 * w0 + a1 * w1 stays within int16 for all activations in [low, high], 0 <= low.
constexpr bool pair_fits_int16(std::int32_t low, std::int32_t high, std::int32_t w0, std::int32_t w1) {
    const std::int32_t most = std::max(low * w0, high * w0) + std::max(low * w1, high * w1);
    const std::int32_t least = std::min(low * w0, high * w0) + std::min(low * w1, high * w1);
    return most <= 32767 && least >= -32768;
}

/// Whether all pairs fit.
inline bool pairs_fit(const std::int8_t* weights, int count, pair_limits limits) {
    for (int i = 0; i != count; i += 2)
        if (!limits.fit(weights[i], weights[i + 1])) return false;
    return true;
}

/// Whether the pair sums of any `window` quads in a row can be added up in 16 bits. Windows begin with every run.
inline bool window_fits(const std::int8_t* quads, int runs, int run_quads, int width, int window, pair_limits limits) {
    std::int32_t positive[most_checked_pairs], negative[most_checked_pairs];
    for (int run = 0; run != runs; ++run) {
        for (int first = 0; first < run_quads; first += window) {
            std::fill_n(positive, 2 * width, 0);
            std::fill_n(negative, 2 * width, 0);
            for (int quad = first; quad != std::min(first + window, run_quads); ++quad, quads += 4 * width) {
                for (int lane = 0; lane != 2 * width; ++lane) {
                    const std::int32_t w0 = quads[2 * lane], w1 = quads[2 * lane + 1];
                    positive[lane] += above_zero(w0) + above_zero(w1);
                    negative[lane] += above_zero(-w0) + above_zero(-w1);
                }
            }
            for (int lane = 0; lane != 2 * width; ++lane)
                if (positive[lane] > limits.positive || negative[lane] > limits.negative) return false;
        }
    }
    return true;
}

/// The longest window that fits, 1 where there is none. Powers of two, so that windows fall alike where a run is read
/// in segments, whose length is then a multiple of 1024.
inline int longest_window(const std::int8_t* quads, int runs, int run_quads, int width, pair_limits limits) {
    for (const int window : {16, 8, 4, 2})
        if (run_quads > 1 && window_fits(quads, runs, run_quads, width, window, limits)) return window;
    return 1;
}

}  // namespace zp::inline v0::kernel
