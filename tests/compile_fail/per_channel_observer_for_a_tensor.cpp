// expect: per_channel_min_max_observer serves per_channel and per_group schemes: for a per_tensor scheme take zp::min_max_observer
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/observe/min_max_observer.hpp>

#ifdef ZEROPOINT_MUST_FAIL
using scheme = zp::per_tensor_symmetric;
#else
using scheme = zp::per_channel_symmetric;
#endif

std::vector<zp::qparams> weights(const zp::per_channel_min_max_observer& observer) {
    return observer.calculate_qparams<zp::qint8, scheme>("conv1");
}
