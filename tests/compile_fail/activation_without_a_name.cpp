// expect: activation<F>: F must be a stateless type with .float operator...float. const. and a name
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

struct half {
#ifdef ZEROPOINT_MUST_FAIL
    static constexpr const char* name = "half";
#else
    static constexpr const char* kind = "half";
#endif
    float operator()(float x) const { return x / 2; }
};
struct net : zp::model<zp::input<4, 4, 6>, zp::activation<half>> {};

zp::float_model<net> model;
