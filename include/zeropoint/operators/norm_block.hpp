// SPDX-License-Identifier: BSD-3-Clause
// What the normalizing layers keep and share: prepared gains and offsets, and clamps behind their float forms.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>

#include <zeropoint/core/float_values.hpp>
#include <zeropoint/core/rounding.hpp>
#include <zeropoint/kernel/elementwise/clamp.hpp>
#include <zeropoint/kernel/normalize/normalize.hpp>
#include <zeropoint/graph/define.hpp>

namespace zp::inline v0::operators {

/// The prepared block of a normalization: kernel::normalization, then a gain and an offset for each of `count`
/// parameters.
struct norm_block {
    const std::byte* at;
    int count;

    static constexpr int bytes(int count) {
        return static_cast<int>(sizeof(kernel::normalization)) + 2 * count * static_cast<int>(sizeof(float));
    }
    const kernel::normalization& statistics() const { return *reinterpret_cast<const kernel::normalization*>(at); }
    const float* gains() const { return reinterpret_cast<const float*>(at + sizeof(kernel::normalization)); }
    const float* offsets() const { return gains() + count; }
};

/// Fills a norm_block for groups of `together` codes. `weight` and `bias` may be null.
inline void prepare_norm(const preparation& p, int together, float epsilon, const float* weight, const float* bias,
                         int count) {
    const float scale = p.y_qparams().scale;
    *reinterpret_cast<kernel::normalization*>(p.prepared()) =
        kernel::make_normalization(static_cast<std::size_t>(together), p.x_qparams().scale, epsilon);
    auto* gains = reinterpret_cast<float*>(p.prepared() + sizeof(kernel::normalization));
    kernel::divide_by_scale(weight, static_cast<std::size_t>(count), 1, scale, gains);
    kernel::divide_by_scale(bias, static_cast<std::size_t>(count), 0, scale, gains + count);
}

/// Says so where one of the `values` floats of a layer, or 1, is too large in steps of its output.
inline const char* problem_of_norm(const preparation& p, int values) {
    const double scale = double{p.y_qparams().scale};
    double largest = 1;
    for (int i = 0; i != values; ++i) largest = std::fmax(largest, std::abs(double{p.parameters()[i]}));
    return largest / scale < double{std::numeric_limits<float>::max()}
               ? nullptr
               : "its weight or bias is beyond a float in steps of the output's scale: calibrate with values that the "
                 "layer "
                 "sees in use";
}

/// The clamp that is fused into a float node.
template <class Arch> void clamp_floats(const operands<float>& o) noexcept {
    if (o.lowest() > -infinity || o.highest() < infinity)
        kernel::clamp<Arch>(o.y(), static_cast<std::size_t>(o.y_shape().size()), o.lowest(), o.highest(), o.y());
}

}  // namespace zp::inline v0::operators
