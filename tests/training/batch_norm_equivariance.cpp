// SPDX-License-Identifier: BSD-3-Clause
// Why batch norms can be trained behind weights that are quantized unfolded: rounding by channel is equivariant to a channel's
// factor. code(w * f; s * |f|) = sign(f) * code(w; s), where codes are symmetric and narrow.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/scheme/quantize.hpp>
#include <zeropoint/training/fake_quantize.hpp>

#include "../support/arrays.hpp"

namespace {

constexpr std::size_t channels = 16, inner = 135;

struct quantized {
    std::vector<zp::qparams> params;
    std::vector<std::int8_t> codes;
};
quantized quantize(const std::vector<float>& weights) {
    zp::per_channel_min_max_observer observer;
    observer.observe({weights, static_cast<int>(channels), static_cast<int>(inner), "weights"});
    quantized result{observer.calculate_qparams<zp::qint8_narrow, zp::per_channel_symmetric>("weights"),
                     std::vector<std::int8_t>(weights.size())};
    zp::quantize_per_channel<zp::qint8_narrow>(weights, result.params, inner, result.codes);
    return result;
}

/// Codes of weights * factor that are not sign(factor) times those of the weights; each of them must be near a tie.
template <class Factor> std::size_t differing(const std::vector<float>& weights, const Factor& factor) {
    std::vector<float> folded(weights.size());
    for (std::size_t i = 0; i != weights.size(); ++i) folded[i] = weights[i] * factor(i / inner);
    const quantized before = quantize(weights), after = quantize(folded);
    std::size_t count = 0;
    for (std::size_t i = 0; i != weights.size(); ++i) {
        const float f = factor(i / inner);
        const int expected = f < 0 ? -before.codes[i] : before.codes[i];
        if (after.codes[i] == expected) continue;
        ++count;
        const float steps = std::fabs(weights[i] / before.params[i / inner].scale);
        CHECK(std::abs(after.codes[i] - expected) == 1);
        CHECK(std::fabs(steps - std::floor(steps) - 0.5f) < 1e-4f);
    }
    return count;
}

}  // namespace

TEST_CASE("batch norm equivariance: the same codes for factors that are powers of two, of either sign") {
    const std::vector<float> weights = arrays::reals(channels * inner, 3, -0.3f, 0.3f);
    const quantized before = quantize(weights);
    const auto factor = [](std::size_t c) { return std::ldexp(c % 2 == 0 ? 1.0f : -1.0f, static_cast<int>(c) - 8); };
    CHECK(differing(weights, factor) == 0);
    std::vector<float> folded(weights.size());
    for (std::size_t i = 0; i != weights.size(); ++i) folded[i] = weights[i] * factor(i / inner);
    const quantized after = quantize(folded);
    std::size_t moved = 0;
    for (std::size_t c = 0; c != channels; ++c) {
        CHECK(after.params[c].scale == before.params[c].scale * std::fabs(factor(c)));
        moved += after.params[c].scale != before.params[c].scale;
    }
    CHECK(moved == channels - 1);  // 2^0 is among the factors
    // So a product's sums are those of the unfolded weights up to sign, and fake quantization commutes with the factor.
    std::vector<float> fake(weights.size()), fake_folded(weights.size());
    zp::fake_quantize(weights, before.params, inner, zp::bounds_of<zp::qint8_narrow>, fake);
    zp::fake_quantize(folded, after.params, inner, zp::bounds_of<zp::qint8_narrow>, fake_folded);
    for (std::size_t i = 0; i != weights.size(); ++i) CHECK(fake_folded[i] == fake[i] * factor(i / inner));
}

TEST_CASE("batch norm equivariance: with other factors only codes next to a tie differ, and 0 gives codes 0") {
    std::size_t count = 0;
    for (std::uint64_t seed = 0; seed != 20; ++seed) {
        const std::vector<float> weights = arrays::reals(channels * inner, seed, -0.3f, 0.3f);
        const std::vector<float> factors = arrays::reals(channels, 100 + seed, -3, 3);
        count += differing(weights, [&](std::size_t c) { return factors[c]; });
    }
    CHECK(count < 20);  // of 43200
    const std::vector<float> weights = arrays::reals(channels * inner, 1, -0.3f, 0.3f);
    CHECK(quantize(std::vector<float>(weights.size())).codes == std::vector<std::int8_t>(weights.size()));
}

TEST_CASE("batch norm equivariance: codes that reach -128 break it") {
    // -128 has no mirror image: the reason for narrow codes.
    const zp::qparams params{0.5f, 0};
    CHECK(zp::quantize<zp::qint8>(-64.0f, params) == -128);
    CHECK(zp::quantize<zp::qint8>(64.0f, params) == 127);
    CHECK(zp::quantize<zp::qint8_narrow>(-64.0f, params) == -zp::quantize<zp::qint8_narrow>(64.0f, params));
}
