// SPDX-License-Identifier: BSD-3-Clause
// Many inputs over executors: each once, in memory that no other has; and of what is thrown the first.
#include <doctest/doctest.h>

#include <atomic>
#include <string>
#include <vector>

#include <zeropoint/executors/thread_pool.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>
#include <zeropoint/model/spread.hpp>
#include <zeropoint/operators.hpp>

#include "../support/extent.hpp"
#include "../support/made_up.hpp"
#include "../support/parts.hpp"

namespace {

/// A pool of so many workers, where there are threads.
zp::executors::thread_pool pool_of(int workers) {
    return zp::executors::thread_pool(zp_test::has_threads ? workers : 1);
}

struct net : zp::model<zp::input<1, 1, 8>, zp::linear<"fc", 3>> {};

template <class Error, class Call> std::string message_of(Call call) {
    try {
        call();
    } catch (const Error& error) { return error.what(); }
    return "nothing";
}

}  // namespace

TEST_CASE("spread makes every call once, and no worker two at once") {
    for (const int workers : {1, 2, 7}) {
        const auto pool = pool_of(workers);
        for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{100}}) {
            std::vector<std::atomic<int>> calls(count), busy(static_cast<std::size_t>(workers));
            std::atomic<int> collisions = 0;
            zp::spread(count, pool, [&](std::size_t i, int worker) {
                collisions += busy[static_cast<std::size_t>(worker)]++ != 0;
                ++calls[i];
                --busy[static_cast<std::size_t>(worker)];
            });
            CHECK(collisions == 0);
            for (const auto& one : calls) CHECK(one == 1);
        }
    }
}

TEST_CASE("spread throws what the smallest number threw, when all before it are done") {
    const auto pool = pool_of(4);
    for (int again = 0; again != 20; ++again) {
        std::vector<std::atomic<int>> calls(60);
        const std::string what = message_of<zp::value_error>([&] {
            zp::spread(calls.size(), pool, [&](std::size_t i, int) {
                ++calls[i];
                if (i % 10 == 7) zp::raise<zp::value_error>("number " + std::to_string(i));
            });
        });
        CHECK(what == "number 7");
        for (std::size_t i = 0; i != 8; ++i) CHECK(calls[i] == 1);
    }
}

TEST_CASE("run_many gives the outputs of so many calls") {
    const auto model = made_up::network<net>(3);
    using network = std::remove_const_t<decltype(model)>;
    const auto x = made_up::values(8 * 21, 5);
    std::vector<float> wanted(3 * 21), y(wanted.size());
    network::workspace memory;
    for (std::size_t i = 0; i != 21; ++i) model.run(x.data() + 8 * i, wanted.data() + 3 * i, memory.bytes);
    const zp::workspaces<decltype(model)> two(2), five(5);
    for (const int workers : {1, 3}) {
        const auto pool = pool_of(workers);
        for (const auto* memories : {&two, &five}) {
            std::fill(y.begin(), y.end(), -1.0f);
            zp::run_many(model, x, y, *memories, pool);
            CHECK(y == wanted);
        }
    }
    zp::run_many(model, x, y, two, zp_test::backwards{7});
    CHECK(y == wanted);
    y.pop_back();
    CHECK(
        message_of<zp::shape_error>([&] { zp::run_many(model, x, y, two, zp::executors::serial()); }) ==
        "run_many(model, x, y, ...): expected inputs of 8 values and as many outputs of 3, but x has 168 values and y "
        "62");
    CHECK(message_of<zp::value_error>([] { zp::workspaces<network> none(0); }) ==
          "workspaces(workers): expected at least 1 worker, found 0");
}
