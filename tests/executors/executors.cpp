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
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

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
    floats.check(make);
    codes.check(make);
}
template <class Executor> void check_parts(const Executor& executor) {
    static_assert(zp::executor<Executor>);
    std::array<std::atomic<int>, 7> runs{};
    executor.run(7, [&](int part) noexcept { ++runs[static_cast<std::size_t>(part)]; });
    for (const auto& count : runs) CHECK(count == 1);
    CHECK(executor.workers() >= 1);
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
