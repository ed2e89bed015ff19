// expect: this model takes indices: batches must be a range of contiguous ranges of integers of 32 or 64 bits
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/operators/embedding.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/workflow/calibrate.hpp>

struct net : zp::model<zp::indices<3>, zp::embedding<"words", 9, 2>> {};
struct config : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                            zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>> {};
#ifdef ZEROPOINT_MUST_FAIL
using value = float;
#else
using value = std::int32_t;
#endif

auto calibrated(const zp::prepared<net, config, zp::default_architecture>& prepared,
                const std::vector<std::vector<value>>& data) {
    return zp::calibrate(prepared, data);
}
