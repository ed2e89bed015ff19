// expect: batches must be a range of contiguous ranges of floats, such as std::vector<std::vector<float>>, or zp::nchw of such
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/workflow/calibrate.hpp>

struct net : zp::model<zp::input<1, 1, 3>, zp::linear<"fc", 2>> {};
struct config : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                            zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>> {};
#ifdef ZEROPOINT_MUST_FAIL
using value = unsigned char;
#else
using value = float;
#endif

auto calibrated(const zp::prepared<net, config, zp::default_architecture>& prepared,
                const std::vector<std::vector<value>>& data) {
    return zp::calibrate(prepared, data);
}
