// expect: a model begins with its input: .* the first row that a lower.. of your own appends builder::input.shape.
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

struct net {
    static constexpr int nodes = 4;
    static constexpr void lower(zp::builder& b) {
#ifdef ZEROPOINT_MUST_FAIL
        const int x = b.flatten(0);
#else
        const int x = b.flatten(b.input({4, 4, 3}));
#endif
        b.linear(x, "fc", 10);
    }
};

zp::float_model<net> model;
