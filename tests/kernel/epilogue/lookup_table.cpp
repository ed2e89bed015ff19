// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/epilogue/lookup_table.hpp>

#include "../../support/arrays.hpp"

namespace {

namespace kernel = zp::kernel;

template <class In, class Out> void compare() {
    for (std::size_t problem = 0; problem != static_cast<std::size_t>(zp_test::fewer(500)) + 130; ++problem) {
        const std::size_t count = problem % 301;
        const std::vector<Out> table = arrays::codes<Out>(256, problem);
        const std::vector<In> x = arrays::codes<In>(count + 1, count);
        std::vector<Out> expected(count);
        for (std::size_t i = 0; i != count; ++i)
            expected[i] = table[static_cast<std::size_t>(x[i + 1] - std::numeric_limits<In>::min())];
        arrays::for_each_architecture([&]<class Arch>() {
            std::vector<Out> y(count);
            kernel::lookup_table<Arch>(x.data() + 1, count, table.data(), y.data());
            CHECK(y == expected);
        });
    }
}

}  // namespace

TEST_CASE("lookup_table: every length and pair of types") {
    compare<std::uint8_t, std::uint8_t>();
    compare<std::uint8_t, std::int8_t>();
    compare<std::int8_t, std::uint8_t>();
    compare<std::int8_t, std::int8_t>();
    compare<std::int8_t, std::int16_t>();
}

TEST_CASE("lookup_table: in place") {
    arrays::for_each_architecture([]<class Arch>() {
        std::array<std::uint8_t, 256> table, codes;
        for (std::size_t i = 0; i != 256; ++i)
            table[i] = static_cast<std::uint8_t>(255 - i), codes[i] = static_cast<std::uint8_t>(i);
        kernel::lookup_table<Arch>(codes.data(), 256, table.data(), codes.data());
        CHECK(codes == table);
    });
}

TEST_CASE("make_lookup_table: rounded once from the real function, ties to even, clamped") {
    std::array<std::int8_t, 256> half{};
    kernel::make_lookup_table<std::uint8_t>([](double x) { return x; }, 1.0f, 128, 2.0f, 1, -60, 60, half.data());
    CHECK(int{half[128]} == 1);
    CHECK(int{half[129]} == 1);   // 0.5 rounds to 0
    CHECK(int{half[131]} == 3);   // 1.5 rounds to 2
    CHECK(int{half[127]} == 1);   // -0.5
    CHECK(int{half[125]} == -1);  // -1.5
    CHECK(int{half[0]} == -60);
    CHECK(int{half[255]} == 60);

    std::array<std::uint8_t, 256> sigmoid{};
    const auto function = [](double x) { return 1 / (1 + std::exp(-x)); };
    kernel::make_lookup_table<std::int8_t>(function, 0.05f, 3, 1.0f / 256, 0, 0, 255, sigmoid.data());
    for (int code = -128; code != 128; ++code) {
        const long double exact = 256 / (1 + std::exp(-static_cast<long double>(0.05f) * (code - 3)));
        CHECK(int{sigmoid[static_cast<std::size_t>(code + 128)]} ==
              static_cast<int>(std::min(255.0L, std::nearbyint(exact))));
    }
}

TEST_CASE("make_lookup_table: infinities saturate, NaN is the zero point, and it is constexpr") {
    std::array<std::uint8_t, 256> logarithm{};
    kernel::make_lookup_table<std::uint8_t>([](double x) { return std::log(x); }, 0.1f, 10, 0.1f, 77, 0, 255,
                                            logarithm.data());
    CHECK(int{logarithm[9]} == 77);
    CHECK(int{logarithm[10]} == 0);
    CHECK(int{logarithm[20]} == 77);
    constexpr auto same = [] {
        std::array<std::uint8_t, 256> table{};
        kernel::make_lookup_table<std::uint8_t>([](double x) { return x; }, 0.3f, 5, 0.3f, 5, 0, 255, table.data());
        return table;
    }();
    for (std::size_t i = 0; i != 256; ++i) CHECK(same[i] == i);
}
