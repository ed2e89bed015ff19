// expect: this layer takes images, and is given a volume
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

struct halve {
    static constexpr const char* kind = "halve";
    static constexpr bool elementwise = true;
#ifdef ZEROPOINT_MUST_FAIL
    static constexpr zp::shape output_shape(zp::shape x) { return {x.height, x.width, x.channels}; }
#else
    static constexpr zp::shape output_shape(zp::shape x) { return x; }
#endif
    static void forward(const zp::operands<float>& o) noexcept {
        for (int i = 0; i != o.y_shape().size(); ++i) o.y()[i] = o.x()[i] / 2;
    }
};
struct net : zp::model<zp::input<4, 6, 6, 8>, zp::custom<"half", halve>> {};

zp::float_model<net> model;
