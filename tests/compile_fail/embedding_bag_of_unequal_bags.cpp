// expect: this operator cannot take inputs of these shapes
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/operators/embedding_bag.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

#ifdef ZEROPOINT_MUST_FAIL
constexpr int bags = 2;
#else
constexpr int bags = 3;
#endif
struct net : zp::model<zp::indices<9>, zp::embedding_bag<"tags", 9, 2, zp::embedding_bag_options{.bags = bags}>> {};

zp::float_model<net> model;
