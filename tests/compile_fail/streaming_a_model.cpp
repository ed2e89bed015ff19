// expect: streaming<Network>: Network must be a network of the model
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/operators.hpp>
#include <zeropoint/workflow/streaming.hpp>
#include <zeropoint/zeropoint.hpp>

struct net : zp::model<zp::input<1, 32, 4>, zp::zero_pad2d<zp::sides(2, 0, 0, 0)>,
                       zp::conv1d<"c", zp::conv{.out_channels = 8, .kernel = 3}>> {};
#ifdef ZEROPOINT_MUST_FAIL
void use(const zp::float_model<net>& trained) {
    zp::streaming<net> stream(trained);
    std::array<float, 4> x{};
    std::array<float, 8> y{};
    stream.reset();
    stream(x, y);
}
#else
zp::streaming<zp::float_model<net>>* stream = nullptr;
#endif
