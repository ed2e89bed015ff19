// SPDX-License-Identifier: BSD-3-Clause
// Layers with integer weights between floats in int8 networks: what stands in front of them computes the integers that it computes
// without them, and they the floats of a dynamic network; files, tables, mistakes.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <zeropoint/analysis/model_table.hpp>
#include <zeropoint/io/model_file.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/operators/lstm.hpp>
#include <zeropoint/workflow/calibration_report.hpp>
#include <zeropoint/workflow/convert.hpp>
#include <zeropoint/workflow/prepare.hpp>
#include <zeropoint/workflow/quantize_dynamic.hpp>
#include <zeropoint/workflow/streaming.hpp>

#include "../support/made_up.hpp"

namespace {

namespace op = zp::op;
using zp::dynamic_policy;
using zp::weight_only_policy;
using of_weights = zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>;
template <class... Options>
struct config
    : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>, of_weights, Options...> {};
using four_bits = weight_only_policy<zp::qint4, 32>;

struct images
    : zp::model<zp::input<6, 6, 3>, zp::conv2d<"conv", zp::conv{.out_channels = 8, .kernel = 3, .padding = 1}>,
                zp::relu, zp::max_pool2d<2>, zp::flatten, zp::linear<"hidden", 40>, zp::relu,
                zp::linear<"scores", 10>> {};
/// What "hidden" is by itself.
struct hidden : zp::model<zp::input<1, 1, 72>, zp::linear<"hidden", 40>, zp::relu> {};

constexpr zp::recurrent_options projected{.projection = 20};
struct sequences
    : zp::model<zp::input<1, 12, 10>, zp::conv1d<"conv", zp::conv{.out_channels = 16, .kernel = 3, .padding = 1}>,
                zp::relu, zp::lstm<"rnn", 32, projected>, zp::linear<"scores", 12>> {};
struct recurrence : zp::model<zp::input<1, 12, 16>, zp::lstm<"rnn", 32, projected>> {};

template <class Net> auto trained() { return zp::fuse(made_up::network<Net>(4)); }
template <class Net, class Config> auto converted() {
    return zp::convert(zp::calibrate(zp::prepare<Config>(trained<Net>()), made_up::inputs<Net>(40, 3)));
}

/// The values of every node after one call: codes and floats as bytes, by the node of the fused network.
struct values {
    const zp::node* n;
    std::vector<std::byte> bytes;
    std::vector<float> floats() const {
        const auto* begin = reinterpret_cast<const float*>(bytes.data());
        return {begin, begin + bytes.size() / sizeof(float)};
    }
};
template <class Network> std::vector<values> run(const Network& model, const std::vector<float>& x) {
    std::vector<values> all;
    std::vector<float> y(static_cast<std::size_t>(Network::output_shape.size()));
    auto memory = std::make_unique<typename Network::workspace>();
    model.run(x.data(), y.data(), memory->bytes, [&](int i, const void* result) {
        const zp::node& n = model.rows()[static_cast<std::size_t>(i)];
        const auto* bytes = static_cast<const std::byte*>(result);
        all.push_back({&n, {bytes, bytes + n.out.extents.size() * zp::size_of(n.out.storage)}});
    });
    return all;
}
const values& named(const std::vector<values>& all, const char* name) {
    for (const values& each : all)
        if (std::string(each.n->name) == name) return each;
    return all.front();
}

/// The layer "Name" of a network under a mixing qconfig: nodes in front of it against those of the same qconfig without, its output
/// against a dynamic network of that layer alone, and the codes behind it against its floats. Gives its table.
template <class Net, class Alone, class Policy, class Mixed, class Plain>
std::string check(const char* name, const Mixed& mixed, const Plain& plain) {
    auto alone = zp::float_model<Alone>();
    const auto source = trained<Net>();
    for (const zp::node& n : source.rows())
        if (std::string(n.name) == name) {
            const zp::node& to = alone.rows()[1];
            REQUIRE(zp::parameters_of(zp_test::view_of(alone.rows(), to)).size() ==
                    zp::parameters_of(zp_test::view_of(source.rows(), n)).size());
            for (int i = 0; i != zp::parameters_of(zp_test::view_of(alone.rows(), to)).count; ++i)
                std::ranges::copy(zp_test::array_of(source, n, i), zp_test::array_of(alone, to, i).begin());
        }
    const auto dynamic = zp::quantize_dynamic<zp::dynamic_qconfig<Policy, zp::quantize_every_layer>>(alone);
    const auto loaded = zp::load<Mixed>(zp::to_bytes(mixed), "mixed");
    CHECK(zp::to_bytes(loaded) == zp::to_bytes(mixed));
    for (const auto& x : made_up::inputs<Net>(3, 11)) {
        const std::vector<values> all = run(mixed, x), without = run(plain, x);
        std::size_t i = 0;
        for (; !all[i].n->op->to_float; ++i) {
            REQUIRE(i < without.size());
            CHECK(all[i].n->op == without[i].n->op);
            CHECK(all[i].bytes == without[i].bytes);
        }
        CHECK(i > 2);
        REQUIRE(std::string(all[i + 1].n->name) == name);
        std::vector<float> expected(static_cast<std::size_t>(dynamic.output_shape.size()));
        dynamic(all[i].floats(), expected, *std::make_unique<typename decltype(dynamic)::workspace>());
        CHECK(all[i + 1].floats() == expected);
        REQUIRE(all[i + 2].n->out.storage == zp::scalar_type::uint8);
        const zp::qparams range = mixed.ranges()[all[i + 2].n->out.qparams_id];
        for (std::size_t k = 0; k != expected.size(); ++k)
            CHECK(std::to_integer<int>(all[i + 2].bytes[k]) == zp::quantize<zp::quint8>(expected[k], range));
        const std::vector<values> again = run(loaded, x);
        CHECK(again.back().bytes == all.back().bytes);
    }
    return zp::to_string(mixed);
}

}  // namespace

TEST_CASE("mixed qconfig: integers in front, the floats of a dynamic network, codes behind") {
    const auto plain = converted<images, config<>>();
    using per_row = config<zp::dynamic<"hidden", dynamic_policy<>>>;
    std::string table = check<images, hidden, dynamic_policy<>>("hidden", converted<images, per_row>(), plain);
    CHECK(table.find("dynamic linear + relu  hidden") != table.npos);
    CHECK(table.find("2 float/int8 boundaries inside") != table.npos);

    using affine = dynamic_policy<zp::quint8_reduced, zp::per_tensor_affine, zp::quint8, zp::per_channel_affine>;
    check<images, hidden, affine>("hidden", converted<images, config<zp::dynamic<"hidden", affine>>>(), plain);

    using alone = config<zp::weight_only<"hidden", four_bits>>;
    table = check<images, hidden, four_bits>("hidden", converted<images, alone>(), plain);
    CHECK(table.find("weight-only linear of 4 bits + relu  hidden") != table.npos);

    using grouped = config<zp::dynamic<"hidden", zp::dynamic_group_policy<>>>;
    table = check<images, hidden, zp::dynamic_group_policy<>>("hidden", converted<images, grouped>(), plain);
    CHECK(table.find("dynamic linear of 4 bits in groups of 32 + relu  hidden") != table.npos);
}

TEST_CASE("mixed qconfig: an LSTM with a projection between int8 layers") {
    using mixed = config<zp::dynamic_type<op::lstm, dynamic_policy<>>>;
    const std::string table = check<sequences, recurrence, dynamic_policy<>>("rnn", converted<sequences, mixed>(),
                                                                             converted<sequences, config<>>());
    CHECK(table.find("dynamic lstm") != table.npos);
    check<sequences, recurrence, four_bits>("rnn", converted<sequences, config<zp::weight_only<"rnn", four_bits>>>(),
                                            converted<sequences, config<>>());
}

TEST_CASE("mixed qconfig: what options select") {
    using both = config<zp::weight_only<"hidden", four_bits>, zp::dynamic_type<op::linear, dynamic_policy<>>,
                        zp::requantize_with<zp::float_bias>, zp::correct_biases>;
    const auto model = converted<images, both>();
    const auto all = run(model, made_up::inputs<images>(1)[0]);
    CHECK(named(all, "hidden").n->is_weight_only());
    CHECK(named(all, "scores").n->is_dynamic());
    CHECK(named(all, "conv").n->out.is_codes());
    CHECK(zp::to_bytes(zp::load<std::remove_cvref_t<decltype(model)>>(zp::to_bytes(model), "both")) ==
          zp::to_bytes(model));

    // A name goes before a type; a type leaves to the qconfig what has no such form.
    struct grouped
        : zp::model<zp::input<4, 4, 4>, zp::conv2d<"a", zp::conv{.out_channels = 4, .kernel = 3, .groups = 2}>,
                    zp::conv2d<"b", zp::conv{.out_channels = 4}>, zp::conv2d<"c", zp::conv{.out_channels = 4}>> {};
    using by_type = config<zp::dynamic_type<op::conv2d, dynamic_policy<>>, zp::keep_float<"c">>;
    constexpr const auto& nodes = zp::quantized_stage<grouped, by_type>::loose;
    CHECK(nodes.nodes[zp::node_named(nodes, "a")].out.is_codes());
    CHECK(nodes.nodes[zp::node_named(nodes, "b")].is_dynamic());
    CHECK(nodes.nodes[zp::node_named(nodes, "c")].is_float());
    CHECK_FALSE(nodes.nodes[zp::node_named(nodes, "c")].is_dynamic());
}

TEST_CASE("mixed qconfig: step by step") {
    struct steps : zp::model<zp::input<1, 12, 10>, zp::linear<"first", 16>, zp::relu, zp::lstm<"rnn", 32>,
                             zp::linear<"second", 24>, zp::linear<"scores", 12>> {};
    using mixed = config<zp::dynamic<"rnn">, zp::weight_only<"second", four_bits>>;
    const auto model = converted<steps, mixed>();
    const auto x = made_up::inputs<steps>(1, 5)[0];
    std::vector<float> whole(12 * 12), step(12);
    model(x, whole);
    zp::streaming<zp::quantized<steps, mixed>> stream(model);
    for (std::size_t i = 0; i != 12; ++i) {
        stream(std::span(x).subspan(i * 10, 10), step);
        CHECK(std::ranges::equal(step, std::span(whole).subspan(i * 12, 12)));
    }
}

TEST_CASE("mixed qconfig: the calibration report says what gives floats") {
    using both =
        config<zp::weight_only<"hidden", four_bits>, zp::dynamic<"scores", dynamic_policy<>>, zp::keep_float<"conv">>;
    const auto seen = zp::report(zp::calibrate(zp::prepare<both>(trained<images>()), made_up::inputs<images>(40, 3)));
    std::vector<std::string> computed;
    for (const zp::activation_report& each : seen.activations) computed.push_back(each.name + ": " + each.computed);
    CHECK(computed == std::vector<std::string>{"input: ", "conv: float32", "hidden: weight-only", "scores: dynamic"});
    CHECK(zp::to_string(seen).find("  weight-only\nscores") != std::string::npos);
}

TEST_CASE("mixed qconfig: files belong to one policy") {
    using per_row = config<zp::dynamic<"hidden", dynamic_policy<>>>;
    using per_tensor = config<zp::dynamic<"hidden", dynamic_policy<zp::quint8, zp::per_tensor_affine>>>;
    const auto bytes = zp::to_bytes(converted<images, per_row>());
    const auto refused = [&]<class Config>(Config) {
        CHECK_THROWS_WITH_AS((zp::load<zp::quantized<images, Config>>(bytes, "mixed")), doctest::Contains("signature"),
                             zp::file_error);
    };
    refused(config<>{});
    refused(config<zp::keep_float<"hidden">>{});
    refused(per_tensor{});
    refused(config<zp::weight_only<"hidden", weight_only_policy<>>>{});
}
