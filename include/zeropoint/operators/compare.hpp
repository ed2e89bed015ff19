// SPDX-License-Identifier: BSD-3-Clause
// Comparisons of two activations, and of one with a constant. What they give is 0 or 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <zeropoint/kernel/elementwise/compare.hpp>
#include <zeropoint/kernel/float/float_elementwise.hpp>
#include <zeropoint/operators/binary_operator.hpp>
#include <zeropoint/operators/code_table.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind equal{"equal"}, not_equal{"not_equal"}, less{"less"}, less_equal{"less_equal"},
    greater{"greater"}, greater_equal{"greater_equal"};
}
namespace operators {

using kernel::comparison;

/// Codes are the answers themselves, on a grid of scale 1 and zero point 0, as argmax has them.
struct answers {
    static constexpr qparams_source range = qparams_source::derived;
    static constexpr qparams derive(const qparams&) { return {1.0f, 0}; }
};

template <comparison Which> struct comparison_of_codes {
    static constexpr const char* kind = kernel::name_of(Which);
    using floats = kernel::compare_values<Which>;
    using prepared = kernel::code_comparison;
    static constexpr bool fits(double, double, double) { return true; }
    static prepared prepare(const preparation& p, const kernel::output_codes&) {
        const qparams &a = p.x_qparams(0), &b = p.x_qparams(1);
        return p.y_type().storage == scalar_type::int8
                   ? kernel::make_code_comparison<Which, std::int8_t>(a.scale, a.zero_point, b.scale, b.zero_point)
                   : kernel::make_code_comparison<Which, std::uint8_t>(a.scale, a.zero_point, b.scale, b.zero_point);
    }
    template <class Arch, class T>
    static void run(const T* a, const T* b, std::size_t count, const prepared& made, T* y) noexcept {
        kernel::compare_codes<Arch, Which>(a, b, count, made, y);
    }
};
template <comparison Which> struct compare : binary<comparison_of_codes<Which>>, answers {
    static constexpr unsigned takes = 0;
};

/// With a constant: in int8 a table.
template <comparison Which, class Constant> struct compare_scalar : answers {
    static constexpr const char* kind = kernel::name_of(Which);
    static constexpr auto constant =
        static_cast<float>(static_cast<double>(Constant::num) / static_cast<double>(Constant::den));
    static constexpr int options[] = {static_cast<int>(Constant::num), static_cast<int>(Constant::den)};
    static constexpr bool elementwise = true;

    static constexpr shape output_shape(shape x) { return x; }
    static constexpr int prepared_bytes(const node_view&) { return kernel::lookup_table_size; }
    static void prepare(const preparation& p) {
        make_code_table(p, p.x_qparams(), codes_of_output(p), p.prepared(),
                        [](double x) { return double{kernel::compare_values<Which>{}(x, double{constant})}; });
    }
    template <class Arch> static void forward(const operands<float>& o) noexcept {
        kernel::map_floats<Arch>(o.x(), static_cast<std::size_t>(o.y_shape().size()), o.y(), [](const auto& x) {
            return kernel::compare_values<Which>{}(x, std::decay_t<decltype(x)>(constant));
        });
    }
    template <class Arch, class T> static void forward(const operands<T>& o) noexcept {
        kernel::lookup_table<Arch>(o.x(), static_cast<std::size_t>(o.y_shape().size()), o.template prepared<T>(),
                                   o.y());
    }
};

template <const operator_kind& Kind, comparison Which, class A, class B>
struct comparison_layer : operator_layer<Kind, "", compare<Which>, A, B> {};
template <const operator_kind& Kind, comparison Which, class Constant>
struct scalar_comparison_layer : operator_layer<Kind, "", compare_scalar<Which, Constant>> {};

}  // namespace operators

// Of two branches that both read what goes in; along each axis their extents are equal, or one of them is 1, as in
// zp::mul. 1 where it is true, 0 elsewhere; a NaN is equal to nothing, nor less nor greater. In int8 the real numbers of
// both codes are compared, exactly, whatever their scales, and the answers have scale 1 and zero point 0: as a condition
// of zp::where, or times an activation, they choose and mask.

/// A(x) == B(x).
template <class A, class B> struct equal : operators::comparison_layer<op::equal, kernel::comparison::equal, A, B> {};
/// A(x) != B(x).
template <class A, class B>
struct not_equal : operators::comparison_layer<op::not_equal, kernel::comparison::not_equal, A, B> {};
/// A(x) < B(x).
template <class A, class B> struct less : operators::comparison_layer<op::less, kernel::comparison::less, A, B> {};
/// A(x) <= B(x).
template <class A, class B>
struct less_equal : operators::comparison_layer<op::less_equal, kernel::comparison::less_equal, A, B> {};
/// A(x) > B(x).
template <class A, class B>
struct greater : operators::comparison_layer<op::greater, kernel::comparison::greater, A, B> {};
/// A(x) >= B(x).
template <class A, class B>
struct greater_equal : operators::comparison_layer<op::greater_equal, kernel::comparison::greater_equal, A, B> {};

// With a std::ratio, as the float next to it: `zp::greater_scalar<std::ratio<1, 2>>`. In int8 that float is compared with
// scale * (code - zero_point) as a real number.

/// x == Constant.
template <class Constant>
struct equal_scalar : operators::scalar_comparison_layer<op::equal, kernel::comparison::equal, Constant> {};
/// x != Constant.
template <class Constant>
struct not_equal_scalar : operators::scalar_comparison_layer<op::not_equal, kernel::comparison::not_equal, Constant> {};
/// x < Constant.
template <class Constant>
struct less_scalar : operators::scalar_comparison_layer<op::less, kernel::comparison::less, Constant> {};
/// x <= Constant.
template <class Constant>
struct less_equal_scalar
    : operators::scalar_comparison_layer<op::less_equal, kernel::comparison::less_equal, Constant> {};
/// x > Constant.
template <class Constant>
struct greater_scalar : operators::scalar_comparison_layer<op::greater, kernel::comparison::greater, Constant> {};
/// x >= Constant.
template <class Constant>
struct greater_equal_scalar
    : operators::scalar_comparison_layer<op::greater_equal, kernel::comparison::greater_equal, Constant> {};

}  // namespace zp::inline v0
