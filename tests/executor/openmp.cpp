// zp::openmp_executor with OpenMP itself: results of 1 to 7 threads are those of one call without it.
#include <zeropoint/executor/openmp.hpp>

#include <array>
#include <atomic>

#include "networks.hpp"

TEST_CASE("openmp_executor gives the results of a call without it") {
    executors::check_stages([](int workers) { return executors::of_all_sizes<zp::openmp_executor>(workers); });
}

TEST_CASE("openmp_executor runs each part once") {
    std::array<std::atomic<int>, 7> runs{};
    zp::openmp_executor(7).run(7, [&](int part) noexcept { ++runs[static_cast<std::size_t>(part)]; });
    for (const auto& count : runs) CHECK(count == 1);
    CHECK(zp::openmp_executor(0).workers() == 1);
    CHECK(zp::openmp_executor().workers() == omp_get_max_threads());
    static_assert(zp::executor<zp::openmp_executor>);
}
