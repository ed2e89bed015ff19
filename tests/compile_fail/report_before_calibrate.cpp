// expect: report.prepared.: this network has seen no data yet. call zp::calibrate.prepared, batches. first
// SPDX-License-Identifier: BSD-3-Clause
#include <vector>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/workflow/calibrate.hpp>
#include <zeropoint/workflow/calibration_report.hpp>

struct net : zp::model<zp::input<1, 1, 3>, zp::linear<"fc", 2>> {};
struct config : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                            zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>> {};

void show(const zp::float_model<net>& trained, const std::vector<std::vector<float>>& data) {
    const auto prepared = zp::prepare<config>(zp::fuse(trained));
#ifdef ZEROPOINT_MUST_FAIL
    (void)data;
    zp::report(prepared);
#else
    (void)zp::report(zp::calibrate(prepared, data));
#endif
}
