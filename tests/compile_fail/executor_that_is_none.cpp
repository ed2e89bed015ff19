// expect: model\(x, y, memory, executor\): executor must have workers\(\), an int, and run\(parts, body\)
// SPDX-License-Identifier: BSD-3-Clause
#include <array>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>
#include <zeropoint/operators/activations.hpp>

struct net : zp::model<zp::input<2, 2, 1>, zp::relu> {};
void run(const zp::float_model<net>& model, zp::float_model<net>::workspace_for<2>& memory,
         std::array<float, 4>& values) {
    const std::array<float, 4> x{};
#ifdef ZEROPOINT_MUST_FAIL
    model(x, values, memory, 4);  // threads are an executor's
#else
    model(x, values, memory, zp::executors::serial());
#endif
}
