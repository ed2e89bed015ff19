// expect: this qconfig has zp::compare_outputs, as zp::robust_qconfig does. include <zeropoint/methods/choose_by_outputs.hpp>
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/methods/adaround.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/workflow/convert.hpp>
#include <zeropoint/workflow/presets.hpp>

struct net : zp::model<zp::input<1, 1, 3>, zp::linear<"fc", 2>> {};

// One sentence for both calls.
auto int8_model(const zp::fused<net>& trained, const std::vector<std::vector<float>>& data) {
#ifdef ZEROPOINT_MUST_FAIL
    return zp::convert(zp::adaround(zp::calibrate(zp::prepare<zp::robust_qconfig>(trained), data), data));
#else
    return zp::convert(zp::adaround(zp::calibrate(zp::prepare<zp::default_qconfig>(trained), data), data));
#endif
}
