// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <cstddef>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/float/float_normalize.hpp>

#include "../../support/arrays.hpp"

namespace {

namespace kernel = zp::kernel;

// y at the places at(i) as PyTorch defines it, in double.
template <class At, class ChannelOf>
void normalize(const std::vector<float>& x, std::size_t count, At at, ChannelOf channel_of, const float* weight,
               const float* bias, std::vector<double>& y) {
    double mean = 0, variance = 0;
    for (std::size_t i = 0; i != count; ++i) mean += double{x[at(i)]} / static_cast<double>(count);
    for (std::size_t i = 0; i != count; ++i)
        variance += (double{x[at(i)]} - mean) * (double{x[at(i)]} - mean) / static_cast<double>(count);
    for (std::size_t i = 0; i != count; ++i) {
        const double unit = (double{x[at(i)]} - mean) / std::sqrt(variance + 1e-5);
        const std::size_t c = channel_of(i);
        y[at(i)] = unit * (weight == nullptr ? 1.0 : double{weight[c]}) + (bias == nullptr ? 0.0 : double{bias[c]});
    }
}

void check_close(const std::vector<float>& y, const std::vector<double>& expected) {
    for (std::size_t i = 0; i != y.size(); ++i) CHECK(std::abs(double{y[i]} - expected[i]) < 2e-5);
}

}  // namespace

TEST_CASE("layer_norm of floats: a plain loop's, far from zero too, and the same bits on all architectures") {
    for (std::size_t channels = 1; channels <= 140; ++channels) {
        const std::size_t rows = 1 + channels % 4;
        const float middle = channels % 3 == 0 ? 100.0f : 0.0f;  // a variance as mean of squares would lose digits
        const auto x = arrays::reals(rows * channels, channels, middle - 3, middle + 5);
        const auto weight = arrays::reals(channels, 1), bias = arrays::reals(channels, 2);
        const float* weights = channels % 5 == 0 ? nullptr : weight.data();
        const float* biases = channels % 7 == 0 ? nullptr : bias.data();
        std::vector<double> expected(x.size());
        for (std::size_t row = 0; row != rows; ++row)
            normalize(
                x, channels, [=](std::size_t i) { return row * channels + i; }, [](std::size_t i) { return i; },
                weights, biases, expected);
        std::vector<float> plain(x.size());
        kernel::layer_norm<zp::portable>(x.data(), rows, channels, 1e-5f, weights, biases, plain.data());
        check_close(plain, expected);
        arrays::for_each_architecture([&]<class Arch>() {
            std::vector<float> y = x;
            kernel::layer_norm<Arch>(y.data(), rows, channels, 1e-5f, weights, biases, y.data());
            CHECK(arrays::same_bits(y, plain));
        });
    }
}

TEST_CASE("rms_norm of floats: a plain loop's, and the same bits on all architectures") {
    for (std::size_t channels = 1; channels <= 140; ++channels) {
        const std::size_t rows = 1 + channels % 4;
        const auto x = arrays::reals(rows * channels, channels, -3, 5);
        const auto weight = arrays::reals(channels, 1);
        const float* weights = channels % 5 == 0 ? nullptr : weight.data();
        std::vector<double> expected(x.size());
        for (std::size_t row = 0; row != rows; ++row) {
            double mean = 0;
            for (std::size_t c = 0; c != channels; ++c)
                mean += std::pow(double{x[row * channels + c]}, 2) / static_cast<double>(channels);
            for (std::size_t c = 0; c != channels; ++c)
                expected[row * channels + c] = double{x[row * channels + c]} / std::sqrt(mean + 1e-5) *
                                               (weights == nullptr ? 1.0 : double{weight[c]});
        }
        std::vector<float> plain(x.size());
        kernel::rms_norm<zp::portable>(x.data(), rows, channels, 1e-5f, weights, plain.data());
        check_close(plain, expected);
        arrays::for_each_architecture([&]<class Arch>() {
            std::vector<float> y = x;
            kernel::rms_norm<Arch>(y.data(), rows, channels, 1e-5f, weights, y.data());
            CHECK(arrays::same_bits(y, plain));
        });
    }
}

TEST_CASE("group_norm of floats: groups of one channel to all of them") {
    zp_test::generator next(5);
    for (int i = 0; i != 150; ++i) {
        const auto size = static_cast<std::size_t>(i % 10 == 0 ? next.integer(60, 140) : next.integer(1, 20));
        const auto groups = static_cast<std::size_t>(next.integer(1, i % 15 == 0 ? 80 : 6));
        const auto pixels = static_cast<std::size_t>(next.integer(1, 9));
        const std::size_t channels = groups * size;
        const auto x = arrays::reals(pixels * channels, next(), 40.0f, 45.0f);
        const auto weight = arrays::reals(channels, 1), bias = arrays::reals(channels, 2);
        const float* weights = i % 5 == 0 ? nullptr : weight.data();
        const float* biases = i % 7 == 0 ? nullptr : bias.data();
        std::vector<double> expected(x.size());
        for (std::size_t group = 0; group != groups; ++group) {
            const auto channel_of = [=](std::size_t k) { return group * size + k % size; };
            normalize(
                x, pixels * size, [=](std::size_t k) { return k / size * channels + channel_of(k); }, channel_of,
                weights, biases, expected);
        }
        std::vector<float> plain(x.size());
        kernel::group_norm<zp::portable>(x.data(), pixels, channels, groups, 1e-5f, weights, biases, plain.data());
        if (pixels * size > 1) check_close(plain, expected);
        arrays::for_each_architecture([&]<class Arch>() {
            std::vector<float> y = x;
            kernel::group_norm<Arch>(y.data(), pixels, channels, groups, 1e-5f, weights, biases, y.data());
            CHECK(arrays::same_bits(y, plain));
        });
    }
}
