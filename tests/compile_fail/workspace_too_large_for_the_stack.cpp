// expect: this model's workspace is too large for the stack: pass one, model.x, y, memory., where memory is a decltype.model.::workspace of static or heap storage
// SPDX-License-Identifier: BSD-3-Clause
#include <memory>
#include <vector>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

struct net : zp::model<zp::input<128, 128, 3>, zp::conv2d<"a", zp::conv{.out_channels = 8}>, zp::relu> {};

void run(const zp::float_model<net>& model, const std::vector<float>& x, std::vector<float>& y) {
#ifdef ZEROPOINT_MUST_FAIL
    model(x, y);
#else
    const auto memory = std::make_unique<zp::float_model<net>::workspace>();
    model(x, y, *memory);
#endif
}
