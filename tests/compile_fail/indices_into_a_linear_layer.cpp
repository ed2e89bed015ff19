// expect: this layer takes floats, and is given the indices that go into the model
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/operators/embedding.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

#ifdef ZEROPOINT_MUST_FAIL
struct net : zp::model<zp::indices<3>, zp::linear<"fc", 2>> {};
#else
struct net : zp::model<zp::indices<3>, zp::embedding<"words", 9, 2>, zp::linear<"fc", 2>> {};
#endif

zp::float_model<net> model;
