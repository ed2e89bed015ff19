// SPDX-License-Identifier: BSD-3-Clause
// Operators of two activations: mul, sub, div, maximum, minimum, squared_difference and hypot.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <zeropoint/kernel/elementwise/add.hpp>
#include <zeropoint/kernel/elementwise/div.hpp>
#include <zeropoint/kernel/elementwise/hypot.hpp>
#include <zeropoint/kernel/elementwise/max_min.hpp>
#include <zeropoint/kernel/elementwise/mul.hpp>
#include <zeropoint/kernel/elementwise/squared_difference.hpp>
#include <zeropoint/operators/binary_operator.hpp>
#include <zeropoint/operators/code_table.hpp>
#include <zeropoint/operators/binary_int16.hpp>
#include <zeropoint/scheme/requantization.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind mul{"mul"}, sub{"sub"}, div{"div"}, maximum{"maximum"}, minimum{"minimum"},
    squared_difference{"squared_difference"}, hypot{"hypot"};
}
namespace operators {

/// Of a kernel whose parameters follow from three scales and zero points.
template <auto Make> auto from_scales(const preparation& p, const kernel::output_codes& codes) {
    const qparams &a = p.x_qparams(0), &b = p.x_qparams(1), &y = p.y_qparams();
    return Make(a.scale, a.zero_point, b.scale, b.zero_point, y.scale, codes.zero_point, codes.min, codes.max);
}

struct mul {
    static constexpr const char* kind = "mul";
    using floats = kernel::binary::mul;
    using int16 = mul_int16;
    using prepared = kernel::mul_parameters;
    static constexpr bool fits(double a, double b, double y) { return fits_float(a * b / y); }
    static prepared prepare(const preparation& p, const kernel::output_codes& codes) {
        return from_scales<kernel::make_mul_parameters>(p, codes);
    }
    template <class Arch, class T>
    static void run(const T* a, const T* b, std::size_t count, const prepared& made, T* y) noexcept {
        kernel::mul<Arch>(a, b, count, made, y);
    }
};
/// In LiteRT's fixed point, of a factor that is a float.
struct fixed_point_mul : mul {
    using prepared = kernel::fixed_point_mul_parameters;
    static constexpr bool fits(double a, double b, double y) { return a * b / y < 32768.0; }
    static prepared prepare(const preparation& p, const kernel::output_codes& codes) {
        const qparams &a = p.x_qparams(0), &b = p.x_qparams(1);
        const fixed_point_multiplier m = quantize_multiplier(double{a.scale * b.scale / p.y_qparams().scale});
        return {m.multiplier, m.shift, a.zero_point, b.zero_point, codes.zero_point, codes.min, codes.max};
    }
    template <class Arch, class T>
    static void run(const T* a, const T* b, std::size_t count, const prepared& made, T* y) noexcept {
        kernel::mul_fixed_point(a, b, count, made, y);
    }
};
struct sub {
    static constexpr const char* kind = "sub";
    using floats = kernel::binary::sub;
    using int16 = sub_int16;
    using prepared = kernel::add_parameters;
    static constexpr bool fits(double a, double b, double y) { return std::max(a, b) < 0x1p21 * y; }
    static prepared prepare(const preparation& p, const kernel::output_codes& codes) {
        return from_scales<kernel::make_sub_parameters>(p, codes);
    }
    template <class Arch, class T>
    static void run(const T* a, const T* b, std::size_t count, const prepared& made, T* y) noexcept {
        kernel::sub<Arch>(a, b, count, made, y);
    }
};
struct div {
    static constexpr const char* kind = "div";
    using floats = kernel::binary::div;
    using prepared = kernel::div_parameters;
    static constexpr bool fits(double a, double b, double y) { return fits_float(a / (b * y)); }
    static prepared prepare(const preparation& p, const kernel::output_codes& codes) {
        return from_scales<kernel::make_div_parameters>(p, codes);
    }
    template <class Arch, class T>
    static void run(const T* a, const T* b, std::size_t count, const prepared& made, T* y) noexcept {
        kernel::div<Arch>(a, b, count, made, y);
    }
};
struct squared_difference {
    static constexpr const char* kind = "squared_difference";
    using floats = kernel::binary::squared_difference;
    using prepared = kernel::squared_difference_parameters;
    static constexpr bool fits(double a, double b, double y) {
        return fits_float(std::max(a, b) * std::max(a, b) / y * 0x1p-44);
    }
    static prepared prepare(const preparation& p, const kernel::output_codes& codes) {
        return from_scales<kernel::make_squared_difference_parameters>(p, codes);
    }
    template <class Arch, class T>
    static void run(const T* a, const T* b, std::size_t count, const prepared& made, T* y) noexcept {
        kernel::squared_difference<Arch>(a, b, count, made, y);
    }
};
struct hypot {
    static constexpr const char* kind = "hypot";
    using floats = kernel::binary::hypot;
    using int16 = hypot_int16;
    using prepared = kernel::hypot_parameters<float>;
    static constexpr bool fits(double a, double b, double y) { return std::max(a, b) < 0x1p21 * y; }
    static prepared prepare(const preparation& p, const kernel::output_codes& codes) {
        return from_scales<kernel::make_hypot_parameters<float>>(p, codes);
    }
    template <class Arch, class T>
    static void run(const T* a, const T* b, std::size_t count, const prepared& made, T* y) noexcept {
        kernel::hypot<Arch>(a, b, count, made, y);
    }
};

/// What takes the codes of both operands to those of the output, and its bounds; bytes, whatever the storage type.
struct extremum_tables {
    std::byte tables[2][kernel::lookup_table_size] = {};
    bool on_grid[2] = {};  // those operands need no table
    std::uint8_t low = 0, high = 0;
};
/// maximum and minimum: `Choose` is kernel::larger_of or kernel::smaller_of.
template <class Choose> struct extremum {
    static constexpr const char* kind = std::is_same_v<Choose, kernel::larger_of> ? "maximum" : "minimum";
    using floats = Choose;
    using int16 = extremum_int16<Choose>;
    using prepared = extremum_tables;
    static constexpr bool fits(double, double, double) { return true; }
    static prepared prepare(const preparation& p, const kernel::output_codes& codes) {
        prepared made;
        made.low = static_cast<std::uint8_t>(codes.min);
        made.high = static_cast<std::uint8_t>(codes.max);
        for (int k = 0; k != 2; ++k) {
            made.on_grid[k] = p.x_qparams(k) == p.y_qparams();
            make_grid_table(p, p.x_qparams(k), codes, made.tables[k]);
        }
        return made;
    }
    template <class Arch, class T>
    static void run(const T* a, const T* b, std::size_t count, const prepared& made, T* y) noexcept {
        const auto table = [&](int k) {
            return made.on_grid[k] ? nullptr : reinterpret_cast<const T*>(made.tables[k]);
        };
        kernel::extremum<Arch, Choose>(a, b, count, table(0), table(1), static_cast<T>(made.low),
                                       static_cast<T>(made.high), y);
    }
};
using maximum = extremum<kernel::larger_of>;
using minimum = extremum<kernel::smaller_of>;

}  // namespace operators

template <>
struct forms_of<op::mul>
    : forms_by_policy<operators::binary<operators::mul>, operators::binary<operators::fixed_point_mul>> {};

// Of two branches that both read what goes in. Along each axis their extents are equal, or one of them is 1: its values
// then count for the whole axis, as in mul<identity, squeeze_and_excite>, where a 1 x 1 x C vector scales an image. Depth
// and height of volumes agree both or are both 1 of one of them. A
// relu, relu6 or clamp behind them is fused. In int8 an output is the real result of both operands, rounded once.

/// A(x) * B(x).
template <class A, class B> struct mul : operators::binary_layer<op::mul, operators::mul, A, B> {};
/// A(x) - B(x).
template <class A, class B> struct sub : operators::binary_layer<op::sub, operators::sub, A, B> {};
/// A(x) / B(x). In float x / 0 is an infinity and 0 / 0 a NaN, which no observer takes. In int8 x / 0 is the largest code
/// for x above zero and the smallest below it, and 0 / 0 is zero.
template <class A, class B> struct div : operators::binary_layer<op::div, operators::div, A, B> {};
/// max(A(x), B(x)).
template <class A, class B> struct maximum : operators::binary_layer<op::maximum, operators::maximum, A, B> {};
/// min(A(x), B(x)).
template <class A, class B> struct minimum : operators::binary_layer<op::minimum, operators::minimum, A, B> {};
/// (A(x) - B(x))^2.
template <class A, class B>
struct squared_difference : operators::binary_layer<op::squared_difference, operators::squared_difference, A, B> {};
/// sqrt(A(x)^2 + B(x)^2): the magnitude of a spectrum from its real and imaginary part. In int8 no square is a code of its own,
/// which would keep half of the bits. In float infinite where a square is.
template <class A, class B> struct hypot : operators::binary_layer<op::hypot, operators::hypot, A, B> {};

}  // namespace zp::inline v0
