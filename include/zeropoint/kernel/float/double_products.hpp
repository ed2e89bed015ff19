// SPDX-License-Identifier: BSD-3-Clause
// Sums of products in double over long rows: what second moments and triangular matrices are made of.
#pragma once

#include <algorithm>
#include <cstddef>

#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/vector/code_lanes.hpp>
#include <zeropoint/kernel/vector/number.hpp>

namespace zp {
inline namespace v0 {
namespace kernel {

/// Calls body(i, number) for i in [0, count), as for_each_number() does over floats. Where Arch has no vectors of doubles: doubles.
template <class Arch, class Body>
[[gnu::always_inline]] inline void for_each_double(std::size_t count, Body&& body) noexcept {
    std::size_t i = 0;
    if constexpr (has_vectors<Arch>) {
        if constexpr (xsimd::has_simd_register<double, Arch>::value) {
            using doubles = xsimd::batch<double, Arch>;
            for (const std::size_t whole = count - count % doubles::size; i != whole; i += doubles::size)
                body(i, doubles());
        }
    }
    for (; i != count; ++i) body(i, double());
}

/// y[i] += factor * x[i].
template <class Arch> void add_scaled(double factor, const double* x, std::size_t count, double* y) noexcept {
    for_each_double<Arch>(
        count, [&](std::size_t i, auto kind) __attribute__((always_inline)) {
            using Number = decltype(kind);
            store_number(Number(load_number<Number>(y + i) + Number(factor) * load_number<Number>(x + i)), y + i);
        });
}

/// sums[i][j] += rows[0][i] * rows[0][j] + rows[1][i] * rows[1][j] + ... for j >= i, of `count` rows of `depth` doubles; sums are depth x
/// depth. What is below the diagonal stays, or is changed: it means nothing.
template <class Arch>
void add_symmetric_products(const double* rows, std::size_t count, std::size_t depth, double* sums) noexcept {
    constexpr std::size_t together = 4;
    for (std::size_t i = 0; i < depth; i += together) {
        const std::size_t height = std::min(together, depth - i);
        double* to = sums + i * depth + i;
        if (height != together) {
            for (std::size_t r = 0; r != count; ++r)
                for (std::size_t k = 0; k != height; ++k)
                    add_scaled<Arch>(rows[r * depth + i + k], rows + r * depth + i, depth - i, to + k * depth);
            continue;
        }
        for_each_double<Arch>(
            depth - i, [&](std::size_t j, auto kind) __attribute__((always_inline)) {
                using Number = decltype(kind);
                Number a = load_number<Number>(to + j), b = load_number<Number>(to + depth + j),
                       c = load_number<Number>(to + 2 * depth + j), d = load_number<Number>(to + 3 * depth + j);
                const double* from = rows + i;
                for (std::size_t r = 0; r != count; ++r, from += depth) {
                    const Number x = load_number<Number>(from + j);
                    a = Number(a + x * Number(from[0]));
                    b = Number(b + x * Number(from[1]));
                    c = Number(c + x * Number(from[2]));
                    d = Number(d + x * Number(from[3]));
                }
                store_number(a, to + j);
                store_number(b, to + depth + j);
                store_number(c, to + 2 * depth + j);
                store_number(d, to + 3 * depth + j);
            });
    }
}

}  // namespace kernel
}  // namespace v0
}  // namespace zp
