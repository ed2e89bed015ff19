// expect: in_place<Model>: Model must be an int8 network, zp::quantized<...> or zp::dynamically_quantized<...>
// errors: GNU 1, Clang 2
// SPDX-License-Identifier: BSD-3-Clause
#include <cstddef>
#include <span>

#include <zeropoint/io/packed_image.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>
#include <zeropoint/workflow/presets.hpp>
#include <zeropoint/workflow/stages.hpp>

struct net : zp::model<zp::input<4, 4, 2>, zp::conv2d<"a", zp::conv{.out_channels = 3}>, zp::relu> {};

#ifdef ZEROPOINT_MUST_FAIL
using model = zp::float_model<net>;
#else
using model = zp::quantized<net, zp::default_qconfig>;
#endif

bool is_there(std::span<const std::byte> image) { return static_cast<bool>(zp::in_place<model>(image)); }
