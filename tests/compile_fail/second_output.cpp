// expect: no layer reads the output of this one .*: the last row is a model's only output, leave out what does not lead to it
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

struct net {
    static constexpr int nodes = 3;
    static constexpr void lower(zp::builder& b) {
        const int x = b.input({1, 1, 3});
        const int first = b.linear(x, "first", 10);
#ifdef ZEROPOINT_MUST_FAIL
        (void)first;
        b.linear(x, "second", 10);
#else
        b.linear(first, "second", 10);
#endif
    }
};

zp::float_model<net> model;
