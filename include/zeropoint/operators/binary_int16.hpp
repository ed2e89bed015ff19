// SPDX-License-Identifier: BSD-3-Clause
// mul, sub, hypot, maximum and minimum over codes of 16 bits: what is prepared from the scales, and what is done with it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <zeropoint/kernel/elementwise/elementwise_int16.hpp>
#include <zeropoint/kernel/elementwise/hypot.hpp>
#include <zeropoint/kernel/elementwise/max_min.hpp>
#include <zeropoint/graph/define.hpp>
#include <zeropoint/scheme/requantization.hpp>

namespace zp::inline v0::operators {

/// From a grid of 16 bits, or of their products, to that of the output; `ratio` is of the scales.
inline kernel::rescaling rescaling_by(double ratio, const kernel::output_codes& codes) {
    const fixed_point_multiplier m = quantize_multiplier_single_rounding(ratio);
    return {m.multiplier, m.shift, 0, 0, 0, codes.min, codes.max};
}

struct mul_int16 {
    kernel::rescaling product;

    static constexpr bool fits(double a, double b, double y) { return a * b < 0x1p31 * y; }
    static mul_int16 prepare(const preparation& p, const kernel::output_codes& codes) {
        return {rescaling_by(double{p.x_qparams(0).scale} * p.x_qparams(1).scale / p.y_qparams().scale, codes)};
    }
    template <class Arch>
    static void run(const std::int16_t* a, const std::int16_t* b, std::size_t count, const mul_int16& made,
                    std::int16_t* y) noexcept {
        kernel::mul_int16<Arch>(a, b, count, made.product, y);
    }
};
struct sub_int16 {
    kernel::add_int16_parameters sum;

    static constexpr bool fits(double a, double b, double y) { return std::max(a, b) < 0x1p21 * y; }
    static sub_int16 prepare(const preparation& p, const kernel::output_codes& codes) {
        sub_int16 made{kernel::make_add_int16_parameters(p.x_qparams(0).scale, p.x_qparams(1).scale,
                                                         p.y_qparams().scale, codes.min, codes.max)};
        made.sum.b_multiplier = -made.sum.b_multiplier;
        return made;
    }
    template <class Arch>
    static void run(const std::int16_t* a, const std::int16_t* b, std::size_t count, const sub_int16& made,
                    std::int16_t* y) noexcept {
        kernel::add_int16<Arch>(a, b, count, made.sum, y);
    }
};
struct hypot_int16 {
    kernel::hypot_parameters<double> parameters;

    static constexpr bool fits(double a, double b, double y) { return std::max(a, b) < 0x1p21 * y; }
    static hypot_int16 prepare(const preparation& p, const kernel::output_codes& codes) {
        return {kernel::make_hypot_parameters<double>(p.x_qparams(0).scale, 0, p.x_qparams(1).scale, 0,
                                                      p.y_qparams().scale, 0, codes.min, codes.max)};
    }
    template <class Arch>
    static void run(const std::int16_t* a, const std::int16_t* b, std::size_t count, const hypot_int16& made,
                    std::int16_t* y) noexcept {
        kernel::hypot<Arch>(a, b, count, made.parameters, y);
    }
};
/// Both operands on the output's grid, and the larger or smaller one of them.
template <class Choose> struct extremum_int16 {
    kernel::rescaling grids[2];

    static constexpr bool fits(double a, double b, double y) { return std::max(a, b) < 0x1p31 * y; }
    static extremum_int16 prepare(const preparation& p, const kernel::output_codes& codes) {
        const double y = p.y_qparams().scale;
        return {{rescaling_by(p.x_qparams(0).scale / y, codes), rescaling_by(p.x_qparams(1).scale / y, codes)}};
    }
    template <class Arch>
    static void run(const std::int16_t* a, const std::int16_t* b, std::size_t count, const extremum_int16& made,
                    std::int16_t* y) noexcept {
        for (std::size_t i = 0; i != count; ++i) {
            const std::int32_t left = made.grids[0](a[i]), right = made.grids[1](b[i]);
            y[i] = static_cast<std::int16_t>(std::is_same_v<Choose, kernel::larger_of> ? std::max(left, right)
                                                                                       : std::min(left, right));
        }
    }
};

}  // namespace zp::inline v0::operators
