// SPDX-License-Identifier: BSD-3-Clause
// AdaRound's and GPTQ's arithmetic over plain arrays, beside PyTorch's autograd and linalg.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include <zeropoint/methods/gptq_rounding.hpp>
#include <zeropoint/methods/layer_samples.hpp>
#include <zeropoint/methods/learned_rounding.hpp>
#include <zeropoint/methods/second_moments.hpp>
#include <zeropoint/operators/activations.hpp>
#include <zeropoint/operators/linear.hpp>
#include <zeropoint/graph/builder.hpp>

#include "../support/generator.hpp"
#include "../support/golden_file.hpp"

namespace {

/// One linear layer as a table.
struct one_layer {
    zp::node nodes[2]{};
    one_layer(int inputs, int outputs) {
        nodes[0].out.extents = {1, 1, inputs};
        nodes[1].op = &zp::operators::linear_info;
        nodes[1].inputs[0] = 0;
        nodes[1].input_count = 1;
        nodes[1].out.extents = {1, 1, outputs};
        nodes[1].weights.count = inputs * outputs;
        nodes[1].weights.channels = outputs;
    }
    zp::node_view view() const { return {nodes, nodes[1]}; }
};
zp::weight_grid int4_grid(const std::vector<float>& scales, std::size_t depth) {
    zp::weight_grid grid{scales.size(), depth, depth, {}, -8, 7};
    for (const float scale : scales) grid.ranges.push_back({scale, 0});
    return grid;
}
double furthest(std::span<const float> a, const std::vector<float>& b) {
    double most = a.size() == b.size() ? 0 : zp::infinity;
    for (std::size_t i = 0; i != b.size(); ++i) most = std::max(most, std::abs(double{a[i]} - double{b[i]}));
    return most;
}

}  // namespace

TEST_CASE("AdaRound: variables, gradients and 100 steps of Adam are PyTorch's") {
    const zp_test::golden_file golden("methods");
    const auto weight = golden.values<float>("adaround/weight"), scale = golden.values<float>("adaround/scale"),
               x = golden.values<float>("adaround/x"), target = golden.values<float>("adaround/target"),
               bias = golden.values<float>("adaround/bias"), losses = golden.values<float>("adaround/losses");
    const one_layer layer(12, 6);
    const zp::window_reader windows(layer.view());
    zp::layer_samples samples(windows, 1000, 1);
    for (std::size_t i = 0; i != 64; ++i) samples.add(x.data() + i * 12, target.data() + i * 6);
    REQUIRE(samples.size() == 64);
    zp::learned_rounding<> rounding(weight, int4_grid(scale, 12));
    CHECK(furthest(rounding.alpha(), golden.values<float>("adaround/alpha_0")) < 1e-4);
    zp::reconstruction_loss<> loss(windows, bias, {0, zp::infinity}, 64);
    std::vector<std::size_t> all(64);
    std::iota(all.begin(), all.end(), std::size_t{0});
    std::vector<float> soft(weight.size()), gradient(weight.size()), regularization(weight.size());
    const zp::rounding_schedule schedule;
    double furthest_loss = 0;
    for (int step = 0; step != 100; ++step) {
        rounding.soft_weights(soft);
        const double value = loss(samples, all, soft);
        loss.differentiate(samples, all, soft, gradient);
        furthest_loss = std::max(furthest_loss, std::abs(value / double{losses[static_cast<std::size_t>(step)]} - 1));
        rounding.chain(gradient);
        if (step == 0) {
            CHECK(furthest(gradient, golden.values<float>("adaround/gradient_0")) < 1e-4);
            rounding.add_regularization(0.01f, 5, regularization);
            CHECK(furthest(regularization, golden.values<float>("adaround/regularization_50")) < 1e-4);
        }
        if (schedule.regularizes(step, 100))
            rounding.add_regularization(0.01f, static_cast<float>(schedule.beta(step, 100)), gradient);
        rounding.step(gradient, 1e-2);
    }
    CHECK(furthest_loss < 1e-3);
    const auto alpha = golden.values<float>("adaround/alpha_100");
    CHECK(furthest(rounding.alpha(), alpha) < 1e-3);
    rounding.soft_weights(soft);
    CHECK(furthest(soft, golden.values<float>("adaround/soft_100")) < 1e-4);
    const auto codes = golden.values<std::int32_t>("adaround/codes");
    const std::vector<int> ours = rounding.codes();
    int wrong = 0, undecided = 0;
    for (std::size_t i = 0; i != codes.size(); ++i) {
        const bool is_near = std::abs(alpha[i]) < 1e-3f;
        undecided += is_near;
        wrong += !is_near && ours[i] != codes[i];
    }
    CHECK(wrong == 0);
    CHECK(undecided < 3);
    const std::vector<float> values = rounding.weights();
    for (std::size_t i = 0; i != codes.size(); ++i) CHECK(values[i] == scale[i / 12] * static_cast<float>(ours[i]));
}

TEST_CASE("AdaRound: the loss of a layer and its gradient, behind bounds and functions") {
    const zp::layer_output shapes[]{
        {}, {0, zp::infinity}, {-0.5f, 0.75f}, {0, 1, [](double x, float) { return x * x; }}};
    constexpr std::size_t inputs = 12, outputs = 37, images = 19;
    const one_layer layer(inputs, outputs);
    const zp::window_reader windows(layer.view());
    zp_test::generator random(3);
    const auto numbers = [&](std::size_t count) {
        std::vector<float> all(count);
        for (float& x : all) x = random.real(-1, 1);
        return all;
    };
    const auto weight = numbers(outputs * inputs), bias = numbers(outputs);
    zp::layer_samples samples(windows, 100, 1);
    for (std::size_t i = 0; i != images; ++i) samples.add(numbers(inputs).data(), numbers(outputs).data());
    std::vector<std::size_t> chosen(images);
    std::iota(chosen.begin(), chosen.end(), std::size_t{0});
    for (const zp::layer_output& shape : shapes) {
        double wanted = 0;
        std::vector<double> slopes(weight.size());
        for (const std::size_t i : chosen)
            for (std::size_t c = 0; c != outputs; ++c) {
                double sum = bias[c];
                for (std::size_t k = 0; k != inputs; ++k)
                    sum += double{weight[c * inputs + k]} * double{samples.input(i)[k]};
                const bool is_within = sum > double{shape.lowest} && sum < double{shape.highest};
                const double bounded = std::clamp(sum, double{shape.lowest}, double{shape.highest});
                const double value = shape.function == nullptr ? bounded : bounded * bounded;
                const double error = value - double{samples.target(i)[c]};
                wanted += error * error / images;
                const double slope = !is_within ? 0 : shape.function == nullptr ? 1 : 2 * sum;
                for (std::size_t k = 0; k != inputs; ++k)
                    slopes[c * inputs + k] += 2 * error * slope * double{samples.input(i)[k]} / images;
            }
        zp::reconstruction_loss<> loss(windows, bias, shape, images + 2);
        CHECK(loss(samples, chosen, weight) == doctest::Approx(wanted).epsilon(1e-5));
        std::vector<float> gradient(weight.size(), 7.0f);
        loss.differentiate(samples, chosen, weight, gradient);
        int wrong = 0;
        for (std::size_t i = 0; i != slopes.size(); ++i) wrong += !(std::abs(double{gradient[i]} - slopes[i]) < 1e-4);
        CHECK(wrong == 0);
    }
}

TEST_CASE("AdaRound: a zero point moves the codes, not what they mean") {
    const std::vector<float> weight{-0.3f, 0.2f, 0.9f, 2.0f};
    zp::weight_grid grid{1, 4, 4, {{0.25f, 3}}, 0, 7};
    zp::learned_rounding<> rounding(weight, grid);
    std::vector<float> soft(4);
    rounding.soft_weights(soft);
    CHECK(soft[0] == doctest::Approx(-0.3f));
    CHECK(soft[2] == doctest::Approx(0.9f));
    CHECK(soft[3] == 1.0f);  // the largest code there is: (7 - 3) * 0.25
    CHECK(rounding.codes() == std::vector<int>{2, 4, 7, 7});
}

TEST_CASE("AdaRound: derivatives of functions behind a layer") {
    const zp::layer_output relu6{0, 6},
        silu{-zp::infinity, zp::infinity, zp::operators::function_rules<zp::kernel::functions::silu>.value};
    CHECK(relu6.slope(-1) == 0);
    CHECK(relu6.slope(3) == 1);
    CHECK(relu6.slope(6.5f) == 0);
    const double x = 0.7, s = 1 / (1 + std::exp(-x));
    CHECK(silu.slope(0.7f) == doctest::Approx(s * (1 + x * (1 - s))).epsilon(1e-4));
}

TEST_CASE("GPTQ: codes and the error that is left are PyTorch's, in order and by activations") {
    const zp_test::golden_file golden("methods");
    const auto weight = golden.values<float>("gptq/weight"), scale = golden.values<float>("gptq/scale"),
               x = golden.values<float>("gptq/x");
    const one_layer layer(24, 5);
    const zp::window_reader windows(layer.view());
    zp::second_moments<> moments(windows);
    for (std::size_t i = 0; i != 40; ++i) moments.add(x.data() + i * 24);
    const std::vector<double> h = moments.matrix(0);
    CHECK(h[3 * 24 + 3] == 0);
    const zp::weight_grid grid = int4_grid(scale, 24);
    for (const bool act_order : {false, true}) {
        const std::string group = act_order ? "gptq/act_order" : "gptq";
        REQUIRE(golden.values<float>(group + "/margin")[0] > 1e-3f);
        std::vector<float> rounded = weight;
        const zp::gptq_outcome outcome = zp::gptq_round<>(h, grid, 0, 5, {.act_order = act_order}, rounded);
        CHECK(outcome.damping == 0.01);
        CHECK(outcome.dead == 1);
        const auto codes = golden.values<std::int32_t>(group + "/codes");
        double trace = 0;
        int wrong = 0;
        for (std::size_t r = 0; r != 5; ++r) {
            std::vector<double> error;
            for (std::size_t k = 0; k != 24; ++k) {
                wrong += rounded[r * 24 + k] != scale[r] * static_cast<float>(codes[r * 24 + k]);
                error.push_back(double{rounded[r * 24 + k]} - double{weight[r * 24 + k]});
            }
            trace += zp::quadratic_form(h, error);
        }
        CHECK(wrong == 0);
        CHECK(trace == doctest::Approx(double{golden.values<float>(group + "/trace")[0]}).epsilon(1e-6));
        CHECK(trace < 0.7 * double{golden.values<float>("gptq/nearest_trace")[0]});
    }
}

TEST_CASE("GPTQ: where the moments are not positive definite, damping grows until they are") {
    std::vector<double> h(4, -1.0);  // no second moments at all
    h[0] = h[3] = 1;
    h[1] = h[2] = 1 + 1e-7;
    std::vector<float> weights{0.3f, -0.4f};
    const zp::gptq_outcome outcome = zp::gptq_round<>(h, int4_grid({0.1f}, 2), 0, 1, {.damping = 1e-9}, weights);
    CHECK(outcome.damping > 1e-8);
    h[0] = zp::infinity;
    CHECK_THROWS_WITH_AS(zp::gptq_round<>(h, int4_grid({0.1f}, 2), 0, 1, {}, weights), doctest::Contains("not finite"),
                         zp::value_error);
}

TEST_CASE("second moments: the sums of products of all windows, whatever the depth and the number of windows") {
    for (const std::size_t depth : std::vector<std::size_t>{1, 3, 4, 7, 8, 9, 17, 21, 37}) {
        const one_layer layer(static_cast<int>(depth), 2);
        const zp::window_reader windows(layer.view());
        for (const std::size_t count : std::vector<std::size_t>{1, 63, 64, 65, 300}) {
            CAPTURE(depth);
            CAPTURE(count);
            std::vector<float> x(count * depth), codes(x.size());
            zp_test::generator next(depth);
            for (float& value : x) value = next.real(-1, 1);
            std::fill(codes.begin(), codes.end(), count % 2 == 0 ? -255.0f : 255.0f);  // the largest sums
            for (std::size_t i = 0; i < codes.size(); i += 3) codes[i] = std::round(next.real(-255, 255));
            zp::second_moments<> moments(windows);
            zp::second_moments<zp::default_architecture, float> integers(windows);
            zp::second_moments<zp::portable, float> plain(windows);
            for (std::size_t i = 0; i != count; ++i) {
                moments.add(x.data() + i * depth);
                integers.add(codes.data() + i * depth);
                plain.add(codes.data() + i * depth);
            }
            const std::vector<double> h = moments.matrix(0), of_codes = integers.matrix(0, 0.25);
            CHECK(of_codes == plain.matrix(0, 0.25));
            std::size_t wrong = 0;
            const double factor = 2 / static_cast<double>(count);
            for (std::size_t i = 0; i != depth; ++i)
                for (std::size_t j = 0; j != depth; ++j) {
                    double sum = 0, of_integers = 0;  // products of two floats are exact
                    for (std::size_t r = 0; r != count; ++r) {
                        sum += double{x[r * depth + i]} * double{x[r * depth + j]};
                        of_integers += double{codes[r * depth + i]} * double{codes[r * depth + j]};
                    }
                    wrong += h[i * depth + j] != factor * sum;
                    wrong += of_codes[i * depth + j] != factor * 0.0625 * of_integers;
                }
            CHECK(wrong == 0);
        }
    }
}

TEST_CASE("second moments are the same in plain C++") {
    const zp_test::golden_file golden("methods");
    const auto x = golden.values<float>("gptq/x");
    const one_layer layer(24, 5);
    const zp::window_reader windows(layer.view());
    zp::second_moments<> vectors(windows);
    zp::second_moments<zp::portable> plain(windows);
    for (std::size_t i = 0; i != 40; ++i) vectors.add(x.data() + i * 24), plain.add(x.data() + i * 24);
    const std::vector<double> a = vectors.matrix(0), b = plain.matrix(0);
    for (std::size_t i = 0; i != a.size(); ++i) CHECK(a[i] == doctest::Approx(b[i]).epsilon(1e-12));
}
