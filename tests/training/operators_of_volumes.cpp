// SPDX-License-Identifier: BSD-3-Clause
// Networks over volumes, and of the rarer rows of sequences, trained: gradients against differences of losses.
#include <doctest/doctest.h>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/operators.hpp>

#include "../support/made_up.hpp"
#include "check_training.hpp"

namespace {

// clang-format off
struct volumes : zp::model<zp::input<4, 6, 6, 2>,
    zp::conv3d<"first", zp::volume_conv{.out_channels = 6, .kernel = 3, .padding = 1}>, zp::hardswish,
    zp::max_pool3d<zp::volume_pool{.kernel = {1, 2, 2}}>,
    zp::conv_transpose3d<"up", zp::volume_conv_transpose{.out_channels = 4, .kernel = 2, .stride = 2}>, zp::tanh,
    zp::avg_pool3d<zp::volume_pool{.kernel = 2}>,
    zp::conv3d<"second", zp::volume_conv{.out_channels = 5, .kernel = 2, .stride = 2}>,
    zp::adaptive_avg_pool3d<1>, zp::flatten, zp::linear<"last", 3>> {};
struct rarer : zp::model<zp::input<1, 7, 3>,
    zp::linear<"first", 3>, zp::normalize<zp::means<485, 456, 406>, zp::deviations<229, 524, 825>>,
    zp::svdf<"memory", 5, 2, 4>, zp::sort<>, zp::linear<"second", 6>, zp::topk<4>, zp::linear<"last", 3>> {};
// clang-format on

}  // namespace

TEST_CASE("train: volumes go down the gradient of their loss, array by array") {
    check_training::gradients(made_up::network<volumes>(1));
}
TEST_CASE("train: so do svdf, normalize, sort and topk") {
    auto model = made_up::network<rarer>(1);
    zp_test::generator next(4);
    for (const zp::node& row : model.rows())
        if (zp_test::is(row, zp::op::svdf))
            for (int k = 0; k != 3; ++k)
                for (float& value : zp_test::array_of(model, row, k)) value = next.real(-0.6f, 0.6f);
    check_training::gradients(model, 2, 8e-3, 5e-4);  // so that few values change places
}
