// SPDX-License-Identifier: BSD-3-Clause
// Cross-layer equalization and absorption: the function stays, factors are those of numpy and PyTorch, the rest is told.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include <zeropoint/methods/equalize.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/operators/activations.hpp>
#include <zeropoint/operators/flatten.hpp>
#include <zeropoint/operators/linear.hpp>
#include <zeropoint/operators/pool2d.hpp>
#include <zeropoint/operators/prelu.hpp>
#include <zeropoint/operators/sum.hpp>

#include "../support/golden_file.hpp"
#include "../support/made_up.hpp"

namespace {

using zp::conv;

/// Through a depthwise layer, a prelu, a pool and a flatten; what a relu6 and a residual keep apart stays.
struct net : zp::model<zp::input<8, 8, 3>, zp::conv2d<"a", conv{.out_channels = 8, .kernel = 3, .padding = 1}>,
                       zp::relu, zp::conv2d<"b", conv{.kernel = 3, .padding = 1, .groups = zp::depthwise}>,
                       zp::prelu<"slopes", 8>, zp::conv2d<"c", conv{.out_channels = 6, .groups = 2}>,
                       zp::leaky_relu<100>, zp::max_pool2d<2>, zp::conv2d<"d", conv{.out_channels = 6}>, zp::relu6,
                       zp::residual<zp::conv2d<"e", conv{.out_channels = 6}>>, zp::conv2d<"f", conv{.out_channels = 5}>,
                       zp::relu, zp::flatten, zp::linear<"g", 7>> {};

/// Channels of a layer with filters times factors, which nothing makes good.
template <class Network> void scale_outputs(Network& model, const char* name, float low, float high) {
    made_up::generator next(8);
    for (const zp::node& row : model.rows()) {
        if (std::string(row.name) != name) continue;
        const auto weights = zp_test::array_of(model, row, 0), bias = zp_test::array_of(model, row, 1);
        const std::size_t depth = weights.size() / bias.size();
        for (std::size_t c = 0; c != bias.size(); ++c) {
            const float factor = std::exp2(std::round(next.real(low, high)));
            for (std::size_t k = 0; k != depth; ++k) weights[c * depth + k] *= factor;
            bias[c] *= factor;
        }
    }
}
template <class Network> std::vector<float> outputs_of(const Network& model) {
    std::vector<float> all;
    for (const auto& x : made_up::inputs<typename Network::net>(6)) {
        const auto y = model(x);
        all.insert(all.end(), y.begin(), y.end());
    }
    return all;
}
double furthest(const std::vector<float>& a, const std::vector<float>& b) {
    double most = 0, largest = 0;
    for (std::size_t i = 0; i != a.size(); ++i) {
        most = std::max(most, std::abs(double{a[i]} - double{b[i]}));
        largest = std::max(largest, std::abs(double{b[i]}));
    }
    return most / largest;
}

}  // namespace

TEST_CASE("equalize: the function stays, ranges meet, and what is skipped is told") {
    auto network = zp::fuse(made_up::network<net>(4));
    for (const char* name : {"a", "b", "c", "f"}) scale_outputs(network, name, -6, 6);
    const std::vector<float> before = outputs_of(network);
    zp::equalization report;
    const auto equal = zp::equalize(network, {}, &report);
    CHECK(furthest(outputs_of(equal), before) < 1e-5);
    CHECK(report.converged);
    std::vector<std::string> pairs;
    for (const auto& pair : report.pairs) pairs.push_back(pair.producer + " " + pair.consumer);
    CHECK(pairs == std::vector<std::string>{"a b", "b c", "c d", "f g"});
    std::string skipped;
    for (const std::string& line : report.skipped) skipped += line + "\n";
    INFO(skipped);
    CHECK(skipped.find("d: add") != std::string::npos);
    CHECK(skipped.find("e: add") != std::string::npos);
    // Ranges of a's outputs and b's filters are one.
    const auto a = made_up::parameters_of(equal, "a"), b = made_up::parameters_of(equal, "b");
    for (std::size_t c = 0; c != 8; ++c) {
        float r1 = 0, r2 = 0;
        for (std::size_t k = 0; k != 27; ++k) r1 = std::max(r1, std::abs(a.weights[c * 27 + k]));
        for (std::size_t k = 0; k != 9; ++k) r2 = std::max(r2, std::abs(b.weights[c * 9 + k]));
        CHECK(r1 / r2 == doctest::Approx(1).epsilon(1e-3));
    }
}

TEST_CASE("equalize: a relu6 between two layers is skipped, by name") {
    struct bounded : zp::model<zp::input<4, 4, 3>, zp::conv2d<"first", conv{.out_channels = 8}>, zp::relu6,
                               zp::conv2d<"second", conv{.out_channels = 6}>> {};
    auto network = zp::fuse(made_up::network<bounded>(4));
    zp::equalization report;
    const auto equal = zp::equalize(network, {}, &report);
    CHECK(report.pairs.empty());
    REQUIRE(report.skipped.size() == 1);
    CHECK(report.skipped[0] == "first: the bounds of its relu6 would have to differ by channel");
    CHECK(std::equal(equal.parameters(), equal.parameters() + equal.parameter_bytes, network.parameters()));
}

TEST_CASE("equalize: through a mean of the image, and not through one of channels") {
    struct pooled : zp::model<zp::input<4, 4, 3>, zp::conv2d<"first", conv{.out_channels = 8}>, zp::relu, zp::mean<>,
                              zp::conv2d<"second", conv{.out_channels = 6}>, zp::mean<zp::axes::channels>,
                              zp::conv2d<"third", conv{.out_channels = 2}>> {};
    auto network = zp::fuse(made_up::network<pooled>(4));
    scale_outputs(network, "first", -3, 3);
    const std::vector<float> before = outputs_of(network);
    zp::equalization report;
    const auto equal = zp::equalize(network, {}, &report);
    REQUIRE(report.pairs.size() == 1);
    CHECK(report.pairs[0].producer == "first");
    CHECK(furthest(outputs_of(equal), before) < 1e-5);
}

TEST_CASE("equalize: weights without a range keep their channels") {
    struct dead : zp::model<zp::input<4, 4, 3>, zp::conv2d<"first", conv{.out_channels = 4}>, zp::relu,
                            zp::conv2d<"second", conv{.out_channels = 6}>> {};
    auto network = zp::fuse(made_up::network<dead>(4));
    const auto weights = zp_test::array_of(network, network.rows()[1], 0);
    std::fill(weights.begin(), weights.begin() + 3, 0.0f);
    const std::vector<float> before = outputs_of(network);
    for (const auto range : {zp::channel_range::largest, zp::channel_range::spread})
        CHECK(furthest(outputs_of(zp::equalize(network, {.range = range})), before) < 1e-5);
}

namespace {
struct pair_of_golden : zp::model<zp::input<1, 1, 5>, zp::linear<"first", 6>, zp::relu, zp::linear<"second", 4>,
                                  zp::relu, zp::linear<"third", 3>> {};
void check_golden(const std::string& group, const zp::equalize_options& how) {
    const zp_test::golden_file golden("methods");
    zp::fused<pair_of_golden> network;
    for (const zp::node& row : network.rows()) {
        if (row.weights.count == 0) continue;
        for (int a = 0; a != 2; ++a) {
            const auto values =
                golden.values<float>("equalize/" + std::string(row.name) + (a == 0 ? ".weight" : ".bias"));
            std::copy(values.begin(), values.end(), zp_test::array_of(network, row, a).begin());
        }
    }
    const auto equal = zp::equalize(network, how);
    for (const char* name : {"first", "second", "third"}) {
        const auto made = made_up::parameters_of(equal, name);
        CHECK(furthest(made.weights, golden.values<float>("equalize/" + group + "/" + name + ".weight")) < 1e-6);
        CHECK(furthest(made.bias, golden.values<float>("equalize/" + group + "/" + name + ".bias")) < 1e-6);
    }
}
}  // namespace

TEST_CASE("equalize: by max |w| as numpy says, by max - min as PyTorch's cross_layer_equalization") {
    check_golden("largest", {.iterations = 3, .tolerance = 0});
    check_golden("spread", {.range = zp::channel_range::spread, .iterations = 3, .tolerance = 0});
}

namespace {
struct normed
    : zp::model<zp::input<6, 6, 3>, zp::conv2d<"first", conv{.out_channels = 8, .kernel = 3, .padding = 1}>,
                zp::batch_norm2d<"norm">, zp::relu, zp::conv2d<"second", conv{.out_channels = 6, .kernel = 3}>,
                zp::relu, zp::conv2d<"padded", conv{.out_channels = 6, .kernel = 3, .padding = 1}>> {};
}  // namespace

TEST_CASE("absorption: what a relu always lets through goes into the next bias") {
    auto trained = made_up::network<normed>(6);
    for (const zp::node& row : trained.rows())
        if (zp_test::is(row, zp::op::batch_norm)) {  // outputs of mean 3 to 5, deviation 0.5
            for (float& gamma : zp_test::array_of(trained, row, 0)) gamma = 0.1f;
            for (float& beta : zp_test::array_of(trained, row, 1)) beta = 4 + beta;
            for (float& variance : zp_test::array_of(trained, row, 3)) variance = 6;
        }
    const auto fused = zp::fuse(trained);
    const std::vector<float> before = outputs_of(fused);
    zp::equalization report;
    const auto equal = zp::equalize(trained, {}, &report);
    REQUIRE(report.absorbed.size() == 1);
    CHECK(report.absorbed[0] == "first into second: 8 of 8 channels");
    CHECK(furthest(outputs_of(equal), before) < 1e-5);
    const auto kept = zp::equalize(trained, {.absorb = false});
    const auto with = made_up::parameters_of(equal, "first"), without = made_up::parameters_of(kept, "first");
    for (std::size_t c = 0; c != 8; ++c) CHECK(with.bias[c] < without.bias[c]);
    // By data: the smallest value that was seen, so that over these data nothing changes.
    std::vector<std::string> lines;
    const auto seen = zp::absorb_biases(fused, made_up::inputs<normed>(6), &lines);
    REQUIRE(lines.size() == 1);
    CHECK(lines[0] == "first into second: 8 of 8 channels");
    CHECK(furthest(outputs_of(seen), before) < 1e-5);
    float smallest = zp::infinity;
    zp::for_each_input(seen, made_up::inputs<normed>(6), [&](int row, const float* values) {
        if (row == 1) smallest = std::min(smallest, *std::min_element(values, values + 6 * 6 * 8));
    });
    CHECK(smallest >= 0);
    CHECK(smallest < 1e-5f);
}
