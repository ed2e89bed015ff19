// expect: chunk<Index, Count, Along>: Index counts from 0 and must be below Count
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/operators/slice.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

#ifdef ZEROPOINT_MUST_FAIL
struct net : zp::model<zp::input<4, 6, 8>, zp::chunk<2, 2>> {};
#else
struct net : zp::model<zp::input<4, 6, 8>, zp::chunk<1, 2>> {};
#endif

zp::float_model<net> model;
