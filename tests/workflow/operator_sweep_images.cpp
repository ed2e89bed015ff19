// SPDX-License-Identifier: BSD-3-Clause
// The sweep over layers of images: convolutions, sums, pools, norms, and what moves or compares values.
#include <ratio>

#include "operator_sweep.hpp"

namespace {

using operator_sweep::entry;
using operator_sweep::measure;
using zp::axes;
using zp::axis;
using zp::conv;
using zp::conv_transpose;

// Two operands of different scales: both halves of the channels, one of them scaled.
using left = zp::slice<axis::channels, 0, 4>;
using right = zp::sequential<zp::slice<axis::channels, 4, 8>, zp::mul_scalar<std::ratio<2, 3>>>;

template <zp::fixed_string Name> using conv_3x3 = zp::conv2d<Name, conv{.out_channels = 8, .kernel = 3, .padding = 1}>;

// clang-format off
struct convolutions : operator_sweep::branches<zp::input<8, 8, 8>,
    entry<"conv2d", conv_3x3<"a">>,
    entry<"conv2d, stride 2", zp::conv2d<"b", conv{.out_channels = 8, .kernel = 3, .stride = 2, .padding = 1}>>,
    entry<"conv2d, dilation 2", zp::conv2d<"c", conv{.out_channels = 8, .kernel = 3, .dilation = 2}>>,
    entry<"conv2d, 2 groups", zp::conv2d<"d", conv{.out_channels = 8, .kernel = 3, .groups = 2}>>,
    entry<"conv2d, depthwise", zp::conv2d<"e", conv{.kernel = 3, .groups = zp::depthwise}>>,
    entry<"conv2d + batch_norm2d", zp::sequential<conv_3x3<"f">, zp::batch_norm2d<"f1">>>,
    entry<"conv2d + batch_norm2d + relu", zp::sequential<conv_3x3<"g">, zp::batch_norm2d<"g1">, zp::relu>>,
    entry<"conv2d + add (residual)", zp::residual<conv_3x3<"h">>>,
    entry<"conv2d + add + relu", zp::sequential<zp::residual<conv_3x3<"i">>, zp::relu>>,
    entry<"normalize + conv2d", zp::sequential<zp::normalize<zp::means<485, 456, 406, 0, 100, -100, 200, 300>,
                                                             zp::deviations<800, 900, 1000, 1100, 900, 800, 700, 1000>>,
                                               conv_3x3<"j">>>,
    entry<"conv_transpose2d", zp::conv_transpose2d<"k", conv_transpose{.out_channels = 8, .kernel = 3, .stride = 2}>>,
    entry<"conv_transpose2d, depthwise", zp::conv_transpose2d<"l", conv_transpose{.kernel = 2, .groups = zp::depthwise}>>,
    entry<"conv_transpose2d + batch_norm2d + relu", zp::sequential<
        zp::conv_transpose2d<"m", conv_transpose{.out_channels = 8, .kernel = 2, .stride = 2}>, zp::batch_norm2d<"m1">, zp::relu>>,
    entry<"conv_transpose2d + hardswish", zp::sequential<
        zp::conv_transpose2d<"n", conv_transpose{.out_channels = 8, .kernel = 2, .stride = 2}>, zp::hardswish>>,
    entry<"linear", zp::sequential<zp::flatten, zp::linear<"o", 8>>>,
    entry<"linear + batch_norm1d", zp::sequential<zp::flatten, zp::linear<"p", 8>, zp::batch_norm1d<"p1">>>,
    entry<"linear + relu", zp::sequential<zp::flatten, zp::linear<"q", 8>, zp::relu>>,
    entry<"linear + leaky_relu", zp::sequential<zp::flatten, zp::linear<"r", 8>, zp::leaky_relu<>>>,
    entry<"linear + tanh", zp::sequential<zp::flatten, zp::linear<"s", 8>, zp::tanh>>,
    entry<"linear + gelu", zp::sequential<zp::flatten, zp::linear<"t", 8>, zp::gelu>>> {};

struct images : operator_sweep::branches<zp::input<8, 8, 8>,
    entry<"add", zp::add<left, right>>, entry<"add_relu", zp::add_relu<left, right>>,
    entry<"mul", zp::mul<left, right>>, entry<"mul + relu", zp::sequential<zp::mul<left, right>, zp::relu>>,
    entry<"sub", zp::sub<left, right>>, entry<"maximum", zp::maximum<left, right>>,
    entry<"minimum", zp::minimum<left, right>>, entry<"squared_difference", zp::squared_difference<left, right>>,
    entry<"hypot", zp::hypot<left, right>>,
    entry<"concat", zp::concat<left, right>>, entry<"stack", zp::stack<axis::height, left, right>>,
    entry<"max_pool2d", zp::max_pool2d<2>>, entry<"avg_pool2d", zp::avg_pool2d<2>>,
    entry<"adaptive_avg_pool2d", zp::adaptive_avg_pool2d<3>>, entry<"mean", zp::mean<axes::channels>>,
    entry<"sum", zp::sum<>>, entry<"variance", zp::variance<>>,
    entry<"standard_deviation", zp::standard_deviation<>>, entry<"reduce_max", zp::reduce_max<>>,
    entry<"reduce_min", zp::reduce_min<>>, entry<"softmax", zp::softmax>, entry<"log_softmax", zp::log_softmax>,
    entry<"layer_norm", zp::layer_norm<"a">>, entry<"group_norm", zp::group_norm<"b", 2>>,
    entry<"instance_norm", zp::instance_norm<>>, entry<"unfused_batch_norm", zp::unfused_batch_norm<"c">>,
    entry<"unfused_batch_norm + relu", zp::sequential<zp::unfused_batch_norm<"d">, zp::relu>>,
    entry<"l2_normalization", zp::l2_normalization>, entry<"prelu", zp::prelu<"e", 8>>,
    entry<"normalize", zp::normalize<zp::means<485, 456, 406, 0, 100, -100, 200, 300>,
                                     zp::deviations<800, 900, 1000, 1100, 900, 800, 700, 1000>>>,
    entry<"where", zp::where<zp::sequential<left, zp::greater_scalar<std::ratio<0>>>, left,
                              zp::sequential<left, zp::mul_scalar<std::ratio<1, 3>>>>>> {};

struct rearrangements : operator_sweep::branches<zp::input<8, 8, 8>,
    entry<"slice", zp::slice<axis::width, 1, 7, 2>>, entry<"chunk", zp::chunk<1, 2>>,
    entry<"permute", zp::permute<axis::height, axis::width, axis::channels>>,
    entry<"transpose", zp::transpose<axis::height, axis::width>>, entry<"flip", zp::flip<axis::width>>,
    entry<"roll", zp::roll<1, 2>>, entry<"tile", zp::tile<2, 1>>,
    entry<"expand", zp::sequential<zp::slice<axis::channels, 0, 1>, zp::expand<8, 8, 3>>>,
    entry<"reshape", zp::reshape<16, 4, 8>>, entry<"gather", zp::gather<axis::width, 3, 0, 3>>,
    entry<"gather_nd", zp::gather_nd<zp::pixel{7, 0}, zp::pixel{2, 5}>>,
    entry<"scatter_nd", zp::sequential<zp::gather_nd<zp::pixel{0, 3}>, zp::scatter_nd<2, 2, zp::pixel{1, 0}>>>,
    entry<"pad", zp::pad<zp::sides(1)>>, entry<"zero_pad2d", zp::zero_pad2d<zp::sides(2)>>,
    entry<"constant_pad2d", zp::constant_pad2d<zp::sides(1), 500>>,
    entry<"reflection_pad2d", zp::reflection_pad2d<zp::sides(2)>>,
    entry<"replication_pad2d", zp::replication_pad2d<zp::sides(2)>>,
    entry<"circular_pad2d", zp::circular_pad2d<zp::sides(2)>>, entry<"pixel_shuffle", zp::pixel_shuffle<2>>,
    entry<"pixel_unshuffle", zp::pixel_unshuffle<2>>, entry<"depth_to_space", zp::depth_to_space<2>>,
    entry<"space_to_depth", zp::space_to_depth<2>>, entry<"channel_shuffle", zp::channel_shuffle<2>>,
    entry<"space_to_batch", zp::space_to_batch<2>>,
    entry<"batch_to_space", zp::sequential<zp::space_to_batch<4, 2>, zp::batch_to_space<4, 2>>>,
    entry<"add + constant", zp::add<zp::identity, zp::constant<"image", 8, 8, 1>>>,
    entry<"mul + constant", zp::mul<zp::identity, zp::constant<"gamma", 1, 1, 8>>>,
    entry<"rearrange", zp::rearrange<zp::extents<2, 4, 4, 2, 8>, zp::order<1, 3, 0, 4, 2>, zp::shape{8, 8, 8}>>,
    entry<"window_partition", zp::window_partition<4>>,
    entry<"window_reverse", zp::sequential<zp::window_partition<2>, zp::window_reverse<2, 8, 8>>>,
    entry<"patches", zp::patches<4>>, entry<"softmax along the width", zp::along<axis::width, zp::softmax>>,
    entry<"full_like", zp::full_like<std::ratio<3, 7>>>,
    entry<"interpolate, bilinear", zp::interpolate<zp::resize{.size = {5, 11}, .mode = zp::resize_mode::bilinear}>>,
    entry<"upsample, nearest", zp::upsample<2>>, entry<"sort", zp::sort<>>, entry<"topk", zp::topk<3>>,
    entry<"requantize", zp::requantize<"coarser">>,
    entry<"argmax", zp::argmax, measure::answers>,
    entry<"equal", zp::equal<zp::sequential<left, zp::relu>, zp::sequential<right, zp::relu>>, measure::answers>,
    entry<"not_equal", zp::not_equal<zp::sequential<left, zp::relu>, zp::sequential<right, zp::relu>>, measure::answers>,
    entry<"less", zp::less<left, right>, measure::answers>,
    entry<"less_equal", zp::less_equal<left, right>, measure::answers>,
    entry<"greater", zp::greater<left, right>, measure::answers>,
    entry<"greater_equal", zp::greater_equal<left, right>, measure::answers>,
    entry<"equal_scalar", zp::sequential<zp::relu, zp::equal_scalar<std::ratio<0>>>, measure::answers>,
    entry<"not_equal_scalar", zp::sequential<zp::relu, zp::not_equal_scalar<std::ratio<0>>>, measure::answers>,
    entry<"less_scalar", zp::less_scalar<std::ratio<1, 3>>, measure::answers>,
    entry<"less_equal_scalar", zp::less_equal_scalar<std::ratio<1, 3>>, measure::answers>,
    entry<"greater_scalar", zp::greater_scalar<std::ratio<1, 3>>, measure::answers>,
    entry<"greater_equal_scalar", zp::greater_equal_scalar<std::ratio<1, 3>>, measure::answers>> {};

struct positive_images : operator_sweep::branches<zp::input<8, 8, 8>,
    entry<"div", zp::div<left, right>>,
    entry<"reduce_prod", zp::sequential<zp::slice<axis::channels, 0, 3>, zp::reduce_prod<axes::channels>>>> {};
// clang-format on

using signed_codes = zp::quantizer<zp::qint8, zp::per_tensor_affine, zp::min_max_observer>;
struct with_requantize : zp::qconfig<zp::default_qconfig::activation, zp::default_qconfig::weight,
                                     zp::for_layer<"coarser", zp::qconfig<signed_codes, zp::default_qconfig::weight>>> {
};

}  // namespace

TEST_CASE("operator sweep: convolutions and linear layers") { operator_sweep::check<convolutions>(); }
TEST_CASE("operator sweep: layers of images") { operator_sweep::check<images>(); }
TEST_CASE("operator sweep: rearrangements and decisions") { operator_sweep::check<rearrangements, with_requantize>(); }
TEST_CASE("operator sweep: layers of positive values") {
    operator_sweep::check<positive_images>([](float x) { return 0.5f + std::abs(x); });
}
