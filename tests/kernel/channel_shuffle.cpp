// The search for an order of channels: a permutation of each block, good where a good one exists.
#include <algorithm>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/channel_shuffle.hpp>

using namespace zp::kernel;

namespace {

std::vector<std::uint8_t> shuffle_of(const conv2d_geometry& g, const std::vector<std::int8_t>& weights, int width) {
    std::vector<std::uint8_t> shuffle(static_cast<std::size_t>(g.in.channels), 99);
    find_shuffle(g, weights.data(), 0, g.out.channels, width, limits_for(255), shuffle.data());
    return shuffle;
}

}  // namespace

TEST_CASE("channel_shuffle: every whole block is permuted, the rest is left alone") {
    std::mt19937 random(31);
    const conv2d_geometry g{.in = {8, 8, 40}, .out = {8, 8, 24}, .kernel_height = 3, .kernel_width = 3};
    std::vector<std::int8_t> weights(static_cast<std::size_t>(g.depth() * g.out.channels));
    for (auto& w : weights) w = static_cast<std::int8_t>(static_cast<int>(random() % 256) - 128);
    std::vector<std::uint8_t> shuffle = shuffle_of(g, weights, 16);
    for (int block = 0; block != 2; ++block) {
        const auto first = shuffle.begin() + 16 * block;
        std::sort(first, first + 16);
        for (int i = 0; i != 16; ++i) CHECK(first[i] == i);
    }
    CHECK(std::count(shuffle.begin() + 32, shuffle.end(), 99) == 8);
}

TEST_CASE("channel_shuffle: large weights are paired with small ones") {
    // In each filter half of a block's channels are large, in pairs as they come; the filters agree on them.
    std::mt19937 random(32);
    for (int i = 0; i != 50; ++i) {
        const conv2d_geometry g{.in = {8, 8, 16}, .out = {8, 8, 16}};
        std::vector<int> large(16);
        for (std::size_t c = 0; c != 16; ++c) large[c] = c < 8;
        std::shuffle(large.begin(), large.end(), random);
        std::vector<std::int8_t> weights;
        for (int o = 0; o != 16; ++o)
            for (std::size_t c = 0; c != 16; ++c) weights.push_back(static_cast<std::int8_t>(large[c] != 0 ? 100 : 20));
        const std::vector<std::uint8_t> shuffle = shuffle_of(g, weights, 16);
        for (std::size_t c = 0; c != 16; c += 2) CHECK(large[shuffle[c]] != large[shuffle[c + 1]]);
    }
}

TEST_CASE("channel_shuffle: a pairing without cost is found where there is one, whatever hides it") {
    std::mt19937 random(33);
    for (int i = 0; i != 200; ++i) {
        pairing_costs costs;
        std::vector<int> partner(16);
        for (int c = 0; c != 16; ++c) partner[static_cast<std::size_t>(c)] = c;
        std::shuffle(partner.begin(), partner.end(), random);
        for (int a = 0; a != 16; ++a)
            for (int b = 0; b < a; ++b) costs.cost[a][b] = costs.cost[b][a] = random() % 4 != 0 ? 1 : 0;
        for (std::size_t c = 0; c != 16; c += 2)
            costs.cost[partner[c]][partner[c + 1]] = costs.cost[partner[c + 1]][partner[c]] = 0;
        std::uint8_t order[16];
        for (std::size_t c = 0; c != 16; ++c) order[c] = static_cast<std::uint8_t>(c);
        costs.pair_up(order, 100);
        int total = 0;
        for (int c = 0; c != 16; c += 2) total += costs.cost[order[c]][order[c + 1]];
        CHECK(total == 0);
    }
}
