// SPDX-License-Identifier: BSD-3-Clause
#include <cstdint>
#include <optional>

#include <doctest/doctest.h>

#include <zeropoint/io/file_dtype.hpp>

using zp::file_dtype;

TEST_CASE("file_dtype: names, sizes and C++ types") {
    CHECK(zp::name_of(file_dtype::BOOL) == "BOOL");
    CHECK(zp::name_of(file_dtype::F8_E5M2FNUZ) == "F8_E5M2FNUZ");
    CHECK(zp::name_of(file_dtype::U64) == "U64");
    CHECK(zp::find_file_dtype("BF16") == file_dtype::BF16);
    CHECK_FALSE(zp::find_file_dtype("").has_value());
    CHECK_FALSE(zp::find_file_dtype("F3").has_value());
    CHECK_FALSE(zp::find_file_dtype("F322").has_value());
    CHECK(zp::bit_width_of(zp::file_dtype_of<float>) == 32);
    CHECK(zp::bit_width_of(zp::file_dtype_of<std::int64_t>) == 64);
}

TEST_CASE("file_dtype: bytes of a shape") {
    constexpr std::int64_t half = std::int64_t{1} << 32;
    CHECK(zp::byte_count_of(file_dtype::F32, {}) == 4u);
    CHECK(zp::byte_count_of(file_dtype::F32, {2, 3}) == 24u);
    CHECK(zp::byte_count_of(file_dtype::F32, {2, 0, 3}) == 0u);
    CHECK(zp::byte_count_of(file_dtype::F4, {6}) == 3u);
    CHECK(zp::byte_count_of(file_dtype::F4, {1}) == std::nullopt);
    CHECK(zp::byte_count_of(file_dtype::U8, {-1}) == std::nullopt);
    CHECK(zp::byte_count_of(file_dtype::U8, {-1, 0}) == std::nullopt);
    CHECK(zp::byte_count_of(file_dtype::U8, {half, half / 16}) == std::uint64_t{1} << 60);
    CHECK(zp::byte_count_of(file_dtype::U8, {half, half / 8 - 1, 1}) == (std::uint64_t{1} << 61) - (1ull << 32));
    CHECK(zp::byte_count_of(file_dtype::U8, {half, half / 8}) == std::nullopt);
    CHECK(zp::byte_count_of(file_dtype::U8, {half, half, 0}) == std::nullopt);
    CHECK(zp::to_string(zp::file_shape{16, 1, 3, 3}) == "[16, 1, 3, 3]");
    CHECK(zp::describe(file_dtype::I8, {}) == "I8 []");
}
