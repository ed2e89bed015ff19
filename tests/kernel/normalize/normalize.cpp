// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/normalize/normalize.hpp>
#include <zeropoint/kernel/reference/normalize.hpp>

#include "../../support/arrays.hpp"

namespace {

namespace kernel = zp::kernel;

using arrays::generator;
using arrays::grid;

// One image, its groups, parameters and grids. groups == 0 is layer normalization over the channels of each pixel.
struct problem {
    std::size_t pixels, channels, groups;
    grid x, y;
    int quant_min, quant_max;
    float epsilon;
    std::vector<float> weight, bias;  // empty: none

    const float* weights() const { return weight.empty() ? nullptr : weight.data(); }
    const float* biases() const { return bias.empty() ? nullptr : bias.data(); }
    std::size_t together() const { return groups == 0 ? channels : pixels * (channels / groups); }
    kernel::output_codes codes() const { return {y.zero_point, quant_min, quant_max}; }
};

template <class X, class Y> problem random_problem(generator& next, bool by_groups) {
    problem p;
    const auto size = static_cast<std::size_t>(next.integer(0, 12) == 0 ? next.integer(60, 150) : next.integer(1, 20));
    p.groups = by_groups ? static_cast<std::size_t>(next.integer(1, next.integer(0, 5) == 0 ? 90 : 8)) : 0;
    p.channels = by_groups ? size * p.groups : static_cast<std::size_t>(next.integer(1, 200));
    p.pixels = static_cast<std::size_t>(next.integer(1, 12));
    const auto zero_point = [&]<class T>(T) {
        const int low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max(), kind = next.integer(0, 3);
        return kind == 0 ? low : kind == 1 ? high : next.integer(low, high);
    };
    p.x = {std::exp2(next.real(-10.0f, 3.0f)), zero_point(X{})};
    p.y = {std::exp2(next.real(-8.0f, -3.0f)), zero_point(Y{})};
    p.quant_min = next.integer(0, 3) == 0 ? p.y.zero_point : int{std::numeric_limits<Y>::min()};
    p.quant_max = std::numeric_limits<Y>::max();
    p.epsilon = next.integer(0, 5) == 0 ? 0.0f : std::exp2(next.real(-20.0f, 0.0f));
    if (next.integer(0, 3) != 0)
        for (std::size_t c = 0; c != p.channels; ++c) p.weight.push_back(next.real(-2.0f, 2.0f));
    if (next.integer(0, 3) != 0)
        for (std::size_t c = 0; c != p.channels; ++c) p.bias.push_back(next.real(-1.0f, 1.0f));
    return p;
}

template <class X> std::vector<X> codes_of(const problem& p, generator& next) {
    auto x = arrays::codes<X>(p.pixels * p.channels, next());
    const int kind = next.integer(0, 7);
    if (kind == 0) std::fill(x.begin(), x.end(), x[0]);  // no variance
    if (kind == 1)
        for (X& code : x) code = static_cast<X>(x[0] | (code & 1));  // hardly any
    return x;
}

// Calls group(first, at, channel_of) for every group of the problem: at(i) is where its value i lies.
template <class Body> void for_each_group(const problem& p, Body body) {
    if (p.groups == 0) {
        for (std::size_t pixel = 0; pixel != p.pixels; ++pixel)
            body([=, &p](std::size_t i) { return pixel * p.channels + i; }, [](std::size_t i) { return i; });
        return;
    }
    const std::size_t size = p.channels / p.groups;
    for (std::size_t group = 0; group != p.groups; ++group) {
        const auto channel_of = [=](std::size_t i) { return group * size + i % size; };
        body([=, &p](std::size_t i) { return i / size * p.channels + channel_of(i); }, channel_of);
    }
}

template <class X, class Y> void compare(const problem& p, const std::vector<X>& x) {
    std::vector<Y> expected(x.size());
    for_each_group(p, [&](auto at, auto channel_of) {
        kernel::reference::normalize(x.data(), p.together(), at, channel_of, p.x.scale, p.epsilon, p.weights(),
                                     p.biases(), p.y.scale, p.y.zero_point, p.quant_min, p.quant_max, expected.data());
    });
    std::vector<float> gains(p.channels), offsets(p.channels);
    kernel::divide_by_scale(p.weights(), p.channels, 1, p.y.scale, gains.data());
    kernel::divide_by_scale(p.biases(), p.channels, 0, p.y.scale, offsets.data());
    const kernel::normalization n = kernel::make_normalization(p.together(), p.x.scale, p.epsilon);
    arrays::for_each_architecture([&]<class Arch>() {
        const auto run = [&](const X* from, Y* to) {
            if (p.groups == 0) kernel::layer_norm<Arch>(from, p.pixels, n, gains.data(), offsets.data(), p.codes(), to);
            else
                kernel::group_norm<Arch>(from, p.pixels, p.channels, p.groups, n, gains.data(), offsets.data(),
                                         p.codes(), to);
        };
        std::vector<Y> y(x.size());
        run(x.data(), y.data());
        CHECK(y == expected);
        if constexpr (std::is_same_v<X, Y>) {
            std::vector<X> in_place = x;
            run(in_place.data(), in_place.data());
            CHECK(in_place == expected);
        }
    });
    // The real numbers, in double: within the error that normalize.hpp states, before the rounding to a code.
    for_each_group(p, [&](auto at, auto channel_of) {
        const auto count = static_cast<double>(p.together());
        double mean = 0, variance = 0;
        for (std::size_t i = 0; i != p.together(); ++i) mean += x[at(i)] / count;
        for (std::size_t i = 0; i != p.together(); ++i) variance += (x[at(i)] - mean) * (x[at(i)] - mean) / count;
        const double deviation = std::sqrt(variance * p.x.scale * p.x.scale + p.epsilon);
        for (std::size_t i = 0; i != p.together(); ++i) {
            const std::size_t c = channel_of(i);
            const double unit = variance < 1e-9 ? 0 : (x[at(i)] - mean) * p.x.scale / deviation;
            const double product = unit * (p.weight.empty() ? 1.0 : double{p.weight[c]}) / p.y.scale;
            const double offset = p.bias.empty() ? 0.0 : p.bias[c] / double{p.y.scale};
            const double error =
                (5 * std::abs(product) + std::abs(offset) + std::abs(product + offset)) * 1.001 * 0x1p-24 + 1e-9;
            const double real = std::clamp<double>(product + offset + p.y.zero_point, p.quant_min, p.quant_max);
            CHECK(std::abs(expected[at(i)] - real) <= 0.5 + error);
        }
    });
}

template <class X, class Y> void compare_rms_norm(const problem& p, const std::vector<X>& x) {
    std::vector<Y> expected(x.size());
    for (std::size_t row = 0; row != p.pixels; ++row)
        kernel::reference::rms_normalize(x.data() + row * p.channels, p.channels, p.x.scale, p.x.zero_point, p.epsilon,
                                         p.weights(), p.y.scale, p.y.zero_point, p.quant_min, p.quant_max,
                                         expected.data() + row * p.channels);
    std::vector<float> gains(p.channels), zeros(p.channels);
    kernel::divide_by_scale(p.weights(), p.channels, 1, p.y.scale, gains.data());
    const kernel::normalization n = kernel::make_normalization(p.channels, p.x.scale, p.epsilon);
    arrays::for_each_architecture([&]<class Arch>() {
        std::vector<Y> y(x.size());
        kernel::rms_norm<Arch>(x.data(), p.pixels, n, p.x.zero_point, gains.data(), zeros.data(), p.codes(), y.data());
        CHECK(y == expected);
    });
    for (std::size_t row = 0; row != p.pixels; ++row) {
        double mean = 0;
        const auto real = [&](std::size_t c) { return double{p.x.scale} * (x[row * p.channels + c] - p.x.zero_point); };
        for (std::size_t c = 0; c != p.channels; ++c) mean += real(c) * real(c) / static_cast<double>(p.channels);
        for (std::size_t c = 0; c != p.channels; ++c) {
            const double unit = mean == 0 ? 0 : real(c) / std::sqrt(mean + double{p.epsilon});
            const double product = unit * (p.weight.empty() ? 1.0 : double{p.weight[c]}) / p.y.scale;
            const double wanted = std::clamp<double>(product + p.y.zero_point, p.quant_min, p.quant_max);
            CHECK(std::abs(expected[row * p.channels + c] - wanted) <= 0.5 + 6 * std::abs(product) * 0x1p-24 + 1e-9);
        }
    }
}

template <class X, class Y> void compare_batch_norm(const problem& p, generator& next) {
    std::vector<float> mean(p.channels), variance(p.channels), gains(p.channels), offsets(p.channels);
    for (float& value : mean) value = next.real(-1.0f, 1.0f);
    for (float& value : variance) value = next.real(0.01f, 4.0f);
    const auto x = codes_of<X>(p, next);
    std::vector<Y> expected(x.size());
    kernel::reference::batch_norm(x.data(), p.pixels, p.channels, p.x.scale, p.x.zero_point, p.weights(), p.biases(),
                                  mean.data(), variance.data(), p.epsilon, p.y.scale, p.y.zero_point, p.quant_min,
                                  p.quant_max, expected.data());
    kernel::make_batch_norm<zp::default_architecture>(p.channels, p.weights(), p.biases(), mean.data(), variance.data(),
                                                      p.epsilon, p.x.scale, p.y.scale, gains.data(), offsets.data());
    for (std::size_t c = 0; c != p.channels; ++c) {  // rounded once, and the mean's product on its own
        const double weight = p.weight.empty() ? 1.0 : double{p.weight[c]},
                     bias = p.bias.empty() ? 0.0 : double{p.bias[c]};
        const double factor = weight / std::sqrt(double{variance[c]} + double{p.epsilon});
        volatile double moved = double{mean[c]} * factor;
        CHECK(gains[c] == static_cast<float>(factor * double{p.x.scale} / double{p.y.scale}));
        CHECK(offsets[c] == static_cast<float>((bias - moved) / double{p.y.scale}));
    }
    arrays::for_each_architecture([&]<class Arch>() {
        std::vector<Y> y(x.size());
        kernel::batch_norm<Arch>(x.data(), p.pixels, p.channels, p.x.zero_point, gains.data(), offsets.data(),
                                 p.codes(), y.data());
        CHECK(y == expected);
    });
    for (std::size_t i = 0; i != x.size(); ++i) {
        const std::size_t c = i % p.channels;
        const double unit =
            (p.x.scale * double(x[i] - p.x.zero_point) - mean[c]) / std::sqrt(variance[c] + double{p.epsilon});
        const double value =
            unit * (p.weight.empty() ? 1.0 : double{p.weight[c]}) + (p.bias.empty() ? 0.0 : double{p.bias[c]});
        const double real = std::clamp<double>(value / p.y.scale + p.y.zero_point, p.quant_min, p.quant_max);
        CHECK(std::abs(expected[i] - real) <= 0.5 + 0.02);  // the product may be large, and the offset take it back
    }
}

}  // namespace

TEST_CASE("layer_norm: random rows, grids and parameters of all storages, as the reference and within the error") {
    generator next(1);
    for (int i = zp_test::fewer(500); i != 0; --i) {
        const problem p = random_problem<std::uint8_t, std::uint8_t>(next, false);
        compare<std::uint8_t, std::uint8_t>(p, codes_of<std::uint8_t>(p, next));
        const problem q = random_problem<std::int8_t, std::int8_t>(next, false);
        compare<std::int8_t, std::int8_t>(q, codes_of<std::int8_t>(q, next));
        if (i % 4 != 0) continue;
        const problem r = random_problem<std::int8_t, std::uint8_t>(next, false);
        compare<std::int8_t, std::uint8_t>(r, codes_of<std::int8_t>(r, next));
    }
}

TEST_CASE("rms_norm: random rows, grids and parameters of all storages, as the reference and within the error") {
    generator next(4);
    for (int i = zp_test::fewer(300); i != 0; --i) {
        const problem p = random_problem<std::uint8_t, std::uint8_t>(next, false);
        compare_rms_norm<std::uint8_t, std::uint8_t>(p, codes_of<std::uint8_t>(p, next));
        const problem q = random_problem<std::int8_t, std::int8_t>(next, false);
        auto x = codes_of<std::int8_t>(q, next);
        if (i % 5 == 0) std::fill(x.begin(), x.end(), static_cast<std::int8_t>(q.x.zero_point));  // all are 0
        compare_rms_norm<std::int8_t, std::int8_t>(q, x);
    }
}

TEST_CASE("group_norm and instance_norm: random images, grids and parameters of all storages") {
    generator next(2);
    for (int i = zp_test::fewer(500); i != 0; --i) {
        const problem p = random_problem<std::uint8_t, std::uint8_t>(next, true);
        compare<std::uint8_t, std::uint8_t>(p, codes_of<std::uint8_t>(p, next));
        const problem q = random_problem<std::int8_t, std::int8_t>(next, true);
        compare<std::int8_t, std::int8_t>(q, codes_of<std::int8_t>(q, next));
        if (i % 4 != 0) continue;
        problem r = random_problem<std::uint8_t, std::int8_t>(next, true);
        r.groups = r.channels;  // instances
        compare<std::uint8_t, std::int8_t>(r, codes_of<std::uint8_t>(r, next));
    }
}

TEST_CASE("batch_norm: random images, grids and parameters of all storages") {
    generator next(3);
    for (int i = zp_test::fewer(500); i != 0; --i) {
        compare_batch_norm<std::uint8_t, std::uint8_t>(random_problem<std::uint8_t, std::uint8_t>(next, false), next);
        compare_batch_norm<std::int8_t, std::int8_t>(random_problem<std::int8_t, std::int8_t>(next, false), next);
        if (i % 4 == 0)
            compare_batch_norm<std::int8_t, std::uint8_t>(random_problem<std::int8_t, std::uint8_t>(next, false), next);
    }
}

TEST_CASE("batch_norm: a product is rounded before the offset is added, whatever -ffp-contract says") {
    constexpr std::size_t channels = 150;
    const std::vector<std::uint8_t> x(channels, 201);
    const auto gains = arrays::reals(channels, 9, 0.5f, 1.0f);
    std::vector<float> offsets;
    for (const float gain : gains) {
        volatile float product = 201 * gain;
        offsets.push_back(0.5f - product);  // exact, and so is the tie
    }
    arrays::for_each_architecture([&]<class Arch>() {
        std::vector<std::uint8_t> y(channels);
        kernel::batch_norm<Arch>(x.data(), 1, channels, 0, gains.data(), offsets.data(), {100, 0, 255}, y.data());
        CHECK(y == std::vector<std::uint8_t>(channels, 100));
    });
}

TEST_CASE("layer_norm: as many codes as are allowed, at both ends of the range") {
    const std::size_t count = kernel::most_normalized;
    std::vector<std::uint8_t> x(count, 255);
    std::fill_n(x.begin(), count / 2 - 1, std::uint8_t{0});
    const problem p{1, count, 0, {0.02f, 0}, {0.02f, 100}, 0, 255, 1e-5f, {}, {}};
    std::vector<std::uint8_t> expected(count), y(count);
    const auto same = [](std::size_t i) { return i; };
    kernel::reference::normalize(x.data(), count, same, same, 0.02f, 1e-5f, nullptr, nullptr, 0.02f, 100, 0, 255,
                                 expected.data());
    const std::vector<float> gains(count, static_cast<float>(1.0 / double{0.02f})), offsets(count, 0.0f);
    kernel::layer_norm<zp::default_architecture>(x.data(), 1, kernel::make_normalization(count, 0.02f, 1e-5f),
                                                 gains.data(), offsets.data(), p.codes(), y.data());
    CHECK(y == expected);
    CHECK(int{y[0]} == 50);
    CHECK(int{y[count - 1]} == 150);
}

TEST_CASE("normalize: equal codes give the bias, with and without epsilon") {
    for (const float epsilon : {0.0f, 1e-5f}) {
        const std::vector<std::int8_t> x(40, 77);
        std::vector<std::int8_t> y(40);
        const std::vector<float> gains(40, 1e30f), offsets(40, 3.5f);
        const auto n = kernel::make_normalization(40, 0.1f, epsilon);
        kernel::layer_norm<zp::default_architecture>(x.data(), 1, n, gains.data(), offsets.data(), {-7, -128, 127},
                                                     y.data());
        CHECK(y == std::vector<std::int8_t>(40, -3));  // 3.5 is a tie
    }
}

TEST_CASE("make_normalization, divide_by_scale, make_batch_norm: numbers that cannot be meant") {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    CHECK_THROWS_AS(kernel::make_normalization(0, 1.0f, 0.0f), zp::value_error);
    CHECK_THROWS_AS(kernel::make_normalization(kernel::most_normalized + 1, 1.0f, 0.0f), zp::value_error);
    for (const float bad : {0.0f, -1.0f, zp::infinity, nan})
        CHECK_THROWS_AS(kernel::make_normalization(1, bad, 0.0f), zp::value_error);
    for (const float bad : {-1e-5f, zp::infinity, nan})
        CHECK_THROWS_AS(kernel::make_normalization(1, 1.0f, bad), zp::value_error);
    float number = 0, other = 0;
    const float large = 1e30f, zero = 0.0f, one = 1.0f;
    CHECK_THROWS_AS(kernel::divide_by_scale(&large, 1, 0, 1e-20f, &number), zp::value_error);
    CHECK_THROWS_AS(kernel::divide_by_scale(&nan, 1, 0, 1.0f, &number), zp::value_error);
    using arch = zp::default_architecture;
    CHECK_THROWS_AS(kernel::make_batch_norm<arch>(1, nullptr, nullptr, &zero, &zero, 0.0f, 1.0f, 1.0f, &number, &other),
                    zp::value_error);
    CHECK_THROWS_AS(kernel::make_batch_norm<arch>(1, nullptr, &large, &zero, &one, 0.0f, 1.0f, 1e-20f, &number, &other),
                    zp::value_error);
    CHECK_NOTHROW(kernel::make_batch_norm<arch>(1, nullptr, nullptr, &zero, &one, 0.0f, 1.0f, 0.5f, &number, &other));
    CHECK(number == 2.0f);
    CHECK(other == 0.0f);
}
