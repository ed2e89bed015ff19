// SPDX-License-Identifier: BSD-3-Clause
// A qconfig as the passes ask it: which of its entries applies to a node, and what holds for the whole model.
#pragma once

#include <algorithm>
#include <array>
#include <tuple>
#include <type_traits>
#include <utility>

#include <zeropoint/core/fixed_string.hpp>
#include <zeropoint/graph/row_name.hpp>
#include <zeropoint/workflow/qconfig.hpp>

namespace zp::inline v0 {

namespace detail {
template <class Option> struct own_requantization { using type = void; };
template <class P> struct own_requantization<requantize_with<P>> { using type = P; };
template <class Default, class... Options> struct requantization_of { using type = Default; };
template <class Default, class First, class... Rest> struct requantization_of<Default, First, Rest...> {
    using own = typename own_requantization<First>::type;
    using type = std::conditional_t<std::is_void_v<own>, typename requantization_of<Default, Rest...>::type, own>;
};
// The policy of the options that are of weights alone, or of those that are not; void without such.
template <bool WeightsAlone, class Option> struct own_policy { using type = void; };
template <bool WeightsAlone, class Option>
    requires(!std::is_void_v<typename Option::integer_weights>)
struct own_policy<WeightsAlone, Option> {
    using policy = typename Option::integer_weights;
    using type = std::conditional_t<weights_alone<policy> == WeightsAlone, policy, void>;
};
template <class Own, class Others> struct one_policy {
    static_assert(std::is_void_v<Own> || std::is_void_v<Others> || std::is_same_v<Own, Others>,
                  "qconfig<Activation, Weight, Options...>: all dynamic layers of a model have one policy, and all "
                  "weight_only layers have one: give these options the same one");
};
template <bool WeightsAlone, class... Options> struct policy_of_options { using type = void; };
template <bool WeightsAlone, class First, class... Rest> struct policy_of_options<WeightsAlone, First, Rest...> {
    using own = typename own_policy<WeightsAlone, First>::type;
    using others = typename policy_of_options<WeightsAlone, Rest...>::type;
    static_assert(sizeof(one_policy<own, others>) != 0);
    using type = std::conditional_t<std::is_void_v<own>, others, own>;
};
// The entry of an option: its qconfig, or the whole model's for those that have none.
template <class Option, class Default> struct entry_of { using type = Default; };
template <fixed_string Name, class C, class Default>
    requires(!is_algorithm<C>)
struct entry_of<for_layer<Name, C>, Default> {
    using type = checked_qconfig<C>;
};
template <const operator_kind& Kind, class C, class Default>
    requires(!is_algorithm<C>)
struct entry_of<for_type<Kind, C>, Default> {
    using type = checked_qconfig<C>;
};
template <class Config, class Options> struct entries_of;
template <class Config, class... Options> struct entries_of<Config, std::tuple<Options...>> {
    static constexpr int count = 1 + static_cast<int>(sizeof...(Options));
    template <int I>
    using entry = std::tuple_element_t<I, std::tuple<Config, typename entry_of<Options, Config>::type...>>;
    using requantization = typename requantization_of<nearest_even, Options...>::type;
    /// Whether adds become parts of the layers in front of them.
    static constexpr bool merges_sums =
        requantization::adds_residuals && !(std::is_same_v<Options, separate_sums> || ...);
    /// Whether biases are corrected by what calibration sees.
    static constexpr bool corrects_biases = (std::is_same_v<Options, correct_biases> || ...);
    /// How many inputs calibration keeps, for a conversion that compares outputs.
    static constexpr int kept_inputs = std::max({0, Options::kept_inputs...});
    /// The policies of layers between floats: see stage_policies.
    using dynamic = typename policy_of_options<false, Options...>::type;
    using weight_only = typename policy_of_options<true, Options...>::type;
    /// Whether an option names a node.
    template <class Option> static constexpr bool selects_name(const node& n) {
        return Option::name[0] != 0 && is_called(n, Option::name);
    }
    /// Which option, from 1, says how a node is quantized; 0: none does. A name goes before a type.
    static constexpr int option_of(const node& n) {
        int chosen = 0;
        [[maybe_unused]] int i = 0;  // not read where no option quantizes
        ((++i, chosen == 0 && Options::quantizes && selects_name<Options>(n) ? chosen = i : 0), ...);
        i = 0;
        ((++i, chosen == 0 && Options::quantizes && Options::selects_type(*n.op->kind) && Options::takes(n) ? chosen = i
                                                                                                            : 0),
         ...);
        return chosen;
    }
    /// Which entry applies to a node: -1 for float32, 0 for the qconfig itself, i for its i-th option.
    static constexpr int choose(const node& n) {
        constexpr bool floats[] = {false, Options::floats...};
        const int chosen = option_of(n);
        return floats[chosen] || (has_int16(chosen) && !n.op->has_int16) ? -1 : chosen;
    }
    /// Whether an option gives what it selects integer weights between floats.
    static constexpr std::array<bool, sizeof...(Options) + 1> gives_weights{
        false, !std::is_void_v<typename Options::integer_weights>...};
    static constexpr std::array<bool, sizeof...(Options) + 1> gives_weights_alone{
        false, !std::is_void_v<typename own_policy<true, Options>::type>...};
    /// How a node that stays in float32 is computed, for people.
    static constexpr const char* products_of(const node& n) {
        const auto option = static_cast<std::size_t>(option_of(n));
        if (!gives_weights[option] || n.flags.outside_stubs) return "float32";
        return gives_weights_alone[option] ? "weight-only" : "dynamic";
    }
    /// Gives it the integer weights that an option says, if it can have them.
    template <class Arch> static constexpr void make_integer_weights(const node* nodes, node& n) {
        const auto option = static_cast<std::size_t>(option_of(n));
        if (!gives_weights[option] || n.flags.outside_stubs) return;
        const auto make = [&]<class Policy>(std::type_identity<Policy>) {
            if constexpr (!std::is_void_v<Policy>)
                if (operators::why_no_integer_weights<Policy>(n) == nullptr)
                    operators::make_integer_weights<Policy, Arch>(nodes, n);
        };
        if (gives_weights_alone[option]) make(std::type_identity<weight_only>{});
        else make(std::type_identity<dynamic>{});
    }
    /// Entries of a dynamic_qconfig have no quantizer for activations.
    template <class Entry> static constexpr bool is_int16() {
        if constexpr (requires { typename Entry::activation; }) return quantizes_to_int16<typename Entry::activation>;
        else return false;
    }
    /// Whether an entry has activations of 16 bits. What has no form over those stays in float32.
    static constexpr bool has_int16(int index) {
        return [&]<std::size_t... I>(std::index_sequence<I...>) {
            return ((static_cast<int>(I) == index && is_int16<entry<I>>()) || ...);
        }
        (std::make_index_sequence<static_cast<std::size_t>(count)>{});
    }
    /// How the algorithm of a node is chosen: as the first algorithm option for its name says, else for its type, else for all.
    static constexpr algorithm_policy algorithm_of(const node& n) {
        algorithm_policy policies[] = {{}, Options::policy...};
        const int rank[] = {1, (Options::quantizes                   ? 0
                                : selects_name<Options>(n)           ? 4
                                : Options::selects_type(*n.op->kind) ? 3
                                : Options::is_default                ? 2
                                                                     : 0)...};
        int best = 0;
        for (int i = 1; i <= static_cast<int>(sizeof...(Options)); ++i)
            if (rank[i] > rank[best]) best = i;
        return policies[best];
    }
    /// Whether option i (from 1) selects layers of this type.
    static constexpr bool selects_type([[maybe_unused]] int option, [[maybe_unused]] const operator_kind& kind) {
        bool selected = false;
        int i = 0;
        ((selected = selected || (++i == option && Options::selects_type(kind))), ...);
        return selected;
    }
    static constexpr std::array<const char*, sizeof...(Options) + 1> names{"", Options::name...};
    /// Whether an option says how algorithms are chosen.
    static constexpr std::array<bool, sizeof...(Options) + 1> chooses_algorithm{false, !Options::quantizes...};
};

template <class Config> struct qconfig_that_is_none {
    static_assert(is_qconfig<Config>,
                  "QConfig must be a struct derived from zp::qconfig<activation quantizer, weight quantizer, "
                  "options...>; where the compiler refused something in its arguments, that is the mistake");
};
}  // namespace detail
/// The entries of a qconfig as the passes need them.
template <class Config>
struct qconfig_entries : detail::entries_of<checked_qconfig<Config>, typename checked_qconfig<Config>::options> {
    static_assert(sizeof(detail::qconfig_that_is_none<Config>) != 0);
};

}  // namespace zp::inline v0
