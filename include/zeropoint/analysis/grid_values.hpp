// SPDX-License-Identifier: BSD-3-Clause
// Values as a row has them, floats or codes of a grid, to floats and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <zeropoint/graph/node.hpp>
#include <zeropoint/kernel/dynamic/quantize.hpp>
#include <zeropoint/scheme/qparams.hpp>

namespace zp::inline v0::detail {

/// f(codes) with a pointer of their storage type.
template <class F> void with_codes(scalar_type storage, void* values, F f) {
    if (storage == scalar_type::uint8) f(static_cast<std::uint8_t*>(values));
    else if (storage == scalar_type::int8) f(static_cast<std::int8_t*>(values));
    else f(static_cast<std::int16_t*>(values));
}
/// What `count` values of a type stand for.
template <class Arch>
void values_to_floats(const value_type& type, const qparams& range, const void* values, std::size_t count, float* y) {
    if (!type.is_codes()) return static_cast<void>(std::memcpy(y, values, sizeof(float) * count));
    with_codes(type.storage, const_cast<void*>(values), [&]<class Code>(const Code* q) {
        kernel::dequantize<Arch>(q, count, range.scale, range.zero_point, y);
    });
}
/// Floats as values of a type.
template <class Arch>
void floats_to_values(const value_type& type, const qparams& range, const float* x, std::size_t count, void* values) {
    if (!type.is_codes()) return static_cast<void>(std::memcpy(values, x, sizeof(float) * count));
    with_codes(type.storage, values, [&]<class Code>(Code* q) {
        kernel::quantize<Arch>(x, count, range.scale, range.zero_point, type.quant_min, type.quant_max, q);
    });
}

}  // namespace zp::inline v0::detail
