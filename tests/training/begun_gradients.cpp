// SPDX-License-Identifier: BSD-3-Clause
// Gradients that are begun, whatever their room held, have the bits of those that are added to zeros.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <vector>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/operators.hpp>
#include <zeropoint/training/train.hpp>

#include "../support/generator.hpp"
#include "../support/made_up.hpp"

namespace {

// Rows that begin theirs among those that do not, with biases and without, a norm, and parameters that nothing reaches.
struct net : zp::model<zp::input<6, 6, 3>, zp::conv2d<"first", zp::conv{.out_channels = 8, .kernel = 3, .padding = 1}>,
                       zp::batch_norm2d<"norm">, zp::relu, zp::prelu<"slope">,
                       zp::conv2d<"second", zp::conv{.out_channels = 5, .kernel = 3, .bias = false}>,
                       zp::conv2d<"depthwise", zp::conv{.kernel = 3, .padding = 1, .groups = zp::depthwise}>,
                       zp::flatten, zp::linear<"hidden", 70>, zp::layer_norm<"scale">, zp::relu, zp::linear<"wide", 33>,
                       zp::output<"scores">, zp::relu, zp::linear<"last", 4>, zp::output<"last">> {};

template <class Stage> void compare(zp::network<Stage>& network, bool live) {
    constexpr int samples = 5;
    zp::detail::float_training<Stage> trained(network);
    trained.set_batch_norms_live(live);
    CHECK(trained.batch_norms_are_live() == live);
    zp::tape tape = trained.make_tape(samples);
    tape.near = 300;  // several parts of a block, where norms are live
    tape.finish(samples, tape.gradient_floats * sizeof(float));
    CHECK(std::count_if(tape.rows.begin(), tape.rows.end(), [](const zp::tape_row& row) { return row.begins; }) == 6);
    zp::block_runner<typename Stage::architecture> runner(tape);
    const auto inputs = made_up::inputs<net>(samples);
    const auto gradient = [&](float held, bool begins) {
        for (int i = 0; i != samples; ++i) {
            const auto& input = inputs[static_cast<std::size_t>(i)];
            std::memcpy(runner.input(0, i), input.data(), sizeof(float) * input.size());
        }
        runner.forward(samples, trained.floats(), false);
        zp_test::generator next(5);
        for (std::size_t output = 0; output != tape.outputs.size(); ++output)
            for (int i = 0; i != samples; ++i)
                for (std::size_t k = 0; k != runner.output_size(output); ++k)
                    runner.output_gradient(output, i)[k] = next.real(-1, 1);
        std::vector<float> all(tape.gradient_floats, held);
        runner.backward(all.data(), {}, begins);
        return all;
    };
    const std::vector<float> added = gradient(0, false), begun = gradient(NAN, true);
    CHECK(std::count_if(added.begin(), added.end(), [](float value) { return value != 0; }) > 1000);
    CHECK(std::memcmp(added.data(), begun.data(), sizeof(float) * added.size()) == 0);
}

}  // namespace

TEST_CASE("gradients that are begun: of a network as written, with live norms and without, and of a fused one") {
    auto network = made_up::network<net>(1);
    compare(network, true);
    compare(network, false);
    auto fused = zp::fuse(network);
    compare(fused, false);
}
