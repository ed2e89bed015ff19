// expect: the lower bound of this clamp or hardtanh lies above its upper one
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

#ifdef ZEROPOINT_MUST_FAIL
struct net : zp::model<zp::input<4, 4, 6>, zp::hardtanh<1000, -1000>> {};
#else
struct net : zp::model<zp::input<4, 4, 6>, zp::hardtanh<-1000, 1000>> {};
#endif

zp::float_model<net> model;
