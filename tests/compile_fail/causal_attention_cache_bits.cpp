// expect: cache_bits must be 32, which keeps keys and values as floats, or 8
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>
#include <zeropoint/operators/causal_attention.hpp>

#ifdef ZEROPOINT_MUST_FAIL
constexpr int bits = 4;
#else
constexpr int bits = 8;
#endif
struct net : zp::model<zp::input<1, 7, 24>,
                       zp::causal_attention<zp::causal_attention_options{.heads = 2, .depth = 4, .cache_bits = bits}>> {
};

zp::float_model<net> model;
