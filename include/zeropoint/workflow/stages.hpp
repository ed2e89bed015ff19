// SPDX-License-Identifier: BSD-3-Clause
// The stages of a model as types. Each owns its table as a static constexpr member: of the user's model only its name
// enters a symbol. A program that only deploys needs this file and a loader.
#pragma once

#include <array>
#include <string_view>
#include <type_traits>
#include <utility>

#include <zeropoint/model/float_stage.hpp>
#include <zeropoint/operators/algorithm.hpp>
#include <zeropoint/operators/boundary.hpp>
#include <zeropoint/pass/fuse.hpp>
#include <zeropoint/pass/qparams.hpp>
#include <zeropoint/pass/quantize.hpp>
#include <zeropoint/workflow/codes_at_ports.hpp>
#include <zeropoint/workflow/qconfig_entries.hpp>

namespace zp::inline v0 {

template <class Net, class Arch> struct fused_nodes {
    using net = Net;
    using architecture = Arch;
    using policies = stage_policies<void, void>;
    static_assert(sizeof(verdict<source<Net>>) != 0);
    static constexpr auto wide = fuse_nodes(source<Net>::table);
    static constexpr auto loose = shrink<wide.size>(wide);
};

/// Every layer that a qconfig names must exist, and be there after fusing: a misspelt keep_float, or that of a batch norm
/// which is folded, would otherwise do nothing, silently.
template <class Net, class Config, class Arch, class Entries = qconfig_entries<Config>> struct names_of_qconfig {
    using entries = Entries;
    static constexpr int missing = [] {
        if (source<Net>::table.error.broken != rule::none) return -1;
        for (int i = 1; i != entries::count; ++i)
            if (entries::names[static_cast<std::size_t>(i)][0] != 0 &&
                node_named(fused_nodes<Net, Arch>::loose, entries::names[static_cast<std::size_t>(i)]) < 0)
                return i;
        return -1;
    }();
    static constexpr row_text nearest =
        missing < 0 ? row_text()
                    : nearest_row(fused_nodes<Net, Arch>::loose, entries::names[static_cast<std::size_t>(missing)]);
    static constexpr auto check() {
        if constexpr (missing >= 0) {
            constexpr std::string_view name = entries::names[static_cast<std::size_t>(missing)];
            if constexpr (node_named(source<Net>::table, entries::names[static_cast<std::size_t>(missing)]) >= 0)
                return sizeof(layer_fused_away<exact<name.size()>(name.data()), Net>);
            else return sizeof(no_layer_named<exact<name.size()>(name.data()), exact_text<nearest>, Net>);
        } else {
            return std::size_t{1};
        }
    }
    static_assert(check() != 0);

    /// The same for types: all relus of a model may be parts of other layers.
    static constexpr bool types_are_left = [] {
        if (source<Net>::table.error.broken != rule::none) return true;
        for (int i = 1; i != entries::count; ++i) {
            bool written = false, left = false;
            for (int k = 0; k != source<Net>::table.size; ++k)
                written = written || entries::selects_type(i, *source<Net>::table.nodes[k].op->kind);
            for (int k = 0; k != fused_nodes<Net, Arch>::loose.size; ++k)
                left = left || entries::selects_type(i, *fused_nodes<Net, Arch>::loose.nodes[k].op->kind);
            if (written && !left) return false;
        }
        return true;
    }();
    static_assert(types_are_left,
                  "a keep_float_type<op> or for_type<op, QConfig> of this qconfig selects layers that are all fused "
                  "into others (a relu or batch_norm behind a conv2d, say), so that it would do nothing: select the "
                  "layers they are fused into");
};

/// Float, fused, with an observer for every activation.
template <class Net, class Config, class Arch> struct prepared_nodes {
    using net = Net;
    using config = Config;
    using architecture = Arch;
    using policies = stage_policies<void, void>;
    using entries = qconfig_entries<Config>;
    static_assert(sizeof(verdict<source<Net>>) != 0 && sizeof(names_of_qconfig<Net, Config, Arch>) != 0);
    static constexpr auto loose =
        assign_qparams(mark_code_ports<checked_qconfig<Config>>(fused_nodes<Net, Arch>::loose),
                       [](const node& n) { return entries::choose(n); });
};

template <class Config> constexpr quantization_rule rule_of_entry(int index) {
    using entries = qconfig_entries<Config>;
    quantization_rule all[entries::count];
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        const auto fill = [&]<class Entry>(quantization_rule& d, std::type_identity<Entry>) {
            using activation = typename Entry::activation::dtype;
            using weight = typename Entry::weight::dtype;
            d = {scalar_type_of<typename activation::storage>,
                 scalar_type_of<typename weight::storage>,
                 activation::quant_min,
                 activation::quant_max,
                 weight::quant_min,
                 weight::quant_max,
                 !Entry::weight::qscheme::is_symmetric || !weight::is_signed,
                 table_bits_of<checked_qconfig<Config>>,
                 embedding_bits_of<checked_qconfig<Config>>};
        };
        (fill(all[I], std::type_identity<typename entries::template entry<static_cast<int>(I)>>{}), ...);
    }
    (std::make_index_sequence<static_cast<std::size_t>(entries::count)>{});
    return all[index];
}

/// An algorithm can be chosen for a layer that int8 kernels compute: the option would do nothing for another, silently.
template <class Net, class Config, class Rows> struct algorithms_of_qconfig {
    using entries = qconfig_entries<Config>;
    static constexpr int pointless = [] {
        if (Rows::table.error.broken != rule::none) return -1;
        for (int i = 1; i != entries::count; ++i) {
            const auto option = static_cast<std::size_t>(i);
            if (!entries::chooses_algorithm[option] || entries::names[option][0] == 0) continue;
            const int named = node_named(Rows::table, entries::names[option]);
            if (named >= 0 && Rows::table.nodes[named].by.algorithm == conv2d_algorithm::automatic) return i;
        }
        return -1;
    }();
    static constexpr auto check() {
        if constexpr (pointless >= 0) {
            constexpr std::string_view name = entries::names[static_cast<std::size_t>(pointless)];
            return sizeof(layer_has_no_algorithm<exact<name.size()>(name.data()), Net>);
        } else {
            return std::size_t{1};
        }
    }
    static_assert(check() != 0);
};

/// An option that gives layers integer weights between floats must do so for one at least.
template <class Net, class Config, class Rows> struct integer_weights_of_qconfig {
    using entries = qconfig_entries<Config>;
    static constexpr int pointless = [] {
        if (Rows::table.error.broken != rule::none) return -1;
        for (int i = 1; i != entries::count; ++i) {
            const char* name = entries::names[static_cast<std::size_t>(i)];
            const bool is_misspelt = name[0] != 0 && node_named(Rows::table, name) < 0;
            bool given = is_misspelt || !entries::gives_weights[static_cast<std::size_t>(i)];
            for (int k = 0; k != Rows::table.size && !given; ++k) {
                const node& n = Rows::table.nodes[k];
                given = (n.is_dynamic() || n.is_weight_only()) && entries::option_of(n) == i;
            }
            if (!given) return i;
        }
        return -1;
    }();
    static constexpr auto check() {
        if constexpr (pointless >= 0) {
            constexpr std::string_view name = entries::names[static_cast<std::size_t>(pointless)];
            static_assert(name.size() != 0,
                          "a dynamic_type or weight_only_type of this qconfig selects no layer that has such a form: "
                          "dynamic_type takes linear and recurrent layers and convolutions of one group, "
                          "weight_only_type linear and recurrent layers; what is named elsewhere is not selected");
            if constexpr (name.size() != 0)
                return sizeof(layer_takes_no_integer_weights<exact<name.size()>(name.data()), Net>);
            else return std::size_t{1};
        } else {
            return std::size_t{1};
        }
    }
    static_assert(check() != 0);
};

/// What tells the arithmetic of int8 nodes, and of dynamic ones beside them, in the signature of files.
template <class Requantization, class Dynamic>
inline constexpr auto arithmetic_of = [] {
    std::array<char, 80> text{};
    std::size_t size = 0;
    const auto add = [&](std::string_view part) {
        for (const char letter : part) text[size++] = letter;
    };
    add(Requantization::name);
    if constexpr (!std::is_void_v<Dynamic>) add(Dynamic::is_per_row ? ", dynamic per row" : ", dynamic per tensor");
    return text;
}();

inline constexpr boundary_operators boundaries{&operators::quantize_info, &operators::dequantize_info,
                                               &operators::requantize_info, &operators::boundary_rules};

/// The int8 model. Its type follows from the float model and the qconfig alone.
template <class Net, class Config, class Arch> struct quantized_nodes {
    using net = Net;
    using config = Config;
    using architecture = Arch;
    using requantization = typename qconfig_entries<Config>::requantization;
    using policies = stage_policies<requantization, typename qconfig_entries<Config>::dynamic,
                                    typename qconfig_entries<Config>::weight_only>;
    static_assert(sizeof(verdict<source<Net>>) != 0 && sizeof(names_of_qconfig<Net, Config, Arch>) != 0);
    static constexpr auto prepared =
        assign_qparams(mark_code_ports<checked_qconfig<Config>>(fused_nodes<Net, Arch>::loose),
                       [](const node& n) { return qconfig_entries<Config>::choose(n); });
    static constexpr auto wide = choose_algorithms<Arch>(
        quantize_nodes<most_quantized_nodes(prepared)>(prepared, rule_of_entry<Config>,
                                                       qconfig_entries<Config>::template make_integer_weights<Arch>,
                                                       qconfig_entries<Config>::merges_sums, boundaries),
        [](const node& n) { return qconfig_entries<Config>::algorithm_of(n); });
    static constexpr auto loose = shrink<wide.size>(wide);
    struct rows {  // what the verdict looks at
        static constexpr const auto& table = loose;
    };
    static_assert(sizeof(verdict_behind<source<Net>, rows>) != 0 &&
                  sizeof(algorithms_of_qconfig<Net, Config, rows>) != 0 &&
                  sizeof(integer_weights_of_qconfig<Net, Config, rows>) != 0 &&
                  sizeof(ports_of_qconfig<Net, checked_qconfig<Config>>) != 0);
    static constexpr const char* arithmetic = arithmetic_of<requantization, typename policies::dynamic>.data();
};

template <class Net, class Arch = default_architecture> using fused_stage = stage<fused_nodes<Net, Arch>>;
template <class Net, class Config, class Arch = default_architecture>
using prepared_stage = stage<prepared_nodes<Net, Config, Arch>>;
template <class Net, class Config, class Arch = default_architecture>
using quantized_stage = stage<quantized_nodes<Net, Config, Arch>>;

/// The float network with batch norms folded and activations fused into the layers in front of them: what zp::fuse
/// gives.
template <class Net, class Arch = default_architecture> using fused = network<fused_stage<Net, Arch>>;
/// The int8 type of a float model under a qconfig.
template <class Net, class QConfig, class Arch = default_architecture>
using quantized = network<quantized_stage<Net, QConfig, Arch>>;

}  // namespace zp::inline v0
