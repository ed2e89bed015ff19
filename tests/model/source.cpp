// SPDX-License-Identifier: BSD-3-Clause
// Models as types become tables: rows, shapes, names, and the rules that hold for a whole model.
#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/source.hpp>

namespace {

using zp::conv;
using zp::shape;

template <class Net> constexpr const auto& table = zp::source<Net>::table;
template <class Net> zp::rule broken() { return table<Net>.error.broken; }

template <class Net> std::vector<std::string> kinds() {
    std::vector<std::string> all;
    for (const zp::node& row : table<Net>) all.emplace_back(row.op->kind->name);
    return all;
}
template <class Net> std::vector<shape> shapes() {
    std::vector<shape> all;
    for (const zp::node& row : table<Net>) all.push_back(row.out.extents);
    return all;
}
template <class Net> std::vector<int> inputs(int i) {
    const zp::node& row = table<Net>.nodes[i];
    return {row.inputs, row.inputs + row.input_count};
}

struct every_layer
    : zp::model<zp::input<16, 12, 3>, zp::quant_stub,
                zp::conv2d<"conv", conv{.out_channels = 8, .kernel = 3, .stride = 2, .padding = 1}>,
                zp::batch_norm2d<"bn", zp::norm{.epsilon_millionths = 1000, .affine = false}>, zp::relu,
                zp::conv2d<"depthwise",
                           conv{.kernel = 3, .padding = 2, .dilation = 2, .groups = zp::depthwise, .bias = false}>,
                zp::relu6, zp::conv2d<"grouped", conv{.out_channels = 4, .kernel = {1, 3}, .groups = 4}>,
                zp::leaky_relu<200>, zp::max_pool2d<zp::pool{.kernel = 3, .stride = 2, .ceil_mode = true}>, zp::sigmoid,
                zp::avg_pool2d<2>, zp::tanh, zp::adaptive_avg_pool2d<2, 1>, zp::hardswish, zp::flatten, zp::dropout,
                zp::linear<"fc", 10, zp::with_bias::no>, zp::batch_norm1d<"bn1d">, zp::dequant_stub> {};

struct nested
    : zp::model<zp::input<4, 4, 2>,
                zp::residual<zp::conv2d<"a", conv{.out_channels = 2}>,
                             zp::residual<zp::conv2d<"b", conv{.out_channels = 2}>>, zp::relu>,
                zp::concat<zp::identity, zp::sequential<zp::conv2d<"c", conv{.out_channels = 3}>, zp::relu>,
                           zp::conv2d<"d", conv{.out_channels = 1}>>,
                zp::add_relu<zp::conv2d<"e", conv{.out_channels = 5}>, zp::conv2d<"f", conv{.out_channels = 5}>>> {};

/// A free-form graph: a value that two layers read, and a layer over three values, in a loop.
struct free_form {
    static constexpr int nodes = 12;
    static constexpr void lower(zp::builder& b) {
        const int x = b.input({5, 5, 3});
        int values[3] = {x, x, x};
        const char* names[] = {"one", "two", "three"};
        for (int i = 0; i != 3; ++i)
            values[i] = zp::relu::lower(b, b.conv2d(i == 2 ? values[0] : x, names[i], {.out_channels = i + 2}));
        const int all = b.concat(values, "all");
        b.add(all, all, "twice");
    }
};

struct none {
    static constexpr int nodes = 4;
    static constexpr void lower(zp::builder&) {}
};
struct late {
    static constexpr int nodes = 4;
    static constexpr void lower(zp::builder& b) { zp::relu::lower(b, zp::relu::lower(b, 0)); }
};
struct two_outputs {
    static constexpr int nodes = 4;
    static constexpr void lower(zp::builder& b) {
        const int x = b.input({1, 1, 4});
        b.linear(x, "first", 2);
        b.linear(x, "second", 2);
    }
};
struct too_many {
    static constexpr int nodes = 2;
    static constexpr void lower(zp::builder& b) { zp::relu::lower(b, zp::relu::lower(b, b.input({1, 1, 4}))); }
};

template <class... Layers> struct small : zp::model<zp::input<4, 4, 6>, Layers...> {};

}  // namespace

TEST_CASE("source: every layer becomes a row with its deduced shape") {
    CHECK(kinds<every_layer>() ==
          std::vector<std::string>{"input",   "quant_stub", "conv2d", "batch_norm",          "relu",
                                   "conv2d",  "relu6",      "conv2d", "leaky_relu",          "max_pool2d",
                                   "sigmoid", "avg_pool2d", "tanh",   "adaptive_avg_pool2d", "hardswish",
                                   "flatten", "dropout",    "linear", "batch_norm",          "dequant_stub"});
    CHECK(shapes<every_layer>() == std::vector<shape>{{16, 12, 3}, {16, 12, 3}, {8, 6, 8},  {8, 6, 8},  {8, 6, 8},
                                                      {8, 6, 8},   {8, 6, 8},   {8, 4, 4},  {8, 4, 4},  {4, 2, 4},
                                                      {4, 2, 4},   {2, 1, 4},   {2, 1, 4},  {2, 1, 4},  {2, 1, 4},
                                                      {1, 1, 8},   {1, 1, 8},   {1, 1, 10}, {1, 1, 10}, {1, 1, 10}});
    const auto& rows = table<every_layer>.nodes;
    const auto has_affine_parameters = [](int i) {
        return zp::parameters_of(table<every_layer>.view(i)).arrays[0].in_state_dict;
    };
    CHECK(broken<every_layer>() == zp::rule::none);
    CHECK(table<every_layer>.size == every_layer::nodes);
    CHECK(rows[2].weights.has_bias);
    CHECK_FALSE(rows[5].weights.has_bias);
    CHECK_FALSE(rows[17].weights.has_bias);
    CHECK(rows[2].weights.count == 8 * 3 * 3 * 3);
    CHECK(zp::options_of<zp::window2d>(rows[5]).groups == 8);
    CHECK(rows[7].weights.count == 4 * 1 * 3 * 2);
    CHECK(rows[17].weights.count == 80);
    CHECK(rows[3].parameter == 1e-3f);
    CHECK_FALSE(has_affine_parameters(3));
    CHECK(rows[18].parameter == 1e-5f);
    CHECK(has_affine_parameters(18));
    CHECK(rows[8].parameter == 0.2f);
    CHECK(table<every_layer>.view(17).x_type().flattened == shape{2, 1, 4});
}

TEST_CASE("source: rows carry the names of their layers") {
    std::string names;
    for (const zp::node& row : table<every_layer>) names += std::string(row.name) + ",";
    CHECK(names == "input,,conv,bn,,depthwise,,grouped,,,,,,,,,,fc,bn1d,,");
    CHECK(zp::node_named(table<every_layer>, "grouped") == 7);
    CHECK(zp::node_named(table<every_layer>, "group") == -1);
    CHECK(zp::node_named(table<every_layer>, "groupedd") == -1);
    struct with_named : zp::model<zp::input<2, 2, 2>, zp::named<"pool", zp::max_pool2d<2>>,
                                  zp::named<"sum", zp::residual<zp::relu>>> {};
    CHECK(zp::node_named(table<with_named>, "pool") == 1);
    CHECK(zp::node_named(table<with_named>, "sum") == 3);
    CHECK(table<with_named>.nodes[3].op->kind == &zp::op::add);
}

TEST_CASE("source: nested residuals, concat and add_relu read the right rows") {
    CHECK(kinds<nested>() == std::vector<std::string>{"input", "conv2d", "conv2d", "add", "relu", "add", "conv2d",
                                                      "relu", "conv2d", "concat", "conv2d", "conv2d", "add", "relu"});
    CHECK(inputs<nested>(3) == std::vector{2, 1});
    CHECK(inputs<nested>(5) == std::vector{4, 0});
    CHECK(inputs<nested>(6) == std::vector{5});
    CHECK(inputs<nested>(9) == std::vector{5, 7, 8});
    CHECK(table<nested>.nodes[9].out.extents == shape{4, 4, 6});
    CHECK(inputs<nested>(12) == std::vector{10, 11});
    CHECK(table<nested>.output().out.extents == shape{4, 4, 5});
}

TEST_CASE("source: a model may be a function over the builder") {
    CHECK(broken<free_form>() == zp::rule::none);
    CHECK(table<free_form>.size == 9);
    CHECK(inputs<free_form>(5) == std::vector{2});
    CHECK(inputs<free_form>(7) == std::vector{2, 4, 6});
    CHECK(inputs<free_form>(8) == std::vector{7, 7});
    CHECK(table<free_form>.output().out.extents == shape{5, 5, 9});
}

TEST_CASE("source: a name may be used once in a model") {
    using twice = small<zp::conv2d<"a", conv{.out_channels = 6}>,
                        zp::residual<zp::conv2d<"b", conv{.out_channels = 6}>, zp::batch_norm2d<"a">>>;
    CHECK(broken<twice>() == zp::rule::duplicate_name);
    CHECK(table<twice>.error.row == 3);
    CHECK(broken<small<zp::conv2d<"input", conv{.out_channels = 6}>>>() == zp::rule::duplicate_name);
    CHECK(broken<small<zp::conv2d<"a", conv{.out_channels = 6}>, zp::conv2d<"ab", conv{.out_channels = 6}>>>() ==
          zp::rule::none);
    CHECK(broken<small<zp::relu, zp::relu>>() == zp::rule::none);
}

TEST_CASE("source: a model begins with its input and ends with its only output") {
    CHECK(broken<none>() == zp::rule::no_input);
    CHECK(broken<late>() == zp::rule::no_input);
    CHECK(broken<two_outputs>() == zp::rule::unused_value);
    CHECK(table<two_outputs>.error.row == 1);
    CHECK(broken<too_many>() == zp::rule::too_many_nodes);
    CHECK(broken<small<>>() == zp::rule::no_layers);
}

TEST_CASE("source: tables are constants") {
    static_assert(table<every_layer>.size == 20);
    static_assert(table<nested>.output().out.extents == shape{4, 4, 5});
    static_assert(zp::node_named(table<every_layer>, "fc") == 17);
}
