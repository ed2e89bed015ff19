// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/elementwise/where.hpp>

#include "../../support/arrays.hpp"

namespace {

namespace kernel = zp::kernel;

template <class T> std::array<T, 256> random_table(arrays::generator& next) {
    std::array<T, 256> table;
    for (T& entry : table) entry = static_cast<T>(next());
    return table;
}

template <class T> void compare(std::size_t pixels, std::size_t channels, arrays::generator& next) {
    const std::size_t count = pixels * channels;
    const auto a = arrays::codes<T>(count, next()), b = arrays::codes<T>(count, next());
    auto condition = arrays::codes<T>(count, next());
    const T zero = static_cast<T>(next());
    for (T& value : condition)
        if (next.integer(0, 1) == 0) value = zero;
    const auto a_table = random_table<T>(next), b_table = random_table<T>(next);
    const auto entry = [](const std::array<T, 256>* table, T code) {
        return table == nullptr ? code : (*table)[static_cast<std::size_t>(code - std::numeric_limits<T>::min())];
    };
    for (int tables = 0; tables != 4; ++tables) {
        const auto* of_a = (tables & 1) != 0 ? &a_table : nullptr;
        const auto* of_b = (tables & 2) != 0 ? &b_table : nullptr;
        std::vector<T> expected(count), by_pixel(count);
        for (std::size_t i = 0; i != count; ++i) {
            expected[i] = condition[i] != zero ? entry(of_a, a[i]) : entry(of_b, b[i]);
            by_pixel[i] = condition[i / channels] != zero ? entry(of_a, a[i]) : entry(of_b, b[i]);
        }
        const T* a_entries = of_a == nullptr ? nullptr : of_a->data();
        const T* b_entries = of_b == nullptr ? nullptr : of_b->data();
        arrays::for_each_architecture([&]<class Arch>() {
            std::vector<T> y(count), in_place = condition, pixelwise(count);
            kernel::where<Arch>(condition.data(), zero, a.data(), a_entries, b.data(), b_entries, count, y.data());
            kernel::where<Arch>(in_place.data(), zero, a.data(), a_entries, b.data(), b_entries, count,
                                in_place.data());
            kernel::where_pixels<Arch>(condition.data(), zero, a.data(), a_entries, b.data(), b_entries, pixels,
                                       channels, pixelwise.data());
            CHECK(y == expected);
            CHECK(in_place == expected);
            CHECK(pixelwise == by_pixel);
            if (tables != 0) return;
            kernel::where<Arch>(condition.data(), zero, a.data(), b.data(), count, y.data());
            kernel::where_pixels<Arch>(condition.data(), zero, a.data(), b.data(), pixels, channels, pixelwise.data());
            CHECK(y == expected);
            CHECK(pixelwise == by_pixel);
        });
    }
}

}  // namespace

TEST_CASE("where: any count, with and without tables, one condition a value or a pixel") {
    arrays::generator next(1);
    for (int i = 0; i != zp_test::fewer(500); ++i) {
        const auto pixels = static_cast<std::size_t>(next.integer(1, 30));
        const auto channels =
            static_cast<std::size_t>(next.integer(0, 4) == 0 ? next.integer(60, 90) : next.integer(1, 20));
        compare<std::uint8_t>(pixels, channels, next);
        compare<std::int8_t>(pixels, channels, next);
    }
}

TEST_CASE("where: floats, whose zeros have two signs") {
    const auto a = arrays::reals(37, 1), b = arrays::reals(37, 2);
    std::vector<float> condition = arrays::reals(37, 3), expected(37);
    for (std::size_t i = 0; i != 37; ++i) {
        if (i % 3 == 0) condition[i] = i % 2 == 0 ? 0.0f : -0.0f;
        expected[i] = i % 3 == 0 ? b[i] : a[i];
    }
    arrays::for_each_architecture([&]<class Arch>() {
        std::vector<float> y(37);
        kernel::where<Arch>(condition.data(), 0.0f, a.data(), b.data(), 37, y.data());
        CHECK(y == expected);
    });
}
