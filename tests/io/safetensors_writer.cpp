// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/io/safetensors.hpp>

#include "../support/extent.hpp"
#include "damage.hpp"

using doctest::Contains;
using zp::file_dtype;

namespace {

std::string text_of(const std::vector<std::byte>& bytes, std::size_t begin, std::size_t end) {
    std::string text;
    for (std::size_t i = begin; i != end; ++i) text += static_cast<char>(bytes[i]);
    return text;
}

}  // namespace

TEST_CASE("safetensors_writer: bytes by the letter of the format") {
    zp::safetensors_writer writer;
    writer.add("b", {2}, std::vector<std::int16_t>{0x0102, -2});
    writer.add("a", {}, std::array<std::int16_t, 1>{7});
    writer.add("c", {1}, std::array<float, 1>{1.0f});
    writer.metadata("k", "v");
    const std::string header =
        "{\"__metadata__\":{\"k\":\"v\"},\"c\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
        "\"a\":{\"dtype\":\"I16\",\"shape\":[],\"data_offsets\":[4,6]},"
        "\"b\":{\"dtype\":\"I16\",\"shape\":[2],\"data_offsets\":[6,10]}}";
    const std::size_t padded = (header.size() + 7) / 8 * 8;
    const auto bytes = writer.bytes();
    REQUIRE(bytes.size() == 8 + padded + 10);
    CHECK(bytes[0] == static_cast<std::byte>(padded));
    CHECK(text_of(bytes, 1, 8) == std::string(7, '\0'));
    CHECK(text_of(bytes, 8, 8 + padded) == header + std::string(padded - header.size(), ' '));
    CHECK(text_of(bytes, 8 + padded, bytes.size()) == std::string("\x00\x00\x80\x3f\x07\x00\x02\x01\xfe\xff", 10));
}

TEST_CASE("safetensors_writer: an empty file is a file") {
    const auto bytes = zp::safetensors_writer().bytes();
    CHECK(text_of(bytes, 8, bytes.size()) == "{}      ");
    CHECK(damage::error_of(bytes).empty());
}

TEST_CASE("safetensors_writer: neither the order of calls nor the number of them matters") {
    const auto bytes_of = [](const std::vector<std::string>& names) {
        zp::safetensors_writer writer;
        for (const auto& name : names) {
            writer.add(name, {2}, std::vector<float>{static_cast<float>(name[0]), 0});
            writer.add(name + ".codes", {3}, std::vector<std::uint8_t>{1, 2, 3});
            writer.metadata(name, name);
        }
        CHECK(writer.bytes() == writer.bytes());
        return writer.bytes();
    };
    CHECK(bytes_of({"a", "b", "c"}) == bytes_of({"c", "a", "b"}));
    CHECK(bytes_of({"a", "b", "c"}) != bytes_of({"c", "a", "d"}));
}

TEST_CASE("safetensors_writer: what is written is read, for every length of header and every type") {
    for (std::size_t length = 1; length != 40; ++length) {
        const std::string name(length, 'n');
        zp::safetensors_writer writer;
        writer.add(name, {3}, std::vector<double>{1, 2, 3});
        writer.add(name + "8", {3}, std::vector<std::uint8_t>{1, 2, 3});
        writer.add(name + "f", {1, 3}, std::vector<float>{1, 2, 3});
        const auto bytes = writer.bytes();
        CHECK((bytes.size() - 8 - 24 - 12 - 3) % 8 == 0);
        const auto file = zp::safetensors_file::parse(bytes, "f");
        for (const auto& tensor : file.tensors()) {
            const auto offset = static_cast<std::size_t>(tensor.bytes.data() - file.tensors()[0].bytes.data());
            CHECK(offset % (zp::bit_width_of(tensor.dtype) / 8) == 0);  // aligned, as the data begin at a multiple of 8
        }
        CHECK(file.values<double>(file.expect(name, file_dtype::F64, {3})) == std::vector<double>{1, 2, 3});
        CHECK(file.values<std::uint8_t>(file.expect(name + "8")) == std::vector<std::uint8_t>{1, 2, 3});
        CHECK(file.values<float>(file.expect(name + "f")) == std::vector<float>{1, 2, 3});
    }
}

TEST_CASE("safetensors_writer: every dtype by its bytes") {
    zp::safetensors_writer writer;
    for (std::size_t i = 0; i != zp::file_dtypes.size(); ++i) {
        const auto dtype = static_cast<file_dtype>(i);
        const std::vector<std::byte> bytes(zp::bit_width_of(dtype), static_cast<std::byte>(i));  // of 8 elements
        writer.add(zp::joined({"t", std::to_string(i)}), dtype, {2, 4}, bytes);
    }
    const auto file = zp::safetensors_file::parse(writer.bytes(), "f");
    CHECK(file.tensors().size() == 22);
    for (std::size_t i = 0; i != zp::file_dtypes.size(); ++i) {
        const auto& tensor = file.expect(zp::joined({"t", std::to_string(i)}), static_cast<file_dtype>(i), {2, 4});
        CHECK(tensor.size() == 8);
        CHECK(tensor.bytes.back() == static_cast<std::byte>(i));
        CHECK(zp::find_file_dtype(zp::name_of(tensor.dtype)) == tensor.dtype);
    }
}

TEST_CASE("safetensors_writer: arguments that make no file") {
    zp::safetensors_writer writer;
    const std::vector<float> two{1, 2};
    writer.add("w", {2}, two);
    writer.metadata("k", "v");
    const auto before = writer.bytes();
    CHECK_THROWS_WITH_AS(writer.add("w", {2}, two), "tensor \"w\": expected a new name, found it again",
                         zp::value_error);
    CHECK_THROWS_WITH_AS(
        writer.add("__metadata__", {2}, two),
        Contains(
            "safetensors_writer: expected the name of a tensor, found \"__metadata__\", which the format reserves"),
        zp::value_error);
    CHECK_THROWS_WITH_AS(writer.add("a\xff", {2}, two), Contains("in UTF-8, found an invalid byte after \"a\""),
                         zp::value_error);
    CHECK_THROWS_WITH_AS(writer.add("x", {3}, two), "tensor \"x\": expected 12 bytes for F32 [3], found 8",
                         zp::shape_error);
    CHECK_THROWS_WITH_AS(writer.add("x", {-1, -2}, two), Contains("found F32 [-1, -2]"), zp::shape_error);
    CHECK_THROWS_AS(writer.add("x", {1LL << 32, 1LL << 32, 2}, two), zp::shape_error);
    CHECK_THROWS_AS(writer.add("x", file_dtype::F4, {1}, std::vector<std::byte>(1)), zp::shape_error);
    CHECK_THROWS_WITH_AS(writer.metadata("k", "w"), "metadata \"k\": expected a new key, found it again",
                         zp::value_error);
    CHECK_THROWS_AS(writer.metadata("\xc0\x80", ""), zp::value_error);
    CHECK_THROWS_AS(writer.metadata("x", "\xed\xa0\x80"), zp::value_error);
    CHECK(writer.bytes() == before);
}

TEST_CASE("safetensors_writer: a header longer than the format allows is refused" *
          doctest::skip(zp_test::fewer_problems != 1)) {  // 100 MB, in a second or two
    zp::safetensors_writer writer;
    writer.metadata("k", std::string(100'000'000, 'v'));
    CHECK_THROWS_WITH_AS(writer.bytes(), Contains("header of at most 100000000 bytes, found 100000"), zp::value_error);
}

TEST_CASE("safetensors_writer: to a file and back") {
    namespace fs = std::filesystem;
    const fs::path folder = fs::temp_directory_path() / "zeropoint_test_safetensors_writer";
    fs::remove_all(folder);
    fs::create_directories(folder);
    zp::safetensors_writer writer;
    writer.add("w", {2}, std::vector<float>{1, 2});
    const std::string path = (folder / "f.safetensors").string();
    writer.write(path);
    CHECK(zp::read_whole_file(path) == writer.bytes());
    CHECK(zp::safetensors_file::read(path).finite_floats("w", {2}) == std::vector<float>{1, 2});
    fs::remove_all(folder);
    CHECK_THROWS_WITH_AS(writer.write(path), Contains("f.safetensors: cannot create "), zp::file_error);
}

TEST_CASE("safetensors_writer: rows behind rows of one tensor") {
    zp::safetensors_writer writer;
    writer.append("w", {1, 2}, std::vector<float>{1, 2});
    writer.append("w", {2, 2}, std::vector<float>{3, 4, 5, 6});
    const auto file = zp::safetensors_file::parse(writer.bytes(), "file");
    CHECK(file.expect("w").shape == zp::file_shape{3, 2});
    CHECK(file.values<float>(file.expect("w")) == std::vector<float>{1, 2, 3, 4, 5, 6});
    CHECK_THROWS_AS(writer.append("w", {1, 3}, std::vector<float>(3)), zp::shape_error);
    CHECK_THROWS_AS(writer.append("w", {1, 2}, std::vector<std::int8_t>(2)), zp::shape_error);
}

TEST_CASE("safetensors_writer: rows behind rows move what was added in between") {
    zp::safetensors_writer writer;
    writer.add("none", {0, 2}, std::vector<float>{});
    writer.add("w", {1, 2}, std::vector<float>{1, 2});
    writer.add("v", {2}, std::vector<float>{7, 8});
    writer.append("none", {1, 2}, std::vector<float>{9, 10});
    writer.append("w", {1, 2}, std::vector<float>{3, 4});
    const auto bytes = writer.bytes();
    const auto file = zp::safetensors_file::parse(bytes, "f");
    CHECK(file.finite_floats("none", {1, 2}) == std::vector<float>{9, 10});
    CHECK(file.finite_floats("w", {2, 2}) == std::vector<float>{1, 2, 3, 4});
    CHECK(file.finite_floats("v", {2}) == std::vector<float>{7, 8});
}
