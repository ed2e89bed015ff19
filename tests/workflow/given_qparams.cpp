// SPDX-License-Identifier: BSD-3-Clause
// Scales and zero points that somebody chose: convert takes them, and gives exactly the codes that were chosen with them.
#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/operators/weight_only_policy.hpp>
#include <zeropoint/workflow/calibration_report.hpp>

#include "../support/made_up.hpp"

namespace {

using zp::conv;
struct net : zp::model<zp::input<6, 5, 4>, zp::conv2d<"a", conv{.out_channels = 6, .kernel = 3, .groups = 2}>, zp::relu,
                       zp::conv2d<"b", conv{.kernel = 3, .padding = 1, .groups = zp::depthwise}>, zp::sigmoid,
                       zp::flatten, zp::linear<"c", 7>> {};
using activations = zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>;
template <class DType, class QScheme, class... Options>
using config = zp::qconfig<activations, zp::quantizer<DType, QScheme, zp::min_max_observer>, Options...>;
struct affine : config<zp::quint4, zp::per_channel_affine> {};
struct two_bits : config<zp::custom_range<std::int8_t, -2, 1>, zp::per_channel_symmetric> {};
struct corrected : config<zp::qint4, zp::per_tensor_symmetric, zp::correct_biases> {};

template <class Config> auto calibrated() {
    return zp::calibrate(zp::prepare<Config>(made_up::network<net>(3)), made_up::inputs<net>(4));
}
int row_of(const auto& network, const std::string& name) {
    for (std::size_t i = 0; i != network.rows().size(); ++i)
        if (network.rows()[i].name == name) return static_cast<int>(i);
    return -1;
}
/// The codes of a layer in an int8 network, with their scales and zero points.
template <class Network> zp::quantized_weights weights_of(Network& int8, const std::string& name) {
    const auto i = static_cast<std::size_t>(row_of(int8, name));
    const zp::node& row = int8.rows()[i];
    return Network::stage::unpacks[i](
               {zp_test::view_of(int8.rows(), row), int8.ranges(), int8.parameters() + row.at.parameter_offset})
        .matrices[0];
}

/// How many codes, scales and zero points are not those chosen, at random, for every layer.
template <class Config> int others_than_chosen() {
    using dtype = typename Config::weight::dtype;
    constexpr bool is_symmetric = Config::weight::qscheme::is_symmetric,
                   is_per_tensor = Config::weight::qscheme::is_per_tensor;
    auto network = calibrated<Config>();
    made_up::generator next(5);
    const auto draw = [&](int low, int high) {  // low .. high
        return low + static_cast<int>(next.real(0, static_cast<float>(high - low) + 0.999f));
    };
    struct choice {
        std::vector<int> codes;
        std::vector<zp::qparams> channels;
    };
    std::vector<choice> all;
    const std::vector<std::string> names{"a", "b", "c"};
    for (const std::string& name : names) {
        const int i = row_of(network, name);
        const zp::node& row = network.rows()[static_cast<std::size_t>(i)];
        const auto weights = zp_test::array_of(network, row, 0);
        choice chosen;
        for (int c = 0; c != (is_per_tensor ? 1 : row.weights.channels); ++c)
            chosen.channels.push_back({next.real(1e-3f, 3.0f), is_symmetric
                                                                   ? zp::symmetric_zero_point<dtype>
                                                                   : draw(dtype::quant_min, dtype::quant_max)});
        const std::size_t depth = weights.size() / static_cast<std::size_t>(row.weights.channels);
        for (std::size_t k = 0; k != weights.size(); ++k) {
            chosen.codes.push_back(draw(dtype::quant_min, dtype::quant_max));
            weights[k] = zp::dequantize(chosen.codes.back(), chosen.channels[is_per_tensor ? 0 : k / depth]);
        }
        network.given().give_weights(i, 0, chosen.channels);
        all.push_back(chosen);
    }
    auto int8 = zp::convert(network);
    int wrong = 0;
    for (std::size_t n = 0; n != names.size(); ++n) {
        const zp::quantized_weights w = weights_of(int8, names[n]);
        for (std::size_t k = 0; k != w.codes.size(); ++k)
            wrong += static_cast<typename dtype::storage>(w.codes[k]) != all[n].codes[k];
        for (std::size_t c = 0; c != w.scales.size(); ++c) {
            const zp::qparams& own = all[n].channels[is_per_tensor ? 0 : c];
            wrong += w.scales[c] != own.scale;
            if (!w.zero_points.empty()) wrong += w.zero_points[c] != own.zero_point;
        }
    }
    return wrong;
}

}  // namespace

TEST_CASE("given weights: exactly the codes that were chosen come out") {
    CHECK(others_than_chosen<affine>() == 0);
    CHECK(others_than_chosen<two_bits>() == 0);
    CHECK(others_than_chosen<corrected>() == 0);
}

TEST_CASE("given ranges: convert and report take them, also in place of one that is known beforehand") {
    auto network = calibrated<affine>();
    const auto plain = zp::convert(network);
    const int a = network.rows()[static_cast<std::size_t>(row_of(network, "a"))].out.qparams_id;
    const int sigmoid = network.rows()[static_cast<std::size_t>(row_of(network, "b")) + 1].out.qparams_id;
    REQUIRE(plain.ranges()[a] != zp::qparams{0.25f, 3});
    network.given().give_range(a, {0.25f, 3});
    network.given().give_range(sigmoid, {0.0625f, 1});
    for (const zp::activation_report& seen : zp::report(network).activations)
        if (seen.name == "a") CHECK(seen.range == zp::qparams{0.25f, 3});
    const auto int8 = zp::convert(network);
    CHECK(int8.ranges()[a] == zp::qparams{0.25f, 3});
    CHECK(int8.ranges()[sigmoid] == zp::qparams{0.0625f, 1});
    // What was not given is as before, and so is all of it when it is taken back.
    CHECK(int8.ranges()[0] == plain.ranges()[0]);
    network.given().take_back();
    CHECK(network.given().empty());
    CHECK(zp::convert(network).ranges()[a] == plain.ranges()[a]);
}

TEST_CASE("given scales survive copies, more calibration and merging") {
    auto network = calibrated<affine>();
    network.given().give_range(1, {0.25f, 3});
    network.given().give_weights(row_of(network, "c"), 0, {{0.5f, 7}});
    const auto copy = network;
    const auto more = zp::calibrate(copy, made_up::inputs<net>(2, 9));
    auto merged = calibrated<affine>();
    merged.merge(more);
    for (const auto& one : {copy, more, merged}) {
        auto int8 = zp::convert(one);
        CHECK(int8.ranges()[1] == zp::qparams{0.25f, 3});
        const zp::quantized_weights w = weights_of(int8, "c");
        CHECK(w.scales == std::vector<float>(7, 0.5f));
        CHECK(w.zero_points == std::vector<std::int32_t>(7, 7));
    }
    auto other = calibrated<affine>();
    other.given().give_range(1, {0.5f, 3});
    const auto samples = other.samples();
    CHECK_THROWS_WITH_AS(other.merge(copy), doctest::Contains("different scales of the same activations"),
                         zp::value_error);
    CHECK(other.samples() == samples);
}

TEST_CASE("given scales that codes cannot have are sentences") {
    auto network = calibrated<two_bits>();
    const int c = row_of(network, "c");
    const auto refused = [&](const char* text) {
        CHECK_THROWS_WITH_AS(zp::convert(network), doctest::Contains(text), zp::value_error);
        network.given().take_back();
    };
    network.given().give_weights(c, 0, {{0.5f, 0}, {0.5f, 0}});
    refused("c.weight: expected one scale or 7, but 2 were given");
    network.given().give_weights(c, 0, {{0.5f, 1}});
    refused("c.weight: expected a finite scale above 0 and a zero point of 0, as symmetric schemes have it");
    network.given().give_weights(c, 0, {{-0.5f, 0}});
    refused("c.weight: expected a finite scale above 0");
    network.given().give_range(network.rows()[static_cast<std::size_t>(c)].out.qparams_id, {0.5f, 256});
    refused("c: expected a finite scale above 0 and a zero point from 0 to 255");
}

TEST_CASE("given scales of groups of weights alone") {
    using quantizer = zp::weight_only_policy<zp::qint4, 8>::weight_quantizer;
    made_up::generator next(4);
    std::vector<zp::qparams> groups;
    std::vector<int> codes;
    std::vector<float> weights;
    for (int row = 0; row != 3; ++row)
        for (int k = 0; k != 20; ++k) {  // groups of 8, 8 and 4
            if (k % 8 == 0) groups.push_back({next.real(0.01f, 2), 0});
            codes.push_back(static_cast<int>(next.real(0, 15.999f)) - 8);
            weights.push_back(zp::dequantize(codes.back(), groups.back()));
        }
    const auto w = zp::quantize_groups<quantizer>(weights, std::vector<float>(3), "fc", &groups);
    REQUIRE(w.codes.size() == codes.size());
    int wrong = 0;
    for (std::size_t k = 0; k != codes.size(); ++k) wrong += static_cast<std::int8_t>(w.codes[k]) != codes[k];
    CHECK(wrong == 0);
    for (std::size_t g = 0; g != groups.size(); ++g) CHECK(w.scales[g] == groups[g].scale);
    groups.pop_back();
    CHECK_THROWS_WITH_AS(zp::quantize_groups<quantizer>(weights, std::vector<float>(3), "fc", &groups),
                         doctest::Contains("fc.weight: expected one scale or 9, but 8 were given"), zp::value_error);
}
