// SPDX-License-Identifier: BSD-3-Clause
// The bounds of 16-bit sums, by trying all activations at their ends.
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/gemm/saturation.hpp>

using namespace zp::kernel;

namespace {

int uniform(std::mt19937& random, int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); }

bool in_int16(int sum) { return sum >= -32768 && sum <= 32767; }

}  // namespace

TEST_CASE("saturation: limits are the bound of all products, by trying them") {
    std::mt19937 random(22);
    for (int i = 0; i != 3000; ++i) {
        const int highest = uniform(random, 0, 1) == 0 ? 255 : uniform(random, 0, 255);
        const int w0 = uniform(random, -128, 127), w1 = uniform(random, -128, 127);
        bool fits = true;
        for (const int a0 : {0, highest})
            for (const int a1 : {0, highest}) fits = fits && in_int16(a0 * w0 + a1 * w1);
        CHECK(limits_for(highest).fit(w0, w1) == fits);
    }
}

TEST_CASE("saturation: codes begin at 0, and padding counts") {
    CHECK(limits_for(activation_codes{0, 0, 255}).positive == 128);
    CHECK(limits_for(activation_codes{0, 0, 127}).positive == 258);
    CHECK(limits_for(activation_codes{0, -128, 127}).positive == 128);
    CHECK(limits_for(activation_codes{0, -64, 63}).positive == 258);
    CHECK(limits_for(activation_codes{255, 0, 127}).positive == 128);
    CHECK(zero_based_shift(activation_codes{-3, -64, 63}) == 64);
    CHECK(zero_based_shift(activation_codes{3, 0, 255}) == 0);
}

TEST_CASE("saturation: windows are bounded by the sum of their pairs") {
    std::mt19937 random(23);
    for (int i = 0; i != 500; ++i) {
        const int width = uniform(random, 1, 4), runs = uniform(random, 1, 3), run_quads = uniform(random, 1, 9);
        const int magnitude = uniform(random, 1, 40), window = 1 << uniform(random, 0, 4);
        std::vector<std::int8_t> quads(static_cast<std::size_t>(4 * width * runs * run_quads));
        for (auto& w : quads) w = static_cast<std::int8_t>(uniform(random, -magnitude, magnitude));
        bool fits = true;
        for (int run = 0; run != runs; ++run) {
            for (int first = 0; first < run_quads; first += window) {
                for (int lane = 0; lane != 2 * width; ++lane) {
                    int most = 0, least = 0;
                    for (int quad = first; quad != std::min(first + window, run_quads); ++quad) {
                        for (int k = 0; k != 2; ++k) {
                            const int w =
                                quads[static_cast<std::size_t>((run * run_quads + quad) * 4 * width + 2 * lane + k)];
                            (w > 0 ? most : least) += 255 * w;
                        }
                    }
                    fits = fits && in_int16(most) && in_int16(least);
                }
            }
        }
        CHECK(window_fits(quads.data(), runs, run_quads, width, window, limits_for(255)) == fits);
    }
}

TEST_CASE("saturation: all pairs have to fit") {
    std::int8_t quads[] = {127, 1, 0, 0, 64, 64, -64, -64, 127, -128, -128, 127};
    CHECK(pairs_fit(quads, 12, limits_for(255)));
    quads[5] = 65;
    CHECK_FALSE(pairs_fit(quads, 12, limits_for(255)));
    CHECK(pairs_fit(quads, 4, limits_for(255)));
    CHECK(pairs_fit(quads, 12, limits_for(254)));
}
