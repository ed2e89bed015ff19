// SPDX-License-Identifier: BSD-3-Clause
// Attention in integers: the bits of its definition on every architecture, near softmax in double.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/attention/integer_attention.hpp>
#include <zeropoint/kernel/reference/attention.hpp>

#include "../../support/arrays.hpp"

namespace {

namespace kernel = zp::kernel;
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

struct extents {
    int rows, heads, depth;
    std::size_t values() const {
        return static_cast<std::size_t>(rows) * static_cast<std::size_t>(heads) * static_cast<std::size_t>(depth);
    }
};

/// The same values, -0 being 0, or NaN both.
bool same(const std::vector<float>& a, const std::vector<float>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](float x, float y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

/// Of rows of queries, keys and values side by side.
kernel::attention_rows side_by_side(const std::vector<float>& x, const extents& e) {
    const std::ptrdiff_t model = std::ptrdiff_t{e.heads} * e.depth;
    return {x.data(), x.data() + model, x.data() + 2 * model, 3 * model, 3 * model, 3 * model};
}

void check(const extents& e, const std::vector<float>& x) {
    std::vector<float> expected(e.values());
    kernel::reference::integer_attention(x.data(), static_cast<std::size_t>(e.rows), static_cast<std::size_t>(e.heads),
                                         static_cast<std::size_t>(e.depth), expected.data());
    CAPTURE(e.rows);
    CAPTURE(e.heads);
    CAPTURE(e.depth);
    arrays::for_each_architecture([&]<class Arch>() {
        const kernel::integer_attention_plan<Arch> plan(e.rows, e.heads, e.depth),
            larger(e.rows + 70, e.heads, e.depth);
        CHECK(larger.bytes >= plan.bytes);
        zp::aligned_buffer scratch(plan.bytes);
        std::fill_n(reinterpret_cast<std::uint8_t*>(scratch.data()), plan.bytes, std::uint8_t{0xc9});
        std::vector<float> y(e.values() + 1, -7.0f);
        kernel::integer_attention<Arch>(plan, side_by_side(x, e), y.data(), scratch.data());
        CHECK(y.back() == -7.0f);
        y.pop_back();
        CHECK(same(y, expected));
    });
}

}  // namespace

TEST_CASE("integer_attention: the bits of the definition") {
    arrays::generator next(31);
    for (const extents& e :
         {extents{1, 1, 1}, {17, 3, 5}, {64, 2, 32}, {2, 5, 8}, {67, 1, 33}, {35, 2, 64}, {130, 1, 7}})
        check(e, arrays::reals(3 * e.values(), static_cast<std::uint64_t>(e.rows), -3, 3));
    for (int problem = 0; problem != zp_test::fewer(30); ++problem) {
        const extents e{next.integer(1, 70), next.integer(1, 4), next.integer(1, 40)};
        const float reach = next.real(0.1f, 8);
        check(e, arrays::reals(3 * e.values(), static_cast<std::uint64_t>(problem), -reach, reach));
    }
}

TEST_CASE("integer_attention: queries, keys and values apart are those side by side") {
    const extents e{37, 3, 12};
    const auto x = arrays::reals(3 * e.values(), 11, -3, 3);
    const std::size_t model = 36;
    std::vector<float> apart[3];
    for (std::size_t row = 0; row != 37; ++row)
        for (std::size_t part = 0; part != 3; ++part)
            for (std::size_t c = 0; c != model; ++c) apart[part].push_back(x[(3 * row + part) * model + c]);
    const kernel::integer_attention_plan<zp::default_architecture> plan(e.rows, e.heads, e.depth);
    zp::aligned_buffer scratch(plan.bytes);
    std::vector<float> y(e.values()), expected(e.values());
    kernel::integer_attention<zp::default_architecture>(plan, side_by_side(x, e), expected.data(), scratch.data());
    kernel::integer_attention<zp::default_architecture>(
        plan, {apart[0].data(), apart[1].data(), apart[2].data(), 36, 36, 36}, y.data(), scratch.data());
    CHECK(same(y, expected));
}

TEST_CASE("integer_attention: extreme and undefined values") {
    const extents e{19, 2, 12};
    const std::size_t model = 24, pitch = 3 * model;
    const auto usual = arrays::reals(3 * e.values(), 5, -3, 3);
    const auto with = [&](std::size_t row, std::size_t column, float value) {
        auto x = usual;
        x[row * pitch + column] = value;
        return x;
    };
    const float infinity = std::numeric_limits<float>::infinity(), most = std::numeric_limits<float>::max();
    for (const std::size_t column : {std::size_t{3}, model + 3, 2 * model + 3, 2 * model + 23})
        for (const float value : {not_a_number, infinity, -infinity, most, -most, 1e20f, 1e-40f})
            check(e, with(7, column, value));
    for (const float value : {0.0f, 2.0f, -0.0f, 1e-40f, -1e-30f, most})
        check(e, std::vector<float>(usual.size(), value));

    // A query is of its row, a key of all, a value of its column.
    const auto undefined = [&](const std::vector<float>& x) {
        const kernel::integer_attention_plan<zp::default_architecture> plan(e.rows, e.heads, e.depth);
        zp::aligned_buffer scratch(plan.bytes);
        std::vector<float> y(e.values());
        kernel::integer_attention<zp::default_architecture>(plan, side_by_side(x, e), y.data(), scratch.data());
        return std::count_if(y.begin(), y.end(), [](float v) { return std::isnan(v); });
    };
    CHECK(undefined(usual) == 0);
    CHECK(undefined(with(7, 3, not_a_number)) == 24);
    CHECK(undefined(with(7, model + 3, -infinity)) == 19 * 24);
    CHECK(undefined(with(7, 2 * model + 3, infinity)) == 19);
    CHECK(undefined(with(7, 3, most)) == 0);
    CHECK(undefined(with(7, model + 3, 1e29f)) == 0);
}

TEST_CASE("softmax_code: near 255 * exp2, and 255 of the largest score") {
    CHECK(kernel::softmax_code(3, 3, 0) == 255);
    CHECK(kernel::softmax_code(-1e30f, 1e30f, 1e30f) == 0);
    for (int i = 0; i <= 20000; ++i) {
        const float t = -static_cast<float>(i) / 1000.0f;
        const double exact = 255 * std::exp2(double{t});
        const int code = kernel::softmax_code(t, 0, 1);
        CHECK(std::abs(code - exact) <= 0.53);
        CHECK(code == kernel::reference::softmax_code(t));
    }
}

TEST_CASE("integer_attention: near softmax in double") {
    const std::size_t rows = 48, heads = 2, depth = 16, model = heads * depth, pitch = 3 * model;
    const auto x = arrays::reals(rows * pitch, 77, -2, 2);
    const kernel::integer_attention_plan<zp::default_architecture> plan(48, 2, 16);
    zp::aligned_buffer scratch(plan.bytes);
    std::vector<float> y(rows * model);
    kernel::integer_attention<zp::default_architecture>(plan, side_by_side(x, {48, 2, 16}), y.data(), scratch.data());
    double signal = 0, error = 0;
    for (std::size_t i = 0; i != rows; ++i)
        for (std::size_t c = 0; c != model; ++c) {
            double total = 0, mean = 0;
            for (std::size_t j = 0; j != rows; ++j) {
                double score = 0;
                for (std::size_t d = c / depth * depth; d != (c / depth + 1) * depth; ++d)
                    score += double{x[i * pitch + d]} * double{x[j * pitch + model + d]};
                const double e = std::exp(score / std::sqrt(static_cast<double>(depth)));
                total += e;
                mean += e * double{x[j * pitch + 2 * model + c]};
            }
            mean /= total;
            signal += mean * mean;
            error += (mean - double{y[i * model + c]}) * (mean - double{y[i * model + c]});
        }
    CHECK(10 * std::log10(signal / error) > 35);
}
