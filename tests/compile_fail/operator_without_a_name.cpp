// expect: this operator has parameters, which a file finds by its name, and no name
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

struct shifted {
    static constexpr const char* kind = "shifted";
    static constexpr int parameters(zp::shape) { return 1; }
    static constexpr zp::shape output_shape(zp::shape x) { return x; }
    static void forward(const zp::operands<float>& o) {
        for (int i = 0; i != o.y_shape().size(); ++i) o.y()[i] = o.x()[i] + o.parameters()[0];
    }
};
#ifdef ZEROPOINT_MUST_FAIL
struct net : zp::model<zp::input<4, 4, 6>, zp::custom<"", shifted>> {};
#else
struct net : zp::model<zp::input<4, 4, 6>, zp::custom<"shifted", shifted>> {};
#endif

zp::float_model<net> model;
