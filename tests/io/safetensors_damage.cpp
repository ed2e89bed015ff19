// SPDX-License-Identifier: BSD-3-Clause
// Damaged files: each gives a file_error that says where, what was expected and what was found; none is half-loaded.
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/io/safetensors.hpp>

#include "../support/extent.hpp"
#include "damage.hpp"

using damage::error_of;
using damage::file_with;

namespace {

damage::byte_vector small_file() {
    zp::safetensors_writer writer;
    writer.add("fc.weight", {2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6});
    writer.add("fc.bias", {2}, std::vector<double>{0.5, -0.5});
    writer.add("codes", {4}, std::vector<std::int8_t>{-128, -1, 0, 127});
    writer.metadata("format", "pt\n");
    return writer.bytes();
}

/// The message for one tensor "w" of four bytes of data, with these fields.
std::string error_of_tensor(const std::string& fields) { return error_of("{\"w\":{" + fields + "}}", 4); }

/// The message for two tensors of type U8 with these shapes and offsets, in `data_bytes` bytes of data.
std::string error_of_two(const std::string& a, const std::string& b, std::size_t data_bytes) {
    return error_of("{\"a\":{\"dtype\":\"U8\"," + a + "},\"b\":{\"dtype\":\"U8\"," + b + "}}", data_bytes);
}

}  // namespace

TEST_CASE("damage: a file truncated at any byte is refused") {
    const auto whole = small_file();
    REQUIRE(error_of(whole).empty());
    for (std::size_t size = 0; size != whole.size(); ++size) {
        const std::string error = error_of(std::span(whole).first(size));
        CAPTURE(size);
        CHECK(error.find("f.safetensors: ") == 0);
        CHECK(error.find("expected") != std::string::npos);
        CHECK(error.find("found") != std::string::npos);
    }
    CHECK(
        error_of(std::span(whole).first(whole.size() - 1)) ==
        "f.safetensors: tensor \"codes\": expected data within the 43 bytes after the header, found data_offsets [40, "
        "44]: the file is truncated or damaged");
    CHECK(error_of(std::span(whole).first(3)) ==
          "f.safetensors: expected at least 8 bytes with the length of the header, found 3 bytes");
    CHECK(error_of(std::span(whole).first(20)).find("found 12 bytes: the file is truncated") != std::string::npos);
}

TEST_CASE("damage: bytes after the last tensor are refused") {
    auto bytes = small_file();
    bytes.push_back(std::byte{0});
    CHECK(error_of(bytes) ==
          "f.safetensors: expected 44 bytes of data, as its tensors need, found 45: the file is damaged");
}

TEST_CASE("damage: any one byte of the header changed to any value gives a valid file or a file_error") {
    auto bytes = small_file();
    const std::size_t header_end = bytes.size() - 44;
    std::size_t refused = 0, accepted = 0, changes = 0;
    for (std::size_t position = 0; position != header_end; ++position) {
        const std::byte right = bytes[position];
        for (unsigned value = 0; value != 256; ++value) {
            if (static_cast<std::byte>(value) == right || ++changes % zp_test::fewer_problems != 0) continue;
            bytes[position] = static_cast<std::byte>(value);
            ++(error_of(bytes).empty() ? accepted : refused);
        }
        bytes[position] = right;
    }
    CHECK(refused + accepted == header_end * 255 / zp_test::fewer_problems);
    CHECK(refused > accepted);
    CHECK(accepted > 100 / zp_test::fewer_problems);  // another letter in a name is no damage that could be seen
}

TEST_CASE("damage: random changes, insertions and deletions give a valid file or a file_error") {
    const auto whole = small_file();
    const std::string tokens = "{}[]\":,\\u0129eE+-. tnf";
    std::mt19937 random(7);
    std::size_t refused = 0;
    const int rounds = zp_test::fewer(20000);
    for (int round = 0; round != rounds; ++round) {
        auto bytes = whole;
        for (unsigned change = 0; change <= random() % 4; ++change) {
            const auto place = bytes.begin() + static_cast<std::ptrdiff_t>(8 + random() % (bytes.size() - 8));
            const auto token = static_cast<std::byte>(tokens[random() % tokens.size()]);
            switch (random() % 3) {
                case 0: *place = token; break;
                case 1: bytes.insert(place, token); break;
                default: bytes.erase(place); break;
            }
        }
        refused += !error_of(bytes).empty();
    }
    CHECK(refused > static_cast<std::size_t>(rounds) / 2);
}

TEST_CASE("damage: the length of the header") {
    CHECK(error_of(file_with(""))
              .find("expected \"{\" to begin an object at byte 8 of the file, found the end of the header") !=
          std::string::npos);
    auto bytes = file_with("{}");
    REQUIRE(error_of(bytes).empty());
    bytes[0] = std::byte{3};
    CHECK(error_of(bytes) ==
          "f.safetensors: expected a header of 3 bytes, found 2 bytes: the file is truncated or not in the safetensors "
          "format");
    const auto with_length = [](std::uint64_t length) {
        damage::byte_vector eight(8);
        for (std::size_t i = 0; i != 8; ++i) eight[i] = static_cast<std::byte>(length >> (8 * i) & 0xff);
        return error_of(eight);
    };
    CHECK(with_length(100'000'000).find("expected a header of 100000000 bytes, found 0 bytes") != std::string::npos);
    CHECK(with_length(100'000'001).find("expected a header of at most 100000000 bytes, found a") == std::string::npos);
    CHECK(with_length(100'000'001).find("expected a header of at most 100000000 bytes, found 100000001: the file") !=
          std::string::npos);
    CHECK(with_length(UINT64_MAX).find("found 18446744073709551615") != std::string::npos);
    CHECK(with_length(UINT64_MAX - 7).find("found 18446744073709551608") != std::string::npos);
}

TEST_CASE("damage: offsets") {
    const std::string four = "\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":";
    REQUIRE(error_of_tensor(four + "[0,4]").empty());
    CHECK(error_of_tensor(four + "[4,0]") ==
          "f.safetensors: tensor \"w\": expected data_offsets in order, found data_offsets [4, 0]");
    CHECK(error_of_tensor(four + "[0,5]").find("found data_offsets [0, 5]") != std::string::npos);
    CHECK(error_of_tensor(four + "[1,4]") ==
          "f.safetensors: tensor \"w\": expected 4 bytes for F32 [1], found 3 in data_offsets [1, 4]");
    CHECK(error_of_tensor(four + "[18446744073709551615,18446744073709551615]").find("expected data within") !=
          std::string::npos);
    CHECK(error_of_tensor(four + "[0,18446744073709551616]").find("expected an integer below 2^64") !=
          std::string::npos);
    CHECK(error_of_tensor(four + "[0]").find("tensor \"w\": expected two data_offsets, found 1") != std::string::npos);
    CHECK(error_of_tensor(four + "[]").find("expected two data_offsets, found 0") != std::string::npos);
    CHECK(error_of_tensor(four + "[0,4,4]").find("expected two data_offsets, found more") != std::string::npos);
    CHECK(error_of_tensor(four + "[-0,4]").find("expected a non-negative integer at byte") != std::string::npos);
    CHECK(error_of_tensor(four + "[0,4.0]").find("found \".\"") != std::string::npos);
    CHECK(error_of_tensor(four + "[0,4e0]").find("found \"e\"") != std::string::npos);
    CHECK(error_of_tensor(four + "[0,04]").find("found \"4\"") != std::string::npos);
}

TEST_CASE("damage: overlaps and holes") {
    const std::string two_from_0 = "\"shape\":[2],\"data_offsets\":[0,2]",
                      two_from_1 = "\"shape\":[2],\"data_offsets\":[1,3]",
                      two_from_2 = "\"shape\":[2],\"data_offsets\":[2,4]",
                      two_from_3 = "\"shape\":[2],\"data_offsets\":[3,5]",
                      none_at_1 = "\"shape\":[0],\"data_offsets\":[1,1]",
                      none_at_2 = "\"shape\":[0],\"data_offsets\":[2,2]";
    CHECK(error_of_two(two_from_0, two_from_2, 4).empty());
    CHECK(error_of_two(two_from_2, two_from_0, 4).empty());  // the order of the header does not matter
    CHECK(error_of_two(two_from_0, none_at_2, 2).empty());
    CHECK(error_of_two(two_from_0, two_from_1, 3) ==
          "f.safetensors: tensor \"b\": expected data from byte 2 on, found data from byte 1: tensors overlap");
    CHECK(error_of_two(two_from_0, two_from_0, 2).find("tensor \"b\"") != std::string::npos);
    CHECK(error_of_two(two_from_0, none_at_1, 2).find("tensors overlap") != std::string::npos);
    CHECK(error_of_two(two_from_0, two_from_3, 5) ==
          "f.safetensors: tensor \"b\": expected data from byte 2 on, found data from byte 3: there is a hole");
    CHECK(error_of_two(two_from_1, two_from_3, 5).find("tensor \"a\": expected data from byte 0 on") !=
          std::string::npos);
}

TEST_CASE("damage: shapes") {
    const std::string begin = "\"dtype\":\"F32\",\"data_offsets\":[0,4],\"shape\":";
    CHECK(error_of_tensor(begin + "[]").empty());  // a scalar
    CHECK(error_of_tensor(begin + "[1,1,1]").empty());
    CHECK(error_of_tensor(begin + "[2]").find("expected 8 bytes for F32 [2], found 4") != std::string::npos);
    CHECK(error_of_tensor(begin + "[0]").find("expected 0 bytes for F32 [0], found 4") != std::string::npos);
    CHECK(error_of_tensor(begin + "[-1]").find("expected a non-negative integer") != std::string::npos);
    CHECK(error_of_tensor(begin + "[9223372036854775808]")
              .find("expected an extent below 2^63, found 9223372036854775808") != std::string::npos);
    // Products that are 4 bytes modulo 2^64, or overflow before a 0.
    const std::string whole = "expected extents from 0 on that make whole bytes, fewer than 2^61";
    CHECK(error_of_tensor(begin + "[4611686018427387905]").find(whole) != std::string::npos);
    CHECK(error_of_tensor(begin + "[4294967296,4294967296]").find(whole) != std::string::npos);
    CHECK(error_of_tensor(begin + "[4294967296,4294967296,0]").find(whole) != std::string::npos);
    CHECK(error_of_tensor(begin + "[4294967296,4294967297,4294967296,1]").find(whole) != std::string::npos);
    CHECK(error_of("{\"w\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,1]}}", 1).find(whole) !=
          std::string::npos);
    CHECK(error_of("{\"w\":{\"dtype\":\"F6_E2M3\",\"shape\":[4],\"data_offsets\":[0,3]}}", 3).empty());
    // Of a shape that is long beyond sense, a message shows the beginning.
    std::string ones = "[1";
    for (int i = 0; i != 1000; ++i) ones += ",1";
    CHECK(error_of_tensor(begin + ones + ",2]").find("1, 1, ...]") != std::string::npos);
    CHECK(error_of_tensor(begin + ones + ",2]").size() < 400);
}

TEST_CASE("damage: fields") {
    CHECK(error_of_tensor("\"dtype\":\"F33\",\"shape\":[1],\"data_offsets\":[0,4]")
              .find("tensor \"w\": expected a dtype of the format, such as F32 or I8, found \"F33\"") !=
          std::string::npos);
    CHECK(error_of_tensor("\"dtype\":\"f32\",\"shape\":[1],\"data_offsets\":[0,4]").find("found \"f32\"") !=
          std::string::npos);
    CHECK(error_of_tensor("\"dtype\":1,\"shape\":[1],\"data_offsets\":[0,4]").find("expected the name of a dtype") !=
          std::string::npos);
    CHECK(error_of_tensor("\"shape\":[1],\"data_offsets\":[0,4]").find("tensor \"w\": expected a dtype, found none") !=
          std::string::npos);
    CHECK(error_of_tensor("\"dtype\":\"F32\",\"data_offsets\":[0,4]").find("expected a shape, found none") !=
          std::string::npos);
    CHECK(error_of_tensor("\"dtype\":\"F32\",\"shape\":[1]").find("expected data_offsets, found none") !=
          std::string::npos);
    CHECK(error_of_tensor("\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"strides\":[1]")
              .find("expected dtype, shape or data_offsets, found \"strides\"") != std::string::npos);
    CHECK(error_of_tensor("\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]")
              .find("tensor \"w\": expected every key once, found \"dtype\" again") != std::string::npos);
    CHECK(error_of("{\"__metadata__\":{\"a\":1}}").find("__metadata__: expected metadata in quotes at byte 29") !=
          std::string::npos);
    CHECK(error_of("{\"__metadata__\":[]}").find("expected \"{\"") != std::string::npos);
}

TEST_CASE("damage: names that come twice, however they are spelled") {
    const std::string none = "{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}";
    CHECK(error_of("{\"a\":" + none + ",\"b\":" + none + "}").empty());
    CHECK(error_of("{\"a\":" + none + ",\"a\":" + none + "}").find("expected every key once, found \"a\" again") !=
          std::string::npos);
    CHECK(error_of("{\"a\":" + none + ",\"\\u0061\":" + none + "}").find("found \"a\" again") != std::string::npos);
    CHECK(error_of("{\"__metadata__\":{},\"__metadata__\":{}}").find("found \"__metadata__\" again") !=
          std::string::npos);
    CHECK(error_of("{\"__metadata__\":{\"k\":\"1\",\"k\":\"1\"}}").find("found \"k\" again") != std::string::npos);
}

TEST_CASE("damage: the header is one object in UTF-8 and nothing else") {
    CHECK(error_of("{} \t\n ").empty());
    CHECK(error_of("{}x") == "f.safetensors: expected nothing after the object at byte 10 of the file, found \"x\"");
    CHECK(error_of("{}{}").find("expected nothing after the object") != std::string::npos);
    CHECK(error_of(std::string_view("{}\0", 3)).find("expected nothing after the object") != std::string::npos);
    CHECK(error_of("\xef\xbb\xbf{}").find("expected \"{\" to begin an object") !=
          std::string::npos);  // a byte order mark
    CHECK(error_of("{\"__metadata__\":{\"k\":\"\xc3\"}}") ==
          "f.safetensors: expected a header in UTF-8, found the invalid byte 195 at byte 30 of the file");
    CHECK(error_of("{\"w\xed\xa0\x80\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}")
              .find("byte 237 at byte 11") != std::string::npos);
}

TEST_CASE("damage: deep nesting is refused where it begins") {
    const std::string arrays(1'000'000, '['), half = "{\"a\":";
    std::string objects;
    for (int i = 0; i != 200'000; ++i) objects += half;
    CHECK(error_of(arrays).find("expected \"{\" to begin an object at byte 8") != std::string::npos);
    CHECK(error_of(objects).find("tensor \"a\": expected dtype, shape or data_offsets, found \"a\"") !=
          std::string::npos);
    CHECK(error_of("{\"w\":{\"shape\":" + arrays).find("expected a non-negative integer at byte 23") !=
          std::string::npos);
    CHECK(error_of("{\"__metadata__\":{\"a\":" + arrays).find("expected metadata in quotes") != std::string::npos);
}

TEST_CASE("damage: names in messages are short and without control characters") {
    const std::string name(100'000, 'x');
    const std::string error = error_of("{\"" + name + "\":{}}");
    CHECK(error.size() < 200);
    CHECK(error.find("xxx...\"") != std::string::npos);
    CHECK(error_of("{\"\\n\\u0000\":{}}").find("tensor \"\\n\\u0000\": expected a dtype") != std::string::npos);
}
