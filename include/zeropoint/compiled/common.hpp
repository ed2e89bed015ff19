// SPDX-License-Identifier: BSD-3-Clause
// What zeropoint::compiled has for the operators that models are made of most often, over floats and codes of 8 bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include <zeropoint/compiled/instance.hpp>
#include <zeropoint/operators/boundary.hpp>
#include <zeropoint/operators/common.hpp>

// clang-format off
#define ZEROPOINT_FORM(Operator, T)                                                                                            \
    ZEROPOINT_INSTANCE void run_operator<operators::Operator, default_architecture, T>(const node&, const context&) noexcept;
#define ZEROPOINT_FORMS(Operator)                                                                                              \
    ZEROPOINT_FORM(Operator, float) ZEROPOINT_FORM(Operator, std::uint8_t) ZEROPOINT_FORM(Operator, std::int8_t)
#define ZEROPOINT_BOUNDARIES(T)                                                                                                \
    ZEROPOINT_INSTANCE void quantize<default_architecture>(                                                                    \
        const float*, std::size_t, float, std::int32_t, std::int32_t, std::int32_t, T*) noexcept;                              \
    ZEROPOINT_INSTANCE void dequantize<default_architecture>(const T*, std::size_t, float, std::int32_t, float*) noexcept;     \
    ZEROPOINT_INSTANCE void lookup_table<default_architecture>(const T*, std::size_t, const std::uint8_t*, std::uint8_t*) noexcept;
// clang-format on

namespace zp::inline v0 {
namespace detail {
ZEROPOINT_FORMS(add)
ZEROPOINT_FORMS(clamp)
ZEROPOINT_FORMS(concat)
ZEROPOINT_FORMS(max_pool2d)
ZEROPOINT_FORMS(avg_pool2d)
ZEROPOINT_FORMS(adaptive_avg_pool2d)
ZEROPOINT_FORM(batch_norm, float)
}  // namespace detail

namespace kernel {
ZEROPOINT_BOUNDARIES(std::uint8_t)
ZEROPOINT_BOUNDARIES(std::int8_t)
ZEROPOINT_INSTANCE void conv2d_float<default_architecture>(const conv2d_geometry&, const float*, const float*,
                                                           const float*, float, float, float*, float*) noexcept;
}  // namespace kernel
}  // namespace zp::inline v0

#undef ZEROPOINT_FORM
#undef ZEROPOINT_FORMS
#undef ZEROPOINT_BOUNDARIES
