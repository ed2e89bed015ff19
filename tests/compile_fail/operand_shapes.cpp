// expect: this operator cannot take inputs of these shapes
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

struct product {
    static constexpr const char* kind = "product";
    static constexpr bool accepts(std::span<const zp::shape> xs) { return xs.size() == 2 && xs[0] == xs[1]; }
    static constexpr zp::shape output_shape(std::span<const zp::shape> xs) { return xs[0]; }
    static void forward(const zp::operands<float>& o) {
        for (int i = 0; i != o.y_shape().size(); ++i) o.y()[i] = o.x(0)[i] * o.x(1)[i];
    }
};
#ifdef ZEROPOINT_MUST_FAIL
using other = zp::max_pool2d<2>;
#else
using other = zp::relu;
#endif
struct net : zp::model<zp::input<4, 4, 6>, zp::custom<"product", product, zp::identity, other>> {};

zp::float_model<net> model;
