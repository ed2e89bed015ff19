// expect: a workspace has room for one worker. give memory of the type decltype.model.::workspace_for<workers>
// SPDX-License-Identifier: BSD-3-Clause
#include <array>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>
#include <zeropoint/operators/activations.hpp>

struct net : zp::model<zp::input<2, 2, 1>, zp::relu> {};
#ifdef ZEROPOINT_MUST_FAIL
using memory_of_two = zp::float_model<net>::workspace;
#else
using memory_of_two = zp::float_model<net>::workspace_for<2>;
#endif
void run(const zp::float_model<net>& model, memory_of_two& memory, std::array<float, 4>& values) {
    const std::array<float, 4> x{};
    model(x, values, memory, zp::executors::serial());
}
