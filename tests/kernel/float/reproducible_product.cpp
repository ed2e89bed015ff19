// SPDX-License-Identifier: BSD-3-Clause
// Float products in one order: equal to a plain loop, bit for bit, on every architecture.
#include <cstddef>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/float/reproducible_product.hpp>

#include "../../support/arrays.hpp"

namespace kernel = zp::kernel;

TEST_CASE("ordered_product: the bits of a plain loop, within strides, and nothing written elsewhere") {
    arrays::generator next(5);
    for (int problem = 0; problem != zp_test::fewer(500); ++problem) {
        const int rows = next.integer(1, 10), depth = next.integer(0, 40), columns = next.integer(1, 150);
        const std::ptrdiff_t x_pitch = depth + next.integer(0, 3), w_pitch = columns + next.integer(0, 3),
                             y_pitch = columns + next.integer(0, 3);
        const auto size = [](std::ptrdiff_t a, std::ptrdiff_t b) { return static_cast<std::size_t>(a * b); };
        const auto seed = static_cast<std::uint64_t>(problem);
        const auto x = arrays::reals(size(rows, x_pitch) + 1, 3 * seed + 1),
                   w = arrays::reals(size(depth, w_pitch) + 1, 3 * seed + 2),
                   bias = arrays::reals(size(columns, 1), 3 * seed + 3);
        const bool has_bias = next.integer(0, 1) == 1;
        std::vector<float> expected(size(rows, y_pitch), -7.0f);
        for (int r = 0; r != rows; ++r)
            for (int c = 0; c != columns; ++c) {
                volatile float sum = has_bias ? bias[size(c, 1)] : 0.0f;
                for (int k = 0; k != depth; ++k) {
                    volatile float product = x[size(r, x_pitch) + size(k, 1)] * w[size(k, w_pitch) + size(c, 1)];
                    sum = sum + product;
                }
                expected[size(r, y_pitch) + size(c, 1)] = sum;
            }
        CAPTURE(problem);
        arrays::for_each_architecture([&]<class Arch>() {
            std::vector<float> y(expected.size(), -7.0f);
            kernel::ordered_product<Arch>({x.data(), x_pitch}, rows, depth, {w.data(), w_pitch}, columns,
                                          has_bias ? bias.data() : nullptr, y.data(), y_pitch);
            CHECK(y == expected);
        });
    }
}
