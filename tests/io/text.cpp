// SPDX-License-Identifier: BSD-3-Clause
#include <cstdint>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include <zeropoint/io/json_reader.hpp>
#include <zeropoint/io/text.hpp>

#include "../support/extent.hpp"

namespace {

bool is_utf8(std::string_view text) { return zp::valid_utf8_prefix(text) == text.size(); }

/// UTF-8 of a code point by the table of RFC 3629, surrogates and all.
std::string encoded(std::uint32_t code) {
    const auto byte = [](std::uint32_t value) { return static_cast<char>(static_cast<unsigned char>(value)); };
    if (code < 0x80) return {byte(code)};
    if (code < 0x800) return {byte(0xc0 + code / 64), byte(0x80 + code % 64)};
    if (code < 0x10000) return {byte(0xe0 + code / 4096), byte(0x80 + code / 64 % 64), byte(0x80 + code % 64)};
    return {byte(0xf0 + code / 262144), byte(0x80 + code / 4096 % 64), byte(0x80 + code / 64 % 64),
            byte(0x80 + code % 64)};
}

}  // namespace

TEST_CASE("UTF-8: every code point, and none of the surrogates") {
    bool all_right = true;
    for (std::uint32_t code = 0; code < 0x110400; code += zp_test::fewer_problems) {
        const bool right = code < 0x110000 && !(code >= 0xd800 && code < 0xe000);
        all_right = all_right && is_utf8(encoded(code)) == right;
    }
    CHECK(all_right);
}

TEST_CASE("UTF-8: no overlong, cut or stray sequences") {
    CHECK(is_utf8(""));
    CHECK(is_utf8("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z"));
    for (const std::string_view wrong : {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xe0\x9f\xbf",
                                         "\xf0\x80\x80\x80", "\xf0\x8f\xbf\xbf", "\xf8\x88\x80\x80\x80", "\xfe", "\xff",
                                         "\xc3", "\xe2\x82", "\xf0\x9f\x98", "\xc3z", "\xe2\x82z", "\xf0\x9f\x98z"}) {
        CHECK_FALSE(is_utf8(wrong));
        CHECK(zp::valid_utf8_prefix("ab" + std::string(wrong)) == 2);
    }
}

TEST_CASE("JSON strings: what is written is read, for every character") {
    std::string all;
    for (std::uint32_t code = 0; code < 0x300; ++code) all += encoded(code);
    all += encoded(0xffff) + encoded(0x10ffff);
    std::string json;
    zp::append_json_string(json, all);
    CHECK(zp::json_reader(json, "f", 0).string() == all);
    CHECK(json.find("\"\\u0000\\u0001\\u0002\\u0003\\u0004\\u0005\\u0006\\u0007\\b\\t\\n\\u000b\\f\\r\\u000e") == 0);
    CHECK(json.find("\\u001f !\\\"#") != std::string::npos);
}

TEST_CASE("in_quotes: cut between characters") {
    CHECK(zp::in_quotes("a\"b\n") == "\"a\\\"b\\n\"");
    CHECK(zp::in_quotes(std::string(80, 'x')) == "\"" + std::string(80, 'x') + "\"");
    CHECK(zp::in_quotes(std::string(81, 'x')) == "\"" + std::string(80, 'x') + "...\"");
    CHECK(zp::in_quotes(std::string(79, 'x') + "\xe2\x82\xac") == "\"" + std::string(79, 'x') + "...\"");
    CHECK(zp::joined({"a", "", "b"}) == "ab");
}
