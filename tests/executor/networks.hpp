// What the tests of executors run: a network in floats and in codes, and its results without an executor.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
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

namespace executors {

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

/// Runs a network many times by executors of 1 to 7 workers, each made by `make(workers)`.
template <class Network, class Make> void check(const Network& model, const std::vector<float>& x, Make make) {
    using memory_type = typename Network::template workspace_for<7>;
    const auto whole = std::make_unique<typename Network::workspace>();
    const auto memory = std::make_unique<memory_type>();
    std::vector<float> wanted(static_cast<std::size_t>(Network::output_shape.size())), got(wanted.size());
    model(x, wanted, *whole);
    for (int workers = 1; workers != 8; ++workers) {
        CAPTURE(workers);
        const auto with = make(workers);
        CHECK(with.workers() == workers);
        for (int call = 0; call != 10; ++call) {
            got.assign(got.size(), -1.0f);
            model(x, got, *memory, with);
            CHECK(got == wanted);
        }
    }
}
template <class Make> void check_stages(Make make) {
    const auto model = made_up::network<net>(3);
    const auto x = made_up::values(9 * 8 * 8, 9);
    check(model, x, make);
    const auto prepared = zp::prepare<zp::default_qconfig>(zp::fuse(model));
    check(zp::convert(zp::calibrate(prepared, std::vector<std::vector<float>>{x})), x, make);
}

}  // namespace executors
