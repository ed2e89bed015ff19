// SPDX-License-Identifier: BSD-3-Clause
// The executors with the libraries that they are for: the bits of a call without one, for 1 to 7 workers. Compiled with ThreadSanitizer,
// which sees parts that touch what is not theirs.
#if defined(ZEROPOINT_TEST_OPENMP)
#include <zeropoint/executors/openmp.hpp>
#endif
#if defined(ZEROPOINT_TEST_ONETBB)
#include <zeropoint/executors/onetbb.hpp>

#include <oneapi/tbb/global_control.h>
#endif

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <zeropoint/executors/thread_pool.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/executor.hpp>
#include <zeropoint/model/float_stage.hpp>
#include <zeropoint/operators.hpp>
#include <zeropoint/workflow/calibrate.hpp>
#include <zeropoint/workflow/convert.hpp>
#include <zeropoint/workflow/fuse.hpp>
#include <zeropoint/workflow/prepare.hpp>
#include <zeropoint/workflow/presets.hpp>

#include "../support/made_up.hpp"

namespace {

struct net
    : zp::model<zp::input<9, 8, 8>, zp::conv2d<"stem", zp::conv{.out_channels = 16, .kernel = 3, .padding = 1}>,
                zp::relu,
                zp::residual<zp::conv2d<"depthwise", zp::conv{.kernel = 3, .padding = 1, .groups = zp::depthwise}>>,
                zp::conv2d<"strided", zp::conv{.out_channels = 8, .kernel = 3, .stride = 2, .padding = 1}>,
                zp::hardswish, zp::softmax, zp::flatten, zp::linear<"fc", 10>> {};

// Heads keep what they have seen.
template <int Bits>
struct causal_net
    : zp::model<
          zp::input<1, 6, 8>,
          zp::causal_attention<zp::causal_attention_options{.heads = 3, .depth = 4, .context = 4, .cache_bits = Bits},
                               zp::linear<"q", 12>, zp::linear<"k", 12>, zp::linear<"v", 12>>> {};

/// An executor whose parts may be of any size.
template <class Executor> struct of_all_sizes : Executor {
    using Executor::Executor;
    static std::int64_t least_work() { return 0; }
};

/// A network and its results without an executor.
template <class Network> struct problem {
    problem(Network n, const std::vector<float>& inputs) : model(std::move(n)), x(inputs) {
        const auto whole = std::make_unique<typename Network::workspace>();
        model(x, wanted, *whole);
    }
    /// Many calls by executors of 1 to 7 workers, each made by `make(workers)`.
    template <class Make> void check(Make make) const {
        for (int workers = 1; workers != 8; ++workers) {
            CAPTURE(workers);
            const auto with = make(workers);
            CHECK(with.workers() == workers);
            for (int call = 0; call != 10; ++call) {
                std::vector<float> got(wanted.size(), -1.0f);
                model(x, got, *memory, with);
                CHECK(got == wanted);
            }
        }
    }
    Network model;
    std::vector<float> x, wanted = std::vector<float>(static_cast<std::size_t>(Network::output_shape.size()));
    using memory_type = typename Network::template workspace_for<7>;
    std::unique_ptr<memory_type> memory = std::make_unique<memory_type>();
};
template <class Make> void check_stages(Make make) {
    static const auto x = made_up::values(9 * 8 * 8, 9);
    static const problem floats(made_up::network<net>(3), x);
    static const problem codes(zp::convert(zp::calibrate(zp::prepare<zp::default_qconfig>(zp::fuse(floats.model)),
                                                         std::vector<std::vector<float>>{x})),
                               x);
    static const problem states(made_up::network<causal_net<32>>(3), made_up::values(6 * 8, 9));
    static const problem states_of_8_bits(made_up::network<causal_net<8>>(3), made_up::values(6 * 8, 9));
    floats.check(make);
    codes.check(make);
    states.check(make);
    states_of_8_bits.check(make);
}
template <class Executor> void check_parts(const Executor& executor) {
    static_assert(zp::executor<Executor>);
    std::array<std::atomic<int>, 7> runs{};
    executor.run(7, [&](int part) noexcept { ++runs[static_cast<std::size_t>(part)]; });
    for (const auto& count : runs) CHECK(count == 1);
    CHECK(executor.workers() >= 1);
}

template <class Call> std::string message_of(Call call) {
    try {
        call();
    } catch (const zp::value_error& error) { return error.what(); }
    return "nothing";
}

TEST_CASE("executors::thread_pool gives the results of a call without it") {
    check_stages([](int workers) { return of_all_sizes<zp::executors::thread_pool>(workers); });
    // Threads that sleep whenever there is nothing to do.
    check_stages(
        [](int workers) { return of_all_sizes<zp::executors::thread_pool>(workers, std::chrono::microseconds(0)); });
}
TEST_CASE("executors::thread_pool runs each part once, also where parts are more than threads") {
    check_parts(zp::executors::thread_pool(7));
    check_parts(zp::executors::thread_pool(2));
    check_parts(zp::executors::thread_pool(1));
    const zp::executors::thread_pool pool;
    CHECK(pool.workers() == std::max(1, static_cast<int>(std::thread::hardware_concurrency())));
    pool.run(0, [](int) { CHECK(false); });
}
TEST_CASE("executors::thread_pool: threads that slept wake up") {
    const zp::executors::thread_pool pool(3, std::chrono::microseconds(20));
    for (int call = 0; call != 5; ++call) {
        std::this_thread::sleep_for(std::chrono::milliseconds(3));
        check_parts(pool);
    }
}
TEST_CASE("executors::thread_pool: a function on every thread") {
    const zp::executors::thread_pool pool(4);
    std::array<std::thread::id, 4> ids;
    pool.each_thread([&](int k) { ids[static_cast<std::size_t>(k)] = std::this_thread::get_id(); });
    CHECK(ids[0] == std::this_thread::get_id());
    CHECK(std::set<std::thread::id>(ids.begin(), ids.end()).size() == 4);
}
TEST_CASE("executors::thread_pool: several networks at once, and networks in parts of others") {
    const auto x = made_up::values(9 * 8 * 8, 9);
    const problem floats(made_up::network<net>(3), x);
    const of_all_sizes<zp::executors::thread_pool> pool(3);
    using memory_type = decltype(floats)::memory_type;
    std::atomic<int> different = 0;
    const auto run_some = [&](memory_type& memory) {
        for (int call = 0; call != 10; ++call) {
            std::vector<float> got(floats.wanted.size(), -1.0f);
            floats.model(x, got, memory, pool);
            different += got != floats.wanted;
        }
    };
    std::vector<std::unique_ptr<memory_type>> memories;
    for (int i = 0; i != 4; ++i) memories.push_back(std::make_unique<memory_type>());
    {
        std::vector<std::jthread> callers;
        for (auto& memory : memories) callers.emplace_back([&] { run_some(*memory); });
    }
    CHECK(different == 0);
    pool.run(3, [&](int part) { run_some(*memories[static_cast<std::size_t>(part)]); });
    CHECK(different == 0);
}
TEST_CASE("executors::thread_pool refuses numbers that make no sense") {
    using pool = zp::executors::thread_pool;
    CHECK(message_of([] { pool none(0); }) ==
          "thread_pool(workers): expected 1 to 1024 workers, of which the calling thread is one, found 0");
    CHECK(message_of([] { pool many(1025); }) ==
          "thread_pool(workers): expected 1 to 1024 workers, of which the calling thread is one, found 1025");
    CHECK(message_of([] { pool backwards(2, std::chrono::microseconds(-1)); }) ==
          "thread_pool(workers, spin): expected a time of at least 0 us, found -1 us");
}

#if defined(ZEROPOINT_TEST_OPENMP)
TEST_CASE("executors::openmp gives the results of a call without it") {
    check_stages([](int workers) { return of_all_sizes<zp::executors::openmp>(workers); });
}
TEST_CASE("executors::openmp runs each part once") {
    check_parts(zp::executors::openmp(7));
    CHECK(zp::executors::openmp(0).workers() == 1);
    CHECK(zp::executors::openmp().workers() == omp_get_max_threads());
}
TEST_CASE("docs/executors.md") {
    const auto model = made_up::network<net>(3);
    const auto x = made_up::values(9 * 8 * 8, 9);
    std::vector<float> wanted(10), y(10);
    static decltype(model)::workspace whole;
    model(x, wanted, whole);
    // [openmp]
    static decltype(model)::workspace_for<4> memory;
    model(x, y, memory, zp::executors::openmp{4});
    // [/openmp]
    CHECK(y == wanted);
}
#endif

#if defined(ZEROPOINT_TEST_ONETBB)
TEST_CASE("executors::onetbb gives the results of a call without it") {
    // More threads than this machine may have processors.
    const oneapi::tbb::global_control seven(oneapi::tbb::global_control::max_allowed_parallelism, 7);
    std::deque<oneapi::tbb::task_arena> arenas;
    check_stages([&](int workers) { return of_all_sizes<zp::executors::onetbb>(arenas.emplace_back(workers)); });
}
TEST_CASE("executors::onetbb runs each part once") { check_parts(zp::executors::onetbb()); }
#endif

}  // namespace
