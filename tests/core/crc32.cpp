// SPDX-License-Identifier: BSD-3-Clause
// CRC-32 beside its published check value, and by its definition.
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/core/crc32.hpp>

namespace {

std::uint32_t of(std::string_view text) { return zp::crc32(std::as_bytes(std::span(text))); }

/// One bit after another.
std::uint32_t by_definition(const std::vector<std::byte>& bytes) {
    std::uint32_t sum = 0xffffffffu;
    for (const std::byte byte : bytes)
        for (int bit = 0; bit != 8; ++bit) {
            const std::uint32_t next = (sum ^ std::to_integer<std::uint32_t>(byte) >> bit) & 1;
            sum = sum >> 1 ^ (next != 0 ? 0xedb88320u : 0);
        }
    return ~sum;
}

}  // namespace

TEST_CASE("crc32: published values") {
    CHECK(of("") == 0);
    CHECK(of("123456789") == 0xcbf43926u);  // the check value of CRC-32/ISO-HDLC
    CHECK(of("a") == 0xe8b7be43u);
    CHECK(of("The quick brown fox jumps over the lazy dog") == 0x414fa339u);
}

TEST_CASE("crc32: all bytes, at all lengths around those from which on parts are summed side by side") {
    std::vector<std::byte> bytes;
    const auto add_to = [&](std::size_t size) {
        for (std::size_t i = bytes.size(); i != size; ++i) bytes.push_back(static_cast<std::byte>(i * 73 + i / 256));
    };
    for (std::size_t size = 0; size != 1200; ++size) {
        add_to(size);
        CHECK(zp::crc32(bytes) == by_definition(bytes));
    }
    for (const std::size_t size : std::initializer_list<std::size_t>{32767, 32768, 32769, 33279, 33280, 65536, 66100,
                                                                     98304 + 511, 98304 + 512, 98304 + 4099}) {
        add_to(size);
        CHECK(zp::crc32(bytes) == by_definition(bytes));
    }
}

TEST_CASE("crc32: by a compiler") {
    constexpr auto sum_of_zeros = [] {
        const std::array<std::byte, 520> zeros{};
        return zp::crc32(zeros);
    };
    static_assert(sum_of_zeros() != 0);
    CHECK(sum_of_zeros() == by_definition(std::vector<std::byte>(520)));
}
