// SPDX-License-Identifier: BSD-3-Clause
#include <bit>
#include <cstddef>
#include <cstdint>

#include <doctest/doctest.h>

#include <zeropoint/io/little_endian.hpp>

namespace {

constexpr std::byte bytes[] = {std::byte{0x78}, std::byte{0x56}, std::byte{0xb4}, std::byte{0xc0},
                               std::byte{0x01}, std::byte{0x02}, std::byte{0x03}, std::byte{0x84}};
static_assert(zp::load_little_endian<std::uint8_t>(bytes) == 0x78);
static_assert(zp::load_little_endian<std::uint16_t>(bytes) == 0x5678);
static_assert(zp::load_little_endian<std::int16_t>(bytes + 6) == 0x8403 - 0x10000);
static_assert(zp::load_little_endian<std::uint32_t>(bytes) == 0xc0b45678u);
static_assert(zp::load_little_endian<std::uint64_t>(bytes) == 0x84030201c0b45678u);
static_assert(zp::load_little_endian<std::int64_t>(bytes) < 0);
static_assert(zp::load_little_endian<float>(bytes) == std::bit_cast<float>(0xc0b45678u));
static_assert(zp::load_little_endian<double>(bytes) == std::bit_cast<double>(std::uint64_t{0x84030201c0b45678u}));

}  // namespace

TEST_CASE("little_endian: store is the inverse of load") {
    std::byte copy[8] = {};
    zp::store_little_endian(zp::load_little_endian<double>(bytes), copy);
    for (std::size_t i = 0; i != 8; ++i) CHECK(copy[i] == bytes[i]);
    zp::store_little_endian(std::int16_t{-2}, copy);
    CHECK(copy[0] == std::byte{0xfe});
    CHECK(copy[1] == std::byte{0xff});
    CHECK(copy[2] == bytes[2]);
}

TEST_CASE("little_endian: copying numbers is storing each") {
    const std::uint32_t numbers[] = {0x01020304u, 0xfffefdfcu};
    std::byte copy[8] = {}, stored[8] = {};
    zp::copy_little_endian(copy, reinterpret_cast<const std::byte*>(numbers), 2, 4);
    for (std::size_t i = 0; i != 2; ++i) zp::store_little_endian(numbers[i], stored + 4 * i);
    for (std::size_t i = 0; i != 8; ++i) CHECK(copy[i] == stored[i]);
    zp::copy_little_endian(nullptr, nullptr, 0, 4);
}
