// SPDX-License-Identifier: BSD-3-Clause
// What a network is, for static_assert and tests: fused, observing, quantized from end to end, with qparams that make sense.
#pragma once

#include <cstddef>
#include <string>

#include <zeropoint/core/float_values.hpp>
#include <zeropoint/core/number_text.hpp>
#include <zeropoint/graph/context.hpp>
#include <zeropoint/model/budget.hpp>
#include <zeropoint/model/network.hpp>
#include <zeropoint/pass/fuse.hpp>

namespace zp::inline v0 {

/// Whether zp::fuse would find nothing to fold or to fuse. Stages behind fuse always are.
template <class Network>
inline constexpr bool is_fused = [] {
    using stage = typename Network::stage;
    if constexpr (requires { typename stage::config; }) return true;  // made of the fused network
    else return fuse_nodes(stage::loose).size == stage::loose.size;
}();

/// Whether the network observes what it computes: a prepared or calibrated one.
template <class Network>
inline constexpr bool observers_enabled = [] {
    if constexpr (requires(Network & n, const void* const* xs) { n.observe(xs); }) {
        for (const node& n : Network::rows())
            if (n.flags.observed) return true;
    }
    return false;
}();

/// How often codes become floats, or floats codes, inside of a network, beside its inputs and outputs. Part of zp::budget_of.
template <class Network> inline constexpr int boundary_count = budget_of<Network>.boundaries;

/// Whether every layer computes with codes: floats are what goes in and what comes out alone.
template <class Network>
inline constexpr bool is_fully_quantized = [] {
    bool has_codes = false;
    for (const node& n : Network::rows()) {
        const bool is_port = n.op->is_input || n.op->is_output;
        if (n.is_float() && !is_port && !n.op->is_boundary) return false;
        has_codes = has_codes || n.out.is_codes();
    }
    return has_codes && boundary_count<Network> == 0;
}();

/// The first range or weight scale of a quantized network that is NaN, infinite or not above 0, or whose zero point is no code, as a
/// sentence; empty where there is none.
template <class Stage> std::string qparams_problem(const network<Stage>& model) {
    const auto is_good = [](float scale) { return is_finite(scale) && scale > 0; };
    for (int i = 0; i != Stage::table.size; ++i) {
        const node& n = Stage::table.nodes[i];
        const std::string name = display_name(network<Stage>::rows(), i);
        if (n.out.is_codes() && !n.op->is_output) {
            const qparams& range = model.ranges()[n.out.qparams_id];
            if (!is_good(range.scale)) return name + ": scale " + number_text(range.scale);
            if (range.zero_point < n.out.quant_min || range.zero_point > n.out.quant_max)
                return name + ": zero point " + std::to_string(range.zero_point) + " outside of " +
                       std::to_string(n.out.quant_min) + " to " + std::to_string(n.out.quant_max);
        }
        const unpack_function unpack = Stage::unpacks[static_cast<std::size_t>(i)];
        if (n.at.parameter_bytes == 0 || unpack == nullptr || parameters_of(Stage::table.view(i)).count == 0) continue;
        const preparation p{Stage::table.view(i), model.ranges(),
                            const_cast<std::byte*>(model.parameters()) + n.at.parameter_offset};
        for (const quantized_weights& weights : unpack(p).matrices)
            for (std::size_t c = 0; c != weights.scales.size(); ++c) {
                const bool may_be_zero = !weights.offsets.empty();  // a row of a table whose values are all one
                if (!is_good(weights.scales[c]) && !(may_be_zero && weights.scales[c] == 0))
                    return name + ": weight scale " + std::to_string(c) + " is " + number_text(weights.scales[c]);
            }
    }
    return {};
}
/// Whether every scale is finite and above 0, and every zero point within its codes: qparams_problem(model) is empty.
template <class Stage> bool all_qparams_finite(const network<Stage>& model) { return qparams_problem(model).empty(); }

}  // namespace zp::inline v0
