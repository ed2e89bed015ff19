// zp::onetbb_executor with oneTBB itself: results of 1 to 7 threads are those of one call without it.
#include <zeropoint/executor/onetbb.hpp>

#include <oneapi/tbb/global_control.h>

#include <array>
#include <atomic>
#include <deque>

#include "networks.hpp"

TEST_CASE("onetbb_executor gives the results of a call without it") {
    // More threads than this machine may have processors.
    const oneapi::tbb::global_control seven(oneapi::tbb::global_control::max_allowed_parallelism, 7);
    std::deque<oneapi::tbb::task_arena> arenas;
    executors::check_stages(
        [&](int workers) { return executors::of_all_sizes<zp::onetbb_executor>(arenas.emplace_back(workers)); });
}

TEST_CASE("onetbb_executor runs each part once") {
    std::array<std::atomic<int>, 7> runs{};
    zp::onetbb_executor().run(7, [&](int part) noexcept { ++runs[static_cast<std::size_t>(part)]; });
    for (const auto& count : runs) CHECK(count == 1);
    CHECK(zp::onetbb_executor().workers() >= 1);
    static_assert(zp::executor<zp::onetbb_executor>);
}
