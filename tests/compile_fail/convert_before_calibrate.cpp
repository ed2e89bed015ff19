// expect: this network has not been calibrated. call zp::calibrate.prepared, batches. first and convert what it returns
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/workflow/convert.hpp>

struct net : zp::model<zp::input<1, 1, 3>, zp::linear<"fc", 2>> {};
struct config : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                            zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>> {};

auto int8_model(const zp::float_model<net>& trained, const std::vector<std::vector<float>>& data) {
    const auto prepared = zp::prepare<config>(zp::fuse(trained));
#ifdef ZEROPOINT_MUST_FAIL
    (void)data;
    return zp::convert(prepared);
#else
    return zp::convert(zp::calibrate(prepared, data));
#endif
}
