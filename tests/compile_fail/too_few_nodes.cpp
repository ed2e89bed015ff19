// expect: this model's lower.. appends more rows than its static member .nodes. says: raise .nodes., it is an upper bound
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

struct net {
#ifdef ZEROPOINT_MUST_FAIL
    static constexpr int nodes = 2;
#else
    static constexpr int nodes = 3;
#endif
    static constexpr void lower(zp::builder& b) { b.linear(b.flatten(b.input({4, 4, 3})), "fc", 10); }
};

zp::float_model<net> model;
