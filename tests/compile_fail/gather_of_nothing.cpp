// expect: gather<Along, Indices...>: give it at least one index
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/operators/gather.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

#ifdef ZEROPOINT_MUST_FAIL
struct net : zp::model<zp::input<4, 6, 8>, zp::gather<zp::axis::channels>> {};
#else
struct net : zp::model<zp::input<4, 6, 8>, zp::gather<zp::axis::channels, 3>> {};
#endif

zp::float_model<net> model;
