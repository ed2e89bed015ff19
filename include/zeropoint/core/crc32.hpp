// SPDX-License-Identifier: BSD-3-Clause
// CRC-32 as zip, PNG and Python's zlib.crc32 have it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace zp::inline v0 {

namespace detail {

inline constexpr std::uint32_t crc32_polynomial = 0xedb88320u;

/// The product of two polynomials modulo that of the checksum, both and all of their bits from the lowest: x^0 is bit 31.
constexpr std::uint32_t crc32_product(std::uint32_t a, std::uint32_t b) {
    std::uint32_t product = 0;
    for (int bit = 31; bit >= 0; --bit) {
        product ^= (a >> bit & 1) * b;
        b = b >> 1 ^ (b & 1) * crc32_polynomial;
    }
    return product;
}

/// What a sum is multiplied by when so many bytes, all zero, follow: x^(8 count).
constexpr std::uint32_t crc32_of_zeros(std::size_t count) {
    std::uint32_t product = 1u << 31;
    for (std::uint32_t power = 1u << 23; count != 0; count >>= 1, power = crc32_product(power, power))
        if (count % 2 != 0) product = crc32_product(product, power);
    return product;
}

}  // namespace detail

/// The checksum of bytes: of the polynomial 0xedb88320, bits from the lowest, begun and ended with all ones (ISO 3309). It tells
/// any change of up to 32 neighbouring bits, and so each flipped bit.
constexpr std::uint32_t crc32(std::span<const std::byte> bytes) {
    // Half a byte at a time: a table of 64 bytes, where whole bytes take one of 1,024.
    constexpr std::array<std::uint32_t, 16> table = [] {
        std::array<std::uint32_t, 16> made{};
        for (std::uint32_t i = 0; i != 16; ++i) {
            std::uint32_t rest = i;
            for (int bit = 0; bit != 4; ++bit) rest = rest >> 1 ^ (rest & 1) * detail::crc32_polynomial;
            made[i] = rest;
        }
        return made;
    }();
    const auto add = [&](std::uint32_t& sum, std::byte byte) {
        sum ^= std::to_integer<std::uint32_t>(byte);
        sum = sum >> 4 ^ table[sum & 15];
        sum = sum >> 4 ^ table[sum & 15];
    };
    std::uint32_t sum = 0xffffffffu;
    // Each look-up waits for the one before: eight parts of a block side by side take a sixth of the time. A sum of two parts is that
    // of the first, followed by zeros, and of the second.
    constexpr std::size_t parts = 8, longest = 4096, shortest = 64;
    const auto add_parts = [&]<std::size_t... Part>(std::size_t length, std::index_sequence<Part...>) {
        std::uint32_t sums[parts] = {sum};
        for (std::size_t i = 0; i != length; ++i) (add(sums[Part], bytes[Part * length + i]), ...);
        const std::uint32_t zeros = detail::crc32_of_zeros(length);
        sum = 0;
        for (const std::uint32_t part : sums) sum = detail::crc32_product(zeros, sum) ^ part;
    };
    while (bytes.size() >= parts * shortest) {
        const std::size_t length = std::min(bytes.size() / parts, longest);
        add_parts(length, std::make_index_sequence<parts>());
        bytes = bytes.subspan(parts * length);
    }
    for (const std::byte byte : bytes) add(sum, byte);
    return ~sum;
}

}  // namespace zp::inline v0
