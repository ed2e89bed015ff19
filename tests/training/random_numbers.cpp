// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/training/random_numbers.hpp>

#include "../support/errors.hpp"

using words = std::array<std::uint32_t, 4>;

TEST_CASE("philox4x32: the known answers of Random123") {
    static_assert(zp::philox4x32({0, 0, 0, 0}, {0, 0}) == words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
    constexpr std::uint32_t ones = 0xffffffff;
    static_assert(zp::philox4x32({ones, ones, ones, ones}, {ones, ones}) ==
                  words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
    static_assert(zp::philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
                  words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
    CHECK(zp::philox4x32({0, 0, 0, 0}, {0, 0})[0] == 0x6627e8d5);
}

TEST_CASE("random_numbers: every place has numbers of its own") {
    const zp::random_numbers here{1, 2, 3, 4};
    for (const zp::random_numbers& other :
         {zp::random_numbers{0, 2, 3, 4}, zp::random_numbers{1 + (1ull << 32), 2, 3, 4}, zp::random_numbers{1, 0, 3, 4},
          zp::random_numbers{1, 2, 0, 4}, zp::random_numbers{1, 2, 3, 0}})
        for (std::uint64_t i = 0; i != 8; ++i) CHECK(here[i] != other[i]);
    double sum = 0, squares = 0;
    for (std::uint64_t i = 0; i != 20000; ++i) {
        const double x = double{here.uniform(i)};
        sum += x;
        squares += x * x;
    }
    CHECK(sum / 20000 == doctest::Approx(0.5).epsilon(0.02));
    CHECK(squares / 20000 == doctest::Approx(1.0 / 3).epsilon(0.03));
    std::vector<int> counts(7);
    for (std::uint64_t i = 0; i != 7000; ++i) ++counts[here.below(i, 7)];
    for (const int count : counts) CHECK(std::abs(count - 1000) < 150);
}

TEST_CASE("shuffled: permutations, another one each epoch") {
    std::vector<std::uint32_t> sorted(1000), first = zp::shuffled(1000, 5, 0), second = zp::shuffled(1000, 5, 1);
    std::iota(sorted.begin(), sorted.end(), 0u);
    CHECK(first != second);
    CHECK(first != sorted);
    CHECK(first == zp::shuffled(1000, 5, 0));
    std::sort(first.begin(), first.end());
    CHECK(first == sorted);
    CHECK(zp::shuffled(0, 1, 1).empty());
    CHECK(zp::shuffled(1, 1, 1) == std::vector<std::uint32_t>{0});
    std::vector<int> places(4);  // of element 0 among four
    for (std::uint32_t epoch = 0; epoch != 4000; ++epoch) {
        const auto order = zp::shuffled(4, 9, epoch);
        ++places[static_cast<std::size_t>(std::find(order.begin(), order.end(), 0u) - order.begin())];
    }
    for (const int count : places) CHECK(std::abs(count - 1000) < 150);
}

TEST_CASE("dropout_mask: the given share, the same for every cut of the values") {
    const zp::random_numbers random{3, 1, 2, 7};
    std::vector<std::uint8_t> mask(10001);
    zp::dropout_mask(random, 0.3, mask);
    const auto kept = std::count(mask.begin(), mask.end(), std::uint8_t{1});
    CHECK(std::abs(static_cast<double>(kept) / 10001 - 0.7) < 0.02);
    for (std::size_t i = 0; i != 50; ++i) CHECK(mask[i] == (random[i] >= static_cast<std::uint32_t>(0.3 * 0x1p32)));
    zp::dropout_mask(random, 0, mask);
    CHECK(std::count(mask.begin(), mask.end(), std::uint8_t{0}) == 0);
    CHECK(zp_test::error_of([&] { zp::dropout_mask(random, 1, mask); }) ==
          "dropout_mask: the probability is 1, expected a number in [0, 1)");
}
