// expect: a static member of Operator is not declared as it is read
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/operators.hpp>
#include <zeropoint/zeropoint.hpp>

#ifdef ZEROPOINT_MUST_FAIL
struct scaled {
    static constexpr const char* kind = "scaled";
    static constexpr zp::shape output_shape(zp::shape x) { return x; }
    static constexpr int parameters(std::span<const zp::shape> x) { return x[0].channels; }
    static void forward(const zp::operands<float>& o) {
        for (int i = 0; i != o.y_shape().size(); ++i) o.y()[i] = o.x()[i] * o.parameters()[i % o.x_shape().channels];
    }
};
struct net
    : zp::model<zp::input<8, 8, 3>, zp::conv2d<"stem", zp::conv{.out_channels = 8, .kernel = 3, .padding = 1}>,
                zp::relu, zp::custom<"ls", scaled>, zp::adaptive_avg_pool2d<1>, zp::flatten, zp::linear<"fc", 10>> {};
void use() { whole_program<net, zp::default_qconfig>(); }
#else
struct scaled {
    static constexpr const char* kind = "scaled";
    static constexpr zp::shape output_shape(zp::shape x) { return x; }
    static constexpr int parameters(zp::shape x) { return x.channels; }
    static void forward(const zp::operands<float>& o) {
        for (int i = 0; i != o.y_shape().size(); ++i) o.y()[i] = o.x()[i] * o.parameters()[i % o.x_shape().channels];
    }
};
static_assert(zp::operation<scaled>);
struct net
    : zp::model<zp::input<8, 8, 3>, zp::conv2d<"stem", zp::conv{.out_channels = 8, .kernel = 3, .padding = 1}>,
                zp::relu, zp::custom<"ls", scaled>, zp::adaptive_avg_pool2d<1>, zp::flatten, zp::linear<"fc", 10>> {};
zp::float_model<net> model;
#endif
