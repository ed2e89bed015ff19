// expect: this layer has no form over activations of 16 bits
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/operators.hpp>
#include <zeropoint/workflow/presets.hpp>
#include <zeropoint/workflow/stages.hpp>

struct net : zp::model<zp::input<4, 4, 3>, zp::conv2d<"a", zp::conv{.out_channels = 2}>, zp::softmax> {};
using words = zp::int16_qconfig;
#ifdef ZEROPOINT_MUST_FAIL
struct bytes : zp::qconfig<zp::tflite_qconfig::activation, zp::tflite_qconfig::weight> {};
struct config : zp::qconfig<words::activation, words::weight, zp::for_type<zp::op::softmax, bytes>> {};
#else
struct config : zp::qconfig<words::activation, words::weight> {};
#endif

zp::quantized<net, config> model;
