// SPDX-License-Identifier: BSD-3-Clause
// Presets of quantize_dynamic: what each promises in its name, how near it is, how small its file, and that the file loads again.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <zeropoint/io/model_file.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/operators/embedding.hpp>
#include <zeropoint/workflow/dynamic_presets.hpp>

#include "../support/made_up.hpp"

namespace {

/// Words, and linear layers that are most of its bytes.
struct words : zp::model<zp::indices<6>, zp::embedding<"words", 64, 64>, zp::linear<"widen", 512>, zp::gelu,
                         zp::linear<"narrow", 256>, zp::linear<"out", 64>> {};

struct found {
    double decibel;
    double share;  ///< of the float network's bytes, in files
};

/// The quantized network beside the float one, and as it comes out of its file.
template <class Config> found check() {
    using network = zp::dynamically_quantized<words, Config>;
    const auto trained = made_up::network<words>(5);
    const network model = zp::quantize_dynamic<Config>(trained);
    const std::vector<std::byte> bytes = zp::to_bytes(model);
    const network loaded = zp::load<network>(bytes, "words");
    CHECK(zp::to_bytes(loaded) == bytes);
    double signal = 0, noise = 0;
    for (int seed = 0; seed != 8; ++seed) {
        std::array<std::int32_t, 6> x{};
        for (int i = 0; i != 6; ++i) x[static_cast<std::size_t>(i)] = (seed * 23 + i * 7) % 64;
        std::vector<float> a(6 * 64), b = a, c = a;
        trained(x, a);
        model(x, b);
        loaded(x, c);
        CHECK(b == c);
        for (std::size_t i = 0; i != a.size(); ++i) {
            signal += double{a[i]} * double{a[i]};
            noise += (double{a[i]} - double{b[i]}) * (double{a[i]} - double{b[i]});
        }
    }
    return {10 * std::log10(signal / noise),
            static_cast<double>(bytes.size()) / static_cast<double>(zp::to_bytes(trained).size())};
}

}  // namespace

TEST_CASE("dynamic presets: policies are those of their names") {
    using std::is_same_v;
    static_assert(is_same_v<zp::int8_dynamic_qconfig::policy, zp::dynamic_policy<>>);
    static_assert(is_same_v<zp::int4_dynamic_qconfig::policy,
                            zp::dynamic_group_policy<zp::qint4, 32, zp::group_range::least_squares>>);
    static_assert(is_same_v<zp::int8_weight_only_qconfig::policy, zp::weight_only_policy<zp::qint8>>);
    static_assert(is_same_v<zp::int4_weight_only_qconfig::policy, zp::weight_only_policy<zp::qint4, 32>>);
    static_assert(zp::codes_embeddings<zp::int8_dynamic_qconfig::options> &&
                  zp::codes_embeddings<zp::int4_dynamic_qconfig::options> &&
                  zp::codes_embeddings<zp::int8_weight_only_qconfig::options> &&
                  zp::codes_embeddings<zp::int4_weight_only_qconfig::options>);
    static_assert(zp::embedding_bits_of<zp::int4_dynamic_qconfig> == 8);
}
TEST_CASE(
    "dynamic presets: near the float network, of a quarter or a seventh of its bytes, and the same out of files") {
    const found int8 = check<zp::int8_dynamic_qconfig>(), int4 = check<zp::int4_dynamic_qconfig>(),
                int8_weights = check<zp::int8_weight_only_qconfig>(),
                int4_weights = check<zp::int4_weight_only_qconfig>();
    CHECK(int8.decibel > 38);
    CHECK(int4.decibel > 19);
    CHECK(int8_weights.decibel > 42);
    CHECK(int4_weights.decibel > 18);
    CHECK(int8.share < 0.27);
    CHECK(int4.share < 0.16);
    CHECK(int8_weights.share < 0.27);
    CHECK(int4_weights.share < 0.175);
}
