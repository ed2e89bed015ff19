// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/training/gradient_norm.hpp>
#include <zeropoint/training/learned_step.hpp>
#include <zeropoint/training/optimizers.hpp>
#include <zeropoint/training/schedules.hpp>
#include <zeropoint/training/weight_average.hpp>

#include "../support/arrays.hpp"
#include "../support/errors.hpp"

namespace {

using floats = std::vector<float>;

}  // namespace

TEST_CASE("optimizers: groups have their own rates and decays, scales their floor") {
    const floats gradient = {1, 1};
    const zp::sgd by{.lr = 0.5, .weight_decay = 0.25, .scales_lr = 0.125};
    const auto stepped = [&](zp::parameter_group group, const zp::sgd& optimizer) {
        floats values = {2, 4};
        zp::update(optimizer, 0.5, 0, {.values = values, .gradient = gradient, .group = group});
        return values;
    };
    CHECK(stepped(zp::parameter_group::weights, by) == floats{2 - 0.25f * 1.5f, 4 - 0.25f * 2});
    CHECK(stepped(zp::parameter_group::vectors, by) == floats{2 - 0.25f, 4 - 0.25f});
    CHECK(stepped(zp::parameter_group::scales, by) == floats{2 - 0.0625f, 4 - 0.0625f});
    zp::sgd all = by;
    all.decay_vectors = true;
    all.scales_lr.reset();
    CHECK(stepped(zp::parameter_group::vectors, all) == stepped(zp::parameter_group::weights, by));
    CHECK(stepped(zp::parameter_group::scales, all) == floats{2 - 0.25f, 4 - 0.25f});

    floats scales = {0.01f, 1, 0.02f}, first(3), second(3);
    const floats up = {1, 1, 1};
    zp::trained_array array{scales, up, first, second, zp::parameter_group::scales};
    CHECK(zp::update(zp::any_optimizer(zp::adam{.lr = 0.5}), 1, 0, array) == 2);
    CHECK(scales[0] == zp::smallest_learned_scale);
    CHECK(scales[2] == zp::smallest_learned_scale);
    CHECK(scales[1] == doctest::Approx(0.5f));
    array.floor = -std::numeric_limits<float>::infinity();  // zero points
    CHECK(zp::update(zp::any_optimizer(zp::adam{.lr = 0.5}), 1, 1, array) == 0);
    CHECK(scales[0] < 0);
}

TEST_CASE("optimizers: the same bits on every architecture, tails included") {
    const std::size_t n = 37;
    const auto run = [&]<class Arch>(const auto& by) {
        floats values = arrays::reals(n, 1), first(n), second(n);
        for (std::uint64_t step = 0; step != 5; ++step) {
            const floats gradient = arrays::reals(n, 10 + step);
            const std::size_t states = static_cast<std::size_t>(by.states());
            zp::update<Arch>(by, 1, step,
                             {values, gradient, std::span(first).first(states > 0 ? n : 0),
                              std::span(second).first(states > 1 ? n : 0)});
        }
        return values;
    };
    const zp::sgd nesterov{.momentum = 0.9, .nesterov = true, .weight_decay = 0.01};
    const zp::adam adam{.weight_decay = 0.1};
    const zp::adamw adamw;
    arrays::for_each_architecture([&]<class Arch>() {
        CHECK(arrays::same_bits(run.operator()<Arch>(nesterov), run.operator()<zp::portable>(nesterov)));
        CHECK(arrays::same_bits(run.operator()<Arch>(adam), run.operator()<zp::portable>(adam)));
        CHECK(arrays::same_bits(run.operator()<Arch>(adamw), run.operator()<zp::portable>(adamw)));
    });
    CHECK(zp::optimizer_states(zp::sgd{}) == 0);
    CHECK(zp::optimizer_states(nesterov) == 1);
    CHECK(zp::optimizer_states(adamw) == 2);
}

TEST_CASE("clip_by_norm: nothing happens to small gradients, nor to ones that are not finite") {
    floats a = {3, 0}, b = {4};
    const std::span<float> arrays[] = {a, b};
    CHECK(zp::gradient_norm(arrays) == 5);
    CHECK(zp::clip_by_norm(arrays, 5.1) == 5);
    CHECK(a == floats{3, 0});
    a[1] = std::numeric_limits<float>::infinity();
    CHECK(!std::isfinite(zp::clip_by_norm(arrays, 1)));
    CHECK(b[0] == 4);
    a[1] = std::nanf("");
    CHECK(std::isnan(zp::clip_by_norm(arrays, 1)));
    CHECK(b[0] == 4);
    floats huge = {1e30f, 1e30f};
    const std::span<float> one[] = {huge};
    CHECK(zp::clip_by_norm(one, 1) == doctest::Approx(std::sqrt(2.0) * 1e30));
    CHECK(double{huge[0]} == doctest::Approx(std::sqrt(0.5)));
}

TEST_CASE("optimizers, schedules, averages: options that make no sense are refused with a sentence") {
    const auto optimizer = [](const zp::any_optimizer& any) {
        return zp_test::error_of([&] { zp::require_valid(any); });
    };
    CHECK(optimizer(zp::sgd{.lr = -1}) == "optimizer: lr is -1, expected a finite number of at least 0");
    CHECK(optimizer(zp::sgd{.momentum = 1}) == "optimizer: momentum is 1, expected a number in [0, 1)");
    CHECK(optimizer(zp::sgd{.nesterov = true}) ==
          "optimizer: momentum is 0, expected one above 0 without dampening, because nesterov is set");
    CHECK(optimizer(zp::adam{.beta2 = 1}) == "optimizer: beta2 is 1, expected a number in [0, 1)");
    CHECK(optimizer(zp::adamw{.scales_lr = std::nan("")}) ==
          "optimizer: scales_lr is nan, expected a finite number of at least 0");
    CHECK(optimizer(zp::adamw{}) == "no error");
    const auto schedule = [](const zp::any_schedule& any) {
        return zp_test::error_of([&] { zp::require_valid(any, {}); });
    };
    CHECK(schedule(zp::step_rate{.epochs = 0}) == "schedule: step_rate's epochs is 0, expected at least 1");
    CHECK(schedule(zp::one_cycle{.rising_share = 2}) == "schedule: one_cycle's rising_share is 2, expected 0 to 1");
    CHECK(schedule(zp::cosine{}) == "no error");
    floats values(3), first(2);
    CHECK(zp_test::error_of([&] {
              zp::update(zp::sgd{.momentum = 0.5}, 1, 0, {values, values, first});
          }) == "update: expected 3 values of the optimizer's first memory, got 2");
    const std::span<float> arrays[] = {values};
    CHECK(zp_test::error_of([&] { zp::clip_by_norm(arrays, 0); }) ==
          "clip_by_norm: the largest norm is 0, expected a number above 0");
    CHECK(zp_test::error_of([&] { zp::update(zp::weight_average{.decay = 1}, 0, values, values); }) ==
          "weight_average: the decay is 1, expected a number in [0, 1)");
}
