// SPDX-License-Identifier: BSD-3-Clause
// Models that indices go into: what a call takes and refuses, and the float rows of an embedding.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <zeropoint/operators/embedding.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

#include "../support/errors.hpp"
#include "../support/made_up.hpp"

namespace {

// Rows of 5 values of a table of 7, plus those of places 2, 3, 4; one index has a table of its own.
struct words
    : zp::model<zp::indices<3>, zp::add<zp::embedding<"words", 7, 5>, zp::position_embedding<"places", 6, 5, 2>>> {};
using network = zp::float_model<words>;
struct fields : zp::model<zp::indices<3>, zp::concat<zp::embedding<"user", 4, 3, zp::embedding_options{.count = 1}>,
                                                     zp::embedding<"item", 9, 2, zp::embedding_options{1, 1}>,
                                                     zp::embedding<"time", 2, 1, zp::embedding_options{.first = 2}>>> {
};

template <class X, class Y>
constexpr bool is_noexcept = noexcept(std::declval<const network&>()(std::declval<const X&>(), std::declval<Y&>()));
using tokens = std::array<std::int32_t, 3>;
using values = std::array<float, 15>;

static_assert(network::takes_indices && network::input_shape == zp::shape{1, 3, 1});
static_assert(network::output_shape == zp::shape{1, 3, 5});
static_assert(!is_noexcept<tokens, values>);
static_assert(is_noexcept<zp::unchecked_values<tokens>, values>);
static_assert(is_noexcept<zp::unchecked_values<std::array<std::int64_t, 3>>, values>);
static_assert(!is_noexcept<zp::unchecked_values<std::vector<int>>, values>);
static_assert(!is_noexcept<zp::unchecked_values<tokens>, std::vector<float>>);

using zp_test::error_of;

template <class Network> float* table_of(Network& model, int row) {
    return reinterpret_cast<float*>(model.parameters() +
                                    model.rows()[static_cast<std::size_t>(row)].at.parameter_offset);
}

}  // namespace

TEST_CASE("indices: rows of tables by index and by place, of integers of every kind") {
    network model = made_up::network<words>(3);
    const float *table = table_of(model, 1), *places = table_of(model, 2);
    const tokens x{6, 0, 6};
    values expected{}, y{};
    for (std::size_t i = 0; i != 3; ++i)
        for (std::size_t c = 0; c != 5; ++c)
            expected[i * 5 + c] = table[static_cast<std::size_t>(x[i]) * 5 + c] + places[(i + 2) * 5 + c];
    model(x, y);
    CHECK(y == expected);
    const auto same = [&](const auto& range) {
        y = {};
        network::workspace memory;
        model(range, y, memory);
        CHECK(y == expected);
    };
    same(std::vector<std::int32_t>{6, 0, 6});
    same(std::vector<std::int64_t>{6, 0, 6});
    same(std::array<std::uint32_t, 3>{6, 0, 6});
    same(std::array<std::uint64_t, 3>{6, 0, 6});
    same(zp::unchecked(x));
    const std::array<long long, 3> wide{6, 0, 6};
    same(zp::unchecked(wide));
    same(std::span<const std::int32_t, 3>(x));
}

TEST_CASE("indices: one outside of a table is a value_error before anything runs") {
    const network model = made_up::network<words>(3);
    values y{};
    y.fill(7);
    const auto error = [&](const auto& x) { return error_of<zp::value_error>([&] { model(x, y); }); };
    CHECK(error(tokens{0, 7, 0}) == "words: index 7 at position 1 is outside of the table's 7 rows");
    CHECK(error(tokens{0, 0, -1}) == "words: index -1 at position 2 is outside of the table's 7 rows");
    CHECK(error(std::array<std::int64_t, 3>{std::int64_t{1} << 32, 0, 0}) ==
          "words: index 4294967296 at position 0 is outside of the table's 7 rows");
    CHECK(error(std::array<std::uint64_t, 3>{0, 0, ~std::uint64_t{0}}) ==
          "words: index 18446744073709551615 at position 2 is outside of the table's 7 rows");
    CHECK(y[0] == 7);
    CHECK(error(tokens{6, 6, 6}) == "no error");
    CHECK(error_of<zp::shape_error>([&] { model(std::vector<int>(2), y); }) ==
          "the model's input is 1x3x1, that is 3 indices, but a range of 2 came");
}

TEST_CASE("indices: each has a table of its own") {
    zp::float_model<fields> model = made_up::network<fields>(4);
    std::array<float, 6> y{};
    model(tokens{3, 8, 1}, y);
    const float expected[] = {table_of(model, 1)[9],  table_of(model, 1)[10], table_of(model, 1)[11],
                              table_of(model, 2)[16], table_of(model, 2)[17], table_of(model, 3)[1]};
    CHECK(std::equal(y.begin(), y.end(), expected));
    const auto error = [&](tokens x) { return error_of<zp::value_error>([&] { model(x, y); }); };
    CHECK(error({4, 0, 0}) == "user: index 4 at position 0 is outside of the table's 4 rows");
    CHECK(error({0, 9, 0}) == "item: index 9 at position 1 is outside of the table's 9 rows");
    CHECK(error({0, 0, 2}) == "time: index 2 at position 2 is outside of the table's 2 rows");
}
