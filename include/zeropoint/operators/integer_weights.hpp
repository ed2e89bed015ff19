// SPDX-License-Identifier: BSD-3-Clause
// What gives a float node integer weights under a policy: a dynamic one, or one of weights alone.
#pragma once

#include <zeropoint/operators/matrix_dynamic.hpp>
#include <zeropoint/operators/matrix_nibbles.hpp>
#include <zeropoint/operators/matrix_weight_only.hpp>
#include <zeropoint/operators/quantize_groups.hpp>

namespace zp::inline v0 {

/// Whether a policy is of weights alone, which are multiplied with floats as floats.
template <class Policy> concept weights_alone = quantizes_groups<typename Policy::weight_quantizer>;
/// Whether it also quantizes activations, as they come.
template <class Policy> concept quantizes_inputs = requires {
    typename Policy::weight_quantizer;
    typename Policy::input_storage;
};

namespace operators {

/// Why a node cannot have integer weights between floats under a policy: a sentence for tables, an empty one where nobody would
/// ask. Null where it can.
template <class Policy> constexpr const char* why_no_integer_weights(const node& n) {
    if (!n.op->has_dynamic && !n.op->has_weight_only) return "";
    if constexpr (weights_alone<Policy>) {
        return n.op->has_weight_only ? nullptr : "stays float32: there is no form with integer weights alone";
    } else {
        if (!n.op->has_dynamic) return "stays float32: there is no dynamic form";
        if (!n.op->multiplies) return nullptr;
        if (groups_of_filters({&n, n}) != 1) return "stays float32: groups have no dynamic form";
        if constexpr (has_weight_groups<Policy>)
            if (n.op->is_connected) return nullptr;  // sums are those of a group
        // A product is at most 255 * 128 where weights are symmetric, and 255 * 255 where they have zero points.
        constexpr int most = kernel::largest_dynamic_depth(Policy::has_affine_weights);
        return n.weights.count / n.weights.channels > most ? "stays float32: int32 sums could overflow" : nullptr;
    }
}
/// Gives it them.
template <class Policy, class Arch> constexpr void make_integer_weights(const node* nodes, node& n) {
    if constexpr (has_weight_groups<Policy>)
        if (n.op->is_connected) return make_grouped<Policy>(n);
    if constexpr (weights_alone<Policy>) make_weight_only<Policy>(n);
    else make_dynamic<Policy, Arch>(nodes, n);
}

}  // namespace operators
}  // namespace zp::inline v0
