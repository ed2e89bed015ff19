// SPDX-License-Identifier: BSD-3-Clause
// Calibration over executors: what every observer sees, what is raised and what is reported are those of one input after another.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <zeropoint/executors/thread_pool.hpp>
#include <zeropoint/io/model_file.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>
#include <zeropoint/observe/histogram_observer.hpp>
#include <zeropoint/observe/moving_average_min_max_observer.hpp>
#include <zeropoint/operators.hpp>
#include <zeropoint/workflow/calibrate_by_executor.hpp>
#include <zeropoint/workflow/convert.hpp>
#include <zeropoint/workflow/fuse.hpp>
#include <zeropoint/workflow/prepare.hpp>

#include "../support/made_up.hpp"
#include "../support/parts.hpp"

namespace {

using zp::conv;
// A concat and a pool: several rows of one range.
struct net : zp::model<zp::input<6, 6, 4>, zp::conv2d<"a", conv{.out_channels = 8, .kernel = 3, .padding = 1}>,
                       zp::relu, zp::residual<zp::conv2d<"b", conv{.out_channels = 8, .kernel = 3, .padding = 1}>>,
                       zp::concat<zp::sequential<zp::max_pool2d<2>>, zp::sequential<zp::avg_pool2d<2>>>, zp::flatten,
                       zp::linear<"fc", 5>> {};
// Observers that depend on the order of what they see, and sums for the correction of biases.
template <class Observer>
struct config : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, Observer>,
                            zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>,
                            zp::correct_biases> {};

std::vector<std::vector<float>> batches() {
    std::vector<std::vector<float>> all;
    for (int i = 0; i != 23; ++i) {  // of one to three inputs
        all.push_back(
            made_up::values(static_cast<std::size_t>(6 * 6 * 4 * (1 + i % 3)), static_cast<std::uint64_t>(i)));
        for (float& x : all.back()) x *= 1.0f + 0.3f * static_cast<float>(i);
    }
    return all;
}

template <class Observer> void check_observer() {
    const auto prepared = zp::prepare<config<Observer>>(zp::fuse(made_up::network<net>(3)));
    const auto data = batches();
    std::vector<std::uint64_t> wanted_progress;
    const auto serial = zp::calibrate(prepared, data, [&](const zp::calibration_progress& done) {
        wanted_progress.push_back(1000 * done.batches + done.samples);
    });
    const auto wanted = zp::to_bytes(zp::convert(serial));
    const auto check = [&](const auto& executor) {
        CAPTURE(executor.workers());
        std::vector<std::uint64_t> progress;
        const auto parallel = zp::calibrate(prepared, data, executor, [&](const zp::calibration_progress& done) {
            progress.push_back(1000 * done.batches + done.samples);
        });
        CHECK(zp::to_bytes(zp::convert(parallel)) == wanted);
        CHECK(parallel.samples() == serial.samples());
        CHECK(progress == wanted_progress);
        for (int i = 0; i != static_cast<int>(prepared.rows().size()); ++i)
            CHECK(parallel.range_of_values(i) == serial.range_of_values(i));
    };
    for (const int workers : {1, 2, 3, 5}) check(zp::executors::thread_pool(workers));
    check(zp_test::backwards{4});  // parts one after another, the last first
}
/// What calibrating raises.
template <class Prepared, class... With>
std::string raised(const Prepared& prepared, const std::vector<std::vector<float>>& data, const With&... with) {
    try {
        static_cast<void>(zp::calibrate(prepared, data, with...));
    } catch (const zp::error& error) { return error.what(); }
    return "nothing";
}

}  // namespace

TEST_CASE("calibrate over executors gives the network of one input after another, whatever the observer") {
    check_observer<zp::histogram_observer<>>();
    check_observer<zp::moving_average_min_max_observer<>>();
}

TEST_CASE("calibrate over executors raises what one input after another raises") {
    const auto prepared = zp::prepare<config<zp::histogram_observer<>>>(zp::fuse(made_up::network<net>(3)));
    const zp::executors::thread_pool pool(4);
    auto data = batches();
    data[20][7] = std::nanf("");
    data[17][100] = INFINITY;
    const std::string first = raised(prepared, data);
    CHECK(first != "nothing");
    for (int again = 0; again != 5; ++again) CHECK(raised(prepared, data, pool) == first);
    // A batch of the wrong size comes behind what is wrong with inputs before it, and before what is behind it.
    data[19].pop_back();
    CHECK(raised(prepared, data, pool) == first);
    data[3].pop_back();
    CHECK(raised(prepared, data, pool) == raised(prepared, data));
    CHECK(raised(prepared, data, pool) != first);
}
