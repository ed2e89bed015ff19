// expect: fixed_qparams_observer<Params>: Params.zero_point lies outside the dtype's codes
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/observe/fixed_qparams_observer.hpp>

#ifdef ZEROPOINT_MUST_FAIL
using activations = zp::qint8;
#else
using activations = zp::quint8;
#endif

std::vector<zp::qparams> sigmoid(const zp::fixed_qparams_observer<zp::qparams{1.0f / 256, 200}>& observer) {
    return observer.calculate_qparams<activations, zp::per_tensor_affine>("sigmoid");
}
