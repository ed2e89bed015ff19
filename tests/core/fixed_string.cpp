// SPDX-License-Identifier: BSD-3-Clause
// Strings as template arguments.
#include <type_traits>

#include <doctest/doctest.h>

#include <zeropoint/core/fixed_string.hpp>

namespace {

template <zp::fixed_string Name> struct named {};

static_assert(std::is_same_v<named<"conv1">, named<"conv1">> && !std::is_same_v<named<"conv1">, named<"conv2">>);
static_assert(!std::is_same_v<named<"a">, named<"ab">>);
static_assert(std::is_same_v<named<zp::fixed_string("block") + ".conv1">, named<"block.conv1">>,
              "no padding after concatenation");
static_assert(zp::fixed_string("a") + zp::fixed_string("") == zp::fixed_string("a"));
static_assert("a." + zp::fixed_string("b") == zp::fixed_string("a.b"));
static_assert(std::is_same_v<named<"blocks." + zp::numeral<0>>, named<"blocks.0">>);
static_assert(std::is_same_v<named<"blocks." + zp::numeral<10> + ".conv">, named<"blocks.10.conv">>);
static_assert(zp::numeral<9> == zp::fixed_string("9") && zp::numeral<99> == zp::fixed_string("99"));
static_assert(zp::numeral<12345> == zp::fixed_string("12345"));

}  // namespace

TEST_CASE("fixed_string: a view without the terminating zero") {
    CHECK(zp::fixed_string("conv1").view() == "conv1");
    CHECK(zp::fixed_string("").view().empty());
    CHECK((zp::fixed_string("block") + zp::fixed_string(".conv1")).view() == "block.conv1");
}
