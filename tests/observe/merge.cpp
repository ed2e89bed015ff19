// SPDX-License-Identifier: BSD-3-Clause
// Merging: exact in any order and grouping where the type says so, "then came this" where it does not.
#include <algorithm>
#include <cstddef>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/observe/per_channel_observer.hpp>
#include <zeropoint/observe/range_statistics.hpp>

#include "every_observer.hpp"

namespace {

/// Parts of different sizes and scales, so that ranges widen at different times; some constant, some empty.
std::vector<std::vector<float>> parts(unsigned seed) {
    std::mt19937 random(seed);
    std::vector<std::vector<float>> all;
    for (int p = 0; p != 7; ++p) {
        std::vector<float> part =
            heavy_tails(p == 3 ? 0 : 6 * (1 + random() % 100), seed * 10 + static_cast<unsigned>(p));
        const float factor = std::exp2(static_cast<float>(random() % 12) - 6), offset = p % 2 == 0 ? 0.0f : factor;
        for (float& x : part) x = p == 5 ? 0.25f : p == 6 ? 0.0f : x * factor + offset;
        all.push_back(part);
    }
    return all;
}

/// Merges neighbours until one is left, in random order and both ways round.
template <class O> O merged(std::vector<O> observers, unsigned seed) {
    std::mt19937 random(seed);
    std::shuffle(observers.begin(), observers.end(), random);
    while (observers.size() > 1) {
        const std::size_t i = random() % (observers.size() - 1);
        observers[i].merge(observers[i + 1]);
        observers.erase(observers.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    }
    return observers.front();
}

}  // namespace

TEST_CASE_TEMPLATE("merge: the same bits in every order and grouping", O, zp::min_max_observer,
                   zp::exact_histogram_observer<>, zp::percentile_observer<95, 100>, zp::mse_observer<256>,
                   zp::entropy_observer<512>, fixed_observer) {
    static_assert(O::order == zp::merge_order::exact_any_order);
    for (unsigned seed = 0; seed != 10; ++seed) {
        O whole;
        std::vector<O> observers;
        for (const auto& part : parts(seed)) {
            whole.observe(batch(part));
            observers.emplace_back().observe(batch(part));
        }
        for (unsigned order = 0; order != 5; ++order) {
            const O together = merged(observers, order);
            CHECK(affine(together) == affine(whole));
            CHECK(symmetric(together) == symmetric(whole));
            CHECK(together.range() == whole.range());
            CHECK(together.samples() == whole.samples());
            CHECK(together.count() == whole.count());
        }
    }
}

TEST_CASE_TEMPLATE("merge: per channel, the same bits in every order and grouping", O, zp::per_channel_min_max_observer,
                   zp::per_channel_observer<zp::mse_observer<256>>) {
    static_assert(O::order == zp::merge_order::exact_any_order);
    O whole;
    std::vector<O> observers;
    for (const auto& part : parts(11)) {
        const zp::observation seen{part, 3, 2, "conv1"};
        whole.observe(seen);
        observers.emplace_back().observe(seen);
    }
    for (unsigned order = 0; order != 5; ++order) {
        const O together = merged(observers, order);
        CHECK(together.template calculate_qparams<zp::qint8, zp::per_channel_symmetric>("conv1") ==
              whole.template calculate_qparams<zp::qint8, zp::per_channel_symmetric>("conv1"));
        CHECK(together.count() == whole.count());
    }
}

TEST_CASE_TEMPLATE("merge: with an observer that saw nothing changes nothing, either way round", O,
                   EVERY_CHOOSING_OBSERVER) {
    O observer, nothing;
    const auto values = heavy_tails(1000, 3);
    observer.observe(batch(values));
    const zp::qparams before = affine(observer);
    observer.merge(nothing);
    CHECK(affine(observer) == before);
    nothing.merge(observer);
    CHECK(affine(nothing) == before);
    CHECK(nothing.samples() == 1);
    CHECK(nothing.range() == observer.range());
}

TEST_CASE("merge: moving averages go on where the first part ended") {
    zp::moving_average_min_max_observer<1, 10> whole, first, second, third;
    for (unsigned b = 0; b != 30; ++b) {
        const auto values = heavy_tails(50, b);
        whole.observe(batch(values));
        (b < 8 ? first : b < 19 ? second : third).observe(batch(values));
    }
    auto left = first, right = second;
    left.merge(second);
    left.merge(third);  // (first, second), third
    right.merge(third);
    first.merge(right);  // first, (second, third)
    CHECK(left.range().max == relative(whole.range().max, 1e-6));
    CHECK(left.range().min == relative(whole.range().min, 1e-6));
    CHECK(first.range().max == relative(whole.range().max, 1e-6));
    CHECK(left.samples() == 30);

    // What came later counts more: order matters, as the type says.
    zp::moving_average_min_max_observer<1, 10> small, large;
    const std::vector<float> ones(10, 1.0f), tens(10, 10.0f);
    small.observe(batch(ones));
    large.observe(batch(tens));
    auto up = small, down = large;
    up.merge(large);
    down.merge(small);
    CHECK(up.range().max == relative(1.9, 1e-6));
    CHECK(down.range().max == relative(9.1, 1e-6));
}

TEST_CASE("merge: moving averages per channel go on likewise") {
    zp::moving_average_per_channel_min_max_observer<1, 10> whole, first, second;
    zp::moving_average_min_max_observer<1, 10> channel;
    for (unsigned b = 0; b != 20; ++b) {
        const auto values = heavy_tails(60, b);
        const zp::observation seen{values, 3, 20, "conv1"};
        whole.observe(seen);
        (b < 8 ? first : second).observe(seen);
        channel.observe(batch({values.data() + 20, 20}));
    }
    first.merge(second);
    const auto together = first.calculate_qparams<zp::quint8, zp::per_channel_affine>("conv1");
    const auto right = whole.calculate_qparams<zp::quint8, zp::per_channel_affine>("conv1");
    for (std::size_t c = 0; c != 3; ++c) CHECK(together[c].scale == relative(right[c].scale, 1e-5));
    CHECK(right[1] == affine(channel));
}

TEST_CASE("merge: histograms of equal range add exactly, of different ranges nearly") {
    const auto values = heavy_tails(4000, 4);
    std::vector<float> half(values.begin(), values.begin() + 2000), rest(values.begin() + 2000, values.end());
    half[0] = rest[0] = *std::min_element(values.begin(), values.end());
    half[1] = rest[1] = *std::max_element(values.begin(), values.end());
    zp::histogram_observer<> whole, first, second;
    whole.observe(batch(half));
    whole.observe(batch(rest));
    first.observe(batch(half));
    second.observe(batch(rest));
    first.merge(second);
    CHECK(affine(first) == affine(whole));
    CHECK(std::equal(first.counts().begin(), first.counts().end(), whole.counts().begin()));

    std::vector<float> wide = rest;
    for (float& x : wide) x *= 3;
    zp::histogram_observer<> narrow_then_wide, both, later;
    both.observe(batch(half));
    both.observe(batch(wide));
    narrow_then_wide.observe(batch(half));
    later.observe(batch(wide));
    narrow_then_wide.merge(later);
    CHECK(affine(narrow_then_wide).scale == relative(affine(both).scale, 0.01));
    CHECK(narrow_then_wide.range() == both.range());

    // A part that holds a single value goes into its bin, whichever side it comes from.
    zp::histogram_observer<> constant, spread;
    const std::vector<float> same(100, 0.5f);
    constant.observe(batch(same));
    spread.observe(batch(half));
    auto a = constant, b = spread;
    a.merge(spread);
    b.merge(constant);
    CHECK(std::equal(a.counts().begin(), a.counts().end(), b.counts().begin()));
}

TEST_CASE("merge: another number of channels is an error") {
    const std::vector<float> values = {1, 2, 3, 4, 5, 6};
    zp::per_channel_min_max_observer two, three;
    two.observe({values, 2, 1, "conv1"});
    three.observe({values, 3, 1, "conv1"});
    CHECK_THROWS_WITH_AS(two.merge(three), "merge: expected an observer of the same tensor with 2 channels, got 3",
                         zp::shape_error);
    zp::range_statistics a, b;
    a.observe({values, 2, 1, "conv1"});
    b.observe({values, 3, 1, "conv1"});
    CHECK_THROWS_AS(a.merge(b), zp::shape_error);
    CHECK(a.count() == 6);
}
