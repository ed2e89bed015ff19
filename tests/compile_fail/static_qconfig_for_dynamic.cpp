// expect: Config must be a zp::dynamic_qconfig<policy, cost rule, options...>, such as zp::int4_dynamic_qconfig
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/workflow/dynamic_presets.hpp>
#include <zeropoint/workflow/presets.hpp>

struct net : zp::model<zp::input<1, 1, 64>, zp::linear<"hidden", 128>> {};

#ifdef ZEROPOINT_MUST_FAIL
using config = zp::default_qconfig;
#else
using config = zp::int8_dynamic_qconfig;
#endif

constexpr int bytes = zp::dynamically_quantized<net, config>::parameter_bytes;
