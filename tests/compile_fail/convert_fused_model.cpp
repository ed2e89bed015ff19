// expect: this network has no observers yet. the next steps are zp::prepare<QConfig>, zp::calibrate, zp::convert
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/workflow/convert.hpp>

struct net : zp::model<zp::input<1, 1, 3>, zp::linear<"fc", 2>> {};
struct config : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                            zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>> {};

void int8_model(const zp::float_model<net>& trained, const std::vector<std::vector<float>>& data) {
    const auto fused = zp::fuse(trained);
#ifdef ZEROPOINT_MUST_FAIL
    (void)data;
    zp::convert(fused);
#else
    (void)zp::convert(zp::calibrate(zp::prepare<config>(fused), data));
#endif
}
