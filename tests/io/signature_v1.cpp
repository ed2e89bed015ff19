// SPDX-License-Identifier: BSD-3-Clause
// The signature that ties an int8 file to its type changes with whatever changes the meaning of its integers.
#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include <zeropoint/io/signature_v1.hpp>
#include <zeropoint/operators/add.hpp>
#include <zeropoint/operators/conv2d.hpp>
#include <zeropoint/operators/input.hpp>
#include <zeropoint/operators/function.hpp>
#include <zeropoint/operators/linear.hpp>

namespace {

namespace operators = zp::operators;

zp::graph<3> some_graph() {
    zp::graph<3> g;
    g.size = 3;
    for (zp::node& row : g.nodes) row.out.extents = {4, 4, 8}, row.out.storage = zp::scalar_type::uint8;
    g.nodes[0].op = &operators::input;
    g.nodes[1].op = &operators::conv2d_info;
    zp::set_options(g.nodes[1], zp::window2d{});
    g.nodes[1].name = "conv";
    g.nodes[1].input_count = 1;
    g.nodes[2].op = &zp::info_of<operators::add, zp::op::add>;
    g.nodes[2].input_count = 2;
    g.nodes[2].inputs[1] = 1;
    return g;
}

template <int zp::window2d::*Member, int Value> void set_window(zp::node& n) {
    auto window = zp::options_of<zp::window2d>(n);
    window.*Member = Value;
    zp::set_options(n, window);
}

std::uint64_t signature(const zp::graph<3>& g) { return zp::signature_of(g, "nearest_even"); }

}  // namespace

TEST_CASE("signature: every property that gives integers their meaning changes it") {
    using change = void (*)(zp::node&);
    const change changes[] = {
        [](zp::node& n) { n.op = &operators::linear_info; },
        [](zp::node& n) { n.fused.clamp = &operators::relu_info; },
        [](zp::node& n) { n.name = "conw"; },
        [](zp::node& n) { n.name = "con"; },
        [](zp::node& n) { n.out.extents.channels = 9; },
        [](zp::node& n) { n.out.extents.depth = 2; },
        set_window<&zp::window2d::kernel_height, 3>,
        set_window<&zp::window2d::stride_width, 2>,
        set_window<&zp::window2d::padding_top, 1>,
        set_window<&zp::window2d::dilation_width, 2>,
        set_window<&zp::window2d::groups, 8>,
        [](zp::node& n) { n.out.storage = zp::scalar_type::int8; },
        [](zp::node& n) { n.weights.storage = zp::scalar_type::int8; },
        [](zp::node& n) { n.weights.affine = true; },
        [](zp::node& n) { n.out.qparams_id = 3; },
        [](zp::node& n) { n.fused.lut_qparams_id = 3; },
        [](zp::node& n) { n.fused.lut_bits = 10; },
        [](zp::node& n) { n.out.quant_min = -1; },
        [](zp::node& n) { n.out.quant_max = 127; },
        [](zp::node& n) { n.weights.quant_min = -127; },
        [](zp::node& n) { n.weights.quant_max = 7; },
        set_window<&zp::window2d::count_include_pad, 0>,
        [](zp::node& n) { n.parameter = 1e-3f; },
    };
    std::vector<std::uint64_t> all{signature(some_graph())};
    for (const change make : changes) {
        zp::graph<3> g = some_graph();
        make(g.nodes[1]);
        all.push_back(signature(g));
    }
    zp::graph<3> swapped = some_graph();
    swapped.nodes[2].inputs[0] = 1, swapped.nodes[2].inputs[1] = 0;
    all.push_back(signature(swapped));
    zp::graph<3> with_residual = some_graph();  // the convolution adds a value, which may be this one or that
    with_residual.nodes[1].input_count = 2;
    all.push_back(signature(with_residual));
    with_residual.nodes[1].inputs[1] = 2;
    all.push_back(signature(with_residual));
    zp::graph<3> shorter = some_graph();
    shorter.size = 2;
    all.push_back(signature(shorter));
    all.push_back(zp::signature_of(some_graph(), "float_bias"));
    for (std::size_t a = 0; a != all.size(); ++a)
        for (std::size_t b = 0; b != a; ++b) {
            INFO("changes ", a, " and ", b);
            CHECK(all[a] != all[b]);
        }
}

TEST_CASE("signature: functions differ by kind and constants, clamps by their bounds") {
    static constexpr float one[] = {1.0f}, two[] = {2.0f};
    static constexpr zp::scalar_function plain{}, of_one{one}, of_two{two};
    static constexpr auto function = [](const char* name, const zp::scalar_function* made_of) {
        zp::operator_info info;
        info.kind = &zp::op::activation;
        info.name = name;
        info.function = made_of;
        return info;
    };
    static constexpr zp::operator_info functions[] = {function("bump", &plain), function("bumb", &plain),
                                                      function("bump", &of_one), function("bump", &of_two)};
    std::vector<std::uint64_t> all;
    for (const bool fused : {false, true}) {
        for (const zp::operator_info& op : functions) {
            zp::graph<3> g = some_graph();
            (fused ? g.nodes[1].fused.lut : g.nodes[1].op) = &op;
            all.push_back(signature(g));
        }
        for (const float bound : {1.0f, 2.0f, 3.0f}) {
            zp::graph<3> g = some_graph();
            if (!fused) g.nodes[1].op = &operators::clamp_info;
            g.nodes[1].fused.clamp = &operators::clamp_info;
            g.nodes[1].fused.lowest = bound == 3 ? 1.0f : 0.0f, g.nodes[1].fused.highest = bound;
            all.push_back(signature(g));
        }
    }
    for (std::size_t a = 0; a != all.size(); ++a)
        for (std::size_t b = 0; b != a; ++b) CHECK(all[a] != all[b]);
    zp::graph<3> g = some_graph();  // operators with names of their own are told by those
    static constexpr zp::operator_info same_name = [] {
        zp::operator_info info = operators::conv2d_info;
        info.function = &of_one;
        return info;
    }();
    g.nodes[1].op = &same_name;
    CHECK(signature(g) == signature(some_graph()));
}

TEST_CASE("signature: where things lie in memory is no part of it") {
    zp::graph<3> g = some_graph();
    g.nodes[1].by.policy = zp::fastest, g.nodes[1].by.algorithm = zp::conv2d_algorithm::direct;
    g.nodes[1].at.arena_offset = 64, g.nodes[1].at.parameter_offset = 128, g.nodes[1].at.scratch_bytes = 5,
    g.arena_bytes = 9;
    CHECK(signature(g) == signature(some_graph()));
}

TEST_CASE("signature: sixteen hexadecimal digits, most significant first") {
    CHECK(zp::signature_text(0) == "0000000000000000");
    CHECK(zp::signature_text(0x0123456789abcdefull) == "0123456789abcdef");
    CHECK(zp::signature_text(0xf000000000000001ull) == "f000000000000001");
}

TEST_CASE("signature: it is the same number everywhere") {
    constexpr std::uint64_t constant = zp::signature_of(zp::graph<1>{}, "nearest_even");
    CHECK(constant == zp::signature_of(zp::graph<1>{}, "nearest_even"));
    static_assert(constant != 0);
}
