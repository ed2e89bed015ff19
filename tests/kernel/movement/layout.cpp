// SPDX-License-Identifier: BSD-3-Clause
#include <cstdint>
#include <numeric>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/movement/layout.hpp>

#include "../../support/arrays.hpp"

namespace kernel = zp::kernel;

TEST_CASE("nchw_to_nhwc") {
    for (const zp::shape s : {zp::shape{1, 1, 1}, {2, 3, 4}, {5, 7, 3}, {33, 31, 40}, {1, 1, 100}, {9, 9, 1}}) {
        std::vector<int> nchw(static_cast<std::size_t>(s.size()));
        std::iota(nchw.begin(), nchw.end(), 0);
        std::vector<int> nhwc(nchw.size());
        kernel::nchw_to_nhwc<int>(nchw.data(), s, nhwc.data());
        std::size_t i = 0;
        for (int y = 0; y != s.height; ++y)
            for (int x = 0; x != s.width; ++x)
                for (int c = 0; c != s.channels; ++c) REQUIRE(nhwc[i++] == (c * s.height + y) * s.width + x);
    }
}

TEST_CASE("transpose_matrix: every extent around squares and blocks, each size of value, every architecture") {
    const auto check = []<class T, class Arch>() {
        for (const std::size_t rows : {1u, 3u, 7u, 8u, 9u, 15u, 16u, 31u, 32u, 33u, 50u, 65u}) {
            for (const std::size_t columns : {1u, 3u, 4u, 8u, 15u, 16u, 17u, 24u, 33u, 64u, 70u}) {
                arrays::generator next(rows + columns);
                std::vector<T> x(rows * columns);
                for (T& value : x) value = static_cast<T>(next());
                std::vector<T> y(x.size()), wanted(x.size());
                for (std::size_t r = 0; r != rows; ++r)
                    for (std::size_t c = 0; c != columns; ++c) wanted[c * rows + r] = x[r * columns + c];
                kernel::transpose_matrix<T, Arch>(x.data(), rows, columns, y.data());
                CHECK(y == wanted);
            }
        }
    };
    arrays::for_each_architecture([&]<class Arch>() {
        check.template operator()<std::uint8_t, Arch>();
        check.template operator()<std::int8_t, Arch>();
        check.template operator()<std::int16_t, Arch>();
        check.template operator()<std::int32_t, Arch>();
    });
}
