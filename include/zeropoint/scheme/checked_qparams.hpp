// SPDX-License-Identifier: BSD-3-Clause
// Scales and zero points that somebody chose by hand: whether codes of a dtype can have them.
#pragma once

#include <string>
#include <string_view>

#include <zeropoint/scheme/choose_qparams.hpp>

namespace zp::inline v0 {

/// `given`, where its scale is finite and above 0 and its zero point a code of DType; under a symmetric scheme the one that this
/// has. Else raises value_error, which begins with `where`.
template <quantized_dtype DType, bool IsSymmetric>
const qparams& checked_qparams(const qparams& given, std::string_view where) {
    const bool is_centered = !IsSymmetric || given.zero_point == symmetric_zero_point<DType>;
    if (!is_valid<DType>(given) || !is_centered)
        raise<value_error>(
            std::string(where) + ": expected a finite scale above 0 and a zero point " +
            (IsSymmetric ? "of " + std::to_string(symmetric_zero_point<DType>) + ", as symmetric schemes have it"
                         : "from " + std::to_string(DType::quant_min) + " to " + std::to_string(DType::quant_max)) +
            ", but the scale " + number_text(given.scale) + " and the zero point " + std::to_string(given.zero_point) +
            " were given");
    return given;
}

}  // namespace zp::inline v0
