// SPDX-License-Identifier: BSD-3-Clause
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/training/gradient_exchange.hpp>

#include "../support/arrays.hpp"

namespace {

using floats = std::vector<float>;

std::vector<floats> made_up_parts(std::size_t count, std::size_t size) {
    std::vector<floats> parts;
    for (std::size_t i = 0; i != count; ++i) parts.push_back(arrays::reals(size, 50 + i));
    return parts;
}

/// The tree as its sentence has it: neighbours, level by level, what has none going up as it is.
floats level_by_level(std::vector<floats> values) {
    while (values.size() > 1) {
        std::vector<floats> next;
        for (std::size_t i = 0; i < values.size(); i += 2) {
            next.push_back(values[i]);
            if (i + 1 == values.size()) continue;
            for (std::size_t k = 0; k != next.back().size(); ++k) next.back()[k] += values[i + 1][k];
        }
        values = next;
    }
    return values.front();
}

}  // namespace

static_assert(zp::gradient_exchange<zp::one_rank>);

TEST_CASE("the tree of parts: the same bits however many ranks share them") {
    constexpr std::size_t size = 13;
    for (std::size_t count = 1; count != 34; ++count) {
        CAPTURE(count);
        const std::vector<floats> parts = made_up_parts(count, size);
        const floats expected = level_by_level(parts);
        floats sum(size);
        zp::one_rank{}.sum_parts(parts, count, sum);
        CHECK(arrays::same_bits(sum, expected));
        for (int ranks = 1; ranks != 10; ++ranks) {
            CAPTURE(ranks);
            std::vector<zp::part_range> nodes;
            std::vector<floats> values;
            std::size_t next = 0;
            for (int rank = 0; rank != ranks; ++rank) {
                const zp::part_range own = zp::part_range::of(count, rank, ranks);
                CHECK(own.first == next);
                next = own.last;
                if (own.size() == 0) continue;
                for (const zp::part_range& node : zp::tree_nodes(own, count)) {
                    nodes.push_back(node);
                    values.push_back(zp::sum_of_parts(node, own, std::span(parts).subspan(own.first, own.size())));
                }
            }
            CHECK(next == count);
            std::size_t covered = 0;
            for (const zp::part_range& node : nodes) covered += node.size();
            CHECK(covered == count);
            const floats whole = zp::sum_of_node({0, count}, size, [&](zp::part_range node) -> const float* {
                for (std::size_t k = 0; k != nodes.size(); ++k)
                    if (nodes[k] == node) return values[k].data();
                return nullptr;
            });
            CHECK(arrays::same_bits(whole, expected));
        }
    }
}

TEST_CASE("the tree of parts: few nodes a rank, one where parts are a power of two") {
    CHECK(zp::tree_nodes({0, 8}, 8) == std::vector<zp::part_range>{{0, 8}});
    CHECK(zp::tree_nodes({4, 8}, 16) == std::vector<zp::part_range>{{4, 8}});
    CHECK(zp::tree_nodes({3, 8}, 8) == std::vector<zp::part_range>{{3, 4}, {4, 8}});
    CHECK(zp::tree_nodes({4, 7}, 7) == std::vector<zp::part_range>{{4, 7}});
    CHECK(zp::tree_nodes({2, 2}, 7).empty());
}

TEST_CASE("digest_of: FNV-1a, and another for another order") {
    const auto bytes = [](const char* text, std::size_t n) { return std::as_bytes(std::span(text, n)); };
    CHECK(zp::digest_of({}) == 0xcbf29ce484222325ull);
    CHECK(zp::digest_of(bytes("a", 1)) == 0xaf63dc4c8601ec8cull);
    CHECK(zp::digest_of(bytes("foobar", 6)) == 0x85944171f73967e8ull);
    CHECK(zp::digest_of(bytes("bar", 3), zp::digest_of(bytes("foo", 3))) == 0x85944171f73967e8ull);
}
