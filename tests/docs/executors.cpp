// docs/executors.md.
#include <doctest/doctest.h>

#include <array>
#include <thread>
#include <vector>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>
#include <zeropoint/operators.hpp>

#include "../support/made_up.hpp"

#if defined(_OPENMP)
#include <zeropoint/executor/openmp.hpp>
#else  // what it is without OpenMP
namespace zp {
struct openmp_executor : zp::serial_executor {
    explicit openmp_executor(int) {}
};
}  // namespace zp
#endif

namespace {

struct net : zp::model<zp::input<32, 32, 8>, zp::conv2d<"conv", zp::conv{.out_channels = 16, .kernel = 3}>, zp::relu> {
};

// [own]
struct thread_executor {
    static constexpr int workers() { return 4; }
    template <class Body> static void run(int parts, const Body& body) {
        std::vector<std::jthread> others;
        for (int part = 1; part < parts; ++part) others.emplace_back([&body, part] { body(part); });
        body(0);
    }
};
// [/own]

}  // namespace

TEST_CASE("docs/executors.md") {
    const auto model = made_up::network<net>();
    const auto x = made_up::values(32 * 32 * 8, 5);
    std::vector<float> wanted(30 * 30 * 16), y(wanted.size());
    static decltype(model)::workspace whole;
    model(x, wanted, whole);
    {
        // [openmp]
        static decltype(model)::workspace_for<4> memory;
        model(x, y, memory, zp::openmp_executor{4});
        // [/openmp]
        CHECK(y == wanted);
        y.assign(y.size(), 0);
        model(x, y, memory, thread_executor());
        CHECK(y == wanted);
    }
}
