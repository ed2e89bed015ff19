// expect: the third argument must be an observer such as zp::min_max_observer
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/workflow/qconfig.hpp>

#ifdef ZEROPOINT_MUST_FAIL
struct my_observer {
    void observe(const zp::observation&) {}
};
#else
struct my_observer : zp::min_max_observer {};
#endif

zp::quantizer<zp::quint8, zp::per_tensor_affine, my_observer> made;
