// SPDX-License-Identifier: BSD-3-Clause
// Sums of products in double over long rows: what second moments and triangular matrices are made of.
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/vector/code_lanes.hpp>
#include <zeropoint/kernel/vector/number.hpp>
#include <zeropoint/kernel/vector/unroll.hpp>

namespace zp::inline v0::kernel {

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

/// Vectors of floats or doubles, or one value where Arch has none.
template <class Arch, class Value> struct product_vector { using type = Value; };
template <class Arch, class Value>
    requires(has_vectors<Arch>&& xsimd::has_simd_register<Value, Arch>::value)
struct product_vector<Arch, Value> {
    using type = xsimd::batch<Value, Arch>;
};

/// Columns of a panel: rows of values lie in panels of so many columns, [panel][row][column], so that products of two panels run through both.
/// Two vectors, and a line of the cache at least.
template <class Arch, class Value>
inline constexpr std::size_t product_panel = std::max(std::size_t{64},
                                                      2 * sizeof(typename product_vector<Arch, Value>::type)) /
                                             sizeof(Value);
template <class Arch, class Value> constexpr std::size_t product_panels(std::size_t depth) {
    return (depth + product_panel<Arch, Value> - 1) / product_panel<Arch, Value>;
}

/// to[k][l] += sum over `count` rows r of left[r][k] * right[r][l], of Height rows k of sums, `pitch` apart, and l in [0, Width vectors of
/// Number): as many sums as hide the latency of additions. Rows of left and right are those of panels of `columns`.
template <class Value, class Number, int Height, int Width, std::size_t columns>
[[gnu::always_inline]] inline void add_product_tile(const Value* left, const Value* right, std::size_t count,
                                                    double* to, std::size_t pitch) noexcept {
    constexpr std::size_t lanes = sizeof(Number) / sizeof(Value);
    constexpr bool is_double = std::is_same_v<Value, double>;
    Number tile[Height][Width];
    const auto each = [](auto visit) __attribute__((always_inline)) {
        unroll<Height>([&](auto k) __attribute__((always_inline)) {
            unroll<Width>([&](auto l) __attribute__((always_inline)) { visit(k, l); });
        });
    };
    each([&](auto k, auto l) __attribute__((always_inline)) {
        if constexpr (is_double) tile[k][l] = load_number<Number>(to + k * pitch + l * lanes);
        else tile[k][l] = Number(Value(0));
    });
    for (std::size_t r = 0; r != count; ++r, left += columns, right += columns) {
        Number x[Width];
        unroll<Width>([&](auto l) __attribute__((always_inline)) { x[l] = load_number<Number>(right + l * lanes); });
        each([&](auto k, auto l)
                 __attribute__((always_inline)) { tile[k][l] = Number(tile[k][l] + x[l] * Number(left[k])); });
    }
    each([&](auto k, auto l) __attribute__((always_inline)) {
        double* const place = to + k * pitch + l * lanes;
        if constexpr (is_double) {
            store_number(tile[k][l], place);
        } else {
            Value values[lanes];
            store_number(tile[k][l], values);
            for (std::size_t i = 0; i != lanes; ++i) place[i] += double{values[i]};
        }
    });
}

/// sums[i][j] += rows[0][i] * rows[0][j] + rows[1][i] * rows[1][j] + ... for j >= i, of `count` rows of `depth` values in panels that have
/// room for `capacity` rows; sums are depth x depth. What is below the diagonal stays, or is changed: it means nothing. Of doubles one row is
/// added after another. Of floats those of a call are added in float: they are integers, count times the largest square at most 2^24, so that
/// nothing is rounded.
template <class Arch, class Value>
void add_symmetric_products(const Value* panels, std::size_t count, std::size_t capacity, std::size_t depth,
                            double* sums) noexcept {
    using Vector = typename product_vector<Arch, Value>::type;
    constexpr std::size_t columns = product_panel<Arch, Value>, lanes = sizeof(Vector) / sizeof(Value);
    const auto place = [=](std::size_t column) __attribute__((always_inline)) {
        return panels + column / columns * columns * capacity + column % columns;
    };
    const auto add_rows = [&]<int Height>(std::size_t i) __attribute__((always_inline)) {
        const Value* const left = place(i);
        double* const to = sums + i * depth;
        for (std::size_t j = i / lanes * lanes;
             j != depth;) {  // whole vectors: what is below the diagonal means nothing
            const std::size_t end = std::min(depth, (j / columns + 1) * columns);
            for (; j + 2 * lanes <= end; j += 2 * lanes)
                add_product_tile<Value, Vector, Height, 2, columns>(left, place(j), count, to + j, depth);
            for (; j + lanes <= end; j += lanes)
                add_product_tile<Value, Vector, Height, 1, columns>(left, place(j), count, to + j, depth);
            for (; j != end; ++j)
                add_product_tile<Value, Value, Height, 1, columns>(left, place(j), count, to + j, depth);
        }
    };
    constexpr int together = sizeof(Vector) < 64 ? 4 : 8;  // vectors of 512 bits have 32 registers
    std::size_t i = 0;
    for (; i + together <= depth; i += together) add_rows.template operator()<together>(i);
    for (; i != depth; ++i) add_rows.template operator()<1>(i);
}

}  // namespace zp::inline v0::kernel
