// SPDX-License-Identifier: BSD-3-Clause
// Primitives that move bytes and words: cells of two and of four rows, words in turns, pairs, and vectors narrowed to words.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/arch/operations.hpp>

namespace {

using ops = zp::kernel::operations<zp::default_architecture>;
using code = std::uint8_t;
using word = std::int16_t;
constexpr int width = zp::kernel::panel_width<zp::default_architecture>;

template <class T> std::vector<T> random_numbers(std::mt19937& random, std::size_t count) {
    std::vector<T> numbers(count);
    for (T& number : numbers) number = static_cast<T>(random());
    return numbers;
}

/// Cells of a panel, from rows of which each begins anywhere; what lies behind them stays.
template <int Rows> void check_interleave(std::mt19937& random) {
    constexpr std::size_t bytes = std::size_t{4} * width;
    for (const int flip : {0, 128, 255, 37}) {
        const std::vector<code> x = random_numbers<code>(random, 8 * width + 64);
        const code* rows[Rows];
        for (int i = 0; i != Rows; ++i) rows[i] = x.data() + i * (width + 3) + (i == 2 ? 1 : 0);
        const std::ptrdiff_t at = flip % 5;
        std::vector<std::byte> cells(bytes + 64, std::byte{0xaa});
        ops::interleave(rows, at, static_cast<code>(flip), cells.data());
        for (int c = 0; c != width; ++c) {
            for (int i = 0; i != Rows; ++i) {
                const auto expected = static_cast<code>(rows[i][at + c] ^ flip);
                const std::byte* place = cells.data() + 4 * c + i * (4 / Rows);
                CAPTURE(c);
                if constexpr (Rows == 4) {
                    CHECK(*place == std::byte{expected});
                } else {
                    word stored;
                    std::memcpy(&stored, place, sizeof stored);
                    CHECK(stored == expected);
                }
            }
        }
        CHECK(std::count(cells.begin() + bytes, cells.end(), std::byte{0xaa}) == 64);
    }
}

/// Of templates, which may ask what an architecture has.
template <class Operations> void check_turns() {
    std::mt19937 random(2);
    const auto a = random_numbers<word>(random, width + 1), b = random_numbers<word>(random, width + 1);
    std::vector<word> to(2 * width + 8, word{-5});
    if constexpr (requires { Operations::interleave_words(a.data(), b.data(), to.data()); }) {
        Operations::interleave_words(a.data() + 1, b.data() + 1, to.data());
        for (std::size_t i = 0; i != width; ++i) {
            CHECK(to[2 * i] == a[i + 1]);
            CHECK(to[2 * i + 1] == b[i + 1]);
        }
        CHECK(std::count(to.end() - 8, to.end(), word{-5}) == 8);
    }
}
template <class Operations> void check_narrowed() {
    if constexpr (Operations::has_batches) {
        using int32 = typename Operations::int32;
        constexpr std::size_t lanes = Operations::lanes;
        std::mt19937 random(4);
        const auto numbers = random_numbers<word>(random, 2 * lanes);
        const std::vector<std::int32_t> wide(numbers.begin(), numbers.end());
        std::vector<word> to(2 * lanes);
        const auto low = Operations::template load<int32>(wide.data()),
                   high = Operations::template load<int32>(wide.data() + lanes);
        if constexpr (requires { Operations::store_words(to.data(), low, high); }) {
            Operations::store_words(to.data(), low, high);
            CHECK((to == numbers));
        }
    }
}
template <class Operations> void check_pairs() {
    if constexpr (Operations::has_batches) {
        using int16 = typename Operations::int16;
        using int32 = typename Operations::int32;
        constexpr std::size_t count = 2 * Operations::lanes;
        std::mt19937 random(3);
        auto a = random_numbers<word>(random, count), b = random_numbers<word>(random, count);
        a[0] = a[count - 1] = std::numeric_limits<word>::min(), b[0] = std::numeric_limits<word>::max();
        const word factors[] = {3, -2};
        int16 first, second, factor, again;
        Operations::pair_words(int16(factors[0]), int16(factors[1]), factor, again);
        Operations::pair_words(Operations::template load<int16>(a.data()), Operations::template load<int16>(b.data()),
                               first, second);
        int32 sums[2] = {int32(0), int32(0)};
        Operations::dot2(sums[0], first, factor);
        Operations::dot2(sums[1], second, again);
        std::vector<word> packed(count);
        Operations::store(packed.data(), Operations::pack_words(sums[0], sums[1]));
        for (std::size_t i = 0; i != count; ++i) {
            CAPTURE(i);
            CHECK(packed[i] == std::clamp(3 * a[i] - 2 * b[i], -32768, 32767));
        }
    }
}

}  // namespace

TEST_CASE("vector_operations: cells of four rows and of two") {
    std::mt19937 random(1);
    check_interleave<4>(random);
    check_interleave<2>(random);
}

TEST_CASE("vector_operations: words in turns, where there is an instruction for them") { check_turns<ops>(); }

TEST_CASE("vector_operations: pairs of words for dot2, in the order of pack_words") { check_pairs<ops>(); }

TEST_CASE("vector_operations: two vectors of numbers as words, where there is an instruction for them") {
    check_narrowed<ops>();
}
