// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/gradient/reduction_gradient.hpp>

#include "../support/finite_differences.hpp"

namespace {

namespace kernel = zp::kernel;
using namespace gradients;
using zp::shape;

enum class reduction { sum, largest, smallest, variance, deviation, product };

doubles forward(reduction kind, const shape& in, const shape& out, const doubles& x) {
    std::vector<doubles> parts(static_cast<std::size_t>(out.size()));
    for (int i = 0; i != in.size(); ++i) {
        const int channel = i % in.channels, column = i / in.channels % in.width, row = i / in.channels / in.width;
        const auto along = [](int at, int extent) { return extent == 1 ? 0 : at; };
        const int to = (along(row, out.height) * out.width + along(column, out.width)) * out.channels +
                       along(channel, out.channels);
        parts[static_cast<std::size_t>(to)].push_back(x[static_cast<std::size_t>(i)]);
    }
    doubles y;
    for (const doubles& part : parts) {
        double sum = 0, product = 1, squares = 0;
        for (const double value : part) sum += value, product *= value;
        const double n = static_cast<double>(part.size());
        for (const double value : part) squares += (value - sum / n) * (value - sum / n);
        const double variance = squares / (n - 1);
        y.push_back(kind == reduction::sum         ? sum / 3
                    : kind == reduction::largest   ? *std::max_element(part.begin(), part.end())
                    : kind == reduction::smallest  ? *std::min_element(part.begin(), part.end())
                    : kind == reduction::variance  ? variance
                    : kind == reduction::deviation ? std::sqrt(variance)
                                                   : product);
    }
    return y;
}

void compare(reduction kind, const shape& in, const shape& out) {
    CAPTURE(static_cast<int>(kind));
    CAPTURE(to_string(out));
    floats values = arrays::reals(static_cast<std::size_t>(in.size()), 1, 0.5f, 1.5f);
    const floats dy = arrays::reals(static_cast<std::size_t>(out.size()), 2, -1, 1);
    doubles x = widened(values);
    const doubles expected = differences(
        x, [&] { return weighted(forward(kind, in, out, x), dy); }, 1e-6);
    const doubles results = forward(kind, in, out, x);
    const floats y(results.begin(), results.end());
    arrays::for_each_architecture([&]<class Arch>() {
        floats dx(values.size(), NAN);
        if (kind == reduction::sum) kernel::sum_axes_gradient<Arch>(in, out, 3, dy.data(), dx.data());
        else if (kind == reduction::largest || kind == reduction::smallest)
            kernel::extremum_gradient<Arch>(in, out, values.data(), y.data(), dy.data(), dx.data());
        else if (kind == reduction::variance)
            kernel::moment_gradient<Arch, kernel::moment::variance>(in, out, 1, values.data(), dy.data(), dx.data());
        else if (kind == reduction::deviation)
            kernel::moment_gradient<Arch, kernel::moment::standard_deviation>(in, out, 1, values.data(), dy.data(),
                                                                              dx.data());
        else kernel::product_gradient<Arch>(in, out, values.data(), dy.data(), dx.data());
        CHECK(distance(dx, expected) < 3e-6);
    });
}

}  // namespace

TEST_CASE("gradients of reductions along axes") {
    for (const reduction kind : {reduction::sum, reduction::largest, reduction::smallest, reduction::variance,
                                 reduction::deviation, reduction::product}) {
        const shape in{3, 4, 10};
        for (const shape& out : {shape{1, 1, 10}, shape{1, 1, 1}, shape{3, 1, 10}, shape{1, 4, 10}, shape{3, 4, 1},
                                 shape{3, 1, 1}, shape{1, 4, 1}})
            compare(kind, in, out);
    }
}

TEST_CASE("gradients of reductions: equal extrema share, a product with zeros") {
    const float x[] = {2, 5, 5, 1}, y = 5, dy = 3;
    float dx[4];
    kernel::extremum_gradient<zp::portable>({1, 1, 4}, {1, 1, 1}, x, &y, &dy, dx);
    CHECK((dx[0] == 0 && dx[1] == 1.5f && dx[2] == 1.5f && dx[3] == 0));
    const float one_zero[] = {2, 0, 3}, two_zeros[] = {2, 0, 0};
    kernel::product_gradient<zp::portable>({1, 1, 3}, {1, 1, 1}, one_zero, &dy, dx);
    CHECK((dx[0] == 0 && dx[1] == 18 && dx[2] == 0));
    kernel::product_gradient<zp::portable>({1, 1, 3}, {1, 1, 1}, two_zeros, &dy, dx);
    CHECK((dx[0] == 0 && dx[1] == 0 && dx[2] == 0));
}
