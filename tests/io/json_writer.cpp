// SPDX-License-Identifier: BSD-3-Clause
// JSON written value by value: commas, quotes, numbers that come back.
#include <doctest/doctest.h>

#include <vector>

#include <zeropoint/io/json_writer.hpp>

TEST_CASE("json writer: values, nested") {
    zp::json_writer json;
    json.open_object();
    json.member("a\"", "\n");
    json.member("b", true);
    json.array("c", std::vector<int>{1, -2});
    json.key("d");
    json.open_array();
    json.new_line();
    json.open_object();
    json.close_object();
    json.new_line();
    json.value(0.1f);
    json.value(std::numeric_limits<float>::infinity());
    json.null();
    json.close_array();
    json.array("e", std::vector<float>{});
    json.member("f", std::int64_t{-9000000000});
    json.close_object();
    CHECK(json.text() ==
          "{\"a\\\"\": \"\\n\", \"b\": true, \"c\": [1, -2], \"d\": [\n{},\n0.1, null, null], \"e\": [], \"f\": "
          "-9000000000}");
}

TEST_CASE("json writer: members and elements by functions") {
    zp::json_writer json;
    json.object([&] {
        json.object("a", [&] { json.member("b", 1); });
        json.array("c", std::vector<int>{1, 2}, [&](int one) { json.value(2 * one); });
        json.objects("d", std::vector<int>{3, 4}, [&](int one) { json.member("e", one); });
        json.rows("f", std::vector<int>{5, 6}, [&](int one) { json.member("g", one); });
        json.rows("h", std::vector<int>{}, [&](int) {});
    });
    CHECK(json.text() ==
          "{\"a\": {\"b\": 1}, \"c\": [2, 4], \"d\": [{\"e\": 3}, {\"e\": 4}], \"f\": [\n{\"g\": 5},\n{\"g\": 6}], "
          "\"h\": []}");
}
