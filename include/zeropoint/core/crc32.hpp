// SPDX-License-Identifier: BSD-3-Clause
// CRC-32 as zip, PNG and Python's zlib.crc32 have it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace zp {
inline namespace v0 {

/// The checksum of bytes: of the polynomial 0xedb88320, bits from the lowest, begun and ended with all ones (ISO 3309). It tells
/// any change of up to 32 neighbouring bits, and so each flipped bit.
constexpr std::uint32_t crc32(std::span<const std::byte> bytes) {
    // Half a byte at a time: a table of 64 bytes, where whole bytes take one of 1,024.
    constexpr std::array<std::uint32_t, 16> table = [] {
        std::array<std::uint32_t, 16> made{};
        for (std::uint32_t i = 0; i != 16; ++i) {
            std::uint32_t rest = i;
            for (int bit = 0; bit != 4; ++bit) rest = rest >> 1 ^ (rest & 1) * 0xedb88320u;
            made[i] = rest;
        }
        return made;
    }();
    std::uint32_t sum = 0xffffffffu;
    for (const std::byte byte : bytes) {
        sum ^= std::to_integer<std::uint32_t>(byte);
        sum = sum >> 4 ^ table[sum & 15];
        sum = sum >> 4 ^ table[sum & 15];
    }
    return ~sum;
}

}  // namespace v0
}  // namespace zp
