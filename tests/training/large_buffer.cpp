// SPDX-License-Identifier: BSD-3-Clause
// Memory on large pages: zeros at the right boundaries, that moves and is given back.
#include <algorithm>
#include <cstdint>
#include <utility>

#include <doctest/doctest.h>

#include <zeropoint/training/large_buffer.hpp>

TEST_CASE("large_buffer: zeros, aligned, whatever the size") {
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{100'000}, (std::size_t{8} << 20) + 5}) {
        zp::large_buffer buffer(size);
        CHECK(buffer.size() == size);
        CHECK((buffer.data() == nullptr) == (size == 0));
        const std::uintptr_t boundary = size > (std::size_t{8} << 20) ? std::uintptr_t{1} << 21 : 64;
        CHECK(reinterpret_cast<std::uintptr_t>(buffer.data()) % boundary == 0);
        CHECK(std::all_of(buffer.data(), buffer.data() + size, [](std::byte b) { return b == std::byte{}; }));
        if (size != 0) buffer.data()[size - 1] = std::byte{7};
        zp::large_buffer other = std::move(buffer);
        CHECK(buffer.data() == nullptr);
        CHECK(buffer.size() == 0);
        buffer = std::move(other);
        CHECK(other.size() == 0);
        CHECK((size == 0 || buffer.data()[size - 1] == std::byte{7}));
    }
}
