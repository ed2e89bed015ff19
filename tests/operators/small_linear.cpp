// SPDX-License-Identifier: BSD-3-Clause
// Small linear layers of a model: code is generated for their extents, and gives what the general one gives.
#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <vector>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/workflow/convert.hpp>
#include <zeropoint/workflow/fuse.hpp>
#include <zeropoint/workflow/quantize_dynamic.hpp>

#include "../support/guarded_rows.hpp"
#include "../support/made_up.hpp"

namespace {

struct net : zp::model<zp::input<1, 1, 37>, zp::linear<"a", 40>, zp::relu, zp::linear<"b", 19>, zp::sigmoid,
                       zp::linear<"c", 3>> {};
/// Depths and channels that are no whole panels.
struct odd : zp::model<zp::input<1, 1, 13>, zp::linear<"a", 3>, zp::relu, zp::linear<"b", 33>, zp::sigmoid,
                       zp::linear<"c", 17>> {};
using activations = zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>;
using weights = zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>;
struct balanced : zp::qconfig<activations, weights> {};
struct smallest : zp::qconfig<activations, weights, zp::algorithm<zp::smallest>> {};
struct direct : zp::qconfig<activations, weights, zp::algorithm<zp::conv2d_algorithm::direct>> {};
struct reduced : zp::qconfig<zp::quantizer<zp::quint8_reduced, zp::per_tensor_affine, zp::min_max_observer>, weights> {
};

template <class Config> using stage = typename zp::quantized<net, Config>::stage;

/// Linear rows that have the form of their extents, and those whose weights are words.
template <class Config> std::array<int, 2> generated() {
    std::array<int, 2> counts{};
    const auto& table = stage<Config>::table;
    for (int i = 0; i != table.size; ++i) {
        const zp::node& row = table.nodes[i];
        counts[0] += row.op->multiplies && zp::operators::matrix_key_of(table.view(i)).small.rows != 0;
        counts[1] += row.weights.packed_int16;
    }
    return counts;
}

template <class Config> std::vector<float> outputs(const std::vector<std::vector<float>>& inputs) {
    const auto model = zp::convert(zp::calibrate(zp::prepare<Config>(zp::fuse(made_up::network<net>())), inputs));
    std::vector<float> all;
    std::array<float, 3> y{};
    for (const std::vector<float>& x : inputs) {
        model(x, y);
        all.insert(all.end(), y.begin(), y.end());
    }
    return all;
}

}  // namespace

TEST_CASE("small linear: rows of small fixed extents have forms of their own") {
    CHECK(generated<balanced>()[0] == 3);
    CHECK(generated<smallest>() == std::array{3, 0});
    CHECK(generated<direct>() == std::array{0, 0});
    // Words where a byte multiplication could saturate, and never where the dtypes exclude it.
    using arch = zp::default_architecture;
    constexpr bool takes_words =
        zp::kernel::operations<arch>::has_batches && (!zp::kernel::has_quads<arch> || zp::kernel::quads_saturate<arch>);
    CHECK(generated<balanced>()[1] == (takes_words ? 3 : 0));
    CHECK(generated<reduced>()[1] == (zp::kernel::has_quads<zp::default_architecture> ? 0 : 3));
}

TEST_CASE("small linear: models give the same bits with words, with bytes and by the plain algorithm") {
    std::vector<std::vector<float>> inputs;
    for (std::uint64_t i = 0; i != 20; ++i) inputs.push_back(made_up::values(37, 100 + i));
    const std::vector<float> expected = outputs<direct>(inputs);
    CHECK(outputs<balanced>(inputs) == expected);
    CHECK(outputs<smallest>(inputs) == expected);
}
TEST_CASE("small linear: rows between unreadable pages") {
    const auto network = zp::fuse(made_up::network<odd>());
    const std::vector<std::vector<float>> inputs{made_up::values(13, 7), made_up::values(13, 8)};
    const auto check = [&](const auto& model) {
        zp_test::check_guarded_rows(zp_test::run_guarded(model, inputs.front().data()));
    };
    check(zp::convert(zp::calibrate(zp::prepare<balanced>(network), inputs)));
    check(zp::quantize_dynamic<>(network));
}
