// SPDX-License-Identifier: BSD-3-Clause
// Entropy calibration: the divergence against its definition in plain double arithmetic.
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "every_observer.hpp"

namespace {

/// sum p log2(p / q), with p clipped to t bins and q what `levels` groups leave of it.
double divergence(const std::vector<std::uint64_t>& magnitudes, std::size_t t, std::size_t levels) {
    std::vector<double> p(magnitudes.begin(), magnitudes.begin() + static_cast<std::ptrdiff_t>(t)), q(t);
    for (std::size_t i = t; i != magnitudes.size(); ++i) p[t - 1] += static_cast<double>(magnitudes[i]);
    double p_sum = 0, q_sum = 0, result = 0;
    for (std::size_t g = 0; g != levels; ++g) {
        double sum = 0, filled = 0;
        for (std::size_t i = g * t / levels; i != (g + 1) * t / levels; ++i)
            sum += static_cast<double>(magnitudes[i]), filled += p[i] != 0;
        for (std::size_t i = g * t / levels; i != (g + 1) * t / levels; ++i) q[i] = p[i] != 0 ? sum / filled : 0;
    }
    for (std::size_t i = 0; i != t; ++i) p_sum += p[i], q_sum += q[i];
    for (std::size_t i = 0; i != t; ++i)
        if (p[i] != 0)
            result += q[i] == 0 ? std::numeric_limits<double>::infinity()
                                : p[i] / p_sum * std::log2(p[i] / p_sum / (q[i] / q_sum));
    return result;
}

}  // namespace

TEST_CASE("binary_logarithm: std::log2 to 2^-22") {
    static_assert(zp::binary_logarithm(1) == 0 && zp::binary_logarithm(1024) == 10 &&
                  zp::binary_logarithm(~0ull >> 1) < 63);
    std::mt19937_64 random(19);
    for (int i = 0; i != 10000; ++i) {
        const std::uint64_t x = (random() >> (random() % 64)) | 1;
        REQUIRE(std::fabs(zp::binary_logarithm(x) - std::log2(static_cast<double>(x))) < 0x1p-22);
    }
}

TEST_CASE("least_divergence: no other threshold diverges less") {
    std::mt19937 random(20);
    for (int i = 0; i != 30; ++i) {
        std::vector<std::uint64_t> magnitudes(200 + random() % 100);
        for (std::size_t b = 0; b != magnitudes.size(); ++b) {
            const double density = std::exp(-static_cast<double>(b) / (10 + i)) * 10000;
            magnitudes[b] = static_cast<std::uint64_t>(density) + (density < 1 ? random() % 20 == 0 : random() % 8);
        }
        const std::size_t found = zp::least_divergence(magnitudes, 32);
        REQUIRE(found >= 32);
        double least = std::numeric_limits<double>::infinity();
        for (std::size_t t = 32; t <= magnitudes.size(); ++t) least = std::min(least, divergence(magnitudes, t, 32));
        CHECK(divergence(magnitudes, found, 32) <= least + 1e-6);
    }
}

TEST_CASE("entropy_observer: clips outliers, keeps what the codes can hold") {
    std::vector<float> values = heavy_tails(50000, 21);
    for (float& x : values) x = std::cbrt(x);  // normal
    values[3] = 30;
    zp::entropy_observer<> observer;
    observer.observe(batch(values));
    CHECK(symmetric(observer).scale < 8 / 127.5f);
    CHECK(symmetric(observer).scale > 2 / 127.5f);
    CHECK(affine(observer).zero_point > 100);

    zp::entropy_observer<> few;  // fewer bins in use than codes: nothing to merge, nothing to clip
    const std::vector<float> three = {0, 1, 2};
    few.observe(batch(three));
    zp::min_max_observer everything;
    everything.observe(batch(three));
    CHECK(affine(few) == affine(everything));
}
