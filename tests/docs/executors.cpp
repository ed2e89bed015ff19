// SPDX-License-Identifier: BSD-3-Clause
// docs/executors.md; what needs OpenMP is in tests/executors/openmp.cpp.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <span>
#include <thread>
#include <vector>

#include <zeropoint/executors/thread_pool.hpp>
#include <zeropoint/model/batched.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>
#include <zeropoint/model/spread.hpp>
#include <zeropoint/operators.hpp>
#include <zeropoint/workflow/streaming.hpp>

#include "../support/made_up.hpp"

namespace {

struct net : zp::model<zp::input<32, 32, 8>, zp::conv2d<"conv", zp::conv{.out_channels = 16, .kernel = 3}>, zp::relu> {
};

struct steps : zp::model<zp::input<1, 9, 64>, zp::linear<"in", 640>, zp::relu, zp::linear<"out", 64>> {};

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
    // [pool]
    const zp::executors::thread_pool pool(4);  // the calling thread and three more, for as many networks as there are
    model(x, y, memory, pool);
    // [/pool]
    CHECK(y == wanted);

    const auto trained = made_up::network<steps>();
    zp::streaming<zp::float_model<steps>> alone(trained);
    const auto features = made_up::values(64, 6);
    std::vector<float> expected(64), scores_of_step(64);
    alone(features, expected);
    // [stream]
    zp::streaming<zp::float_model<steps>, 4> stream(trained);  // memory for four workers
    stream(features, scores_of_step, pool);
    // [/stream]
    CHECK(scores_of_step == expected);
    stream.reset();
    stream(features, scores_of_step, thread_executor());
    CHECK(scores_of_step == expected);

    const auto images = made_up::values(5 * 32 * 32 * 8, 5);
    std::vector<float> scores(5 * wanted.size());
    // [many]
    const zp::workspaces<decltype(model)> memories(pool.workers());
    zp::run_many(model, images, scores, memories, pool);  // one input behind the other, and their outputs
    // [/many]
    CHECK(std::equal(wanted.begin(), wanted.end(), scores.begin()));
    std::fill_n(scores.begin(), 4 * y.size(), -1.0f);
    // [batched]
    const zp::batched<decltype(model), 4> four(model);  // packs the weights for so many inputs, once
    static decltype(four)::workspace batch_memory;
    four(std::span(images).first(4 * x.size()), std::span(scores).first(4 * y.size()), batch_memory);
    // [/batched]
    CHECK(std::equal(wanted.begin(), wanted.end(), scores.begin()));
    const std::vector<int> labels(5, 1);
    std::vector<std::vector<float>> results(5, std::vector<float>(wanted.size()));
    const auto image = [&](std::size_t i) { return std::span(images).subspan(i * x.size(), x.size()); };
    // [spread]
    std::atomic<int> right = 0;
    zp::spread(labels.size(), pool, [&](std::size_t i, int worker) {
        std::vector<float>& one = results[i];
        model(image(i), one, memories[worker]);
        right += std::max_element(one.begin(), one.end()) - one.begin() == labels[i];
    });
    // [/spread]
    for (std::size_t i = 0; i != results.size(); ++i)
        CHECK(std::equal(results[i].begin(), results[i].end(),
                         scores.begin() + static_cast<std::ptrdiff_t>(i * wanted.size())));
}
