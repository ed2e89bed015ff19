// Buffers: aligned, zeroed, values.
#include <cstdint>
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
