// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/core/float_values.hpp>
#include <zeropoint/core/rounding.hpp>
#include <zeropoint/kernel/gradient/clamp_gradient.hpp>

#include "../support/finite_differences.hpp"

namespace {

namespace kernel = zp::kernel;
using namespace gradients;

/// What PyTorch says: relu of x > 0, relu6 and hardtanh of values between the bounds, clamp of the bounds as well.
float passed(float x, float dy, float low, float high, bool closed) {
    if (closed ? x < low || x > high : x <= low || x >= high) return 0;
    return dy;
}

}  // namespace

TEST_CASE("clamp_gradient: bounds, values on them, infinities, NaN") {
    const float bounds[][2] = {{0, zp::infinity}, {0, 6}, {-1, 1}, {-zp::infinity, 2}, {-zp::infinity, zp::infinity}};
    for (const auto& bound : bounds) {
        const float low = bound[0], high = bound[1];
        for (const std::size_t count : {0u, 1u, 7u, 8u, 9u, 40u, 67u}) {
            floats x = arrays::reals(count, 1, -8, 8);
            const floats dy = arrays::reals(count, 2);
            const float special[] = {0, -0.0f, 6, -1, 1, 2, zp::infinity, -zp::infinity, NAN};
            for (std::size_t i = 0; i < count; i += 3) x[i] = special[i / 3 % std::size(special)];
            floats open(count), closed(count);
            for (std::size_t i = 0; i != count; ++i) {
                open[i] = passed(x[i], dy[i], low, high, false);
                closed[i] = passed(x[i], dy[i], low, high, true);
            }
            arrays::for_each_architecture([&]<class Arch>() {
                floats dx(count, 9);
                kernel::clamp_gradient<Arch>(x.data(), dy.data(), count, low, high, dx.data());
                CHECK(arrays::same_bits(dx, open));
                kernel::clamp_gradient<Arch, kernel::clamp_edges::closed>(x.data(), dy.data(), count, low, high,
                                                                          dx.data());
                CHECK(arrays::same_bits(dx, closed));
                dx = dy;
                kernel::clamp_gradient<Arch>(x.data(), dx.data(), count, low, high, dx.data());
                CHECK(arrays::same_bits(dx, open));
            });
        }
    }
}

TEST_CASE("add_gradient") {
    arrays::for_each_architecture([&]<class Arch>() {
        const floats a = arrays::reals(37, 1), b = arrays::reals(37, 2);
        floats sum = a;
        kernel::add_gradient<Arch>(b.data(), sum.size(), sum.data());
        for (std::size_t i = 0; i != sum.size(); ++i) CHECK(sum[i] == a[i] + b[i]);
    });
}
