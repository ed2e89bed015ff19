// expect: weights have one scale a tensor or one an output channel, which is axis 0
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/workflow/qconfig.hpp>

#ifdef ZEROPOINT_MUST_FAIL
using weight_scheme = zp::qscheme<zp::per_group<32>, zp::symmetric>;
#else
using weight_scheme = zp::per_channel_symmetric;
#endif
struct config : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                            zp::quantizer<zp::qint8, weight_scheme, zp::min_max_observer>> {};
config c;
