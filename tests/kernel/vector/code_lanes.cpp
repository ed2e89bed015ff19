// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/vector/code_lanes.hpp>

#include "../../support/arrays.hpp"

namespace {

template <class Arch, class T> void check_orders() {
    if constexpr (zp::has_vectors<Arch>) {
        using ints = xsimd::batch<std::int32_t, Arch>;
        constexpr std::size_t size = ints::size;
        const std::vector<T> codes = arrays::codes<T>(4 * size + 1, size);
        const auto interleaved = zp::kernel::load_interleaved<Arch>(codes.data() + 1);
        const auto consecutive = zp::kernel::load_consecutive<Arch>(codes.data() + 1);
        for (std::size_t part = 0; part != 4; ++part) {
            std::array<std::int32_t, size> a{}, b{};
            interleaved[part].store_unaligned(a.data());
            consecutive[part].store_unaligned(b.data());
            for (std::size_t lane = 0; lane != size; ++lane) {
                CHECK(a[lane] == codes[1 + 4 * lane + part]);
                CHECK(b[lane] == codes[1 + part * size + lane]);
            }
        }
        std::vector<T> back(codes.size(), codes[0]);
        zp::kernel::store_interleaved<Arch>(back.data() + 1, interleaved);
        CHECK(back == codes);
        back.assign(codes.size(), codes[0]);
        zp::kernel::store_consecutive<Arch>(back.data() + 1, consecutive);
        CHECK(back == codes);
    }
}

}  // namespace

TEST_CASE("codes go into 32-bit lanes and back in both orders") {
    arrays::for_each_architecture([]<class Arch>() {
        check_orders<Arch, std::uint8_t>();
        check_orders<Arch, std::int8_t>();
    });
}

TEST_CASE("for_each_overlapping covers every value and never goes beyond the last") {
    for (std::size_t size = 1; size <= 9; ++size) {
        for (std::size_t count = size; count <= 40; ++count) {
            std::vector<bool> seen(count);
            zp::kernel::for_each_overlapping(count, size, [&](std::size_t first) {
                REQUIRE(first + size <= count);
                for (std::size_t i = 0; i != size; ++i) seen[first + i] = true;
            });
            CHECK(seen == std::vector<bool>(count, true));
        }
    }
}
