// SPDX-License-Identifier: BSD-3-Clause
// gather_nd and scatter_nd: pixels at chosen places, in float and in codes of both signs.
#include <doctest/doctest.h>

#include <vector>

#include <zeropoint/operators/gather_nd.hpp>
#include <zeropoint/operators/slice.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/observe/per_channel_observer.hpp>
#include <zeropoint/workflow/calibrate.hpp>
#include <zeropoint/workflow/convert.hpp>

#include "../support/made_up.hpp"
#include "../support/run.hpp"

namespace {

using zp::pixel;

template <class Dtype>
struct config : zp::qconfig<zp::quantizer<Dtype, zp::per_tensor_affine, zp::min_max_observer>,
                            zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>> {};

constexpr pixel from[] = {{4, 0}, {0, 6}, {2, 3}, {4, 0}}, to[] = {{0, 1}, {2, 0}, {1, 1}, {2, 2}};
struct net : zp::model<zp::input<5, 7, 9>, zp::gather_nd<from[0], from[1], from[2], from[3]>,
                       zp::scatter_nd<3, 4, to[0], to[1], to[2], to[3]>> {};

std::vector<float> by_places(const std::vector<float>& x) {
    std::vector<float> y(3 * 4 * 9);
    for (int i = 0; i != 4; ++i)
        for (int c = 0; c != 9; ++c)
            y[static_cast<std::size_t>((to[i].row * 4 + to[i].column) * 9 + c)] =
                x[static_cast<std::size_t>((from[i].row * 7 + from[i].column) * 9 + c)];
    return y;
}
using zp_test::run;

}  // namespace

TEST_CASE("gather_nd and scatter_nd: each pixel at its place, zeros elsewhere") {
    static_assert(zp::float_model<net>::output_shape == zp::shape{3, 4, 9});
    const zp::float_model<net> model;
    for (const std::vector<float>& x : made_up::inputs<net>(3)) CHECK(run(model, x) == by_places(x));
}

TEST_CASE_TEMPLATE("convert: gather_nd and scatter_nd move codes; zeros are zero points", Dtype, zp::quint8,
                   zp::qint8) {
    const auto seen = made_up::inputs<net>(5, 3, -1, 2);
    const auto int8 = zp::convert(zp::calibrate(zp::prepare<config<Dtype>>(zp::fuse(zp::float_model<net>())), seen));
    const zp::qparams range = int8.ranges()[0];
    for (const zp::node& row : int8.rows())
        if (row.out.qparams_id >= 0) CHECK(int8.ranges()[static_cast<std::size_t>(row.out.qparams_id)] == range);
    for (const std::vector<float>& x : seen) {
        std::vector<float> on_grid(x);
        for (float& value : on_grid) value = zp::dequantize(zp::quantize<Dtype>(value, range), range);
        CHECK(run(int8, x) == by_places(on_grid));
    }
}
