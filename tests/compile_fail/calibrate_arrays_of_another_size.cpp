// expect: calibrate.prepared, batches.: a batch must hold one or more whole inputs
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/operators.hpp>
#include <zeropoint/zeropoint.hpp>

struct net : zp::model<zp::input<8, 8, 3>, zp::conv2d<"stem", zp::conv{.out_channels = 8, .kernel = 3, .padding = 1}>,
                       zp::relu, zp::adaptive_avg_pool2d<1>, zp::flatten, zp::linear<"fc", 10>> {};
#ifdef ZEROPOINT_MUST_FAIL
using image = std::array<float, 100>;
void use() { zp::calibrate(zp::prepared<net, zp::default_qconfig, zp::default_architecture>(), std::vector<image>(3)); }
#else
using image = std::array<float, 2 * 192>;
auto use(const zp::prepared<net, zp::default_qconfig, zp::default_architecture>& p) {
    return zp::calibrate(p, std::vector<image>(3));
}
#endif
