// SPDX-License-Identifier: BSD-3-Clause
// dtype x qscheme x observer as one type, and what a qconfig asks of it.
#pragma once

#include <string_view>
#include <type_traits>
#include <vector>

#include <zeropoint/core/dtype.hpp>
#include <zeropoint/observe/observer.hpp>
#include <zeropoint/observe/per_channel_observer.hpp>
#include <zeropoint/scheme/qscheme.hpp>

namespace zp::inline v0 {

namespace detail {
/// What stands for an observer that is none: what is wrong has been said.
struct no_observer : observation_count {
    static constexpr merge_order order = merge_order::exact_any_order;
    void observe(const observation&) {}
    void merge(const no_observer&) {}
    observed_range range() const { return {}; }
    template <class, class, class> std::vector<qparams> calculate_qparams(std::string_view) const { return {}; }
};
/// The observer for a scheme; where a rule is broken, what nothing else is said of.
template <bool IsRight, class Observer, class QScheme> struct observer_under { using type = no_observer; };
template <class Observer, class QScheme> struct observer_under<true, Observer, QScheme> {
    using type = observer_for<Observer, QScheme>;
};
// Rules stand in classes of their own: clang takes a class with a failed static_assert for no class, and all that derives from it.
template <class DType, class QScheme, class Observer> struct quantizer_rules {
    static_assert(quantized_dtype<DType>,
                  "quantizer<DType, QScheme, Observer>: the first argument must be a quantized dtype such as "
                  "zp::quint8 or zp::qint8 (the order is dtype, qscheme, observer)");
    static_assert(qscheme_type<QScheme> || !quantized_dtype<DType>,
                  "quantizer<DType, QScheme, Observer>: the second argument must be a qscheme such as "
                  "zp::per_tensor_affine or zp::per_channel_symmetric (the order is dtype, qscheme, observer)");
    static_assert(
        observer<Observer> || !quantized_dtype<DType> || !qscheme_type<QScheme>,
        "quantizer<DType, QScheme, Observer>: the third argument must be an observer such as zp::min_max_observer (the "
        "order is dtype, qscheme, observer); what an observer of your own needs stands in observe/observer.hpp");
};
}  // namespace detail

/// What turns floats into codes: `quantizer<quint8, per_tensor_affine, min_max_observer>`. Rule says how a range becomes a
/// scale and a zero point; PyTorch's is the default.
template <class DType, class QScheme, class Observer, class Rule = pytorch_rule> struct quantizer {
    static_assert(sizeof(detail::quantizer_rules<DType, QScheme, Observer>) != 0);
    /// Whether these are what they must be. Of others members are stand-ins, so that nothing fails behind the sentence above.
    static constexpr bool is_right = quantized_dtype<DType> && qscheme_type<QScheme> && observer<Observer>;
    /// Of codes.
    using dtype = std::conditional_t<is_right, DType, quint8>;
    /// Granularity and symmetry.
    using qscheme = std::conditional_t<is_right, QScheme, per_tensor_affine>;
    using observer_type =
        typename detail::observer_under<is_right, Observer,
                                        QScheme>::type;  // its per-channel form where the scheme is per channel
    /// How a range becomes a scale and a zero point.
    using rule = std::conditional_t<is_right, Rule, pytorch_rule>;
};
template <class Q> inline constexpr bool is_quantizer = false;
template <class D, class S, class O, class R> inline constexpr bool is_quantizer<quantizer<D, S, O, R>> = true;
/// Whether it is one whose arguments are right.
template <class Q> inline constexpr bool is_right_quantizer = false;
template <class D, class S, class O, class R>
inline constexpr bool is_right_quantizer<quantizer<D, S, O, R>> = quantizer<D, S, O, R>::is_right;
/// Of what is no such quantizer these are what qconfig allows: what is wrong has been said.
template <class Q> inline constexpr bool quantizes_per_channel = false;
template <class Q>
    requires is_right_quantizer<Q>
inline constexpr bool quantizes_per_channel<Q> = !Q::qscheme::is_per_tensor;
template <class Q> inline constexpr bool observes_its_scheme = true;
template <class D, qscheme_type S, observer O, class R>
inline constexpr bool observes_its_scheme<quantizer<D, S, O, R>> = observer_serves<O, S>;
template <class Q> inline constexpr bool quantizes_by_output = true;
template <class Q>
    requires is_right_quantizer<Q>
inline constexpr bool quantizes_by_output<Q> = [] {
    if constexpr (Q::qscheme::is_per_tensor) return true;
    else return Q::qscheme::axis == 0;
}();
template <class Q> inline constexpr bool quantizes_to_one_byte = true;
template <class Q>
    requires is_right_quantizer<Q>
inline constexpr bool quantizes_to_one_byte<Q> = sizeof(typename Q::dtype::storage) == 1;
/// 16 bits, of which a qconfig takes symmetric ones alone.
template <class Q> inline constexpr bool quantizes_to_int16 = false;
template <class Q>
    requires is_right_quantizer<Q>
inline constexpr bool quantizes_to_int16<Q> =
    std::is_same_v<typename Q::dtype::storage, std::int16_t> && Q::qscheme::is_symmetric;

}  // namespace zp::inline v0
