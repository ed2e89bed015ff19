// SPDX-License-Identifier: BSD-3-Clause
// Memory planning over random graphs: no two values that live together overlap, and little room is wasted.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include <zeropoint/operators/boundary.hpp>
#include <zeropoint/operators/common.hpp>
#include <zeropoint/pass/plan.hpp>

#include "../support/made_up.hpp"

namespace {

constexpr int capacity = 40;
using zp::graph;
using zp::node;
using zp::operator_info;

namespace operators = zp::operators;
namespace functions = zp::kernel::functions;
constexpr operator_info custom_info{.kind = &zp::op::custom, .name = "custom"};
constexpr const operator_info &sigmoid_info = operators::function_info<functions::sigmoid, zp::op::sigmoid>,
                              &tanh_info = operators::function_info<functions::tanh, zp::op::tanh>,
                              &hardswish_info = operators::function_info<functions::hardswish, zp::op::hardswish>,
                              &leaky_relu_info = operators::function_info<functions::leaky_relu, zp::op::leaky_relu>,
                              &add_info = zp::info_of<operators::add, zp::op::add>,
                              &concat_info = zp::info_of<operators::concat, zp::op::concat>,
                              &max_pool2d_info = zp::info_of<operators::max_pool2d, zp::op::max_pool2d>;

/// A graph whose rows read random earlier rows, of random operators, types, sizes and scratch.
graph<capacity> random_graph(made_up::generator& next) {
    graph<capacity> g;
    g.size = next.integer(2, capacity);
    for (int i = 0; i != g.size; ++i) {
        node& row = g.nodes[i];
        row.op = i == 0 ? &operators::input : &custom_info;
        row.out.storage = next.integer(0, 2) == 0 ? zp::scalar_type::uint8 : zp::scalar_type::float32;
        row.out.extents = {next.integer(1, 6), next.integer(1, 6), next.integer(1, 40)};
        row.at.scratch_bytes = next.integer(0, 1) * next.integer(0, 3000);
        row.at.state_bytes = 64 * next.integer(0, 1) * next.integer(0, 20);
        row.flags.keeps_state = next.integer(0, 3) == 0;
        row.at.parameter_bytes = next.integer(0, 1) * next.integer(0, 500);
        row.input_count = i == 0 ? std::int8_t{0} : static_cast<std::int8_t>(next.integer(1, 3));
        for (int k = 0; k != row.input_count; ++k)
            row.inputs[k] = static_cast<short>(next.integer(std::max(0, i - 8), i - 1));
        if (i == 0 || next.integer(0, 2) == 0) continue;
        // Operators that may share the place of an input.
        const node& input = g.nodes[row.inputs[0]];
        const operator_info* candidates[] = {&operators::relu_info, &sigmoid_info, &operators::flatten,
                                             &operators::dropout,   &add_info,     &operators::conv2d_info};
        row.op = candidates[next.integer(0, 5)];
        if (row.op->multiplies) {  // of the first input, plus the second
            row.fused.adds_input_1 = true;
            row.input_count = 2;
            row.inputs[1] = static_cast<short>(next.integer(std::max(0, i - 8), i - 1));
            const node& residual = g.nodes[row.inputs[1]];
            row.out.extents = residual.out.extents;
            if (next.integer(0, 4) != 0) row.out.storage = residual.out.storage;
            continue;
        }
        row.out.extents = input.out.extents;
        if (next.integer(0, 4) != 0) row.out.storage = input.out.storage;
        row.input_count = row.op == &add_info ? std::int8_t{2} : std::int8_t{1};
        if (row.op == &add_info && g.nodes[row.inputs[1]].out.extents.size() != input.out.extents.size())
            row.inputs[1] = row.inputs[0];
        if (zp::is_view(row)) row.out.storage = input.out.storage;
    }
    g.nodes[g.size - 1].out.storage = zp::scalar_type::float32;
    return g;
}

/// The same, of which some values are given out, perhaps more than once, and read before and behind that.
graph<capacity> random_graph_with_outputs(made_up::generator& next) {
    graph<capacity> g = random_graph(next);
    if (node& last = g.nodes[g.size - 1]; zp::is_view(last)) last.out.storage = g.nodes[last.inputs[0]].out.storage;
    int outputs = 0;
    for (int i = 1; i != g.size; ++i) {
        node& row = g.nodes[i];
        for (int k = 0; k != row.input_count; ++k)  // nobody reads an output's node
            if (const node& read = g.nodes[row.inputs[k]]; read.op->is_output) row.inputs[k] = read.inputs[0];
        if (row.op != &custom_info || (next.integer(0, 5) != 0 && i != g.size - 1)) continue;
        node given;
        given.op = &operators::output;
        given.input_count = 1;
        given.inputs[0] = row.inputs[0];
        given.options[0] = outputs++;
        row = given;
        row.out = g.nodes[row.inputs[0]].out;
    }
    // Rows that took the extents of one that is an output now take those of what it reads.
    for (int i = 1; i != g.size; ++i) {
        node& row = g.nodes[i];
        if (row.op->is_output) row.out = g.nodes[row.inputs[0]].out;
        else if (row.op->multiplies) row.out.extents = g.nodes[row.inputs[1]].out.extents;
        else if (row.op != &custom_info) row.out.extents = g.nodes[row.inputs[0]].out.extents;
        if (zp::is_view(row)) row.out.storage = g.nodes[row.inputs[0]].out.storage;
        if (row.op == &add_info && g.nodes[row.inputs[1]].out.extents.size() != row.out.extents.size())
            row.inputs[1] = row.inputs[0];
    }
    return g;
}

struct range {
    int begin, end;
    bool meets(const range& other) const { return begin < other.end && other.begin < end; }
    bool operator==(const range&) const = default;
};
range place_of(const node& row) {
    const int begin = zp::is_in_user_output(row.at.arena_offset) ? 0 : row.at.arena_offset;
    return {begin, begin + row.out.extents.size() * zp::size_of(row.out.storage)};
}
/// 0: in the arena. From 1 on: in that of output 0, 1, ...
std::size_t memory_of(const node& row) {
    const int offset = row.at.arena_offset;
    return zp::is_in_user_output(offset) ? static_cast<std::size_t>(1 + zp::in_user_output - offset) : 0;
}

/// Runs the plan over memory whose bytes know which row wrote them last, and says what goes wrong first.
std::string mistake_of(const graph<capacity>& g) {
    enum { nobody = -1 };
    std::vector<int> memories[1 + capacity];
    memories[0].assign(static_cast<std::size_t>(g.arena_bytes), nobody);
    const auto write = [&](const range& place, int who, std::size_t memory = 0) {
        if (memory != 0 && memories[memory].empty())
            memories[memory].assign(static_cast<std::size_t>(place.end), nobody);
        for (int b = place.begin; b != place.end; ++b) memories[memory][static_cast<std::size_t>(b)] = who;
    };
    const auto is_whole = [&](const node& row, int who) {
        const range place = place_of(row);
        const std::vector<int>& memory = memories[memory_of(row)];
        for (int b = place.begin; b != place.end; ++b)
            if (static_cast<std::size_t>(b) >= memory.size() || memory[static_cast<std::size_t>(b)] != who)
                return false;
        return true;
    };
    int wrote[capacity] = {};  // whose bytes a row's values are: its own, or those a view looks at
    const auto inside = [&](const range& place) {
        return place.begin >= 0 && place.end <= g.arena_bytes &&
               place.begin % static_cast<int>(zp::buffer_alignment) == 0;
    };
    for (int i = 0; i != g.size; ++i) {
        const node& row = g.nodes[i];
        const std::string at = " at row " + std::to_string(i) + " (" + row.op->name + ")";
        const range scratch{row.at.scratch_offset, row.at.scratch_offset + row.at.scratch_bytes};
        const bool in_arena = memory_of(row) == 0;
        if (row.at.scratch_bytes != 0 && !inside(scratch)) return "scratch outside" + at;
        if (in_arena && !inside(place_of(row))) return "output outside or misaligned" + at;
        if (row.at.scratch_bytes != 0) write(scratch, nobody);
        if (in_arena && scratch.meets(place_of(row))) return "scratch in the output" + at;
        if (!row.flags.keeps_state && row.at.state_bytes != 0) {
            const range state{row.at.state_offset, row.at.state_offset + row.at.state_bytes};
            if (!inside(state)) return "state outside" + at;
            if (scratch.meets(state)) return "state in the scratch" + at;
            if (in_arena && state.meets(place_of(row))) return "state in the output" + at;
            write(state, nobody);
        }
        bool view = false;
        for (int k = 0; k != row.input_count; ++k) {
            const node& input = g.nodes[row.inputs[k]];
            if (input.op->is_input) {  // the caller's memory
                if (in_arena && row.at.arena_offset == input.at.arena_offset && zp::is_view(row))
                    return "view of it" + at;
                continue;
            }
            const range place = place_of(input);
            if (!is_whole(input, wrote[row.inputs[k]])) return "input lost" + at;
            if (memory_of(input) != memory_of(row) || !place.meets(place_of(row))) continue;
            const bool elementwise = row.op == &operators::relu_info || row.op == &sigmoid_info ||
                                     row.op == &add_info || (row.op == &operators::conv2d_info && k == 1);
            view = row.op == &operators::flatten || row.op == &operators::dropout || row.op == &operators::output;
            if (place != place_of(row) || !(elementwise || view) || row.out.storage != input.out.storage)
                return "overlap" + at;
            if (view) wrote[i] = wrote[row.inputs[k]];
        }
        if (view) continue;
        wrote[i] = i;
        if (!row.op->is_input) write(place_of(row), i, memory_of(row));
    }
    for (int i = 0; i != g.size; ++i)
        if (g.nodes[i].op->is_output && !is_whole(g.nodes[i], wrote[i])) return "output lost";
    return "";
}

}  // namespace

TEST_CASE("plan: every value lasts until its last reader, wherever it lies, and little room is wasted") {
    made_up::generator next(11);
    long sum_of_arenas = 0, sum_of_alive = 0;
    int in_place = 0, views = 0;
    for (int round = 0; round != 1000; ++round) {
        graph<capacity> g = random_graph(next);
        zp::place_activations(g);
        CHECK(mistake_of(g) == "");
        int most_alive = 0;
        for (int i = 0; i != g.size; ++i) {
            int alive = static_cast<int>(zp::align_up(static_cast<std::size_t>(g.nodes[i].at.scratch_bytes)));
            if (!g.nodes[i].flags.keeps_state) alive += g.nodes[i].at.state_bytes;
            std::vector<range> places;
            for (int j = 0; j <= i; ++j) {
                bool read_later = j == i;
                for (int k = i; k != g.size; ++k)
                    for (int input = 0; input != g.nodes[k].input_count; ++input)
                        read_later = read_later || g.nodes[k].inputs[input] == j;
                if (!read_later || g.nodes[j].at.arena_offset == zp::in_user_output) continue;
                const range place = place_of(g.nodes[j]);
                if (std::find(places.begin(), places.end(), place) != places.end()) continue;
                places.push_back(place);
                alive += static_cast<int>(zp::align_up(static_cast<std::size_t>(place.end - place.begin)));
            }
            most_alive = std::max(most_alive, alive);
            for (int k = 0; k != g.nodes[i].input_count; ++k)
                if (i != g.size - 1 && g.nodes[i].at.arena_offset == g.nodes[g.nodes[i].inputs[k]].at.arena_offset)
                    ++(zp::is_view(g.nodes[i]) ? views : in_place);
        }
        CHECK(g.arena_bytes >= most_alive);
        CHECK(g.arena_bytes % static_cast<int>(zp::buffer_alignment) == 0);
        CHECK(g.nodes[g.size - 1].at.arena_offset == zp::in_user_output);
        sum_of_arenas += g.arena_bytes;
        sum_of_alive += most_alive;
    }
    CHECK(sum_of_arenas < sum_of_alive * 11 / 10);
    CHECK(in_place > 1000);
    CHECK(views > 1000);
}

TEST_CASE("plan: states that are kept lie behind each other, in memory of their own or behind the arena of a call") {
    made_up::generator next(12);
    for (int round = 0; round != 100; ++round) {
        graph<capacity> g = random_graph(next);
        zp::place_activations(g);
        int end = 0, of_a_call = g.arena_bytes;
        zp::place_states(g);
        for (int i = 0; i != g.size; ++i) {
            if (!g.nodes[i].flags.keeps_state) continue;
            CHECK(g.nodes[i].at.state_offset == end);
            end += g.nodes[i].at.state_bytes;
        }
        CHECK(g.state_bytes == end);
        zp::place_kept(g);
        CHECK(g.arena_bytes == of_a_call + end);
        for (int i = 0; i != g.size; ++i)
            if (g.nodes[i].flags.keeps_state) CHECK(g.nodes[i].at.state_offset >= of_a_call);
    }
}

TEST_CASE("plan: which rows take the place of an input") {
    graph<5> g;  // input -> a -> b -> c -> output, all of one size
    g.size = 5;
    const auto plan = [&](const operator_info& b, zp::scalar_type type_of_b, int second_reader) {
        for (int i = 0; i != g.size; ++i) {
            node& row = g.nodes[i] = {};
            row.op = i == 0 ? &operators::input : &operators::conv2d_info;
            row.out.storage = zp::scalar_type::uint8;
            row.out.extents = {1, 1, 64};
            row.input_count = i == 0 ? std::int8_t{0} : std::int8_t{1};
            if (i != 0) row.inputs[0] = static_cast<short>(i - 1);
        }
        g.nodes[2].op = &b;
        g.nodes[2].out.storage = type_of_b;
        if (second_reader != 0) {
            g.nodes[second_reader].input_count = 2;
            g.nodes[second_reader].inputs[1] = 1;
        }
        zp::place_activations(g);
        return g.nodes[2].at.arena_offset == g.nodes[1].at.arena_offset;
    };
    const auto codes = zp::scalar_type::uint8;
    for (const operator_info* op :
         {&operators::relu_info, &operators::relu6_info, &sigmoid_info, &hardswish_info, &leaky_relu_info, &tanh_info,
          &add_info, &operators::batch_norm_info, &operators::requantize_info}) {
        INFO(std::string(op->name));
        CHECK(plan(*op, codes, 0));
        CHECK(plan(*op, codes, 2));                        // reads it twice
        CHECK_FALSE(plan(*op, codes, 3));                  // somebody needs it later
        CHECK_FALSE(plan(*op, zp::scalar_type::int8, 0));  // no kernel promises it between types
        CHECK_FALSE(plan(*op, zp::scalar_type::float32, 0));
    }
    for (const operator_info* op :
         {&operators::conv2d_info, &max_pool2d_info, &concat_info, &operators::quantize_info, &custom_info})
        CHECK_FALSE(plan(*op, codes, 0));
    CHECK(plan(operators::flatten, codes, 0));
    CHECK(plan(operators::flatten, codes, 4));  // reading it changes nothing
}

TEST_CASE("plan: a sum with a residual takes the place of the residual, never that of what its windows read") {
    graph<5> g;  // input -> a -> b; c = conv2d(windows) + residual -> output
    g.size = 5;
    const auto plan = [&](short windows, short residual, const operator_info& b, zp::scalar_type type,
                          short read_by_output) {
        for (int i = 0; i != g.size; ++i) {
            node& row = g.nodes[i] = {};
            row.op = i == 0 ? &operators::input : i == 2 ? &b : &operators::conv2d_info;
            row.out.storage = zp::scalar_type::uint8;
            row.out.extents = {1, 1, 64};
            row.input_count = i == 0 ? std::int8_t{0} : std::int8_t{1};
            if (i != 0) row.inputs[0] = static_cast<short>(i - 1);
        }
        g.nodes[3].input_count = 2;
        g.nodes[3].fused.adds_input_1 = true;
        g.nodes[3].inputs[0] = windows, g.nodes[3].inputs[1] = residual;
        g.nodes[3].out.storage = type;
        g.nodes[4].op = &add_info, g.nodes[4].input_count = 2, g.nodes[4].inputs[1] = read_by_output;
        zp::place_activations(g);
        const int a_place = g.nodes[1].at.arena_offset, b_place = g.nodes[2].at.arena_offset,
                  c = g.nodes[3].at.arena_offset;
        return std::string(c == a_place ? "a" : "") + (c == b_place ? "b" : "");
    };
    const auto codes = zp::scalar_type::uint8;
    CHECK(plan(2, 1, operators::conv2d_info, codes, 3) == "a");
    CHECK(plan(1, 2, operators::conv2d_info, codes, 3) == "b");
    CHECK(plan(1, 1, operators::conv2d_info, codes, 3) != "a");                 // the windows read it, too
    CHECK(plan(2, 1, operators::flatten, codes, 3) == "");                      // and so they do through a view
    CHECK(plan(2, 1, operators::conv2d_info, codes, 1) == "");                  // somebody needs it later
    CHECK(plan(2, 1, operators::conv2d_info, zp::scalar_type::int8, 3) == "");  // other codes
    CHECK(plan(2, 0, operators::conv2d_info, codes, 3) == "a");  // free by then, and the input is the caller's
}

TEST_CASE("plan: what is given out stays in the caller's memory, and is written there where it can be") {
    made_up::generator next(13);
    int direct = 0, copied = 0;
    for (int round = 0; round != 1000; ++round) {
        graph<capacity> g = random_graph_with_outputs(next);
        if (zp::marked_output_count(g) == 0) continue;
        zp::place_activations(g);
        CHECK(mistake_of(g) == "");
        for (const node& row : g)
            if (row.op->is_output) {
                const node& value = g.nodes[row.inputs[0]];
                CHECK(memory_of(row) == static_cast<std::size_t>(1 + row.options[0]));
                CHECK((value.op->is_input || memory_of(value) != 0));
                ++(memory_of(value) == memory_of(row) ? direct : copied);
            }
    }
    CHECK(direct > 1000);
    CHECK(copied > 100);
}

TEST_CASE("plan: the last node of a graph that marks no output writes to the caller's memory") {
    graph<2> g;
    g.size = 2;
    g.nodes[0].out.extents = g.nodes[1].out.extents = {1, 1, 100};
    g.nodes[0].op = &operators::input, g.nodes[1].op = &custom_info;
    g.nodes[1].input_count = 1;
    zp::place_activations(g);
    CHECK(g.nodes[1].at.arena_offset == zp::in_user_output);
    CHECK(g.arena_bytes == 448);
    g.nodes[1].out.storage = zp::scalar_type::int8;
    zp::place_activations(g);
    CHECK(g.nodes[1].at.arena_offset == zp::in_user_output);
    CHECK(g.arena_bytes == 448);
}

TEST_CASE("plan: parameters lie in row order, aligned, without gaps beyond the alignment") {
    made_up::generator next(12);
    for (int round = 0; round != 50; ++round) {
        graph<capacity> g = random_graph(next);
        zp::place_parameters(g);
        std::size_t expected = 0;
        for (int i = 0; i != g.size; ++i) {
            CHECK(static_cast<std::size_t>(g.nodes[i].at.parameter_offset) == expected);
            expected = zp::align_up(expected + static_cast<std::size_t>(g.nodes[i].at.parameter_bytes));
        }
        CHECK(static_cast<std::size_t>(g.parameter_bytes) == expected);
    }
}

TEST_CASE("plan: planning is constant evaluation") {
    constexpr int bytes = [] {
        graph<3> g;
        g.size = 3;
        for (node& row : g.nodes) row.op = &custom_info, row.out.extents = {1, 1, 16};
        g.nodes[0].op = &operators::input;
        g.nodes[1].input_count = g.nodes[2].input_count = 1;
        g.nodes[2].inputs[0] = 1;
        zp::place_activations(g);
        return g.arena_bytes;
    }();
    static_assert(bytes == 128);
}
