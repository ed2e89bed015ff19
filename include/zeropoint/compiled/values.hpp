// SPDX-License-Identifier: BSD-3-Clause
// What zeropoint::compiled has for values one by one: ranges that observers find, codes of dynamic layers, lookup tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <zeropoint/compiled/instance.hpp>
#include <zeropoint/kernel/dynamic/dynamic_linear.hpp>
#include <zeropoint/kernel/dynamic/symmetric_codes.hpp>
#include <zeropoint/kernel/elementwise/clamp.hpp>
#include <zeropoint/kernel/epilogue/lookup_table.hpp>
#include <zeropoint/kernel/reduction/float_statistics.hpp>

// clang-format off
#define ZEROPOINT_DYNAMIC_CODES(Code)                                                                                          \
    ZEROPOINT_INSTANCE void quantize_in_range<default_architecture>(                                                           \
        const float*, std::size_t, float, dynamic_range, code_limits, Code*) noexcept;
// clang-format on

namespace zp::inline v0::kernel {
ZEROPOINT_INSTANCE std::size_t first_not_finite<default_architecture>(const float*, std::size_t) noexcept;
ZEROPOINT_INSTANCE min_max_result min_max<default_architecture>(const float*, std::size_t) noexcept;
ZEROPOINT_INSTANCE std::pair<float, float> range_of_finite<default_architecture>(const float*, std::size_t) noexcept;
ZEROPOINT_INSTANCE void min_max_rows<default_architecture>(const float*, std::size_t, std::size_t, float*,
                                                           float*) noexcept;
ZEROPOINT_INSTANCE std::size_t min_max_per_channel<default_architecture>(const float*, std::size_t, std::size_t,
                                                                         std::size_t, float*, float*) noexcept;
ZEROPOINT_INSTANCE void histogram_from_zero<default_architecture>(const float*, std::size_t, double, std::int32_t,
                                                                  std::size_t, std::uint64_t*) noexcept;
ZEROPOINT_INSTANCE void clamp<default_architecture>(const float*, std::size_t, float, float, float*) noexcept;
ZEROPOINT_INSTANCE void lookup_table<default_architecture>(const std::int8_t*, std::size_t, const std::int8_t*,
                                                           std::int8_t*) noexcept;
ZEROPOINT_DYNAMIC_CODES(std::uint8_t)
ZEROPOINT_DYNAMIC_CODES(std::int8_t)
ZEROPOINT_INSTANCE std::int32_t largest_magnitude<default_architecture>(const float*, std::size_t) noexcept;
ZEROPOINT_INSTANCE bool symmetric_scales<default_architecture>(const std::int32_t*, std::size_t, float*,
                                                               float*) noexcept;
ZEROPOINT_INSTANCE void symmetric_codes<default_architecture>(const float*, std::size_t, float, std::uint8_t,
                                                              std::uint8_t*) noexcept;
}  // namespace zp::inline v0::kernel

#undef ZEROPOINT_DYNAMIC_CODES
