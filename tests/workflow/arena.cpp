// SPDX-License-Identifier: BSD-3-Clause
// The arena of real networks against what must lie in it at once.
#include <doctest/doctest.h>

#include <algorithm>

#include <zeropoint/workflow/presets.hpp>
#include <zeropoint/workflow/stages.hpp>

#include "../../bench/models/lenet.hpp"
#include "../../bench/models/mobilenet_v2.hpp"
#include "../../bench/models/resnet18.hpp"

namespace {

/// What no plan can do without, in bytes: at some row, its inputs, its output and the residuals that wait for a later
/// row, and with `scratch` the row's own. Inputs and outputs in the caller's memory do not count, the input as reordered
/// channels last does.
template <class Graph> constexpr int most_alive(const Graph& g, bool scratch) {
    int most = 0;
    for (int i = 0; i != g.size; ++i) {
        int alive = scratch ? g.nodes[i].at.scratch_bytes : 0;
        for (int j = 0; j <= i; ++j) {
            bool read_later = j == i;
            for (int k = i; k != g.size; ++k)
                for (int input = 0; input != g.nodes[k].input_count; ++input)
                    read_later = read_later || g.nodes[k].inputs[input] == j;
            const bool sums = g.nodes[i].op->kind == &zp::op::add || g.nodes[i].fused.adds_input_1;
            const bool in_place = j == i && i != 0 && sums;  // over one of its operands
            if (read_later && !in_place && g.nodes[j].at.arena_offset != zp::in_user_output)
                alive += g.nodes[j].out.extents.size() * zp::size_of(g.nodes[j].out.storage);
        }
        most = std::max(most, alive);
    }
    return most;
}

template <class Net, class Config = zp::default_qconfig>
inline constexpr const auto& table = zp::quantized_stage<Net, Config>::table;

struct fastest_qconfig
    : zp::qconfig<zp::default_qconfig::activation, zp::default_qconfig::weight, zp::algorithm<zp::fastest>> {};

}  // namespace

TEST_CASE("arena: MobileNetV2's is within 10 % of its largest pair of neighbours plus residuals") {
    constexpr int bound = most_alive(table<models::mobilenet_v2>, false);
    static_assert(bound == 112 * 112 * 96 + 56 * 56 * 96, "the widest layer and the one behind it");
    CHECK(table<models::mobilenet_v2>.arena_bytes >= bound);
    CHECK(table<models::mobilenet_v2>.arena_bytes <= bound + bound / 10);
}

// Wider vectors have panels of more channels, whose filters are transformed at once.
TEST_CASE("arena: ResNet-18's is a fifth more, because Winograd transforms its filters there") {
    constexpr int bound = most_alive(table<models::resnet18>, false);
    static_assert(bound == 112 * 112 * 64 + 56 * 56 * 64);
    constexpr bool wide = xsimd::batch<float, zp::default_architecture>::size > 8;
    CHECK(table<models::resnet18>.arena_bytes <= bound + (wide ? bound * 2 / 3 : bound / 4));
}

TEST_CASE("arena: with scratch counted, the plan loses little") {
    const auto loss = [](const auto& g) { return g.arena_bytes - most_alive(g, true); };
    // Nothing but alignment.
    CHECK(loss(table<models::mobilenet_v2>) < 256);
    CHECK(loss(table<models::mobilenet_v2, fastest_qconfig>) < 256);
    // A gap beside values that live longer than the scratch of a row.
    CHECK(loss(table<models::resnet18>) < most_alive(table<models::resnet18>, true) / 16);
    CHECK(loss(table<models::resnet18, fastest_qconfig>) <
          most_alive(table<models::resnet18, fastest_qconfig>, true) / 16);
    CHECK(loss(table<models::lenet>) < most_alive(table<models::lenet>, true) / 20);
}
