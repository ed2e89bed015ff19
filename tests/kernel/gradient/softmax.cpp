// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/float/float_masked_softmax.hpp>
#include <zeropoint/kernel/float/float_softmax.hpp>
#include <zeropoint/kernel/gradient/softmax_gradient.hpp>

#include "../support/finite_differences.hpp"

namespace {

namespace kernel = zp::kernel;
using namespace gradients;

/// A row in double, of which a mask leaves columns out; all of them: equal shares, whatever they are.
doubles softmax(const double* x, const float* mask, std::size_t channels, bool logarithm) {
    doubles y(channels);
    double sum = 0;
    bool any = false;
    for (std::size_t i = 0; i != channels; ++i) any = any || mask[i] != 0;
    for (std::size_t i = 0; i != channels; ++i) sum += y[i] = !any ? 1 : mask[i] != 0 ? std::exp(x[i]) : 0;
    for (double& share : y) share = logarithm ? std::log(share / sum) : share / sum;
    return y;
}

enum class kind { plain, masked, logarithm };

void compare(kind which, std::size_t rows, std::size_t channels) {
    CAPTURE(static_cast<int>(which));
    CAPTURE(channels);
    const std::size_t count = rows * channels;
    const floats values = arrays::reals(count, 1, -3, 3), dy = arrays::reals(count, 2, -1, 1);
    floats mask(count, 1.0f);
    if (which == kind::masked)
        for (std::size_t i = 0; i != count; ++i) mask[i] = i / channels == 1 || i * 7 % 5 < 2 ? 0.0f : 1.0f;
    doubles x = widened(values);
    const doubles dx = differences(
        x,
        [&] {
            doubles y;
            for (std::size_t row = 0; row != rows; ++row) {
                const doubles one = softmax(x.data() + row * channels, mask.data() + row * channels, channels,
                                            which == kind::logarithm);
                y.insert(y.end(), one.begin(), one.end());
            }
            return weighted(y, dy);
        },
        1e-5);
    arrays::for_each_architecture([&]<class Arch>() {
        floats y(count), ours(count, NAN);
        if (which == kind::plain) {
            kernel::softmax<Arch>(values.data(), rows, channels, y.data());
            kernel::softmax_gradient<Arch>(y.data(), dy.data(), rows, channels, ours.data());
        } else if (which == kind::masked) {
            kernel::masked_softmax<Arch>(values.data(), rows, channels, mask.data(), channels, y.data());
            kernel::masked_softmax_gradient<Arch>(y.data(), dy.data(), rows, channels, mask.data(), channels,
                                                  ours.data());
        } else {
            kernel::log_softmax<Arch>(values.data(), rows, channels, y.data());
            kernel::log_softmax_gradient<Arch>(y.data(), dy.data(), rows, channels, ours.data());
        }
        CHECK(distance(ours, dx) < 3e-6);
    });
}

}  // namespace

TEST_CASE("gradients of softmax, masked softmax, log_softmax") {
    for (const kind which : {kind::plain, kind::masked, kind::logarithm})
        for (const std::size_t channels : {2u, 7u, 8u, 9u, 20u}) compare(which, 3, channels);
}
