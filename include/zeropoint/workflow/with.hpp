// SPDX-License-Identifier: BSD-3-Clause
// Options on top of another qconfig.
#pragma once

#include <tuple>
#include <type_traits>

#include <zeropoint/workflow/qconfig.hpp>

namespace zp::inline v0 {
namespace detail {

/// Whether two options say the same thing about the whole model, which one alone can say.
template <class A, class B> inline constexpr bool replaces = std::is_same_v<A, B>;
template <int A, int B> inline constexpr bool replaces<table_bits<A>, table_bits<B>> = true;
template <int A, int B> inline constexpr bool replaces<embedding_bits<A>, embedding_bits<B>> = true;
template <class A, class B> inline constexpr bool replaces<requantize_with<A>, requantize_with<B>> = true;
template <algorithm_policy A, algorithm_policy B> inline constexpr bool replaces<algorithm<A>, algorithm<B>> = true;

template <class QConfig, class Kept, class... Options> struct qconfig_with;
template <class QConfig, class... Kept, class... Options>
struct qconfig_with<QConfig, std::tuple<Kept...>, Options...> {
    template <class Option>
    using if_kept = std::conditional_t<(replaces<Option, Options> || ...), std::tuple<>, std::tuple<Option>>;
    template <class... All>
    static qconfig<typename QConfig::activation, typename QConfig::weight, All...> of(std::tuple<All...>);
    using type = decltype(of(std::tuple_cat(std::declval<std::tuple<Options...>>(), std::declval<if_kept<Kept>>()...)));
};
template <class QConfig> struct preset_that_is_none {
    static_assert(is_qconfig<QConfig>,
                  "with<QConfig, Options...>: the first argument must be a qconfig, such as zp::default_qconfig");
};

}  // namespace detail

/// A qconfig with more options: `zp::with<zp::default_qconfig, zp::keep_float<"gn">>`. It keeps the quantizers and the options of the one
/// it is made of, such as a preset's requantize_with and table_bits. These options go before those of the same layer or type there, and
/// replace a table_bits, embedding_bits, requantize_with or algorithm for the whole model.
template <class QConfig, class... Options>
struct with
    : detail::qconfig_with<checked_qconfig<QConfig>, typename checked_qconfig<QConfig>::options, Options...>::type {
    static_assert(sizeof(detail::preset_that_is_none<QConfig>) != 0);
};

}  // namespace zp::inline v0
