// docs/executors.md; what needs OpenMP is in tests/executors/openmp.cpp.
#include <doctest/doctest.h>

#include <array>
#include <thread>
#include <vector>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>
#include <zeropoint/operators.hpp>

#include "../support/made_up.hpp"

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
    static decltype(model)::workspace_for<4> memory;
    model(x, y, memory, thread_executor());
    CHECK(y == wanted);
}
