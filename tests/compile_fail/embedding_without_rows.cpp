// expect: Rows and Columns must be at least 1, and the table must have fewer than 2.29 values
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/operators/embedding.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

#ifdef ZEROPOINT_MUST_FAIL
constexpr int rows = 0;
#else
constexpr int rows = 9;
#endif
struct net : zp::model<zp::indices<3>, zp::embedding<"words", rows, 2>> {};

zp::float_model<net> model;
