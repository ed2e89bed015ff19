// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/training/losses.hpp>

#include "../support/arrays.hpp"
#include "../support/errors.hpp"

namespace {

using floats = std::vector<float>;
constexpr std::size_t rows = 7, classes = 19;

std::vector<std::int32_t> labels_of_rows() { return {3, 0, 18, 7, 7, 1, 12}; }

/// loss(logits) with one of them moved, in double: what a gradient is the slope of.
template <class Loss> double slope(floats logits, std::size_t i, float step, const Loss& loss) {
    const float middle = logits[i];
    logits[i] = middle + step;
    const double above = loss(logits), high = double{logits[i]};
    logits[i] = middle - step;
    return (above - loss(logits)) / (high - double{logits[i]});
}

template <class Loss> void check_slopes(const Loss& loss) {
    const floats logits = arrays::reals(rows * classes, 1);
    floats gradient(logits.size()), unused(logits.size());
    loss(std::span<const float>(logits), std::span<float>(gradient));
    for (std::size_t i = 0; i < logits.size(); i += 5) {
        const double expected = slope(logits, i, 0.01f, [&](const floats& moved) {
            return loss(std::span<const float>(moved), std::span<float>(unused));
        });
        CHECK(std::fabs(double{gradient[i]} - expected) < 2e-4);
    }
}

}  // namespace

TEST_CASE("losses: gradients are the slopes of what is returned") {
    const auto labels = labels_of_rows();
    const floats targets = arrays::reals(rows * classes, 2, 0, 0.1f), teacher = arrays::reals(rows * classes, 3);
    check_slopes([&](std::span<const float> x, std::span<float> g) {
        return zp::cross_entropy{.label_smoothing = 0.2}.backward(x, classes, labels, 1, g);
    });
    check_slopes([&](std::span<const float> x, std::span<float> g) {
        return zp::mean_squared_error{}.backward(x, classes, targets, 1, g);
    });
    check_slopes([&](std::span<const float> x, std::span<float> g) {
        return zp::kl_divergence{}.backward(x, classes, targets, 1, g);
    });
    check_slopes([&](std::span<const float> x, std::span<float> g) {
        return zp::distillation{.temperature = 3, .weight = 0.4}.backward(x, classes, teacher, labels, 1, g);
    });
}

TEST_CASE("losses: a row's gradient has the same bits however a batch is cut, and on every architecture") {
    const floats logits = arrays::reals(rows * classes, 4), teacher = arrays::reals(rows * classes, 5);
    const auto labels = labels_of_rows();
    const zp::distillation loss{.labels_by = {.label_smoothing = 0.1}};
    floats whole(logits.size());
    const double sum = loss.backward(logits, classes, teacher, labels, 1.0 / rows, whole);
    arrays::for_each_architecture([&]<class Arch>() {
        floats parts(logits.size());
        double sums = 0;
        for (std::size_t row = 0; row != rows; ++row) {
            const std::size_t first = row * classes;
            sums += loss.backward<Arch>(std::span(logits).subspan(first, classes), classes,
                                        std::span(teacher).subspan(first, classes), std::span(labels).subspan(row, 1),
                                        1.0 / rows, std::span(parts).subspan(first, classes));
        }
        CHECK(arrays::same_bits(parts, whole));
        CHECK(sums == doctest::Approx(sum).epsilon(1e-12));
    });
}

TEST_CASE("losses: large logits stay finite, NaN and infinity show in the loss") {
    floats logits = {1000, -1000, 0, 999}, gradient(4);
    const std::int32_t label = 1;
    const double loss = zp::cross_entropy{}.backward(logits, 4, std::span(&label, 1), 1, gradient);
    CHECK(loss == doctest::Approx(2000 + std::log(1 + std::exp(-1.0))));
    CHECK(gradient[1] == -1);
    logits[2] = std::numeric_limits<float>::quiet_NaN();
    CHECK(std::isnan(zp::cross_entropy{}.backward(logits, 4, std::span(&label, 1), 1, gradient)));
    logits[2] = std::numeric_limits<float>::infinity();
    CHECK(!std::isfinite(zp::cross_entropy{}.backward(logits, 4, std::span(&label, 1), 1, gradient)));
}

TEST_CASE("losses: wrong labels, shapes and options are refused before anything is written") {
    const floats logits(12);
    floats gradient(12, 7);
    const auto with = [&](std::vector<std::int32_t> labels, std::size_t width, zp::cross_entropy loss = {}) {
        return zp_test::error_of([&] { loss.backward(logits, width, labels, 1, gradient); });
    };
    CHECK(with({0, 4, 1}, 4) == "cross_entropy: row 1 has the label 4, expected a class from 0 to 3");
    CHECK(with({0, 3, -1}, 4) == "cross_entropy: row 2 has the label -1, expected a class from 0 to 3");
    CHECK(with({0, 3}, 4) == "cross_entropy: expected 3 values of the labels, got 2");
    CHECK(with({0, 3}, 5) == "cross_entropy: expected whole rows of 5 values, got 12 values");
    CHECK(with({0, 3, 1}, 4, {.label_smoothing = 1.5}) == "cross_entropy: label_smoothing is 1.5, expected 0 to 1");
    CHECK(zp_test::error_of([&] { zp::distillation{.temperature = 0}.backward(logits, 4, logits, {}, 1, gradient); }) ==
          "distillation: temperature is 0 and weight 0.5, expected a temperature above 0 and a weight from 0 to 1");
    CHECK(zp_test::error_of([&] { zp::kl_divergence{}.backward(logits, 4, floats(12, -1.0f), 1, gradient); }) ==
          "kl_divergence: target 0 is -1, expected probabilities");
    CHECK(zp_test::error_of([&] { zp::mean_squared_error{}.backward(logits, 4, floats(11), 1, gradient); }) ==
          "mean_squared_error: expected 12 values of the targets, got 11");
    CHECK(gradient == floats(12, 7));
}
