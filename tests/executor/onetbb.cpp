// zp::onetbb_executor with oneTBB itself: results of 1 to 7 threads are those of one call without it.
#include <zeropoint/executor/onetbb.hpp>

#include <oneapi/tbb/global_control.h>

#include <array>
#include <atomic>
#include <deque>

#include "networks.hpp"

namespace {

/// ThreadSanitizer does not see inside a libtbb that was compiled without it: that parts begin after run() is called, and that it
/// returns after they have ended, is said again by atomics. Nothing is said of the order of parts, so that races between them are seen.
struct ordered_for_the_sanitizer {
    zp::onetbb_executor inner;

    int workers() const { return inner.workers(); }
    static std::int64_t least_work() { return 0; }
    template <class Body> void run(int parts, const Body& body) const {
        std::atomic<int> begun{0}, ended{0};
        begun.store(1, std::memory_order_release);
        inner.run(parts, [&](int part) noexcept {
            static_cast<void>(begun.load(std::memory_order_acquire));
            body(part);
            ended.fetch_add(1, std::memory_order_release);
        });
        CHECK(ended.load(std::memory_order_acquire) == parts);
    }
};

}  // namespace

TEST_CASE("onetbb_executor gives the results of a call without it") {
    // More threads than this machine may have processors.
    const oneapi::tbb::global_control seven(oneapi::tbb::global_control::max_allowed_parallelism, 7);
    std::deque<oneapi::tbb::task_arena> arenas;
    executors::check_stages(
        [&](int workers) { return ordered_for_the_sanitizer{zp::onetbb_executor(arenas.emplace_back(workers))}; });
}

TEST_CASE("onetbb_executor runs each part once") {
    std::array<std::atomic<int>, 7> runs{};
    zp::onetbb_executor().run(7, [&](int part) noexcept { ++runs[static_cast<std::size_t>(part)]; });
    for (const auto& count : runs) CHECK(count == 1);
    CHECK(zp::onetbb_executor().workers() >= 1);
    static_assert(zp::executor<zp::onetbb_executor>);
}
