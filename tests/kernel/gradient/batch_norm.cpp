// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/float/float_elementwise.hpp>
#include <zeropoint/kernel/gradient/batch_norm_gradient.hpp>

#include "../support/finite_differences.hpp"

namespace {

namespace kernel = zp::kernel;
using namespace gradients;

struct statistics {
    doubles mean, variance;
};

/// Of [row][channel], all samples' pixels one after another.
statistics statistics_of(const doubles& x, std::size_t channels) {
    statistics s{doubles(channels), doubles(channels)};
    const double rows = static_cast<double>(x.size() / channels);
    for (std::size_t i = 0; i != x.size(); ++i) s.mean[i % channels] += x[i] / rows;
    for (std::size_t i = 0; i != x.size(); ++i)
        s.variance[i % channels] += (x[i] - s.mean[i % channels]) * (x[i] - s.mean[i % channels]) / rows;
    return s;
}

doubles forward(const doubles& x, const doubles& gamma, const doubles& beta, const statistics& s) {
    doubles y(x.size());
    const std::size_t channels = gamma.size();
    for (std::size_t i = 0; i != x.size(); ++i) {
        const std::size_t c = i % channels;
        y[i] = (x[i] - s.mean[c]) / std::sqrt(s.variance[c] + 1e-5) * gamma[c] + beta[c];
    }
    return y;
}

void compare(int samples, int pixels, std::size_t channels, bool trains, bool has_gamma = true) {
    CAPTURE(samples);
    CAPTURE(pixels);
    CAPTURE(channels);
    CAPTURE(trains);
    const std::size_t each = static_cast<std::size_t>(pixels) * channels,
                      count = each * static_cast<std::size_t>(samples);
    const auto stride = static_cast<std::ptrdiff_t>(each);
    const floats values = arrays::reals(count, 1, -2, 3), dy = arrays::reals(count, 2, -1, 1);
    const floats slopes = has_gamma ? arrays::reals(channels, 3, 0.5f, 2) : floats(channels, 1.0f);
    doubles x = widened(values), gamma = widened(slopes), beta(channels);
    statistics frozen = statistics_of(x, channels);
    for (double& mean : frozen.mean) mean = static_cast<float>(mean + 0.1);
    for (double& variance : frozen.variance) variance = static_cast<float>(variance * 1.3 + 0.01);
    const auto loss = [&] {
        return weighted(forward(x, gamma, beta, trains ? statistics_of(x, channels) : frozen), dy);
    };
    const doubles dx = differences(x, loss, 1e-5), dgamma = differences(gamma, loss), dbeta = differences(beta, loss);
    const statistics own = statistics_of(x, channels);

    arrays::for_each_architecture([&]<class Arch>() {
        floats mean(channels), variance(channels), our_dgamma(channels), our_dbeta(channels), our_dx(count, NAN),
            room(3 * channels, NAN);
        doubles sums(2 * channels);
        const kernel::const_float_batch xs{values.data(), stride}, dys{dy.data(), stride};
        kernel::add_batch_sums<Arch>(samples, xs, pixels, channels, sums.data());
        kernel::batch_statistics(channels, static_cast<double>(samples * pixels), sums.data(), mean.data(),
                                 variance.data());
        CHECK(distance(mean, own.mean) < 1e-6);
        CHECK(distance(variance, own.variance) < 1e-6);
        if (!trains) {
            mean.assign(frozen.mean.begin(), frozen.mean.end());
            variance.assign(frozen.variance.begin(), frozen.variance.end());
        }
        sums.assign(sums.size(), 0.0);
        // In two blocks.
        const int half = samples / 2;
        kernel::add_batch_norm_gradient_sums<Arch>(half, xs, dys, pixels, channels, mean.data(), sums.data());
        kernel::add_batch_norm_gradient_sums<Arch>(samples - half, {xs[half], stride}, {dys[half], stride}, pixels,
                                                   channels, mean.data(), sums.data());
        kernel::batch_norm_parameter_gradients<Arch>(channels, variance.data(), 1e-5f, sums.data(), our_dgamma.data(),
                                                     our_dbeta.data());
        kernel::batch_norm_input_gradient<Arch>(
            samples, trains ? xs : kernel::const_float_batch{}, dys, pixels, channels,
            has_gamma ? slopes.data() : nullptr, mean.data(), variance.data(), 1e-5f,
            trains ? static_cast<double>(samples * pixels) : 0.0, sums.data(), {our_dx.data(), stride}, room.data());
        CHECK(distance(our_dx, dx) < 4e-6);
        CHECK(distance(our_dgamma, dgamma) < 2e-6);
        CHECK(distance(our_dbeta, dbeta) < 2e-6);
    });
}

}  // namespace

TEST_CASE("gradients of batch_norm: of the mini-batch's statistics, and of frozen ones") {
    for (const bool trains : {true, false}) {
        for (const std::size_t channels : {1u, 7u, 8u, 20u}) {
            compare(3, 5, channels, trains);
            compare(9, 1, channels, trains);  // behind a linear layer
            compare(2, 33, channels, trains, false);
        }
        compare(1, 70, 3, trains);
    }
}

TEST_CASE("statistics of channels whose means are large beside their deviations: those of two passes in double") {
    for (const float middle : {-1e3f, 1e4f}) {
        for (const std::pair<int, int>& of : {std::pair{64, 1}, {9, 5}, {2, 33}, {3, 640}}) {
            const int samples = of.first, pixels = of.second;
            CAPTURE(middle);
            CAPTURE(pixels);
            constexpr std::size_t channels = 19;
            const auto each = static_cast<std::size_t>(pixels) * channels;
            floats x = arrays::reals(each * static_cast<std::size_t>(samples), 5, -1.7f, 1.7f);  // a deviation of 1
            for (std::size_t i = 0; i != x.size(); ++i) x[i] += i % channels % 2 == 0 ? middle : 0;
            x[0] = 3 * middle;  // far from all others
            const statistics exact = statistics_of(widened(x), channels);
            arrays::for_each_architecture([&]<class Arch>() {
                floats mean(channels), variance(channels);
                doubles sums(2 * channels);
                const auto stride = static_cast<std::ptrdiff_t>(each);
                const int half = samples / 2;  // in two blocks
                kernel::add_batch_sums<Arch>(half, {x.data(), stride}, pixels, channels, sums.data());
                kernel::add_batch_sums<Arch>(samples - half, {x.data() + half * stride, stride}, pixels, channels,
                                             sums.data());
                kernel::batch_statistics(channels, static_cast<double>(samples * pixels), sums.data(), mean.data(),
                                         variance.data());
                for (std::size_t c = 0; c != channels; ++c) {
                    CHECK(std::abs(mean[c] - exact.mean[c]) <= 1e-7 * std::abs(exact.mean[c]) + 3e-7);
                    CHECK(std::abs(variance[c] / exact.variance[c] - 1) <= 1e-5);
                }
            });
        }
    }
}

TEST_CASE("running statistics: PyTorch's momentum and unbiased variance") {
    const floats mean = {1, -2}, variance = {4, 9};
    floats running_mean = {0, 1}, running_variance = {1, 2};
    kernel::update_running_statistics<zp::portable>(2, 5, 0.1f, mean.data(), variance.data(), running_mean.data(),
                                                    running_variance.data());
    CHECK(running_mean[0] == doctest::Approx(0.1));
    CHECK(running_mean[1] == doctest::Approx(0.7));
    CHECK(running_variance[0] == doctest::Approx(0.9 + 0.1 * 5));
    CHECK(running_variance[1] == doctest::Approx(1.8 + 0.1 * 11.25));
    kernel::update_running_statistics<zp::portable>(2, 1, 0.1f, mean.data(), variance.data(), running_mean.data(),
                                                    running_variance.data());
    CHECK(running_variance[0] == doctest::Approx(1.4));  // one value has no variance
}
