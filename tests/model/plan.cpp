// Memory planning over random graphs: no two values that live together overlap, and little room is wasted.
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include <zeropoint/model/plan.hpp>

#include "../support/made_up.hpp"

namespace {

constexpr int capacity = 40;
using zp::graph;
using zp::node;

/// A graph whose rows read random earlier rows, of random types, sizes and scratch.
graph<capacity> random_graph(made_up::generator& next) {
    graph<capacity> g;
    g.size = next.integer(2, capacity);
    for (int i = 0; i != g.size; ++i) {
        node& row = g.nodes[i];
        row.kind = i == 0 ? zp::op::input : zp::op::custom;
        row.type = next.integer(0, 2) == 0 ? zp::scalar_type::uint8 : zp::scalar_type::float32;
        row.out = {next.integer(1, 6), next.integer(1, 6), next.integer(1, 40)};
        row.scratch_bytes = next.integer(0, 1) * next.integer(0, 3000);
        row.parameter_bytes = next.integer(0, 1) * next.integer(0, 500);
        row.input_count = i == 0 ? std::int8_t{0} : static_cast<std::int8_t>(next.integer(1, 3));
        for (int k = 0; k != row.input_count; ++k)
            row.inputs[k] = static_cast<short>(next.integer(std::max(0, i - 8), i - 1));
    }
    g.nodes[g.size - 1].type = zp::scalar_type::float32;
    return g;
}

struct block {
    int first, last, begin, end;  // rows that it lives through, bytes that it takes
};

/// What must lie in the arena: outputs from their row to their last reader, scratch in its row.
std::vector<block> blocks_of(const graph<capacity>& g) {
    std::vector<block> all;
    for (int i = 0; i != g.size; ++i) {
        const node& row = g.nodes[i];
        int last = i;
        for (int j = i; j != g.size; ++j)
            for (int k = 0; k != g.nodes[j].input_count; ++k)
                if (g.nodes[j].inputs[k] == i) last = j;
        if (row.arena_offset != zp::in_user_output)
            all.push_back({i, last, row.arena_offset, row.arena_offset + row.out.size() * zp::size_of(row.type)});
        if (row.scratch_bytes != 0) all.push_back({i, i, row.scratch_offset, row.scratch_offset + row.scratch_bytes});
    }
    return all;
}

}  // namespace

TEST_CASE("plan: values that are alive together never overlap, and everything is aligned and inside the arena") {
    made_up::generator next(11);
    long sum_of_arenas = 0, sum_of_bounds = 0, sum_of_blocks = 0;
    for (int round = 0; round != 400; ++round) {
        graph<capacity> g = random_graph(next);
        zp::place_activations(g);
        const std::vector<block> blocks = blocks_of(g);
        bool overlap = false, outside = false, misaligned = false;
        int total = 0;
        for (std::size_t a = 0; a != blocks.size(); ++a) {
            const block& x = blocks[a];
            outside = outside || x.begin < 0 || x.end > g.arena_bytes;
            misaligned = misaligned || x.begin % static_cast<int>(zp::buffer_alignment) != 0;
            total += static_cast<int>(zp::align_up(static_cast<std::size_t>(x.end - x.begin)));
            for (std::size_t b = 0; b != a; ++b) {
                const block& y = blocks[b];
                const bool together = x.first <= y.last && y.first <= x.last;
                overlap = overlap || (together && x.begin < y.end && y.begin < x.end);
            }
        }
        int most_alive = 0;
        for (int i = 0; i != g.size; ++i) {
            int alive = 0;
            for (const block& x : blocks)
                if (x.first <= i && i <= x.last)
                    alive += static_cast<int>(zp::align_up(static_cast<std::size_t>(x.end - x.begin)));
            most_alive = std::max(most_alive, alive);
        }
        CHECK_FALSE(overlap);
        CHECK_FALSE(outside);
        CHECK_FALSE(misaligned);
        CHECK(g.arena_bytes >= most_alive);
        CHECK(g.arena_bytes <= total);
        CHECK(g.arena_bytes % static_cast<int>(zp::buffer_alignment) == 0);
        CHECK(g.nodes[g.size - 1].arena_offset == zp::in_user_output);
        sum_of_arenas += g.arena_bytes;
        sum_of_bounds += most_alive;
        sum_of_blocks += total;
    }
    CHECK(sum_of_arenas < sum_of_bounds * 11 / 10);
    CHECK(sum_of_arenas < sum_of_blocks / 2);
}

TEST_CASE("plan: an output of codes lies in the arena, a float one in the user's memory") {
    graph<2> g;
    g.size = 2;
    g.nodes[0].out = g.nodes[1].out = {1, 1, 100};
    g.nodes[1].input_count = 1;
    zp::place_activations(g);
    CHECK(g.nodes[1].arena_offset == zp::in_user_output);
    CHECK(g.arena_bytes == 448);
    g.nodes[1].type = zp::scalar_type::int8;
    zp::place_activations(g);
    CHECK(g.nodes[1].arena_offset == 448);
    CHECK(g.arena_bytes == 448 + 128);
}

TEST_CASE("plan: parameters lie in row order, aligned, without gaps beyond the alignment") {
    made_up::generator next(12);
    for (int round = 0; round != 50; ++round) {
        graph<capacity> g = random_graph(next);
        zp::place_parameters(g);
        std::size_t expected = 0;
        for (int i = 0; i != g.size; ++i) {
            CHECK(static_cast<std::size_t>(g.nodes[i].parameter_offset) == expected);
            expected = zp::align_up(expected + static_cast<std::size_t>(g.nodes[i].parameter_bytes));
        }
        CHECK(static_cast<std::size_t>(g.parameter_bytes) == expected);
    }
}

TEST_CASE("plan: planning is constant evaluation") {
    constexpr int bytes = [] {
        graph<3> g;
        g.size = 3;
        for (node& row : g.nodes) row.out = {1, 1, 16};
        g.nodes[1].input_count = g.nodes[2].input_count = 1;
        g.nodes[2].inputs[0] = 1;
        zp::place_activations(g);
        return g.arena_bytes;
    }();
    static_assert(bytes == 128);
}
