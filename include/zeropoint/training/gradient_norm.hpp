// SPDX-License-Identifier: BSD-3-Clause
// The norm of a network's gradient, and clipping by it.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>

#include <zeropoint/core/error.hpp>
#include <zeropoint/core/number_text.hpp>
#include <zeropoint/kernel/float/reproducible_rows.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/vector/ordered_double_sum.hpp>
#include <zeropoint/scheme/uncontracted.hpp>

namespace zp::inline v0 {

/// The Euclidean norm of all arrays together: squares are exact in double and summed in a fixed order. NaN or infinity where a
/// gradient is.
template <class Arch = default_architecture> double gradient_norm(std::span<const std::span<float>> arrays) {
    double sum = 0;
    for (const std::span<float> array : arrays)
        sum += kernel::sum_in_double<Arch>(
            array.size(), [&](std::size_t i) { return static_cast<double>(array[i]) * static_cast<double>(array[i]); });
    return std::sqrt(sum);
}

/// torch.nn.utils.clip_grad_norm_: multiplies all arrays by most / (norm + 1e-6) where that is below 1, and returns the norm before.
/// One that is not finite changes nothing: that is the caller's error to report.
template <class Arch = default_architecture>
double clip_by_norm(std::span<const std::span<float>> arrays, double most) {
    if (!(most > 0))
        raise<value_error>("clip_by_norm: the largest norm is " + number_text(most) + ", expected a number above 0");
    const double norm = gradient_norm<Arch>(arrays);
    const double factor = most / (norm + 1e-6);
    if (is_finite(norm) && factor < 1)
        for (const std::span<float> array : arrays)
            kernel::scale_row<Arch>(array.data(), array.size(), static_cast<float>(factor));
    return norm;
}

}  // namespace zp::inline v0
