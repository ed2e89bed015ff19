// SPDX-License-Identifier: BSD-3-Clause
// Batch norms in training: beside PyTorch's ConvBn, live, frozen and folded; trained = converted; statistics estimated anew.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/operators.hpp>
#include <zeropoint/training/reestimate_batch_norms.hpp>
#include <zeropoint/training/train.hpp>

#include "../support/errors.hpp"
#include "../support/golden_file.hpp"
#include "../support/made_up.hpp"
#include "check_training.hpp"

namespace {

// clang-format off
/// scripts/golden/training_batch_norms.py tells what it is.
struct net : zp::model<zp::input<6, 6, 2>,
    zp::conv2d<"conv1", zp::conv{.out_channels = 4, .kernel = 3, .padding = 1, .bias = false}>, zp::batch_norm2d<"bn1">, zp::relu,
    zp::max_pool2d<2>,
    zp::conv2d<"conv2", zp::conv{.out_channels = 4, .kernel = 3, .padding = 1}>, zp::batch_norm2d<"bn2">, zp::relu,
    zp::flatten, zp::linear<"fc", 3>> {};
/// A sum, a norm without gain, one that is never folded, and one behind a linear layer.
struct mixed : zp::model<zp::input<6, 6, 3>,
    zp::conv2d<"first", zp::conv{.out_channels = 8, .kernel = 3, .padding = 1}>, zp::batch_norm2d<"plain", zp::norm{.affine = false}>, zp::relu,
    zp::residual<zp::conv2d<"inner", zp::conv{.out_channels = 8, .kernel = 3, .padding = 1, .bias = false}>, zp::batch_norm2d<"norm">>, zp::relu,
    zp::unfused_batch_norm<"alone">, zp::relu,
    zp::avg_pool2d<3>, zp::flatten, zp::linear<"fc1", 6>, zp::batch_norm1d<"norm1">, zp::relu, zp::linear<"fc2", 4>> {};
// clang-format on

using weights = zp::quantizer<zp::qint8_narrow, zp::per_channel_symmetric, zp::min_max_observer>;
struct coded : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>, weights> {};
struct learned
    : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::learned_step<zp::min_max_observer>>,
                  zp::quantizer<zp::qint8_narrow, zp::per_channel_symmetric, zp::learned_step<zp::min_max_observer>>> {
};
struct following : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::moving_average_min_max_observer<>>,
                               zp::quantizer<zp::qint8, zp::per_tensor_symmetric, zp::min_max_observer>> {};

const zp_test::golden_file& golden() {
    static const zp_test::golden_file file("training_batch_norms");
    return file;
}
zp::float_model<net> start() {
    zp::float_model<net> model;
    for (const zp::node& row : model.rows()) {
        const zp::parameter_list list = zp::parameters_of(zp_test::view_of(model.rows(), row));
        for (int k = 0; k != list.count; ++k) {
            const std::string name = std::string(row.name) + "." + list.arrays[k].name;
            if (name == "conv1.bias") continue;
            const auto from = golden().values<float>("start/" + name);
            std::copy(from.begin(), from.end(), zp_test::array_of(model, row, k).begin());
        }
    }
    return model;
}
/// Six steps of it in two epochs of two, and one; `look` sees each step.
template <class Network, class Look> void six_steps(const std::string& kind, Network& network, const Look& look) {
    const auto images = golden().values<float>("data/images");
    const auto labels = golden().values<std::int32_t>("data/labels");
    std::vector<double> losses;
    zp::train(network, zp::labelled(images, labels),
              {.epochs = 3,
               .batch = 8,
               .optimizer = zp::sgd{.lr = 0.01, .momentum = 0.9},
               .freeze_batch_norms_after = kind == "coded" ? 2 : -1,
               .shuffle = false},
              zp::executors::serial{}, [&](const zp::training_progress& now) {
                  losses.push_back(now.loss);
                  look(losses.size());
              });
    const auto expected = golden().values<float>(kind + "/losses");
    REQUIRE(losses.size() == expected.size());
    for (std::size_t i = 0; i != losses.size(); ++i) {
        INFO(kind, ", step ", i, ": loss ", losses[i], ", PyTorch's ", expected[i]);
        CHECK(std::fabs(losses[i] - double{expected[i]}) < 1e-4);
    }
}
void check_array(const std::string& name, std::span<const float> found, double tolerance) {
    const auto wanted = golden().values<float>(name);
    REQUIRE(wanted.size() == found.size());
    double largest = 0, distance = 0;
    for (std::size_t k = 0; k != wanted.size(); ++k) {
        largest = std::max(largest, std::fabs(double{wanted[k]}));
        distance = std::max(distance, std::fabs(double{wanted[k]} - double{found[k]}));
    }
    INFO(name, ": ", distance, " of ", largest);
    CHECK(distance < tolerance * largest);
}
const zp::trained_part& part_named(const std::vector<zp::trained_part>& parts, const std::string& name) {
    const auto found =
        std::find_if(parts.begin(), parts.end(), [&](const zp::trained_part& part) { return part.name == name; });
    REQUIRE(found != parts.end());
    return *found;
}
template <class Network> std::vector<float> values_of(const Network& network) {
    return {network.values().begin(), network.values().end()};
}
/// All that is trained, and the statistics.
template <class Net> std::span<const float> parameters_of(const zp::float_model<Net>& network) {
    return {reinterpret_cast<const float*>(network.parameters()),
            static_cast<std::size_t>(zp::float_model<Net>::parameter_bytes) / sizeof(float)};
}
template <class Network> std::span<const float> parameters_of(const Network& network) { return network.values(); }
/// The mean cross entropy of a batch with the statistics of that batch: a step that changes nothing tells it.
template <class Network, class Inputs>
double live_loss(Network network, const Inputs& xs, const std::vector<int>& labels) {
    return zp::train(network, zp::labelled(xs, labels),
                     {.batch = static_cast<int>(xs.size()), .optimizer = zp::sgd{.lr = 0}})
        .losses.front();
}
zp::float_model<mixed> mixed_model() {
    auto model = made_up::network<mixed>(4);
    zp_test::generator next(9);
    for (const zp::node& row : model.rows())
        if (zp_test::is(row, zp::op::unfused_batch_norm))
            for (int k = 0; k != 4; ++k)
                for (float& value : zp_test::array_of(model, row, k)) value = next.real(0.2f, 0.7f);
    return model;
}
template <class Config> auto qat_of(const zp::float_model<mixed>& model) {
    return zp::prepare_qat(zp::calibrate(zp::prepare<Config>(zp::fuse(model)), made_up::inputs<mixed>(24)), model);
}
template <class Config> void check_trained_is_converted() {
    const auto model = mixed_model();
    const auto xs = check_training::inputs<mixed>(24);
    const auto labels = check_training::labels<mixed>(24);
    auto qat = qat_of<Config>(model);
    CHECK(qat.batch_norms_are_live());
    const double before = check_training::loss_of(zp::convert(qat), xs, labels);
    const zp::training_options options{.epochs = 6,
                                       .batch = 12,
                                       .optimizer = zp::adam{.lr = 3e-3},
                                       .freeze_batch_norms_after = 3,
                                       .batch_norm_momentum = 0.5};
    zp::train(qat, zp::labelled(xs, labels), options);
    CHECK_FALSE(qat.batch_norms_are_live());
    check_training::codes(qat);
    CHECK(check_training::loss_of(zp::convert(qat), xs, labels) < before);
}

/// An executor whose parts run backwards.
struct from_behind {
    static constexpr int workers() { return 3; }
    template <class Body> static void run(int parts, const Body& body) {
        for (int part = parts; part-- != 0;) body(part);
    }
};

}  // namespace

TEST_CASE("batch norms: six steps in float are PyTorch's, running statistics too") {
    auto model = start();
    six_steps("float", model, [](std::size_t) {});
    for (const zp::node& row : model.rows()) {
        const zp::parameter_list list = zp::parameters_of(zp_test::view_of(model.rows(), row));
        for (int k = 0; k != list.count; ++k) {
            const std::string name = std::string(row.name) + "." + list.arrays[k].name;
            // In front of a norm it has no effect, and gradients of rounding errors alone.
            if (name != "conv1.bias" && name != "conv2.bias")
                check_array("float/" + name, zp_test::array_of(model, row, k), 2e-5);
        }
    }
    CHECK(golden().values<float>("float/conv2.bias").size() == 4);
}
TEST_CASE("batch norms: steps as int8 are those of PyTorch's ConvBn, with batch statistics and with frozen ones") {
    const auto images = golden().values<float>("data/images");
    auto qat = zp::prepare_qat(zp::calibrate(zp::prepare<coded>(zp::fuse(start())), images), start());
    const auto running = [&](const std::string& norm, std::size_t array) {
        return std::span<const float>(qat.values())
            .subspan(part_named(qat.parts(), norm + ".weight").offset + 4 * array, 4);
    };
    six_steps("coded", qat, [&](std::size_t step) {
        if (step != 4) return;
        for (const std::string norm : {"bn1", "bn2"}) {
            check_array("coded/live." + norm + ".running_mean", running(norm, 2), 1e-4);
            check_array("coded/live." + norm + ".running_var", running(norm, 3), 1e-4);
        }
    });
    for (const std::string norm : {"bn1", "bn2"}) {
        check_array("coded/" + norm + ".running_mean", running(norm, 2), 1e-4);
        check_array("coded/" + norm + ".running_var", running(norm, 3), 1e-4);
    }
    for (const std::string name : {"conv1.weight", "bn1.weight", "bn1.bias", "conv2.weight", "conv2.bias", "bn2.weight",
                                   "bn2.bias", "fc.weight", "fc.bias"}) {
        const zp::trained_part& part = part_named(qat.parts(), name);
        check_array("coded/" + name, std::span<const float>(qat.values()).subspan(part.offset, part.count), 1e-3);
    }
    CHECK(std::none_of(qat.parts().begin(), qat.parts().end(),
                       [](const zp::trained_part& part) { return part.name == "conv1.bias"; }));
    CHECK(zp_test::unread_tensors("training_batch_norms").empty());
}
TEST_CASE("batch norms: once frozen, what is trained is what is converted, to the last code") {
    check_trained_is_converted<coded>();
    check_trained_is_converted<learned>();
    check_trained_is_converted<following>();  // weights of one scale, which no factor a channel commutes with
}
TEST_CASE("batch norms: a step of live ones goes down the gradient of its loss, array by array") {
    const auto model = mixed_model();
    const auto xs = check_training::inputs<mixed>(12);
    const auto labels = check_training::labels<mixed>(12);
    auto trained = model;
    zp::train(trained, zp::labelled(xs, labels), {.batch = 12, .optimizer = zp::sgd{.lr = 1}});
    std::vector<zp::trained_part> parts;
    zp::detail::append_parts_of_parameters<zp::float_stage<mixed>>(parts);
    CHECK(parts.size() == 13);  // "plain" has none
    zp_test::generator next(8);
    for (const zp::trained_part& part : parts) {
        const auto* before = reinterpret_cast<const float*>(model.parameters()) + part.offset;
        const auto* after = reinterpret_cast<const float*>(trained.parameters()) + part.offset;
        std::vector<float> direction(part.count);
        double expected = 0, all = 0;
        for (std::size_t k = 0; k != part.count; ++k) {
            direction[k] = next.real(-1, 1);
            const double gradient = double{before[k]} - double{after[k]};
            expected += gradient * double{direction[k]};
            all += std::fabs(gradient);
        }
        const double h = 2e-3;
        const auto moved = [&](double by) {
            auto network = model;
            auto* values = reinterpret_cast<float*>(network.parameters()) + part.offset;
            for (std::size_t k = 0; k != part.count; ++k) values[k] += static_cast<float>(by * double{direction[k]});
            return live_loss(network, xs, labels);
        };
        const double found = (moved(h) - moved(-h)) / (2 * h);
        INFO(part.name, ": expected ", expected, ", found ", found, ", sum of magnitudes ", all);
        CHECK(std::fabs(found - expected) < 5e-3 * all + 2e-4);
    }
}
TEST_CASE("batch norms: live ones do not see how many samples go from one to the next together") {
    constexpr int samples = 7;
    const auto compare = [](auto network) {
        const auto xs = check_training::inputs<mixed>(samples);
        const zp::tape_parameters parameters = network.pack();
        std::vector<std::vector<float>> values, gradients;
        std::vector<int> together;
        for (const std::size_t near : {std::size_t{1} << 20, std::size_t{1}, std::size_t{3 * 6 * 6 * 8}}) {
            zp::tape tape = network.make_tape(samples);
            tape.near = near;
            tape.finish(samples, tape.gradient_floats * sizeof(float));
            REQUIRE(tape.stretches.size() == 5);
            together.push_back(tape.stretches[2].samples);
            zp::block_runner<zp::default_architecture> runner(tape);
            for (int i = 0; i != samples; ++i)
                std::memcpy(runner.input(0, i), xs[static_cast<std::size_t>(i)].data(), sizeof(float) * xs[0].size());
            runner.forward(samples, parameters, true);
            std::vector<float> found;
            for (std::size_t row = 0; row != tape.rows.size(); ++row) {
                const auto all = runner.values(static_cast<int>(row));
                found.insert(found.end(), all.begin(), all.end());
            }
            values.push_back(found);
            zp_test::generator next(5);
            for (int i = 0; i != samples; ++i)
                for (std::size_t k = 0; k != runner.output_size(0); ++k)
                    runner.output_gradient(0, i)[k] = next.real(-1, 1);
            std::vector<float> gradient(tape.gradient_floats);
            std::vector<zp::range_gradient> ranges(static_cast<std::size_t>(tape.qparams_count));
            runner.backward(gradient.data(), ranges);
            for (const zp::range_gradient& range : ranges) {
                gradient.push_back(range.scale);
                gradient.push_back(range.zero_point);
            }
            gradients.push_back(gradient);
        }
        CHECK(together == std::vector<int>{samples, 1, 3});
        float largest = 0;
        for (const float value : gradients[0]) largest = std::max(largest, std::fabs(value));
        CHECK(largest > 0.1f);
        for (std::size_t k = 1; k != values.size(); ++k) {
            CHECK(values[k] == values[0]);
            float distance = 0;
            for (std::size_t i = 0; i != gradients[0].size(); ++i)
                distance = std::max(distance, std::fabs(gradients[k][i] - gradients[0][i]));
            INFO(distance, " of ", largest);
            CHECK(distance < 1e-5f * largest);  // of weights the sums of parts are added
        }
    };
    compare(qat_of<coded>(mixed_model()));
    compare(qat_of<learned>(mixed_model()));
}
TEST_CASE("batch norms: frozen ones are trained by the chain rule of folding") {
    // Without rounding, a step of the network as written with frozen norms and one of what prepare_qat folds are one.
    const auto model = mixed_model();
    const auto xs = check_training::inputs<mixed>(12);
    const auto labels = check_training::labels<mixed>(12);
    const zp::training_options options{
        .batch = 12, .optimizer = zp::sgd{.lr = 0.1}, .quantize_after = 1, .freeze_batch_norms_after = 0};
    auto floats = model;
    zp::train(floats, zp::labelled(xs, labels), options);
    auto qat = qat_of<coded>(model);
    zp::train(qat, zp::labelled(xs, labels), options);
    std::vector<zp::trained_part> parts;
    zp::detail::append_parts_of_parameters<zp::float_stage<mixed>>(parts);
    for (const zp::trained_part& part : parts) {
        const zp::trained_part& own = part_named(qat.parts(), part.name);
        const auto* wanted = reinterpret_cast<const float*>(floats.parameters()) + part.offset;
        for (std::size_t k = 0; k != part.count; ++k) {
            INFO(part.name, " ", k);
            CHECK(std::fabs(qat.values()[own.offset + k] - wanted[k]) < 2e-5f);
        }
    }
}
TEST_CASE("batch norms: a learned scale is that of the weights in front of the factor") {
    const auto model = mixed_model();
    const auto xs = check_training::inputs<mixed>(12);
    const auto labels = check_training::labels<mixed>(12);
    const zp::training_options options{
        .batch = 12, .optimizer = zp::sgd{.lr = 0, .scales_lr = 0.3}, .freeze_batch_norms_after = 0};
    auto own = qat_of<learned>(model);
    auto folded = zp::prepare_qat(zp::calibrate(zp::prepare<learned>(zp::fuse(model)), made_up::inputs<mixed>(24)));
    const auto own_start = values_of(own), folded_start = values_of(folded);
    zp::train(own, zp::labelled(xs, labels), options);
    zp::train(folded, zp::labelled(xs, labels), options);
    const auto variance = zp_test::array_of(model, model.rows()[2], 3);
    REQUIRE(std::string(model.rows()[2].name) == "plain");
    const std::size_t at = part_named(own.parts(), "first.weight_scale").offset,
                      folded_at = part_named(folded.parts(), "first.weight_scale").offset;
    float moved = 0;
    for (std::size_t c = 0; c != 8; ++c) {
        const float f = 1 / std::sqrt(variance[c] + 1e-5f);
        CHECK(std::fabs(own_start[at + c] * f - folded_start[folded_at + c]) < 1e-6f * folded_start[folded_at + c]);
        const float change = own.values()[at + c] - own_start[at + c],
                    wanted = folded.values()[folded_at + c] - folded_start[folded_at + c];
        CHECK(std::fabs(change - f * wanted) < 1e-3f * std::fabs(wanted) + 2e-9f);
        moved += std::fabs(wanted);
    }
    CHECK(moved > 1e-5f);
}
TEST_CASE("batch norms: neither workers nor an interruption change a bit, across freezing too") {
    const auto model = mixed_model();
    const auto xs = check_training::inputs<mixed>(20);
    const auto labels = check_training::labels<mixed>(20);
    zp::training_options options{
        .epochs = 3, .batch = 10, .block = 4, .optimizer = zp::adam{.lr = 1e-3}, .freeze_batch_norms_after = 2};
    auto whole = qat_of<learned>(model);
    zp::train(whole, zp::labelled(xs, labels), options);
    auto parallel = qat_of<learned>(model);
    zp::train(parallel, zp::labelled(xs, labels), options, from_behind{});
    CHECK(values_of(parallel) == values_of(whole));
    options.checkpoint = std::string(P_tmpdir) + "/zeropoint_batch_norms.safetensors";
    options.resume = true;
    for (const std::size_t stop : {3u, 4u, 5u}) {
        std::remove(options.checkpoint.c_str());
        auto part = qat_of<learned>(model);
        std::size_t steps = 0;
        zp::train(part, zp::labelled(xs, labels), options, zp::executors::serial{},
                  [&](const zp::training_progress&) { return ++steps != stop; });
        auto rest = qat_of<learned>(model);
        zp::train(rest, zp::labelled(xs, labels), options);
        CHECK(values_of(rest) == values_of(whole));
    }
    std::remove(options.checkpoint.c_str());
}
/// Training a network goes on from a checkpoint, but from none in which the running variance of one of `norms` is negative.
template <class Network>
void check_variances(const zp::float_model<mixed>& model, const Network& untrained,
                     const std::vector<std::string>& norms) {
    const auto xs = check_training::inputs<mixed>(10);
    const auto labels = check_training::labels<mixed>(10);
    const std::string file = std::string(P_tmpdir) + "/zeropoint_variances.safetensors";
    std::remove(file.c_str());
    zp::training_options options{.batch = 10, .batch_norm_momentum = 0, .checkpoint = file};
    auto network = untrained;
    zp::train(network, zp::labelled(xs, labels), options);
    const std::vector<std::byte> good = zp::read_whole_file(file);
    options.resume = true;
    // Without momentum the variances are the model's still, and are found by their values.
    for (const std::string& name : norms) {
        CAPTURE(name);
        std::vector<std::byte> bytes = good;
        for (const zp::node& row : model.rows()) {
            if (name != row.name) continue;
            const auto variances = zp_test::array_of(model, row, 3);
            const auto* first = reinterpret_cast<const std::byte*>(variances.data());
            const auto found = std::search(bytes.begin(), bytes.end(), first, first + variances.size() * sizeof(float));
            REQUIRE(found != bytes.end());
            zp::store_little_endian(-0.5f, &*found + 2 * sizeof(float));
        }
        REQUIRE(bytes != good);
        const std::string version = "\"format_version\":\"";  // the first has no checksums
        std::copy_n(reinterpret_cast<const std::byte*>("1"), 1,
                    std::search(bytes.begin(), bytes.end(), reinterpret_cast<const std::byte*>(version.data()),
                                reinterpret_cast<const std::byte*>(version.data() + version.size())) +
                        static_cast<std::ptrdiff_t>(version.size()));
        zp::write_whole_file(file, bytes);
        auto resumed = untrained;
        const std::string error = zp_test::error_of([&] { zp::train(resumed, zp::labelled(xs, labels), options); });
        CHECK(error ==
              file + ": tensor \"values\": expected running variances of " + name + " of at least 0, found -0.5 at 2");
        CHECK(
            std::equal(parameters_of(resumed).begin(), parameters_of(resumed).end(), parameters_of(untrained).begin()));
    }
    zp::write_whole_file(file, good);
    auto resumed = untrained;
    CHECK(zp::train(resumed, zp::labelled(xs, labels), options).steps == 1);
    CHECK(std::equal(parameters_of(resumed).begin(), parameters_of(resumed).end(), parameters_of(network).begin()));
    std::remove(file.c_str());
}
TEST_CASE("batch norms: a checkpoint with a negative variance is a sentence, and changes nothing") {
    const auto model = mixed_model();
    const std::vector<std::string> norms{"plain", "norm", "alone", "norm1"};
    check_variances(model, qat_of<learned>(model), norms);
    check_variances(model, model, norms);
}
TEST_CASE("batch norms: statistics estimated anew are those of all rows") {
    struct one : zp::model<zp::input<5, 5, 3>, zp::conv2d<"conv", zp::conv{.out_channels = 4, .kernel = 3}>,
                           zp::batch_norm2d<"norm">, zp::relu, zp::flatten, zp::linear<"fc", 2>> {};
    auto model = made_up::network<one>(2);
    const auto xs = made_up::inputs<one>(37);
    std::vector<double> sums(4), squares(4);
    for (const auto& x : xs) {
        const auto memory = std::make_unique<zp::float_model<one>::workspace>();
        std::vector<float> y(2);
        model.run(x.data(), y.data(), memory->bytes, [&](int row, const void* values) {
            if (row != 1) return;
            const auto* v = static_cast<const float*>(values);
            for (std::size_t i = 0; i != 36; ++i) {
                sums[i % 4] += double{v[i]};
                squares[i % 4] += double{v[i]} * double{v[i]};
            }
        });
    }
    zp::reestimate_batch_norms(model, xs, 8);
    const zp::node& norm = model.rows()[2];
    for (std::size_t c = 0; c != 4; ++c) {
        const double n = 37 * 9, mean = sums[c] / n, variance = (squares[c] - sums[c] * mean) / (n - 1);
        CHECK(std::fabs(double{zp_test::array_of(model, norm, 2)[c]} - mean) < 1e-5);
        CHECK(std::fabs(double{zp_test::array_of(model, norm, 3)[c]} - variance) < 1e-5 * variance);
    }
    // As int8 the values are rounded: nearly the same.
    auto qat = zp::prepare_qat(zp::calibrate(zp::prepare<coded>(zp::fuse(model)), xs), model);
    qat.set_batch_norms_live(false);
    zp::reestimate_batch_norms(qat, xs, 37);
    CHECK_FALSE(qat.batch_norms_are_live());
    const std::size_t at = part_named(qat.parts(), "norm.weight").offset;
    double moved = 0;
    for (std::size_t c = 0; c != 4; ++c) {
        const double expected = zp_test::array_of(model, norm, 3)[c], found = qat.values()[at + 12 + c];
        CHECK(std::fabs(found - expected) < 0.03 * expected);
        moved += std::fabs(found - expected);
    }
    CHECK(moved > 0);
}
TEST_CASE("batch norms: what they cannot do is a sentence") {
    auto model = mixed_model();
    const auto xs = check_training::inputs<mixed>(5);
    const auto labels = check_training::labels<mixed>(5);
    CHECK(zp_test::error_of([&] {
              zp::train(model, zp::labelled(xs, labels), {.batch = 4});
          }).find("a batch or block has 1 sample of 1 pixel") != std::string::npos);
    CHECK(zp_test::error_of([&] {
              zp::train(model, zp::labelled(xs, labels), {.batch = 5, .batch_norm_momentum = 2});
          }) == "train: expected .batch_norm_momentum from 0 to 1");
    auto folded = zp::fuse(model);
    CHECK(zp_test::error_of([&] { zp::reestimate_batch_norms(folded, xs); }).find("but they are folded") !=
          std::string::npos);
}
