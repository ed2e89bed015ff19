// The stages of a model as types. Each owns its table as a static constexpr member: of the user's model only its name
// enters a symbol. A program that only deploys needs this file and a loader.
#pragma once

#include <array>
#include <string_view>
#include <type_traits>
#include <utility>

#include <zeropoint/layer/algorithm.hpp>
#include <zeropoint/layer/quantized_steps.hpp>
#include <zeropoint/model/float_stage.hpp>
#include <zeropoint/model/network.hpp>
#include <zeropoint/model/plan.hpp>
#include <zeropoint/model/source.hpp>
#include <zeropoint/workflow/assign_slots.hpp>
#include <zeropoint/workflow/fuse_pass.hpp>
#include <zeropoint/workflow/qconfig.hpp>
#include <zeropoint/workflow/quantize_passes.hpp>

namespace zp {
inline namespace v0 {

template <class Net, class Arch = default_architecture> struct fused_stage {
    using net = Net;
    using architecture = Arch;
    static_assert(sizeof(verdict<source<Net>>) != 0);
    static constexpr auto loose = fuse_rows(source<Net>::table);
    static constexpr auto table = plan_float<Arch>(shrink<loose.size>(loose));
    static constexpr std::array<step_function, static_cast<std::size_t>(table.size)> steps =
        plan_float_steps<Arch>(table);
};

/// Every layer that a qconfig names must exist, and be there after fusing: a misspelt keep_float, or that of a batch norm
/// which is folded, would otherwise do nothing, silently.
template <class Net, class Config, class Arch, class Entries = qconfig_entries<Config>> struct names_of_qconfig {
    using entries = Entries;
    static constexpr int missing = [] {
        if (source<Net>::table.error.broken != rule::none) return -1;
        for (int i = 1; i != entries::count; ++i)
            if (entries::names[static_cast<std::size_t>(i)][0] != 0 &&
                row_named(fused_stage<Net, Arch>::table, entries::names[static_cast<std::size_t>(i)]) < 0)
                return i;
        return -1;
    }();
    static constexpr auto check() {
        if constexpr (missing >= 0) {
            constexpr std::string_view name = entries::names[static_cast<std::size_t>(missing)];
            if constexpr (row_named(source<Net>::table, entries::names[static_cast<std::size_t>(missing)]) >= 0)
                return sizeof(layer_fused_away<exact<name.size()>(name.data()), Net>);
            else return sizeof(no_layer_named<exact<name.size()>(name.data()), Net>);
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
            for (int row = 0; row != source<Net>::table.size; ++row)
                written = written || entries::selects_type(i, source<Net>::table.nodes[row].kind);
            for (int row = 0; row != fused_stage<Net, Arch>::table.size; ++row)
                left = left || entries::selects_type(i, fused_stage<Net, Arch>::table.nodes[row].kind);
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
template <class Net, class Config, class Arch = default_architecture> struct prepared_stage {
    using net = Net;
    using config = Config;
    using architecture = Arch;
    using entries = qconfig_entries<Config>;
    static_assert(sizeof(verdict<source<Net>>) != 0 && sizeof(names_of_qconfig<Net, Config, Arch>) != 0);
    static constexpr auto table = plan_float<Arch>(
        assign_slots(fused_stage<Net, Arch>::table, [](const node& row) { return entries::choose(row); }));
    static constexpr std::array<step_function, static_cast<std::size_t>(table.size)> steps =
        plan_float_steps<Arch>(table);
};

template <class Config> constexpr entry_description describe_entry(int index) {
    using entries = qconfig_entries<Config>;
    entry_description all[entries::count];
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        const auto fill = [&]<class Entry>(entry_description& d, std::type_identity<Entry>) {
            using activation = typename Entry::activation::dtype;
            using weight = typename Entry::weight::dtype;
            d = {scalar_type_of<typename activation::storage>,
                 scalar_type_of<typename weight::storage>,
                 activation::quant_min,
                 activation::quant_max,
                 weight::quant_min,
                 weight::quant_max,
                 !Entry::weight::qscheme::is_symmetric || !weight::is_signed,
                 table_bits_of<Config>,
                 embedding_bits_of<Config>};
        };
        (fill(all[I], std::type_identity<typename entries::template entry<static_cast<int>(I)>>{}), ...);
    }
    (std::make_index_sequence<static_cast<std::size_t>(entries::count)>{});
    return all[index];
}

/// The algorithm of every weighted row in int8, under the policy that `policy_of(row)` gives.
template <class Arch, int N, class PolicyOf> constexpr graph<N> choose_algorithms(graph<N> g, PolicyOf policy_of) {
    for (int i = 0; i != g.size; ++i) {
        node& row = g.nodes[i];
        if (!is_weighted(row.kind) || row.type == scalar_type::float32) continue;
        row.policy = policy_of(row);
        row.algorithm = choose_algorithm<Arch>(row);
        row.word_weights = takes_words<Arch>(row, g.nodes[row.inputs[0]]);
        if (row.algorithm == conv2d_algorithm::automatic && g.error.broken == rule::none)
            g.error = {rule::algorithm_does_not_fit, i, row.in, row.out};
    }
    return g;
}

/// An algorithm can be chosen for a layer that int8 kernels compute: the option would do nothing for another, silently.
template <class Net, class Config, class Rows> struct algorithms_of_qconfig {
    using entries = qconfig_entries<Config>;
    static constexpr int pointless = [] {
        if (Rows::table.error.broken != rule::none) return -1;
        for (int i = 1; i != entries::count; ++i) {
            const auto option = static_cast<std::size_t>(i);
            if (!entries::chooses_algorithm[option] || entries::names[option][0] == 0) continue;
            const int row = row_named(Rows::table, entries::names[option]);
            if (row >= 0 && Rows::table.nodes[row].algorithm == conv2d_algorithm::automatic) return i;
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

/// A plan without pointers to functions, so that a program has those alone that its steps call.
template <int N> constexpr graph<N> without_steps(graph<N> planned) {
    for (int i = 0; i != planned.size; ++i) planned.nodes[i].steps = nullptr;
    return planned;
}

/// The int8 model. Its type follows from the float model and the qconfig alone.
template <class Net, class Config, class Arch = default_architecture> struct quantized_stage {
    using net = Net;
    using config = Config;
    using architecture = Arch;
    static_assert(sizeof(verdict<source<Net>>) != 0 && sizeof(names_of_qconfig<Net, Config, Arch>) != 0);
    static constexpr auto prepared = assign_slots(fused_stage<Net, Arch>::table,
                                                  [](const node& row) { return qconfig_entries<Config>::choose(row); });
    static constexpr auto loose =
        choose_algorithms<Arch>(quantize_rows<most_quantized_rows(prepared)>(prepared, describe_entry<Config>,
                                                                             qconfig_entries<Config>::merges_sums),
                                [](const node& row) { return qconfig_entries<Config>::algorithm_of(row); });
    struct rows {  // what the verdict looks at
        static constexpr const auto& table = loose;
    };
    static_assert(sizeof(verdict<rows>) != 0 && sizeof(algorithms_of_qconfig<Net, Config, rows>) != 0);
    using kernels =
        quantized_kernels<typename qconfig_entries<Config>::requantization, Arch, needs_of(loose.nodes, loose.size)>;
    static constexpr const char* arithmetic = kernels::requantization_policy::name;  // for the signature of files
    static constexpr auto planned = [] {
        auto g = shrink<loose.size>(loose);
        if (g.error.broken != rule::none || prepared.error.broken != rule::none) return g;
        for (int i = 0; i != g.size; ++i) {
            g.nodes[i].parameter_bytes = kernels::parameter_bytes(g.nodes[i]);
            g.nodes[i].scratch_bytes = kernels::scratch_bytes(g.nodes[i]);
        }
        place_parameters(g);
        place_activations(g);
        return g;
    }();
    static constexpr auto table = without_steps(planned);
    static constexpr auto steps = []<int... Row>(std::integer_sequence<int, Row...>) {
        return std::array<step_function, sizeof...(Row)>{kernels::template step_of<quantized_stage, Row>()...};
    }
    (std::make_integer_sequence<int, loose.size>{});
};

template <class Net, class Arch = default_architecture> using fused = network<fused_stage<Net, Arch>>;
/// The int8 type of a float model under a qconfig.
template <class Net, class QConfig, class Arch = default_architecture>
using quantized = network<quantized_stage<Net, QConfig, Arch>>;

}  // namespace v0
}  // namespace zp
