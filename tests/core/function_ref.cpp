// SPDX-License-Identifier: BSD-3-Clause
#include <string>
#include <type_traits>
#include <utility>

#include <doctest/doctest.h>

#include <zeropoint/core/function_ref.hpp>

namespace {

int called_with_three(zp::function_ref<int(int)> callable) { return callable(3); }

}  // namespace

TEST_CASE("function_ref: calls what it was made of, without a copy") {
    int calls = 0;
    auto counting = [&calls, state = 0](int x) mutable {
        ++calls;
        return x + ++state;
    };
    CHECK(called_with_three(counting) == 4);
    CHECK(called_with_three(counting) == 5);
    CHECK(calls == 2);
    const auto constant = [](int x) { return x + 10; };
    CHECK(called_with_three(constant) == 13);
    CHECK(called_with_three([](int x) { return x * x; }) == 9);
}

TEST_CASE("function_ref: references reach the callable, results may be dropped") {
    std::string text = "a";
    const auto append = [](std::string& to) -> std::string& { return to += "b"; };
    zp::function_ref<void(std::string&)>{append}(text);
    CHECK(text == "ab");
    std::string taken;
    const auto take = [&](std::string&& from) { taken = std::move(from); };
    zp::function_ref<void(std::string &&)>{take}(std::move(text));
    CHECK(taken == "ab");
}

TEST_CASE("function_ref: a copy calls the same") {
    int sum = 0;
    const auto add = [&](int x) { sum += x; };
    const zp::function_ref<void(int)> first(add), second(first);
    first(1);
    second(2);
    CHECK(sum == 3);
    static_assert(std::is_trivially_copyable_v<zp::function_ref<void(int)>>);
}
