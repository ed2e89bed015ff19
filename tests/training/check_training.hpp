// SPDX-License-Identifier: BSD-3-Clause
// What every network that is trained must do: go down the gradient of its loss, and be the int8 network that it becomes.
#pragma once

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include <zeropoint/training/train.hpp>

#include "../support/generator.hpp"

namespace check_training {

/// Inputs of a network of one port: floats, or indices below `rows`.
template <class Net> auto inputs(std::size_t count, int rows = 2) {
    using model = zp::float_model<Net>;
    std::vector<std::vector<typename model::input_value>> all(count);
    zp_test::generator next(77);
    for (auto& input : all)
        for (int i = 0; i != model::input_shape.size(); ++i) {
            const float value = next.real(-1, 1);
            if constexpr (model::takes_indices)
                input.push_back(static_cast<std::int32_t>((value + 1) / 2.001f * static_cast<float>(rows)));
            else input.push_back(value);
        }
    return all;
}
template <class Net> std::vector<int> labels(std::size_t count) {
    std::vector<int> all;
    for (std::size_t i = 0; i != count; ++i)
        for (int k = 0; k != zp::float_model<Net>::output_shape.pixels(); ++k)
            all.push_back(static_cast<int>(i * 7 + static_cast<std::size_t>(k)) %
                          zp::float_model<Net>::output_shape.channels);
    return all;
}

/// The mean cross entropy over inputs and rows of the output, of a network's own outputs.
template <class Network, class Inputs>
double loss_of(const Network& network, const Inputs& xs, const std::vector<int>& wanted) {
    const auto classes = static_cast<std::size_t>(Network::output_shape.channels);
    std::vector<float> y(static_cast<std::size_t>(Network::output_shape.size()));
    const auto memory = std::make_unique<typename Network::workspace>();
    double loss = 0;
    std::size_t row = 0;
    for (const auto& x : xs) {
        network(x, y, *memory);
        for (std::size_t at = 0; at != y.size(); at += classes) {
            double sum = 0;
            for (std::size_t c = 0; c != classes; ++c) sum += std::exp(double{y[at + c]} - double{y[at]});
            loss += std::log(sum) + double{y[at]} - double{y[at + static_cast<std::size_t>(wanted[row++])]};
        }
    }
    return loss / static_cast<double>(row);
}

/// Compares what one step of SGD changes with differences of the loss along a random direction, for each array of parameters.
template <class Net>
void gradients(const zp::float_model<Net>& model, int rows = 2, double tolerance = 5e-3, double h = 2e-3) {
    const auto floats = zp::fuse(model);
    const std::size_t count = 12;
    const auto xs = inputs<Net>(count, rows);
    const auto wanted = labels<Net>(count);
    auto trained = floats;
    zp::train(trained, zp::labelled(xs, wanted),
              {.batch = static_cast<int>(count), .block = 5, .optimizer = zp::sgd{.lr = 1}});
    const auto* before = reinterpret_cast<const float*>(floats.parameters());
    const auto* after = reinterpret_cast<const float*>(trained.parameters());
    std::vector<zp::trained_part> parts;
    zp::detail::append_parts_of_parameters<zp::fused_stage<Net>>(parts);
    zp_test::generator next(8);
    for (const zp::trained_part& part : parts) {
        std::vector<float> direction(part.count);
        double expected = 0, all = 0;
        for (std::size_t k = 0; k != part.count; ++k) {
            direction[k] = next.real(-1, 1);
            const double gradient = double{before[part.offset + k]} - double{after[part.offset + k]};
            expected += gradient * double{direction[k]};
            all += std::fabs(gradient);
        }
        const auto moved = [&](double by) {
            auto network = floats;
            auto* values = reinterpret_cast<float*>(network.parameters()) + part.offset;
            for (std::size_t k = 0; k != part.count; ++k) values[k] += static_cast<float>(by * double{direction[k]});
            return loss_of(network, xs, wanted);
        };
        const double found = (moved(h) - moved(-h)) / (2 * h);
        INFO(part.name, ": expected ", expected, ", found ", found, ", sum of magnitudes ", all);
        CHECK(std::fabs(found - expected) < tolerance * all + 1e-4);
        CHECK(all > 0);
    }
}

/// Compares the codes of the forward pass of training with those of the converted network, at every row.
template <class Network> void codes(Network& qat, int rows = 2, int images = 4) {
    using net = typename Network::net;
    const auto int8 = zp::convert(qat);
    const zp::tape tape = qat.make_tape(images);
    zp::block_runner<typename Network::architecture> runner(tape);
    const auto xs = inputs<net>(static_cast<std::size_t>(images), rows);
    for (int i = 0; i != images; ++i) {
        const auto& x = xs[static_cast<std::size_t>(i)];
        std::memcpy(runner.input(0, i), x.data(), x.size() * 4);
    }
    runner.forward(images, qat.pack(), true);
    std::size_t compared = 0, differing = 0, outputs = 0;
    const auto memory = std::make_unique<typename Network::quantized_type::workspace>();
    std::vector<float> y(static_cast<std::size_t>(Network::quantized_type::output_shape.size()));
    for (int i = 0; i != images; ++i) {
        int8.run(xs[static_cast<std::size_t>(i)].data(), y.data(), memory->bytes, [&](int row, const void* values) {
            const zp::node& n = int8.rows()[static_cast<std::size_t>(row)];
            if (!n.out.is_codes()) return;
            const auto bytes = static_cast<std::size_t>(n.out.extents.size() * zp::size_of(n.out.storage));
            compared += bytes;
            for (std::size_t k = 0; k != bytes; ++k)
                differing += runner.codes(row, i)[k] != static_cast<const std::byte*>(values)[k];
        });
        for (std::size_t k = 0; k != y.size(); ++k) outputs += runner.output(0, i)[k] != y[k];
    }
    CHECK(compared > static_cast<std::size_t>(images) * 50);
    CHECK(differing == 0);
    CHECK(outputs == 0);
}

/// The gradient of the int8 network is nearly that of the float one, array by array: rounding is passed straight through.
template <class QAT, class Net>
void straight_through(QAT qat, const zp::float_model<Net>& model, int rows, double least_cosine) {
    const auto xs = inputs<Net>(24, rows);
    const auto wanted = labels<Net>(24);
    const zp::training_options step{.batch = 24, .optimizer = zp::sgd{.lr = 1e-3}};
    auto floats = zp::fuse(model);
    const auto change = [&](auto& network, auto& values) {
        const std::vector<float> before(values.begin(), values.end());
        zp::train(network, zp::labelled(xs, wanted), step);
        std::vector<double> all;
        for (std::size_t k = 0; k != before.size(); ++k) all.push_back(double{before[k]} - double{values[k]});
        return all;
    };
    auto coded = qat.values();
    std::span<float> plain(reinterpret_cast<float*>(floats.parameters()),
                           static_cast<std::size_t>(zp::fused<Net>::parameter_bytes) / sizeof(float));
    const auto by_codes = change(qat, coded), by_floats = change(floats, plain);
    std::vector<zp::trained_part> parts;
    zp::detail::append_parts_of_parameters<zp::fused_stage<Net>>(parts);
    const auto sums = [&](std::size_t begin, std::size_t count) {
        std::array<double, 3> all{};
        for (std::size_t k = begin; k != begin + count; ++k) {
            all[0] += by_codes[k] * by_floats[k];
            all[1] += by_codes[k] * by_codes[k];
            all[2] += by_floats[k] * by_floats[k];
        }
        return all;
    };
    const auto [product, first, second] = sums(0, by_floats.size());
    for (const zp::trained_part& part : parts) {
        const auto own = sums(part.offset, part.count);
        INFO(part.name, ": cosine ", own[0] / std::sqrt(own[1] * own[2]));
        CHECK((own[2] < 1e-4 * second || own[0] > 0.5 * std::sqrt(own[1] * own[2])));
    }
    CHECK(product > least_cosine * std::sqrt(first * second));
}

/// Trains a network as int8 for a few steps: its loss falls, and its codes are those of the converted network.
template <class Config, class Net> void trained_is_converted(const zp::float_model<Net>& model, int rows = 2) {
    const std::size_t count = 24;
    const auto xs = inputs<Net>(count, rows);
    const auto wanted = labels<Net>(count);
    auto qat = zp::prepare_qat(zp::calibrate(zp::prepare<Config>(zp::fuse(model)), xs));
    const double before = loss_of(zp::convert(qat), xs, wanted);
    codes(qat, rows);
    straight_through(qat, model, rows, 0.95);
    const auto report = zp::train(qat, zp::labelled(xs, wanted),
                                  {.epochs = 4, .batch = 6, .block = 4, .optimizer = zp::adam{.lr = 3e-3}});
    codes(qat, rows);
    const double after = loss_of(zp::convert(qat), xs, wanted);
    INFO("loss ", before, " before, ", after, " after training");
    CHECK(after < before);
    CHECK(report.losses.size() == 4);
}

}  // namespace check_training
