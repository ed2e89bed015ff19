// expect: this model has batch norms, or a normalize, that become part of other layers
// SPDX-License-Identifier: BSD-3-Clause
#include <string>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/operators/activations.hpp>
#include <zeropoint/operators/batch_norm.hpp>
#include <zeropoint/operators/linear.hpp>
#include <zeropoint/workflow/quantize_dynamic_file.hpp>

#ifdef ZEROPOINT_MUST_FAIL
struct net : zp::model<zp::input<1, 1, 64>, zp::linear<"a", 64>, zp::batch_norm1d<"norm">, zp::linear<"b", 64>> {};
#else
struct net : zp::model<zp::input<1, 1, 64>, zp::linear<"a", 64>, zp::relu, zp::linear<"b", 64>> {};
#endif

auto quantized(const std::string& path) { return zp::quantize_dynamic_file<zp::dynamically_quantized<net>>(path); }
