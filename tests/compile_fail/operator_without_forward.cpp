// expect: custom<Name, Operator, ...>: Operator must have static members .kind., .output_shape.shape..
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

struct copies {
    static constexpr const char* kind = "copies";
    static constexpr zp::shape output_shape(zp::shape x) { return x; }
#ifdef ZEROPOINT_MUST_FAIL
    static void forward(const float* x, float* y) { *y = *x; }
#else
    static void forward(const zp::operands<float>& o) {
        for (int i = 0; i != o.y_shape().size(); ++i) o.y()[i] = o.x()[i];
    }
#endif
};
struct net : zp::model<zp::input<4, 4, 6>, zp::custom<"copies", copies>> {};

zp::float_model<net> model;
