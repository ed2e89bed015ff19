// SPDX-License-Identifier: BSD-3-Clause
// Numbers as files hold them: least significant byte first, whatever the host's order.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace zp::inline v0 {

/// The unsigned integer whose bits are those of `T`.
template <class T>
using bits_of = std::conditional_t<(sizeof(T) <= 2), std::conditional_t<sizeof(T) == 1, std::uint8_t, std::uint16_t>,
                                   std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>;

/// A number that a file can hold: an integer or floating-point type of 1, 2, 4 or 8 bytes.
template <class T>
inline constexpr bool is_file_number = std::is_arithmetic_v<T> && !std::is_same_v<T, bool> && sizeof(T) <= 8;

/// The number in `sizeof(T)` bytes at `source`, which need no alignment. Shifts see values, not memory, so this one
/// path is right on hosts of either order; compilers turn it into one load.
template <class T> constexpr T load_little_endian(const std::byte* source) {
    static_assert(is_file_number<T>, "load_little_endian<T>: T must be an integer or float of 1, 2, 4 or 8 bytes");
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i != sizeof(T); ++i) bits |= std::to_integer<std::uint64_t>(source[i]) << (8 * i);
    return std::bit_cast<T>(static_cast<bits_of<T>>(bits));
}

/// The inverse of load_little_endian: writes `sizeof(T)` bytes at `target`.
template <class T> constexpr void store_little_endian(T value, std::byte* target) {
    static_assert(is_file_number<T>, "store_little_endian<T>: T must be an integer or float of 1, 2, 4 or 8 bytes");
    const std::uint64_t bits = std::bit_cast<bits_of<T>>(value);
    for (std::size_t i = 0; i != sizeof(T); ++i) target[i] = static_cast<std::byte>(bits >> (8 * i) & 0xff);
}

/// Copies `count` numbers of `bytes` bytes each from how this host holds them to how files do, or back.
inline void copy_little_endian(std::byte* target, const std::byte* source, std::size_t count, std::size_t bytes) {
    if constexpr (std::endian::native == std::endian::little) {
        if (count != 0) std::memcpy(target, source, count * bytes);  // which takes no null pointer
    } else {
        for (std::size_t i = 0; i != count; ++i)
            for (std::size_t k = 0; k != bytes; ++k) target[i * bytes + k] = source[i * bytes + bytes - 1 - k];
    }
}

}  // namespace zp::inline v0
