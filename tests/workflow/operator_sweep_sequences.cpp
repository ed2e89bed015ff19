// SPDX-License-Identifier: BSD-3-Clause
// The sweep over layers of sequences and of volumes.
#include <ratio>

#include "operator_sweep.hpp"

namespace {

using operator_sweep::entry;
using zp::axis;
using zp::conv;
using zp::volume_conv;

/// 0 for the first two of eight columns, 1 for the others.
using mask = zp::sequential<zp::slice<axis::channels, 0, 1>, zp::slice<axis::width, 0, 6>, zp::full_like<std::ratio<1>>,
                            zp::zero_pad2d<zp::sides(2, 0, 0, 0)>, zp::transpose<axis::width, axis::channels>>;

// clang-format off
struct sequences : operator_sweep::branches<zp::input<1, 16, 8>,
    entry<"conv1d", zp::conv1d<"a", conv{.out_channels = 8, .kernel = 3}>>,
    entry<"conv1d + batch_norm1d + relu", zp::sequential<zp::conv1d<"b", conv{.out_channels = 8, .kernel = 3}>,
                                                         zp::batch_norm1d<"b1">, zp::relu>>,
    entry<"conv_transpose1d", zp::conv_transpose1d<"c", zp::conv_transpose{.out_channels = 8, .kernel = 3, .stride = 2}>>,
    entry<"max_pool1d", zp::max_pool1d<2>>, entry<"avg_pool1d", zp::avg_pool1d<2>>,
    entry<"adaptive_avg_pool1d", zp::adaptive_avg_pool1d<5>>,
    entry<"linear, over a sequence", zp::linear<"d", 8>>, entry<"lstm", zp::lstm<"e", 8>>, entry<"gru", zp::gru<"f", 8>>,
    entry<"self_attention", zp::self_attention<"g", 2>>, entry<"encoder_layer", zp::encoder_layer<"h", 2, 16>>,
    entry<"matmul", zp::matmul<zp::transpose<axis::width, axis::channels>, zp::dropout>>,
    entry<"matmul_transposed", zp::matmul_transposed<zp::dropout, zp::flip<axis::width>>>, entry<"rnn", zp::rnn<"i", 8>>,
    entry<"masked_softmax", zp::masked_softmax<zp::dropout, mask>>, entry<"svdf", zp::svdf<"j", 8, 2, 4>>> {};

struct volumes : operator_sweep::branches<zp::input<4, 6, 6, 4>,
    entry<"conv3d", zp::conv3d<"a", volume_conv{.out_channels = 6, .kernel = 3}>>,
    entry<"conv3d + batch_norm3d + relu", zp::sequential<zp::conv3d<"b", volume_conv{.out_channels = 6, .kernel = {1, 3, 3}}>,
                                                         zp::batch_norm3d<"b1">, zp::relu>>,
    entry<"conv3d + silu", zp::sequential<zp::conv3d<"c", volume_conv{.out_channels = 6, .kernel = 2}>, zp::silu>>,
    entry<"conv_transpose3d", zp::conv_transpose3d<"d", zp::volume_conv_transpose{.out_channels = 6, .kernel = 3, .stride = 2}>>,
    entry<"max_pool3d", zp::max_pool3d<2>>, entry<"avg_pool3d", zp::avg_pool3d<2>>,
    entry<"adaptive_avg_pool3d", zp::adaptive_avg_pool3d<2, 3>>, entry<"instance_norm3d", zp::instance_norm3d<>>> {};
// clang-format on

}  // namespace

TEST_CASE("operator sweep: layers of sequences") { operator_sweep::check<sequences>(); }
TEST_CASE("operator sweep: layers of volumes") { operator_sweep::check<volumes>(); }
