// SPDX-License-Identifier: BSD-3-Clause
// Executors: results in parts are those in one piece, of every algorithm and storage; what is cut, and in what memory.
#include <doctest/doctest.h>

#include <array>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/executor.hpp>
#include <zeropoint/model/float_stage.hpp>
#include <zeropoint/operators.hpp>
#include <zeropoint/workflow/calibrate.hpp>
#include <zeropoint/workflow/convert.hpp>
#include <zeropoint/workflow/fuse.hpp>
#include <zeropoint/workflow/prepare.hpp>
#include <zeropoint/workflow/presets.hpp>
#include <zeropoint/workflow/quantize_dynamic.hpp>

#include "../support/made_up.hpp"
#include "../support/parts.hpp"

namespace {

using zp::axis;
using zp::conv;

// 13 rows: parts are of different sizes, and of 7 parts some are single rows.
struct image_net
    : zp::model<zp::input<13, 12, 16>, zp::conv2d<"stem", conv{.out_channels = 32, .kernel = 3, .padding = 1}>,
                zp::relu,
                zp::residual<zp::conv2d<"depthwise", conv{.kernel = 3, .padding = 1, .groups = zp::depthwise}>>,
                zp::max_pool2d<zp::pool{.kernel = 3, .stride = 1, .padding = 1}>,
                zp::conv2d<"strided", conv{.out_channels = 24, .kernel = 5, .stride = 2, .padding = 2}>, zp::hardswish,
                zp::conv2d<"dilated", conv{.out_channels = 8, .kernel = 3, .padding = 2, .dilation = 2}>, zp::flatten,
                zp::linear<"fc", 10>> {};
struct sequence_net : zp::model<zp::input<1, 19, 32>, zp::encoder_layer<"encoder", 4, 48>, zp::linear<"last", 64>> {};
// One vector, or as few as are no rows to cut: 296 channels are panels of which the last is not whole, behind which come a gelu and a sum.
template <int Rows>
struct vector_net
    : zp::model<zp::input<1, Rows, 160>, zp::linear<"first", 296>, zp::gelu,
                zp::residual<zp::linear<"in", 320>, zp::relu6, zp::linear<"out", 296>>, zp::linear<"last", 40>> {};
// A sequence longer than its context, of which three heads of keys serve six of queries.
template <int Bits>
struct causal_net
    : zp::model<zp::input<1, 9, 24>,
                zp::causal_attention<
                    zp::causal_attention_options{
                        .heads = 6, .key_heads = 3, .depth = 8, .context = 5, .theta = 10000, .cache_bits = Bits},
                    zp::linear<"q", 48>, zp::linear<"k", 24>, zp::linear<"v", 24>>,
                zp::linear<"last", 16>> {};
struct volume_net
    : zp::model<zp::input<7, 6, 6, 8>, zp::conv3d<"a", zp::volume_conv{.out_channels = 8, .kernel = 3, .padding = 1}>,
                zp::relu> {};
struct winograd_net
    : zp::model<zp::input<13, 12, 32>, zp::conv2d<"a", conv{.out_channels = 32, .kernel = 3, .padding = 1}>> {};
struct winograd : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                              zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>,
                              zp::algorithm<zp::conv2d_algorithm::winograd_4x4>> {};
// Five rows and panels of 64 channels: three parts are panels, of all algorithms.
struct channels_net
    : zp::model<zp::input<5, 5, 192>, zp::conv2d<"winograd", conv{.out_channels = 192, .kernel = 3, .padding = 1}>,
                zp::relu,
                zp::residual<zp::conv2d<"depthwise", conv{.kernel = 3, .padding = 1, .groups = zp::depthwise}>>,
                zp::conv2d<"pointwise", conv{.out_channels = 184}>, zp::hardswish,
                zp::residual<zp::conv2d<"grouped", conv{.out_channels = 184, .kernel = 3, .padding = 1, .groups = 2}>>,
                zp::conv2d<"strided", conv{.out_channels = 150, .kernel = 3, .stride = 2}>, zp::flatten,
                zp::linear<"fc", 320>> {};
struct winograd_of_first
    : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                  zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>,
                  zp::for_layer<"winograd", zp::algorithm<zp::conv2d_algorithm::winograd_4x4>>> {};
struct padded_average
    : zp::model<zp::input<9, 9, 8>, zp::avg_pool2d<zp::pool{.kernel = 3, .stride = 1, .padding = 1}>> {};

template <class Net> std::vector<float> input_of(std::uint64_t seed = 9) {
    return made_up::inputs<Net>(1, seed).front();
}
template <class Config, class Net> auto converted(const zp::float_model<Net>& model) {
    return zp::convert(
        zp::calibrate(zp::prepare<Config>(zp::fuse(model)), std::vector<std::vector<float>>{input_of<Net>()}));
}
template <class Policy, class Net> auto dynamic(const zp::float_model<Net>& model) {
    return zp::quantize_dynamic<zp::dynamic_qconfig<Policy, zp::quantize_every_layer>>(zp::fuse(model));
}
/// Notes how many parts each node has.
struct counting {
    int count;
    std::int64_t worth;
    std::vector<int>* parts_of_calls;

    int workers() const { return count; }
    std::int64_t least_work() const { return worth; }
    template <class Body> void run(int parts, const Body& body) const {
        parts_of_calls->push_back(parts);
        for (int part = 0; part != parts; ++part) body(part);
    }
};
/// Runs the first part of each node alone.
struct first_part {
    int count;
    int workers() const { return count; }
    static std::int64_t least_work() { return 0; }
    template <class Body> static void run(int, const Body& body) { body(0); }
};
using network = zp::float_model<image_net>;

}  // namespace

TEST_CASE("images: parts give the floats and the codes of one piece") {
    const auto model = made_up::network<image_net>(3);
    const auto x = input_of<image_net>();
    const std::set<std::string> floats = zp_test::check_parts(model, x.data());
    for (const std::string name : {"conv2d", "max_pool2d", "relu", "add", "hardswish"}) {
        CAPTURE(name);
        CHECK(floats.count(name) == 1);
    }
    CHECK(floats.count("linear") == 0);  // of one vector
    CHECK(zp_test::check_parts(converted<zp::default_qconfig>(model), x.data()).count("conv2d") == 1);
    CHECK(zp_test::check_parts(converted<zp::int16_qconfig>(model), x.data()).count("conv2d") == 1);
}

TEST_CASE("Winograd: parts give the codes of one piece") {
    const auto int8 = converted<winograd>(made_up::network<winograd_net>(3));
    CHECK(int8.rows()[2].by.algorithm == zp::conv2d_algorithm::winograd_4x4);
    CHECK(zp_test::check_parts(int8, input_of<winograd_net>().data()).count("conv2d") == 1);
}

TEST_CASE("panels of channels give the codes of one piece") {
    const auto int8 = converted<winograd_of_first>(made_up::network<channels_net>(3));
    using stage = decltype(int8)::stage;
    std::set<std::string> by_panels, by_rows;
    for (std::size_t i = 0; i != stage::cuts.size(); ++i) {
        const auto three = stage::cuts[i].choose(3, 0);
        if (three.parts > 1) (three.by_panels ? by_panels : by_rows).insert(int8.rows()[i].name);
    }
    CHECK(by_panels == std::set<std::string>{"winograd", "pointwise", "grouped", "strided", "fc"});
    CHECK(by_rows.count("depthwise") == 1);
    CHECK(zp_test::check_parts(int8, input_of<channels_net>().data()).count("linear") == 1);
}

TEST_CASE("sequences: parts give the results of one piece, in float, static and dynamic") {
    const auto model = made_up::network<sequence_net>(3);
    const auto x = input_of<sequence_net>();
    const auto floats = zp_test::check_parts(model, x.data());
    for (const std::string name : {"linear", "layer_norm", "matmul", "softmax"}) {
        CAPTURE(name);
        CHECK(floats.count(name) == 1);
    }
    const auto static_cuts = zp_test::check_parts(converted<zp::default_qconfig>(model), x.data());
    CHECK(static_cuts.count("linear") == 1);
    CHECK(static_cuts.count("matmul") == 1);
    // A range a row, one range of all the input, and weights alone.
    const auto dynamic_cuts = zp_test::check_parts(dynamic<zp::dynamic_policy<>>(model), x.data());
    CHECK(dynamic_cuts.count("linear") == 1);
    CHECK(dynamic_cuts.count("attention") == 1);  // by heads
    using together = zp::dynamic_policy<zp::quint8, zp::per_tensor_affine>;
    CHECK(zp_test::check_parts(dynamic<together>(model), x.data()).count("linear") == 0);
    CHECK(zp_test::check_parts(dynamic<zp::weight_only_policy<zp::qint8>>(model), x.data()).count("linear") == 1);
}

TEST_CASE("layers of one vector are cut into panels of channels") {
    const auto check_network = [&](const auto& model) {
        using network_type = std::remove_cvref_t<decltype(model)>;
        const auto x = made_up::values(static_cast<std::size_t>(network_type::input_shape.size()), 9);
        CHECK(zp_test::check_parts(model, x.data()).count("linear") == 1);
        for (std::size_t i = 0; i != model.rows().size(); ++i)
            if (model.rows()[i].name == "in") {
                const auto by = network_type::stage::cuts[i].choose(3, 0);
                CHECK((by.parts == 3 && by.by_panels));
            }
        // A part writes its own channels: what the others would have is as it was.
        const auto memory = std::make_unique<typename network_type::template workspace_for<3>>();
        std::vector<float> y(static_cast<std::size_t>(network_type::output_shape.size()));
        const void* const xs[] = {x.data()};
        void* const ys[] = {y.data()};
        std::memset(memory->bytes, 0x5A, sizeof memory->bytes);
        model.run_parts(xs, ys, memory->bytes, 3, first_part{3}, [&](int i, const void* values) {
            const zp::node& row = model.rows()[static_cast<std::size_t>(i)];
            if (row.name != std::string_view("first")) return;
            const auto* bytes = static_cast<const unsigned char*>(values) +
                                sizeof(float) * static_cast<std::size_t>(row.out.extents.size());
            CHECK((bytes[-1] == 0x5A && bytes[-4] == 0x5A));
        });
    };
    const auto check = [&]<class Policy, int Rows>(Policy, std::integral_constant<int, Rows>) {
        check_network(dynamic<Policy>(made_up::network<vector_net<Rows>>(3)));
    };
    check_network(zp::fuse(made_up::network<vector_net<1>>(3)));
    constexpr std::integral_constant<int, 1> one;
    check(zp::dynamic_policy<>(), one);
    check(zp::dynamic_group_policy<>(), one);
    check(zp::weight_only_policy<zp::qint8>(), one);
    // One range of both rows: they are not cut, their channels are.
    check(zp::dynamic_policy<zp::quint8, zp::per_tensor_affine>(), std::integral_constant<int, 2>());
    check(zp::dynamic_group_policy<zp::quint4, 64>(), std::integral_constant<int, 2>());
}

TEST_CASE_TEMPLATE("causal attention is cut into heads, whose keys and values are theirs", Net, causal_net<32>,
                   causal_net<8>) {
    const auto model = made_up::network<Net>(3);
    const auto x = input_of<Net>();
    CHECK(zp_test::check_parts(model, x.data()).count("causal_attention") == 1);
    CHECK(zp_test::check_parts(dynamic<zp::dynamic_policy<>>(model), x.data()).count("causal_attention") == 1);
    using causal_network = std::remove_const_t<decltype(model)>;
    using stage = typename causal_network::stage;
    std::size_t attention = 0;
    while (model.rows()[attention].op->name != std::string_view("causal_attention")) ++attention;
    CHECK((stage::cuts[attention].choose(8, 0).parts == 3 && stage::cuts[attention].choose(2, 0).parts == 2));
    CHECK(stage::cuts[attention].choose(2, 0).by_panels);
    // A part leaves what the others keep as it is, its begin too: of parts one behind the other the last would clear them.
    const auto memory = std::make_unique<typename causal_network::template workspace_for<3>>();
    std::vector<float> y(static_cast<std::size_t>(causal_network::output_shape.size()));
    const void* const xs[] = {x.data()};
    void* const ys[] = {y.data()};
    const auto states_behind = [&](auto run) {
        std::vector<std::byte> states;
        std::memset(memory->bytes, 0x5A, sizeof memory->bytes);
        run([&](int i, const void*) {
            if (static_cast<std::size_t>(i) != attention) return;
            const auto& at = model.rows()[attention].at;
            states.assign(memory->bytes + at.state_offset, memory->bytes + at.state_offset + at.state_bytes);
        });
        return states;
    };
    const auto whole = states_behind([&](auto after) { model.run(xs, ys, memory->bytes, after); });
    int calls = 0;
    const auto parts = states_behind([&](auto after) {
        model.run_parts(xs, ys, memory->bytes, 3, zp_test::backwards{3, &calls}, after);
    });
    CHECK((calls != 0 && !whole.empty() && parts == whole));
}

TEST_CASE("volumes are cut into planes") {
    const auto model = made_up::network<volume_net>(3);
    const auto x = input_of<volume_net>();
    CHECK(zp_test::check_parts(model, x.data()).count("conv3d") == 1);
    CHECK(zp_test::check_parts(converted<zp::default_qconfig>(model), x.data()).count("conv3d") == 1);
}

TEST_CASE("an average that counts its padding is not cut") {
    const zp::float_model<padded_average> model;
    CHECK(zp_test::check_parts(model, input_of<padded_average>().data()).empty());
}

TEST_CASE("parts are as many as memory, executor and work allow") {
    const auto model = made_up::network<image_net>(3);
    const auto x = input_of<image_net>();
    std::vector<float> y(10), wanted(10);
    const auto alone = std::make_unique<network::workspace_for<1>>();
    const auto three = std::make_unique<network::workspace_for<3>>();
    std::vector<int> parts;
    model(x, wanted, *std::make_unique<network::workspace>());
    model(x, y, *alone, counting{7, 0, &parts});
    CHECK(parts.empty());
    CHECK(y == wanted);
    model(x, y, *three, counting{7, 0, &parts});
    CHECK(parts.size() > 5);
    for (const int count : parts) CHECK(count == 3);
    CHECK(y == wanted);
    parts.clear();
    model(x, y, *three, counting{2, 0, &parts});
    for (const int count : parts) CHECK(count == 2);
    parts.clear();
    model(x, y, *three, counting{3, std::int64_t{1} << 40, &parts});
    CHECK(parts.empty());
    model(x, y, *three, zp::executors::serial());
    CHECK(y == wanted);
    static_assert(sizeof(network::workspace_for<1>) == sizeof(network::workspace));
    static_assert(sizeof(network::workspace_for<3>) - sizeof(network::workspace_for<2>) ==
                  sizeof(network::workspace_for<2>) - sizeof(network::workspace_for<1>));
}
