// SPDX-License-Identifier: BSD-3-Clause
// Attention with masks, in float and in integers: what is left out has no effect, near softmax in double; a shorter sentence's bits.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/attention/attention.hpp>
#include <zeropoint/kernel/attention/integer_attention.hpp>
#include <zeropoint/kernel/reference/attention.hpp>

#include "../../support/arrays.hpp"

namespace {

namespace kernel = zp::kernel;
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN(),
                infinity = std::numeric_limits<float>::infinity();

struct extents {
    std::size_t rows, heads, depth;
    std::size_t model() const { return heads * depth; }
    std::size_t values() const { return rows * model(); }
    std::ptrdiff_t pitch() const { return static_cast<std::ptrdiff_t>(3 * model()); }
};

/// A mask of a row for all, of a matrix for all heads, or of one a head.
struct mask_of {
    std::vector<float> values;
    std::size_t of_rows = 1, of_heads = 1;
    kernel::attention_mask view(const extents& e) const {
        const auto rows = static_cast<std::ptrdiff_t>(e.rows);
        return {values.data(), of_rows == 1 ? 0 : rows, of_heads == 1 ? 0 : rows * rows};
    }
    bool keeps(const extents& e, std::size_t head, std::size_t i, std::size_t j) const {
        return values[((of_heads == 1 ? 0 : head) * of_rows + (of_rows == 1 ? 0 : i)) * e.rows + j] != 0;
    }
    /// One value for each head, row and column.
    std::vector<float> expanded(const extents& e) const {
        std::vector<float> all;
        for (std::size_t head = 0; head != e.heads; ++head)
            for (std::size_t i = 0; i != e.rows; ++i)
                for (std::size_t j = 0; j != e.rows; ++j) all.push_back(keeps(e, head, i, j) ? 2.0f : 0.0f);
        return all;
    }
};
/// About `share` of the values are 0, of some rows all.
mask_of made_up_mask(const extents& e, std::size_t of_rows, std::size_t of_heads, std::uint64_t seed) {
    arrays::generator next(seed);
    mask_of mask{{}, of_rows, of_heads};
    for (std::size_t row = 0; row != of_rows * of_heads; ++row) {
        const int share = next.integer(0, 4);
        for (std::size_t j = 0; j != e.rows; ++j)
            mask.values.push_back(next.integer(1, 4) <= share ? 0.0f : next.real(-3, 3));
    }
    return mask;
}

template <class Arch>
std::vector<float> float_attention(const extents& e, const std::vector<float>& x, const kernel::attention_mask& mask) {
    const auto rows = static_cast<int>(e.rows), depth = static_cast<int>(e.depth);
    const auto padded = static_cast<std::size_t>(kernel::padded_rows(rows));
    std::vector<float> keys(padded * e.depth), scores(padded * std::size_t{kernel::attention_block}), y(e.values());
    for (std::size_t head = 0; head != e.heads; ++head) {
        const float* q = x.data() + head * e.depth;
        const float* of_head = mask.values == nullptr ? nullptr : mask.row(static_cast<int>(head), 0);
        kernel::attention_head<Arch>({q, q + e.model(), q + 2 * e.model(), e.pitch(), e.pitch(), e.pitch()},
                                     kernel::attention_extents::of_itself(rows, 1, depth),
                                     1.0f / std::sqrt(static_cast<float>(e.depth)), keys.data(), scores.data(),
                                     y.data() + head * e.depth, static_cast<std::ptrdiff_t>(e.model()), of_head,
                                     mask.row_pitch);
    }
    return y;
}
template <class Arch>
std::vector<float> integer_attention(const extents& e, const std::vector<float>& x,
                                     const kernel::attention_mask& mask) {
    const kernel::integer_attention_plan<Arch> plan(static_cast<int>(e.rows), static_cast<int>(e.heads),
                                                    static_cast<int>(e.depth));
    zp::aligned_buffer scratch(plan.bytes);
    std::fill_n(reinterpret_cast<std::uint8_t*>(scratch.data()), plan.bytes, std::uint8_t{0xc9});
    std::vector<float> y(e.values());
    const kernel::attention_rows rows{x.data(), x.data() + e.model(), x.data() + 2 * e.model(), e.pitch(), e.pitch(),
                                      e.pitch()};
    kernel::integer_attention<Arch>(plan, rows, y.data(), scratch.data(), mask);
    return y;
}

/// The mean of values by softmax over what is kept, in double.
std::vector<double> exact_attention(const extents& e, const std::vector<float>& x, const mask_of& mask) {
    std::vector<double> y(e.values());
    const std::size_t pitch = 3 * e.model();
    for (std::size_t head = 0; head != e.heads; ++head)
        for (std::size_t i = 0; i != e.rows; ++i) {
            std::vector<double> weights(e.rows), scores(e.rows);
            double total = 0, largest = -1e300;
            for (std::size_t j = 0; j != e.rows; ++j) {
                double& score = scores[j];
                for (std::size_t d = head * e.depth; d != (head + 1) * e.depth; ++d)
                    score += double{x[i * pitch + d]} * double{x[j * pitch + e.model() + d]};
                score /= std::sqrt(static_cast<double>(e.depth));
                if (mask.keeps(e, head, i, j)) largest = std::max(largest, score);
            }
            for (std::size_t j = 0; j != e.rows; ++j) {
                weights[j] = mask.keeps(e, head, i, j) ? std::exp(scores[j] - largest) : 0;
                total += weights[j];
            }
            if (total == 0) {
                weights.assign(e.rows, 1);
                total = static_cast<double>(e.rows);
            }
            for (std::size_t d = head * e.depth; d != (head + 1) * e.depth; ++d)
                for (std::size_t j = 0; j != e.rows; ++j)
                    if (weights[j] != 0)
                        y[i * e.model() + d] += weights[j] / total * double{x[j * pitch + 2 * e.model() + d]};
        }
    return y;
}
/// The same values, -0 being 0, or NaN both.
bool same(const std::vector<float>& a, const std::vector<float>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](float x, float y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}
double largest_difference(const std::vector<float>& found, const std::vector<double>& exact) {
    double largest = 0;
    for (std::size_t i = 0; i != found.size(); ++i) largest = std::max(largest, std::abs(double{found[i]} - exact[i]));
    return largest;
}

}  // namespace

TEST_CASE("masked attention: near softmax in double over what is kept, the bits of the definition in integers") {
    arrays::generator next(3);
    for (int problem = 0; problem != zp_test::fewer(45); ++problem) {
        const extents e{static_cast<std::size_t>(next.integer(1, 70)), static_cast<std::size_t>(next.integer(1, 4)),
                        static_cast<std::size_t>(next.integer(1, 37))};
        const auto seed = static_cast<std::uint64_t>(problem);
        const auto x = arrays::reals(3 * e.values(), seed, -2, 2);
        const mask_of mask = made_up_mask(e, problem % 3 == 0 ? 1 : e.rows, problem % 3 == 2 ? e.heads : 1, seed);
        const auto exact = exact_attention(e, x, mask);
        std::vector<float> expected(e.values());
        kernel::reference::integer_attention(x.data(), e.rows, e.heads, e.depth, expected.data(),
                                             problem % 3 == 0 ? mask.values : mask.expanded(e));
        CHECK(largest_difference(expected, exact) < 0.15);
        CAPTURE(problem);
        arrays::for_each_architecture([&]<class Arch>() {
            CHECK(largest_difference(float_attention<Arch>(e, x, mask.view(e)), exact) <= 2e-5);
            CHECK(same(integer_attention<Arch>(e, x, mask.view(e)), expected));
            const std::vector<float> ones(e.rows * e.rows, 1.0f);
            for (const std::ptrdiff_t pitch : {std::ptrdiff_t{0}, static_cast<std::ptrdiff_t>(e.rows)}) {
                CHECK(float_attention<Arch>(e, x, {ones.data(), pitch, 0}) == float_attention<Arch>(e, x, {}));
                CHECK(integer_attention<Arch>(e, x, {ones.data(), pitch, 0}) == integer_attention<Arch>(e, x, {}));
            }
        });
    }
}

TEST_CASE("masked attention: a padded sentence has the bits of the shorter one, whatever padding holds") {
    for (const std::size_t tokens : {std::size_t{1}, std::size_t{5}, std::size_t{16}, std::size_t{33}}) {
        const extents e{47, 3, 13}, shorter{tokens, 3, 13};
        std::vector<float> mask(47, 0.0f);
        std::fill_n(mask.begin(), tokens, 1.0f);
        auto x = arrays::reals(3 * e.values(), tokens, -3, 3);
        const std::vector<float> of_tokens(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(3 * shorter.values()));
        const auto begins = [&](const std::vector<float>& all, const std::vector<float>& with) {
            return same({all.begin(), all.begin() + static_cast<std::ptrdiff_t>(with.size())}, with);
        };
        arrays::for_each_architecture([&]<class Arch>() {
            CHECK(begins(float_attention<Arch>(e, x, {mask.data(), 0, 0}),
                         float_attention<Arch>(shorter, of_tokens, {})));
            for (const float value : {1e30f, not_a_number, -infinity, 0.0f}) {
                auto padded = x;
                for (std::size_t i = of_tokens.size(); i != x.size(); i += 3) padded[i] = value;
                CHECK(begins(integer_attention<Arch>(e, padded, {mask.data(), 0, 0}),
                             integer_attention<Arch>(shorter, of_tokens, {})));
            }
        });
    }
}

TEST_CASE("masked attention: extreme scores that are left out, and undefined queries") {
    const extents e{19, 2, 12};
    const auto usual = arrays::reals(3 * e.values(), 5, -3, 3);
    const std::size_t model = e.model();
    std::vector<float> mask(19, 1.0f);
    mask[7] = 0;
    const std::vector<float> none(19, 0.0f);
    for (const float value : {1e10f, -1e10f, 1e29f, 1e-40f, not_a_number, infinity})
        for (const std::size_t place : {std::size_t{3}, model + 3, 2 * model + 3})
            for (const std::vector<float>& kept : {mask, none}) {
                auto x = usual;
                x[7 * 3 * model + place] = value;
                std::vector<float> expected(e.values());
                kernel::reference::integer_attention(x.data(), e.rows, e.heads, e.depth, expected.data(), kept);
                CAPTURE(value);
                CAPTURE(place);
                arrays::for_each_architecture([&]<class Arch>() {
                    CHECK(same(integer_attention<Arch>(e, x, {kept.data(), 0, 0}), expected));
                });
            }
    // Scores of what is kept that are far below 0.
    auto low = usual;
    for (std::size_t row = 0; row != e.rows; ++row) {
        std::fill_n(low.begin() + static_cast<std::ptrdiff_t>(row * 3 * model), model, 1e4f);
        std::fill_n(low.begin() + static_cast<std::ptrdiff_t>((row * 3 + 1) * model), model, -1e4f);
    }
    const mask_of one_row{mask};
    const auto mean = exact_attention(e, low, one_row);
    arrays::for_each_architecture([&]<class Arch>() {
        CHECK(largest_difference(float_attention<Arch>(e, low, one_row.view(e)), mean) < 1e-5);
        CHECK(largest_difference(integer_attention<Arch>(e, low, one_row.view(e)), mean) < 0.05);
    });
    // Finite scores up to the largest float, of a key that is left out and of those that are not.
    for (const float value : {1e18f, -1e18f}) {
        auto x = usual;
        x[7 * 3 * model + model + 3] = value;
        x[3] = 1e18f;
        arrays::for_each_architecture([&]<class Arch>() {
            const auto y = float_attention<Arch>(e, x, {mask.data(), 0, 0});
            CHECK(std::all_of(y.begin(), y.end(), [](float one) { return std::abs(one) <= 3; }));
        });
    }
}
