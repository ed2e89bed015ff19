// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/gradient/binary_gradient.hpp>

#include "../support/finite_differences.hpp"

namespace {

namespace kernel = zp::kernel;
namespace rules = kernel::binary_gradients;
using namespace gradients;
using zp::shape;

/// The value of an operand at a position of the result.
std::size_t position(const shape& own, const shape& full, std::size_t at) {
    const auto channel = at % static_cast<std::size_t>(full.channels),
               pixel = at / static_cast<std::size_t>(full.channels);
    const std::size_t column = pixel % static_cast<std::size_t>(full.width),
                      row = pixel / static_cast<std::size_t>(full.width);
    const auto width = static_cast<std::size_t>(own.width), channels = static_cast<std::size_t>(own.channels);
    return ((own.height == 1 ? 0 : row) * width + (width == 1 ? 0 : column)) * channels + (channels == 1 ? 0 : channel);
}

template <class Rule, class Function> void compare(Function function, const shape& a_shape, const shape& b_shape) {
    const shape full{std::max(a_shape.height, b_shape.height), std::max(a_shape.width, b_shape.width),
                     std::max(a_shape.channels, b_shape.channels)};
    CAPTURE(to_string(a_shape));
    CAPTURE(to_string(b_shape));
    const auto size = [](const shape& s) { return static_cast<std::size_t>(s.size()); };
    const floats as = arrays::reals(size(a_shape), 1, -2, 2), bs = arrays::reals(size(b_shape), 2, 0.5f, 2),
                 dy = arrays::reals(size(full), 3, -1, 1);
    doubles a = widened(as), b = widened(bs);
    const auto loss = [&] {
        double sum = 0;
        for (std::size_t i = 0; i != dy.size(); ++i)
            sum += function(a[position(a_shape, full, i)], b[position(b_shape, full, i)]) * double{dy[i]};
        return sum;
    };
    const doubles da = differences(a, loss, 1e-6), db = differences(b, loss, 1e-6);
    arrays::for_each_architecture([&]<class Arch>() {
        floats our_da(a.size(), NAN), our_db(b.size(), NAN);
        kernel::binary_gradient<Arch, Rule>(as.data(), a_shape, bs.data(), b_shape, dy.data(), full, our_da.data(),
                                            our_db.data());
        CHECK(distance(our_da, da) < 2e-6);
        CHECK(distance(our_db, db) < 2e-6);
        floats twice = our_da;
        kernel::add_binary_gradient<Arch, Rule>(as.data(), a_shape, bs.data(), b_shape, dy.data(), full, twice.data(),
                                                nullptr);
        for (std::size_t i = 0; i != twice.size(); ++i) CHECK(twice[i] == doctest::Approx(2 * our_da[i]));
    });
}

template <class Rule, class Function> void compare(Function function) {
    compare<Rule>(function, {3, 4, 5}, {3, 4, 5});
    compare<Rule>(function, {7, 9, 11}, {1, 1, 11});  // more values than are spread at a time
    compare<Rule>(function, {3, 4, 8}, {3, 4, 1});
    compare<Rule>(function, {3, 4, 5}, {1, 1, 1});
    compare<Rule>(function, {1, 1, 9}, {4, 2, 9});
    compare<Rule>(function, {3, 1, 5}, {1, 4, 5});
    compare<Rule>(function, {2, 1, 1}, {2, 3, 17});
}

}  // namespace

TEST_CASE("gradients of operators on two arrays: each spread over the other") {
    compare<rules::add>([](double a, double b) { return a + b; });
    compare<rules::sub>([](double a, double b) { return a - b; });
    compare<rules::mul>([](double a, double b) { return a * b; });
    compare<rules::div>([](double a, double b) { return a / b; });
    compare<rules::squared_difference>([](double a, double b) { return (a - b) * (a - b); });
    compare<rules::hypot>([](double a, double b) { return std::hypot(a, b); });
    compare<rules::maximum>([](double a, double b) { return std::max(a, b); });
    compare<rules::minimum>([](double a, double b) { return std::min(a, b); });
    compare<rules::prelu>([](double a, double b) { return a > 0 ? a : a * b; });
}

TEST_CASE("gradients of maximum and minimum: equal values share") {
    const float a[] = {1, 2, 3}, b[] = {1, 3, 2}, dy[] = {4, 4, 4};
    float da[3], db[3];
    kernel::binary_gradient<zp::default_architecture, rules::maximum>(a, {1, 1, 3}, b, {1, 1, 3}, dy, {1, 1, 3}, da,
                                                                      db);
    CHECK((da[0] == 2 && da[1] == 0 && da[2] == 4 && db[0] == 2 && db[1] == 4 && db[2] == 0));
    kernel::binary_gradient<zp::default_architecture, rules::minimum>(a, {1, 1, 3}, b, {1, 1, 3}, dy, {1, 1, 3}, da,
                                                                      db);
    CHECK((da[0] == 2 && da[1] == 4 && da[2] == 0 && db[0] == 2 && db[1] == 0 && db[2] == 4));
}

TEST_CASE("gradients of hypot: none where both are 0") {
    const float a[] = {0, 3}, b[] = {0, -4}, dy[] = {7, 10};
    float da[2], db[2];
    kernel::binary_gradient<zp::default_architecture, rules::hypot>(a, {1, 1, 2}, b, {1, 1, 2}, dy, {1, 1, 2}, da, db);
    CHECK((da[0] == 0 && db[0] == 0 && da[1] == 6 && db[1] == -8));
}

TEST_CASE("gradients of prelu and where") {
    const float x[] = {-2, 0, 3, -1}, slopes[] = {0.5f, 0.25f}, dy[] = {1, 2, 3, 4};
    float dx[4], dslopes[2] = {100, 100};
    kernel::prelu_gradient<zp::default_architecture>(x, {1, 2, 2}, slopes, 2, dy, dx, dslopes);
    CHECK((dx[0] == 0.5f && dx[1] == 0.5f && dx[2] == 3 && dx[3] == 1));
    CHECK((dslopes[0] == 98 && dslopes[1] == 96));
    const float condition[] = {0, -1};
    float da[4], db[4];
    kernel::where_gradient<zp::default_architecture>(condition, 2, 2, dy, da, db);
    CHECK((da[0] == 0 && da[1] == 0 && da[2] == 3 && da[3] == 4));
    CHECK((db[0] == 1 && db[1] == 2 && db[2] == 0 && db[3] == 0));
}
