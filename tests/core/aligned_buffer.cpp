// SPDX-License-Identifier: BSD-3-Clause
// Buffers: aligned, zeroed, values.
#include <cstdint>
#include <type_traits>
#include <utility>

#include <doctest/doctest.h>

#include <zeropoint/core/aligned_buffer.hpp>

TEST_CASE("align_up: to the next multiple") {
    CHECK(zp::align_up(0) == 0);
    CHECK(zp::align_up(1) == 64);
    CHECK(zp::align_up(64) == 64);
    CHECK(zp::align_up(65) == 128);
    CHECK(zp::align_up(5, 4) == 8);
}

TEST_CASE("aligned_buffer: aligned and zero") {
    for (const std::size_t size : {1u, 63u, 64u, 1000u}) {
        const zp::aligned_buffer buffer(size);
        CHECK(buffer.size() == size);
        CHECK(reinterpret_cast<std::uintptr_t>(buffer.data()) % zp::buffer_alignment == 0);
        bool zero = true;
        for (std::size_t i = 0; i != size; ++i) zero = zero && buffer.data()[i] == std::byte{0};
        CHECK(zero);
    }
    CHECK(zp::aligned_buffer().data() == nullptr);
    CHECK(zp::aligned_buffer(0).data() == nullptr);
}

// A copy may find no memory: were it noexcept, that would end the program, and so it would for every network.
static_assert(!std::is_nothrow_copy_assignable_v<zp::aligned_buffer> &&
              std::is_nothrow_move_assignable_v<zp::aligned_buffer>);

TEST_CASE("aligned_buffer: assigned to itself and to others") {
    zp::aligned_buffer a(8), b(16);
    a.data()[3] = std::byte{7};
    const auto& same = a;
    a = same;
    CHECK(a.data()[3] == std::byte{7});
    const std::byte* const where = a.data();
    b = a;
    CHECK(b.size() == 8);
    CHECK(b.data()[3] == std::byte{7});
    CHECK(b.data() != where);
    b = std::move(a);
    CHECK(b.data() == where);
}

TEST_CASE("aligned_buffer: copies are independent, moves leave nothing") {
    zp::aligned_buffer a(8);
    a.data()[3] = std::byte{7};
    zp::aligned_buffer b = a;
    b.data()[3] = std::byte{9};
    CHECK(a.data()[3] == std::byte{7});

    zp::aligned_buffer c = std::move(a);
    CHECK(c.data()[3] == std::byte{7});
    CHECK(a.size() == 0);  // NOLINT(bugprone-use-after-move): what a move leaves is promised
    CHECK(a.data() == nullptr);

    c = b;
    CHECK(c.data()[3] == std::byte{9});
    c = zp::aligned_buffer();
    CHECK(c.size() == 0);
}
