// SPDX-License-Identifier: BSD-3-Clause
// What zeropoint::compiled has for training: convolutions of batches and their gradients.
#pragma once

#include <zeropoint/compiled/instance.hpp>
#include <zeropoint/kernel/gradient/conv2d_batch.hpp>
#include <zeropoint/kernel/gradient/conv2d_input_gradient.hpp>
#include <zeropoint/kernel/gradient/conv2d_weight_gradient.hpp>

namespace zp::inline v0::kernel {
ZEROPOINT_INSTANCE void conv2d_batch<default_architecture>(const conv2d_geometry&, int, const_float_batch, const float*,
                                                           const float*, float, float, float_batch, float*) noexcept;
ZEROPOINT_INSTANCE void conv2d_input_gradient<default_architecture>(const conv2d_geometry&, int, const_float_batch,
                                                                    const float*, float_batch, float*) noexcept;
ZEROPOINT_INSTANCE void conv2d_weight_gradient<default_architecture>(const conv2d_geometry&, int, const_float_batch,
                                                                     const_float_batch, float*, float*, bool) noexcept;
}  // namespace zp::inline v0::kernel
