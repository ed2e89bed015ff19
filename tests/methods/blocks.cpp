// SPDX-License-Identifier: BSD-3-Clause
// Residual blocks: found in the table, gradients by differences, rounded together; and layers left in float.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include <zeropoint/methods/fall_back.hpp>
#include <zeropoint/methods/reconstruct_blocks.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/operators/activations.hpp>
#include <zeropoint/operators/add.hpp>
#include <zeropoint/operators/flatten.hpp>
#include <zeropoint/operators/linear.hpp>

#include "../support/made_up.hpp"

namespace {

using zp::conv;

/// A block with a path of its own for the residual, as ResNet's have, and one of MobileNetV2's.
struct net
    : zp::model<
          zp::input<6, 6, 3>, zp::conv2d<"a", conv{.out_channels = 6, .kernel = 3, .padding = 1}>, zp::relu,
          zp::add<zp::sequential<zp::conv2d<"b", conv{.out_channels = 8, .kernel = 3, .stride = 2, .padding = 1}>,
                                 zp::hardswish, zp::conv2d<"c", conv{.out_channels = 8, .kernel = 3, .padding = 1}>>,
                  zp::conv2d<"d", conv{.out_channels = 8, .stride = 2}>>,
          zp::relu,
          zp::residual<zp::conv2d<"e", conv{.out_channels = 12}>, zp::relu6,
                       zp::conv2d<"f", conv{.kernel = 3, .padding = 1, .groups = zp::depthwise}>, zp::relu6,
                       zp::conv2d<"g", conv{.out_channels = 8}>>,
          zp::flatten, zp::linear<"h", 4>> {};
using activations = zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>;
using weights = zp::quantizer<zp::custom_range<std::int8_t, -4, 3>, zp::per_channel_symmetric, zp::min_max_observer>;
struct three_bits : zp::qconfig<activations, weights> {};
struct six_bits_between
    : zp::qconfig<zp::quantizer<zp::custom_range<std::uint8_t, 0, 63>, zp::per_tensor_affine, zp::min_max_observer>,
                  weights> {};

const std::vector<std::vector<float>>& data() {
    static const auto all = made_up::inputs<net>(64);
    return all;
}
const zp::fused<net>& floats() {
    static const auto fused = zp::fuse(made_up::network<net>(2));
    return fused;
}
template <class Config> auto calibrated() { return zp::calibrate(zp::prepare<Config>(floats()), data()); }
template <class Quantized> double error_of(const Quantized& model) {
    double sum = 0;
    for (const auto& x : made_up::inputs<net>(32, 77)) {
        const auto y = model(x), wanted = floats()(x);
        for (std::size_t i = 0; i != y.size(); ++i) sum += std::pow(double{y[i]} - double{wanted[i]}, 2);
    }
    return sum;
}
std::span<const zp::node> loose() {
    using stage = zp::fused_stage<net>;
    return {stage::loose.nodes, static_cast<std::size_t>(stage::loose.size)};
}
std::string names_of(const zp::residual_block& block) {
    std::string text = zp::display_name(loose(), block.entry) + ":";
    for (const int row : block.rows) text += " " + zp::display_name(loose(), row);
    return text;
}

}  // namespace

TEST_CASE("residual blocks are found by what reads what") {
    const auto blocks = zp::find_residual_blocks(loose());
    REQUIRE(blocks.size() == 2);
    CHECK(names_of(blocks[0]) == "a: b hardswish_4 c d add_7");
    CHECK(names_of(blocks[1]) == "add_7: e f g add_14");
}

namespace {

void check_gradients(const zp::value_rounding& rounding, std::size_t images, int most_wrong) {
    const auto blocks = zp::find_residual_blocks(loose());
    const std::vector<zp::value_rounding> roundings(loose().size(), rounding);
    for (const zp::residual_block& block : blocks) {
        zp::block_gradients<> gradients(loose(), block, roundings, images);
        for (std::size_t r = 0; r != block.rows.size(); ++r) {
            const char* name = loose()[static_cast<std::size_t>(block.rows[r])].name;
            if (!zp::detail::has_filters(loose()[static_cast<std::size_t>(block.rows[r])])) continue;
            const auto own = made_up::parameters_of(floats(), name);
            gradients.set_filters(r, own.weights, own.bias);
        }
        std::vector<std::vector<float>> entries, targets;
        std::vector<const float*> xs, ys;
        for (std::size_t i = 0; i != images; ++i) {
            entries.push_back(made_up::values(gradients.entry_size(), 5 + i, -1, 3));
            targets.push_back(made_up::values(gradients.exit_size(), 50 + i));
        }
        for (std::size_t i = 0; i != images; ++i) xs.push_back(entries[i].data()), ys.push_back(targets[i].data());
        gradients.differentiate(xs, ys);
        std::vector<std::vector<float>> all;
        for (std::size_t r = 0; r != block.rows.size(); ++r)
            all.emplace_back(gradients.weight_gradient(r).begin(), gradients.weight_gradient(r).end());
        int wrong = 0, checked = 0;
        for (std::size_t r = 0; r != block.rows.size(); ++r) {
            const std::span<float> filters = gradients.weights(r);
            const std::vector<float>& by_kernels = all[r];
            for (std::size_t k = 0; k < filters.size(); k += 1 + filters.size() / 12) {
                const float old = filters[k];
                const double step = 1e-3;
                filters[k] = static_cast<float>(double{old} + step);
                const double above = gradients.loss(xs, ys);
                filters[k] = static_cast<float>(double{old} - step);
                const double below = gradients.loss(xs, ys);
                filters[k] = old;
                const double difference = (above - below) / (2 * step);
                ++checked;
                wrong += std::abs(difference - double{by_kernels[k]}) > 2e-2 * std::max(0.5, std::abs(difference));
            }
        }
        CHECK(checked > 30);
        CHECK(wrong <= most_wrong);
    }
}

}  // namespace

TEST_CASE("gradients of blocks are those of differences") {
    check_gradients({}, 3, 0);
    // So fine a grid that differences hardly see its steps: nothing passes from beyond its ends, -0.1 and 0.6.
    check_gradients({true, {{}, {}, zp::scalar_type::int16, -5'000, 30'000}, {2e-5f, 0}}, 5, 2);
}

TEST_CASE("reconstruct_blocks: outputs of blocks come nearer, those of the network too") {
    const auto check = [](const auto& nearest) {
        std::vector<zp::layer_repair> report;
        const zp::block_options how{.iterations = 500, .inputs = 64, .layers = {.iterations = 300, .batch = 64}};
        const auto repaired = zp::reconstruct_blocks(nearest, data(), how, &report);
        REQUIRE(report.size() == 4);
        CHECK(report[1].name == "b + c + d");
        CHECK(report[2].name == "e + f + g");
        CHECK(report[1].after < 0.8 * report[1].before);
        CHECK(report[2].after < 0.9 * report[2].before);
        const double before = error_of(zp::convert(nearest)), after = error_of(zp::convert(repaired));
        CHECK(after < 0.8 * before);
    };
    check(calibrated<three_bits>());
    check(calibrated<six_bits_between>());
    CHECK_THROWS_WITH_AS(zp::reconstruct_blocks(calibrated<three_bits>(), data(), {.batch = 0}),
                         doctest::Contains("above 0"), zp::value_error);
}

namespace {
struct left_in_float
    : zp::qconfig<activations, weights, zp::keep_float<"a">, zp::keep_float<"e">, zp::keep_float<"h">> {};
}  // namespace

TEST_CASE("fall_back: layers until the metric is reached, and the qconfig that it writes does what it says") {
    const auto model = zp::simulate(calibrated<three_bits>());
    int calls = 0;
    const auto metric = [&](const auto& network) {
        ++calls;
        return -error_of(network);
    };
    const zp::sensitivity_report order = zp::sensitivity(model, data());
    const double whole = -error_of(model);
    const zp::fall_back_report report = zp::fall_back(model, order, metric, {.max_drop = -0.5 * whole});
    INFO(zp::to_string(report));
    CHECK(report.floats == doctest::Approx(0));
    CHECK(report.quantized == doctest::Approx(whole));
    CHECK(report.is_enough);
    CHECK(report.reached >= 0.5 * whole);
    CHECK(calls == static_cast<int>(report.steps.size()) + 2);
    REQUIRE(!report.layers.empty());
    CHECK(report.options().find("    zp::keep_float<\"" + report.layers[0] + "\">") == 0);
    CHECK(zp::to_string(report).find("options of the qconfig") != std::string::npos);
    // What is simulated for a set of layers is what keep_float gives: their weights are floats, and what they give is rounded where a layer
    // in codes reads it.
    auto kept = model;
    const auto leave = [&](const std::string& names) {
        std::vector<bool> is_float(kept.rows().size());
        for (std::size_t i = 0; i != is_float.size(); ++i)
            is_float[i] = !kept.rows()[i].op->is_boundary &&
                          names.find(zp::display_name(floats().rows(), kept.rows()[i].from.self)) != std::string::npos;
        zp::leave_in_float(kept, is_float);
    };
    const auto is_rounded = [&](const std::string& name) {
        for (const zp::simulated_row& one : kept.switches())
            if (one.name == name) return kept.values_of(one) == zp::precision::as_converted;
        return false;
    };
    leave("a");
    CHECK(is_rounded("a"));
    leave("a b");
    CHECK(is_rounded("a"));  // d reads it
    leave("a b d");
    CHECK(!is_rounded("a"));
    CHECK(is_rounded("e"));
    leave("a e h");
    CHECK(is_rounded("a"));
    CHECK(is_rounded("e"));
    CHECK(!is_rounded("h"));  // the output
    CHECK(error_of(kept) == doctest::Approx(error_of(zp::convert(calibrated<left_in_float>()))).epsilon(0.1));
    // Nothing helps a metric that no layer changes.
    const auto none = zp::fall_back(model, order, [](const auto&) { return 1.0; }, {.max_drop = 0});
    CHECK(none.is_enough);
    CHECK(none.steps.empty());
}
