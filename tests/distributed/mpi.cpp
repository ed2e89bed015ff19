// SPDX-License-Identifier: BSD-3-Clause
// zp::ranks over MPI. Each process runs all test cases, so that they meet in the same calls; communicators of 1, 2, ... ranks are made
// of the first processes. With the arguments "kill FILE", rank 1 is killed while all train, and the others must say so; with "resume
// FILE" they go on from the checkpoint. "time" prints what the exchange of gradients takes.
#define DOCTEST_CONFIG_IMPLEMENT
#include <zeropoint/distributed/mpi.hpp>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/observe/moving_average_min_max_observer.hpp>
#include <zeropoint/training/losses.hpp>
#include <zeropoint/training/optimizers.hpp>
#include <zeropoint/training/random_numbers.hpp>

#include "../support/arrays.hpp"
#include "../support/errors.hpp"
#include "training.hpp"

namespace {

using floats = std::vector<float>;
static_assert(zp::gradient_exchange<zp::ranks>);

/// Calls test(world) in the first n processes, for every n that there are.
template <class Test> void for_each_size(const zp::ranks_options& options, const Test& test) {
    int rank = 0, size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int n = 1; n <= size; ++n) {
        CAPTURE(n);
        MPI_Comm some;
        MPI_Comm_split(MPI_COMM_WORLD, rank < n ? 0 : MPI_UNDEFINED, rank, &some);
        if (some == MPI_COMM_NULL) continue;
        {
            zp::ranks world(some, options);
            CHECK(world.size() == n);
            CHECK(world.rank() == rank);
            test(world);
        }
        MPI_Comm_free(&some);
    }
}

std::vector<floats> parts_of(zp::part_range own, std::size_t size) {
    std::vector<floats> parts;
    for (std::size_t i = own.first; i != own.last; ++i) parts.push_back(arrays::reals(size, 50 + i));
    return parts;
}

/// Softmax regression over made-up points by momentum SGD: 20 steps of a batch of 40 in parts of 4.
template <class Exchange> floats trained(Exchange& with) {
    constexpr std::size_t samples = 200, features = 9, classes = 5, batch = 40, part = 4, parts = batch / part;
    const floats points = arrays::reals(samples * features, 1);
    std::vector<std::int32_t> labels(samples);
    for (std::size_t i = 0; i != samples; ++i)
        labels[i] = points[i * features] > 0 ? static_cast<std::int32_t>(i % 5) : 2;
    // Ranks begin with other parameters: rank 0's are those that count.
    floats weights = arrays::reals(features * classes, 7 + static_cast<std::uint64_t>(with.rank()));
    zp::share_parameters(with, weights);
    floats momentum(weights.size()), sum(weights.size());
    for (std::uint32_t step = 0; step != 20; ++step) {
        const auto order = zp::shuffled(samples, 3, step);
        const zp::part_range own = zp::part_range::of(parts, with.rank(), with.size());
        std::vector<floats> gradients;
        std::vector<double> losses(parts);
        for (std::size_t p = own.first; p != own.last; ++p) {
            gradients.emplace_back(weights.size());
            for (std::size_t k = p * part; k != (p + 1) * part; ++k) {
                const std::size_t sample = order[k];
                floats logits(classes), gradient(classes);
                for (std::size_t f = 0; f != features; ++f)
                    for (std::size_t c = 0; c != classes; ++c)
                        logits[c] += points[sample * features + f] * weights[f * classes + c];
                losses[p] += zp::cross_entropy{}.backward(logits, classes, std::span(labels).subspan(sample, 1),
                                                          1.0 / batch, gradient);
                for (std::size_t f = 0; f != features; ++f)
                    for (std::size_t c = 0; c != classes; ++c)
                        gradients.back()[f * classes + c] += points[sample * features + f] * gradient[c];
            }
        }
        with.sum_parts(gradients, parts, sum);
        with.gather(losses, parts);
        for (const double loss : losses) CHECK(loss >= 0);
        zp::update(zp::sgd{.lr = 0.2, .momentum = 0.9}, 1, step, {weights, sum, momentum});
    }
    return weights;
}

/// Trains until somebody is missing, with a checkpoint. Returns what to exit with.
int train_until_killed(const std::string& file) {
    zp::ranks world(MPI_COMM_WORLD, {.patience = 2});
    if (world.rank() == 0) std::remove(file.c_str());
    const std::string said = zp_test::error_of<zp::rank_error>([&] { distributed_test::trained_by(world, file, 4); });
    std::printf("%s\n", said.c_str());
    std::fflush(stdout);
    return said == "no error";
}
/// Seconds of the exchange of a step, the least of 51, for gradients of so many floats.
void print_times() {
    for (const bool exact : {true, false}) {
        zp::ranks world(MPI_COMM_WORLD, {.exact = exact});
        const auto count = static_cast<std::size_t>(world.size());
        for (const std::size_t size : {std::size_t{10'000}, std::size_t{100'000}, std::size_t{1'000'000}}) {
            const auto parts = parts_of(zp::part_range::of(count, world.rank(), world.size()), size);
            floats sum(size);
            std::vector<double> seconds;
            for (int i = 0; i != 51; ++i) {
                const double begin = MPI_Wtime();
                world.sum_parts(parts, count, sum);
                seconds.push_back(MPI_Wtime() - begin);
            }
            std::sort(seconds.begin(), seconds.end());
            if (world.rank() == 0)
                std::printf("%d ranks, %s, %zu floats: %.0f us\n", world.size(), exact ? "exact" : "fast", size,
                            1e6 * seconds[0]);
        }
    }
}
/// Goes on where that ended, with however many ranks there are.
int train_on(const std::string& file) {
    zp::ranks world(MPI_COMM_WORLD);
    FILE* const there = std::fopen(file.c_str(), "rb");
    if (there == nullptr) return 1;
    std::fclose(there);
    const bool is_equal =
        arrays::same_bits(distributed_test::trained_by(world, file), distributed_test::trained_alone());
    std::printf("rank %d: %s\n", world.rank(), is_equal ? "the bits of one process" : "other bits than one process");
    return !is_equal;
}

}  // namespace

TEST_CASE("ranks: sums have the bits of one process, for every number of parts and ranks") {
    for_each_size({}, [](zp::ranks& world) {
        for (const std::size_t size : {std::size_t{37}, std::size_t{2}, std::size_t{0}})
            for (std::size_t count = 0; count != 19; ++count) {
                CAPTURE(count);
                floats sum(size, 7), expected(size);
                if (count != 0) zp::one_rank{}.sum_parts(parts_of({0, count}, size), count, expected);
                world.sum_parts(parts_of(zp::part_range::of(count, world.rank(), world.size()), size), count, sum);
                CHECK(arrays::same_bits(sum, expected));
            }
    });
}

TEST_CASE("ranks: sums of MPI's own are near") {
    for_each_size({.exact = false, .bucket_bytes = 64}, [](zp::ranks& world) {
        for (const std::size_t count : {std::size_t{1}, std::size_t{7}, std::size_t{16}}) {
            floats sum(100), expected(100);
            zp::one_rank{}.sum_parts(parts_of({0, count}, 100), count, expected);
            world.sum_parts(parts_of(zp::part_range::of(count, world.rank(), world.size()), 100), count, sum);
            for (std::size_t i = 0; i != 100; ++i) CHECK(std::fabs(sum[i] - expected[i]) < 1e-5f);
        }
    });
}

TEST_CASE("ranks: losses are gathered, ranges widened, parameters shared") {
    for_each_size({}, [](zp::ranks& world) {
        for (std::size_t count = 0; count != 9; ++count) {
            std::vector<double> values(2 * count, -1), expected(2 * count);
            const zp::part_range own = zp::part_range::of(count, world.rank(), world.size());
            for (std::size_t i = 0; i != 2 * count; ++i) {
                expected[i] = 1.0 / static_cast<double>(i + 3);
                if (own.first <= i / 2 && i / 2 < own.last) values[i] = expected[i];
            }
            world.gather(values, count);
            CHECK(values == expected);
        }
        const float r = static_cast<float>(world.rank()), last = static_cast<float>(world.size() - 1);
        std::vector<zp::observed_range> ranges = {{-r, 1}, {5 - r, 5 + r}, {}};
        if (world.rank() == 0) ranges[2] = {3, 4};
        world.widen(ranges);
        CHECK(ranges == std::vector<zp::observed_range>{{-last, 1}, {5 - last, 5 + last}, {3, 4}});
        std::vector<zp::observed_range> nothing = {{}};
        world.widen(nothing);
        CHECK(nothing[0].empty());
        CHECK(world.any(world.rank() == world.size() - 1));
        CHECK(!world.any(false));
        floats values(5, r);
        zp::share_parameters(world, values);
        CHECK(values == floats(5, 0.0f));
    });
}

TEST_CASE("ranks: who disagrees is named, on every rank") {
    for_each_size({}, [](zp::ranks& world) {
        world.require_same(11, "seed");
        const bool is_odd = world.rank() == 1;
        const std::string expected = world.size() < 2
                                         ? "no error"
                                         : "ranks: rank 1 and rank 0 differ in seed: all ranks must be given the same "
                                           "network, data, options and seed";
        CHECK(zp_test::error_of([&] { world.require_same(is_odd ? 12 : 11, "seed"); }) == expected);
        floats values(is_odd ? 6 : 5);
        CHECK((zp_test::error_of([&] { zp::share_parameters(world, values); }) == "no error") == (world.size() < 2));
        floats sum(3);
        CHECK(zp_test::error_of([&] { world.sum_parts(std::vector<floats>(20, floats(3)), 4, sum); }).find("got 20") !=
              std::string::npos);
        CHECK(zp_test::error_of([&] {
                  world.sum_parts(
                      std::vector<floats>(zp::part_range::of(8, world.rank(), world.size()).size(), floats(2)), 8, sum);
              }) == "ranks: expected parts of 3 values, got 2");
    });
}

TEST_CASE("ranks: twenty steps of training end in the same bits as one process's") {
    zp::one_rank alone;
    const floats expected = trained(alone);
    CHECK(!arrays::same_bits(expected, arrays::reals(expected.size(), 7)));
    for_each_size({}, [&](zp::ranks& world) { CHECK(arrays::same_bits(trained(world), expected)); });
}

TEST_CASE("ranks: zp::train ends in the same bits as one process, with learned scales and moving averages") {
    const floats expected = distributed_test::trained_alone();
    for_each_size({},
                  [&](zp::ranks& world) { CHECK(arrays::same_bits(distributed_test::trained_by(world), expected)); });
}

TEST_CASE("ranks: a network calibrated on shares of the data is one that saw all of it") {
    for_each_size({}, [](zp::ranks& world) {
        CHECK(distributed_test::calibrates_as_one(world));
        zp::moving_average_min_max_observer<> own, expected;
        for (int r = 0; r != world.size(); ++r) {
            zp::moving_average_min_max_observer<> one;
            const floats values = arrays::reals(40, 60 + static_cast<std::uint64_t>(r));
            one.observe({values, 1, 1, "x"});
            if (r == world.rank()) own = one;
            expected.merge(one);
        }
        zp::merge_ranks(world, own);
        CHECK(own.range() == expected.range());
        CHECK(own.count() == expected.count());
    });
}

TEST_CASE("ranks: zp::train refuses to begin where a rank was given something else") {
    for_each_size({}, [](zp::ranks& world) {
        const std::string said = distributed_test::said_of_another_seed(world);
        CHECK((said.find("ranks: rank 1 and rank 0 differ in number of samples, labels, batch, block, epochs, seed") ==
               0) == (world.size() > 1));
        const std::string parted = distributed_test::said_of_another_rate(world);
        CHECK((parted.find("ranks: rank 1 and rank 0 differ in values of parameters after an epoch") == 0) ==
              (world.size() > 1));
    });
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int failed = 0;
    const std::string what = argc > 2 ? argv[1] : "";
    if (argc > 1 && std::string(argv[1]) == "time") {
        print_times();
        MPI_Finalize();
        return 0;
    }
    if (what == "kill") std::_Exit(train_until_killed(argv[2]));  // MPI_Finalize would wait for who is gone
    if (what == "resume") {
        failed = train_on(argv[2]);
        MPI_Finalize();
        return failed;
    }
    doctest::Context context(argc, argv);
    failed = context.run();
    int worst = 0;
    MPI_Allreduce(&failed, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Finalize();
    return worst;
}
