// SPDX-License-Identifier: BSD-3-Clause
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/io/json_reader.hpp>

using doctest::Contains;

namespace {

std::string string_in(std::string_view json) {
    zp::json_reader reader(json, "f", 0);
    std::string value = reader.string();
    reader.end();
    return value;
}

std::uint64_t integer_in(std::string_view json) {
    zp::json_reader reader(json, "f", 0);
    const std::uint64_t value = reader.unsigned_integer();
    reader.end();
    return value;
}

}  // namespace

TEST_CASE("json_reader: strings") {
    CHECK(string_in("\"\"").empty());
    CHECK(string_in(" \n\t\r\"a b\" ") == "a b");
    CHECK(string_in("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"") == "\"\\/\b\f\n\r\t");
    CHECK(string_in("\"\\u0041\\u00e9\\u00E9\\u20ac\\ud83d\\uDE00\\u0000\"") ==
          std::string("A\xc3\xa9\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\0", 13));
    CHECK(string_in("\"\\u007f\\u0080\\u07ff\\u0800\\uffff\\ud800\\udc00\\udbff\\udfff\"") ==
          "\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf");
    CHECK(string_in("\"\xe2\x82\xac\x7f\"") == "\xe2\x82\xac\x7f");
    for (const std::string_view wrong : {"",
                                         "a",
                                         "'a'",
                                         "\"",
                                         "\"a",
                                         "\"\\",
                                         "\"\\\"",
                                         "\"\\x\"",
                                         "\"\\U0041\"",
                                         "\"\n\"",
                                         "\"\t\"",
                                         "\"\x01\"",
                                         "\"\\u\"",
                                         "\"\\u00\"",
                                         "\"\\u004g\"",
                                         "\"\\u+041\"",
                                         "\"\\ud800\"",
                                         "\"\\ud800x\"",
                                         "\"\\ud800\\n\"",
                                         "\"\\ud800\\u0041\"",
                                         "\"\\ud800\\ud800\"",
                                         "\"\\udc00\"",
                                         "\"\\ud83d\\u\"",
                                         "\"a\"b",
                                         "\"a\"\"b\""}) {
        CAPTURE(wrong);
        CHECK_THROWS_AS(string_in(wrong), zp::file_error);
    }
    CHECK_THROWS_AS(string_in(std::string_view("\"a\0b\"", 5)), zp::file_error);
    CHECK_THROWS_AS(string_in(std::string_view("\"a\"\0", 4)), zp::file_error);
    CHECK_THROWS_AS(string_in("\xef\xbb\xbf\"a\""), zp::file_error);  // a byte order mark
}

TEST_CASE("json_reader: integers") {
    CHECK(integer_in("0") == 0);
    CHECK(integer_in(" 10 ") == 10);
    CHECK(integer_in("18446744073709551615") == UINT64_MAX);
    for (const std::string_view wrong : {"",
                                         "-1",
                                         "-0",
                                         "+1",
                                         "01",
                                         "00",
                                         "1.0",
                                         "1e3",
                                         "1E3",
                                         "0x1",
                                         ".5",
                                         "1 2",
                                         "a",
                                         "1_0",
                                         "18446744073709551616",
                                         "18446744073709551620",
                                         "99999999999999999999",
                                         "1000000000000000000000000000000",
                                         "null",
                                         "\"1\""}) {
        CAPTURE(wrong);
        CHECK_THROWS_AS(integer_in(wrong), zp::file_error);
    }
}

TEST_CASE("json_reader: objects and arrays") {
    const auto keys_of = [](std::string_view json) {
        zp::json_reader reader(json, "f", 0);
        std::string keys;
        reader.object([&](const std::string& key) {
            keys += key;
            reader.array([&] { keys += std::to_string(reader.unsigned_integer()); });
        });
        reader.end();
        return keys;
    };
    CHECK(keys_of("{}").empty());
    CHECK(keys_of("{ }").empty());
    CHECK(keys_of("{\"b\":[],\"a\":[1,2] , \"c\" : [ 3 ]}") == "ba12c3");
    for (const std::string_view wrong : {"",
                                         "[",
                                         "{",
                                         "{\"a\"",
                                         "{\"a\":",
                                         "{\"a\":[]",
                                         "{\"a\":[]]",
                                         "{\"a\" []}",
                                         "{\"a\":[],}",
                                         "{,\"a\":[]}",
                                         "{a:[]}",
                                         "{\"a\":[1,]}",
                                         "{\"a\":[,1]}",
                                         "{\"a\":[1 2]}",
                                         "{\"a\":[1}",
                                         "{\"a\":[]}{",
                                         "{\"a\":[]}}",
                                         "{\"a\":[] \"b\":[]}",
                                         "{\"a\":[],\"a\":[]}",
                                         "{\"a\":{}}",
                                         "// c\n{}",
                                         "{/**/}"}) {
        CAPTURE(wrong);
        CHECK_THROWS_AS(keys_of(wrong), zp::file_error);
    }
}

TEST_CASE("json_reader: messages give the place, counted from the beginning of the file") {
    const std::string_view json = "{\"a\": \xe2\x82\xac}";
    zp::json_reader reader(json, "f.safetensors", 8);
    reader.set_context("tensor \"x\"");
    CHECK_THROWS_WITH_AS(
        reader.object([&](const std::string&) { reader.string(); }),
        "f.safetensors: tensor \"x\": expected a string at byte 14 of the file, found \"\xe2\x82\xac\"",
        zp::file_error);
    zp::json_reader end("[1", "f", 0);
    CHECK_THROWS_WITH_AS(
        end.array([&] { end.unsigned_integer(); }),
        "f: expected \",\" or \"]\" after an element at byte 2 of the file, found the end of the header",
        zp::file_error);
}
