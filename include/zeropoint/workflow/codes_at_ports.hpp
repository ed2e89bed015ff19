// SPDX-License-Identifier: BSD-3-Clause
// Options of a qconfig that let codes in and out of an int8 network, with no floats between: camera bytes in, codes out.
#pragma once

#include <string_view>
#include <tuple>
#include <type_traits>

#include <zeropoint/graph/ports.hpp>
#include <zeropoint/model/network.hpp>
#include <zeropoint/model/source.hpp>
#include <zeropoint/workflow/qconfig_options.hpp>

namespace zp::inline v0 {

/// The int8 network takes codes of this input, of the storage type of its activations, and no floats: there is no quantize node. Until
/// convert the model takes floats, for calibration too. `network::qparams_of<"name">()` tells what codes mean. Where they have a
/// meaning beforehand, as a camera's bytes, for_layer gives the input a fixed_qparams_observer: see qparams_of_bytes().
template <fixed_string Name = "input"> struct codes_in : qconfig_option {
    static constexpr bool is_input_port = true;
    static constexpr const char* port_name = Name.text;
};
/// The int8 network gives codes of this output, with no dequantize node.
template <fixed_string Name = "output"> struct codes_out : qconfig_option {
    static constexpr bool is_input_port = false;
    static constexpr const char* port_name = Name.text;
};

namespace detail {
/// Which node an option means; -1: none.
template <int N> constexpr int node_of_port(const graph<N>& g, bool is_input, std::string_view name) {
    if (!is_input && marked_output_count(g) == 0) return name == "output" ? g.size - 1 : -1;
    for (int i = 0; i != g.size; ++i)
        if ((is_input ? g.nodes[i].op->is_input : g.nodes[i].op->is_output) && g.nodes[i].name == name) return i;
    return -1;
}
/// Calls f(is_input, name) for each port that options name.
template <class F, class... Options>
constexpr void for_each_code_port(std::type_identity<std::tuple<Options...>>, F f) {
    const auto one = [&]<class Option>(std::type_identity<Option>) {
        if constexpr (requires { Option::port_name; }) f(Option::is_input_port, Option::port_name);
    };
    (one(std::type_identity<Options>{}), ...);
    static_cast<void>(one);
}
}  // namespace detail

/// Marks the inputs and outputs of a fused graph that a qconfig says codes of.
template <class Config, int N> constexpr graph<N> mark_code_ports(const graph<N>& fused) {
    graph<N> g = fused;
    detail::for_each_code_port(std::type_identity<typename Config::options>{}, [&](bool is_input, const char* name) {
        const int i = detail::node_of_port(g, is_input, name);
        if (i >= 0 && !g.nodes[i].is_indices()) g.nodes[i].flags.port_codes = true;
    });
    return g;
}

/// Every port that a qconfig names must be there, and be one of numbers.
template <class Net, class Config> struct ports_of_qconfig {
    static constexpr const char* missing = [] {
        constexpr const auto& g = source<Net>::table;
        const char* first = nullptr;
        detail::for_each_code_port(std::type_identity<typename Config::options>{},
                                   [&](bool is_input, const char* name) {
                                       const int i = detail::node_of_port(g, is_input, name);
                                       if (first == nullptr && (i < 0 || g.nodes[i].is_indices())) first = name;
                                   });
        return source<Net>::is_valid ? first : nullptr;
    }();
    static constexpr row_text nearest = missing == nullptr ? row_text() : nearest_port<source<Net>>(missing);
    static constexpr auto check() {
        if constexpr (missing != nullptr)
            return sizeof(no_port_named<exact<std::string_view(missing).size()>(missing), exact_text<nearest>, Net>);
        else return std::size_t{1};
    }
    static_assert(check() != 0);
};

}  // namespace zp::inline v0
