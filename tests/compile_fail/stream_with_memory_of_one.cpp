// expect: the stream has memory for one worker. make it a zp::streaming<Network, workers>
// SPDX-License-Identifier: BSD-3-Clause
#include <array>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/executor.hpp>
#include <zeropoint/model/float_stage.hpp>
#include <zeropoint/operators/activations.hpp>
#include <zeropoint/workflow/streaming.hpp>

struct net : zp::model<zp::input<1, 4, 3>, zp::relu> {};
#ifdef ZEROPOINT_MUST_FAIL
using stream_of_two = zp::streaming<zp::float_model<net>>;
#else
using stream_of_two = zp::streaming<zp::float_model<net>, 2>;
#endif
void run(stream_of_two& stream, std::array<float, 3>& values) {
    const std::array<float, 3> x{};
    stream(x, values, zp::executors::serial());
}
