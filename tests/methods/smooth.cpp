// SPDX-License-Identifier: BSD-3-Clause
// SmoothQuant: the function stays, factors are numpy's, and outliers are gone from what is quantized.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include <zeropoint/methods/smooth.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/operators/activations.hpp>
#include <zeropoint/operators/add.hpp>
#include <zeropoint/operators/conv2d.hpp>
#include <zeropoint/operators/layer_norm.hpp>
#include <zeropoint/operators/linear.hpp>
#include <zeropoint/operators/rms_norm.hpp>
#include <zeropoint/workflow/convert.hpp>

#include "../support/golden_file.hpp"
#include "../support/made_up.hpp"

namespace {

/// A norm whose outputs two layers read, one behind it, and one that a function keeps apart.
struct net : zp::model<zp::input<1, 5, 6>, zp::layer_norm<"norm">,
                       zp::add<zp::linear<"first", 4>, zp::linear<"second", 4>>, zp::linear<"up", 8>, zp::relu,
                       zp::linear<"down", 4>, zp::rms_norm<"last">, zp::tanh, zp::linear<"head", 3>> {};

template <class Network>
std::vector<float> outputs_of(const Network& model, const std::vector<std::vector<float>>& xs) {
    std::vector<float> all;
    for (const auto& x : xs) {
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
/// A norm with an outlier channel.
zp::fused<net> with_outlier() {
    auto network = zp::fuse(made_up::network<net>(3));
    for (const zp::node& row : network.rows())
        if (std::string(row.name) == "norm" || std::string(row.name) == "last") {
            auto* gains = reinterpret_cast<float*>(network.parameters() + row.at.parameter_offset);
            gains[1] *= 60;
        }
    return network;
}

}  // namespace

TEST_CASE("smooth: factors go into norms and linear layers, and the function stays") {
    const auto network = with_outlier();
    const auto data = made_up::inputs<net>(20);
    zp::smoothing report;
    const auto smoothed = zp::smooth(network, data, {}, &report);
    CHECK(furthest(outputs_of(smoothed, data), outputs_of(network, data)) < 1e-5);
    std::vector<std::string> sites;
    for (const auto& site : report.sites) {
        std::string text = site.producer + ":";
        for (const std::string& consumer : site.consumers) text += " " + consumer;
        sites.push_back(text);
    }
    CHECK(sites == std::vector<std::string>{"norm: first second", "up: down"});
    CHECK(report.sites[0].range_after < report.sites[0].range_before / 4);
    bool told = false;
    for (const std::string& line : report.skipped) told = told || line == "last: tanh_9 (tanh) reads it";
    std::string skipped;
    for (const std::string& line : report.skipped) skipped += line + "\n";
    INFO(skipped);
    CHECK(told);
    CHECK_THROWS_WITH_AS(zp::smooth(network, data, {.alpha = 1.5f}), doctest::Contains("an alpha from 0 to 1"),
                         zp::value_error);
}

TEST_CASE("smooth: outliers no longer cost the other channels their codes") {
    struct config : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                                zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::min_max_observer>,
                                zp::keep_float<"head">, zp::keep_float_type<zp::op::tanh>> {};
    auto network = with_outlier();
    const auto data = made_up::inputs<net>(60);
    // What reads the outlier has small weights for it, as trained networks do.
    for (const zp::node& row : network.rows())
        if (std::string(row.name) == "first" || std::string(row.name) == "second") {
            auto* weights = reinterpret_cast<float*>(network.parameters() + row.at.parameter_offset);
            for (std::size_t c = 0; c != 4; ++c) weights[c * 6 + 1] /= 60;
        }
    const std::vector<float> wanted = outputs_of(network, data);
    const auto noise = [&](const zp::fused<net>& floats) {
        const auto int8 = zp::convert(zp::calibrate(zp::prepare<config>(floats), data));
        const std::vector<float> y = outputs_of(int8, data);
        double sum = 0;
        for (std::size_t i = 0; i != y.size(); ++i) sum += std::pow(double{y[i]} - double{wanted[i]}, 2);
        return sum;
    };
    const double before = noise(network), after = noise(zp::smooth(network, data));
    CHECK(after < before / 4);
}

TEST_CASE("smooth: s_j = max |x_j|^alpha / max |w_j|^(1 - alpha), over all layers that read it") {
    struct two : zp::model<zp::input<1, 50, 6>, zp::layer_norm<"norm">,
                           zp::add<zp::linear<"first", 4>, zp::linear<"second", 4>>> {};
    const zp_test::golden_file golden("methods");
    zp::fused<two> network;
    const auto first = golden.values<float>("smooth/first"), second = golden.values<float>("smooth/second"),
               x = golden.values<float>("smooth/x");
    std::vector<float> largest(6);
    for (std::size_t i = 0; i != x.size(); ++i) largest[i % 6] = std::max(largest[i % 6], std::abs(x[i]));
    zp::channel_site site;
    for (int i = 0; i != static_cast<int>(network.rows().size()); ++i) {
        const zp::node& row = network.rows()[static_cast<std::size_t>(i)];
        if (std::string(row.name) == "norm") site.producer = i;
        if (row.weights.count != 24) continue;
        site.consumers.push_back(i);
        const auto& values = std::string(row.name) == "first" ? first : second;
        std::copy(values.begin(), values.end(), zp_test::array_of(network, row, 0).begin());
    }
    const zp::float_parameters p{network.rows(), network.parameters()};
    for (const char* alpha : {"0.5", "0.8"}) {
        const auto wanted = golden.values<float>("smooth/" + std::string(alpha) + "/factors");
        const auto factors = zp::detail::smoothing_factors(p, site, largest, std::stod(alpha), 0);
        for (std::size_t j = 0; j != 6; ++j) CHECK(factors[j] == doctest::Approx(wanted[j]).epsilon(1e-6));
    }
}

TEST_CASE(
    "smooth with a floor: a channel that the data hardly reached is not enlarged, and another input keeps its values") {
    struct pair : zp::model<zp::input<4, 4, 3>, zp::conv2d<"wide", zp::conv{.out_channels = 5}>, zp::relu,
                            zp::conv2d<"reads", zp::conv{.out_channels = 4, .kernel = 3}>> {};
    auto network = zp::fuse(made_up::network<pair>(5));
    for (const zp::node& row : network.rows())
        if (std::string(row.name) == "wide") {
            const auto weights = zp_test::array_of(network, row, 0);
            for (std::size_t k = 0; k != 3; ++k) {
                weights[k] *= 100;                      // channel 0 is an outlier,
                weights[3 + k] = k == 0 ? 1.0f : 0.0f;  // channel 1 what the first input has above 0: nothing in `data`
            }
            zp_test::array_of(network, row, 1)[1] = 0;
        }
    auto data = made_up::inputs<pair>(20);
    for (auto& x : data)
        for (std::size_t i = 0; i < x.size(); i += 3) x[i] = -std::abs(x[i]);
    const auto largest_of = [](const zp::fused<pair>& floats, const std::vector<std::vector<float>>& images) {
        std::vector<float> largest(5);  // behind the relu
        zp::for_each_input(floats, images, [&](int row, const float* values) {
            if (std::string(floats.rows()[static_cast<std::size_t>(row)].name) != "wide") return;
            for (std::size_t i = 0; i != std::size_t{4} * 4 * 5; ++i)
                largest[i % 5] = std::max(largest[i % 5], values[i]);
        });
        return largest;
    };
    auto other = data;
    for (auto& x : other) x[0] = 1;
    const zp::smooth_options paper{.alpha = 1, .convolutions = true};
    const zp::smooth_options floored{.alpha = 1, .convolutions = true, .floor = 1};
    const std::vector<float> before = largest_of(network, data),
                             after = largest_of(zp::smooth(network, data, floored), data);
    std::vector<float> sorted{before[0], before[2], before[3], before[4]};  // those that are not 0
    std::sort(sorted.begin(), sorted.end());
    const float middle = sorted[2];
    CHECK(before[1] == 0);
    for (std::size_t c = 0; c != 5; ++c)
        CHECK(after[c] == doctest::Approx(before[c] / std::max(before[c], middle)).epsilon(1e-4));
    CHECK(largest_of(zp::smooth(network, data, floored), other)[1] == doctest::Approx(1 / middle).epsilon(1e-4));
    CHECK(largest_of(zp::smooth(network, data, paper), other)[1] == doctest::Approx(1e5).epsilon(1e-3));
    const auto smoothed = zp::smooth(network, data, floored);
    CHECK(furthest(outputs_of(smoothed, other), outputs_of(network, other)) < 1e-5);
    CHECK_THROWS_WITH_AS(zp::smooth(network, data, {.floor = -1}), doctest::Contains("a floor of 0 or more"),
                         zp::value_error);
}
