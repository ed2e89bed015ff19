// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/gradient/normalize_gradient.hpp>

#include "../support/finite_differences.hpp"

namespace {

namespace kernel = zp::kernel;
using namespace gradients;

enum class norm { layer, mean_square, group, length };

/// In double: value i of [pixel][channel] belongs to a part, and has the weight of its channel.
doubles forward(norm kind, const doubles& x, std::size_t channels, std::size_t groups, const doubles& weight,
                const doubles& bias) {
    const std::size_t parts = kind == norm::group ? groups : x.size() / channels;
    const auto part = [&](std::size_t i) {
        return kind == norm::group ? i % channels * groups / channels : i / channels;
    };
    doubles sums(parts), squares(parts), counts(parts), y(x.size());
    for (std::size_t i = 0; i != x.size(); ++i) sums[part(i)] += x[i], counts[part(i)] += 1;
    const bool centred = kind == norm::layer || kind == norm::group;
    const auto distance = [&](std::size_t i) { return centred ? x[i] - sums[part(i)] / counts[part(i)] : x[i]; };
    for (std::size_t i = 0; i != x.size(); ++i) squares[part(i)] += distance(i) * distance(i);
    for (std::size_t i = 0; i != x.size(); ++i) {
        const double mean = kind == norm::length ? squares[part(i)] : squares[part(i)] / counts[part(i)] + 1e-5;
        y[i] = distance(i) / std::sqrt(mean) * weight[i % channels] + bias[i % channels];
    }
    return y;
}

void compare(norm kind, std::size_t pixels, std::size_t channels, std::size_t groups, bool has_weight) {
    CAPTURE(static_cast<int>(kind));
    CAPTURE(pixels);
    CAPTURE(channels);
    CAPTURE(groups);
    const std::size_t count = pixels * channels;
    const floats values = arrays::reals(count, 1, -2, 3), dy = arrays::reals(count, 2, -1, 1);
    const floats weights = has_weight ? arrays::reals(channels, 3, 0.5f, 2) : floats(channels, 1.0f);
    doubles x = widened(values), weight = widened(weights), bias(channels);
    const auto loss = [&] { return weighted(forward(kind, x, channels, groups, weight, bias), dy); };
    const doubles dx = differences(x, loss, 1e-5), dweight = differences(weight, loss), dbias = differences(bias, loss);
    const float* const given = has_weight ? weights.data() : nullptr;
    arrays::for_each_architecture([&]<class Arch>() {
        floats our_dx(count, NAN), our_dweight(channels), our_dbias(channels);
        float *const dw = our_dweight.data(), *const db = our_dbias.data();
        if (kind == norm::layer)
            kernel::layer_norm_gradient<Arch>(values.data(), dy.data(), pixels, channels, 1e-5f, given, our_dx.data(),
                                              dw, db);
        if (kind == norm::mean_square)
            kernel::rms_norm_gradient<Arch>(values.data(), dy.data(), pixels, channels, 1e-5f, given, our_dx.data(),
                                            dw);
        if (kind == norm::group)
            kernel::group_norm_gradient<Arch>(values.data(), dy.data(), pixels, channels, groups, 1e-5f, given,
                                              our_dx.data(), dw, db);
        if (kind == norm::length)
            kernel::l2_normalize_gradient<Arch>(values.data(), dy.data(), pixels, channels, our_dx.data());
        CHECK(distance(our_dx, dx) < 5e-6);
        if (kind == norm::length) return;
        CHECK(distance(our_dweight, dweight) < 3e-6);
        if (kind != norm::mean_square) CHECK(distance(our_dbias, dbias) < 3e-6);
    });
}

}  // namespace

TEST_CASE("gradients of layer_norm, rms_norm, group_norm, l2_normalize") {
    for (const bool has_weight : {true, false}) {
        for (const std::size_t channels : {3u, 8u, 21u}) {
            compare(norm::layer, 4, channels, 1, has_weight);
            compare(norm::mean_square, 4, channels, 1, has_weight);
        }
        for (const std::size_t groups : {1u, 2u, 6u, 18u}) compare(norm::group, 5, 18, groups, has_weight);
        compare(norm::group, 3, 40, 2, has_weight);
    }
    for (const std::size_t channels : {2u, 8u, 13u}) compare(norm::length, 4, channels, 1, false);
}

TEST_CASE("gradients of norms: parameters are added to, inputs may be written over") {
    arrays::for_each_architecture([&]<class Arch>() {
        const floats x = arrays::reals(3 * 11, 1), dy = arrays::reals(3 * 11, 2), weight = arrays::reals(11, 3);
        floats dx(x.size()), dw(11), db(11);
        kernel::layer_norm_gradient<Arch>(x.data(), dy.data(), 3, 11, 1e-5f, weight.data(), dx.data(), dw.data(),
                                          db.data());
        floats over = dy, dw_twice = dw, db_twice = db;
        kernel::layer_norm_gradient<Arch>(x.data(), over.data(), 3, 11, 1e-5f, weight.data(), over.data(),
                                          dw_twice.data(), db_twice.data());
        CHECK(arrays::same_bits(over, dx));
        for (std::size_t i = 0; i != 11; ++i) {
            CHECK(dw_twice[i] == doctest::Approx(2 * dw[i]));
            CHECK(db_twice[i] == doctest::Approx(2 * db[i]));
        }
    });
}

TEST_CASE("gradients of norms: dx may be dy or x, of each kind") {
    arrays::for_each_architecture([&]<class Arch>() {
        const floats x = arrays::reals(5 * 12, 1), dy = arrays::reals(5 * 12, 2), weight = arrays::reals(12, 3);
        const auto in_place = [&](auto gradient) {
            floats apart(x.size(), NAN), over_dy = dy, over_x = x;
            gradient(x.data(), dy.data(), apart.data());
            gradient(x.data(), over_dy.data(), over_dy.data());
            gradient(over_x.data(), dy.data(), over_x.data());
            CHECK(arrays::same_bits(over_dy, apart));
            CHECK(arrays::same_bits(over_x, apart));
        };
        in_place([&](const float* from, const float* given, float* dx) {
            kernel::layer_norm_gradient<Arch>(from, given, 5, 12, 1e-5f, weight.data(), dx, nullptr, nullptr);
        });
        in_place([&](const float* from, const float* given, float* dx) {
            kernel::rms_norm_gradient<Arch>(from, given, 5, 12, 1e-5f, weight.data(), dx, nullptr);
        });
        in_place([&](const float* from, const float* given, float* dx) {
            kernel::group_norm_gradient<Arch>(from, given, 5, 12, 3, 1e-5f, weight.data(), dx, nullptr, nullptr);
        });
        in_place([&](const float* from, const float* given, float* dx) {
            kernel::l2_normalize_gradient<Arch>(from, given, 5, 12, dx);
        });
    });
}

TEST_CASE("gradient of l2_normalize: a vector of zeros") {
    const float x[3] = {}, dy[3] = {1, 2, 3};
    float dx[3];
    kernel::l2_normalize_gradient<zp::portable>(x, dy, 1, 3, dx);
    for (int i = 0; i != 3; ++i) CHECK(dx[i] == doctest::Approx(dy[i] * 1e12));
}
