// SPDX-License-Identifier: BSD-3-Clause
// Which form computes a node with filters: its storage signature, and what code is generated for.
#pragma once

#include <zeropoint/operators/matrix_dynamic.hpp>
#include <zeropoint/operators/matrix_float.hpp>
#include <zeropoint/operators/matrix_int16.hpp>
#include <zeropoint/operators/matrix_int8.hpp>
#include <zeropoint/operators/matrix_nibbles.hpp>
#include <zeropoint/operators/matrix_weight_only.hpp>

namespace zp::inline v0::operators {

/// What tells the forms of nodes with filters apart. Members that make no difference to a form have their defaults, so that it
/// is one form; the rarest are the last, which symbols leave out.
struct matrix_key {
    scalar_type input = scalar_type::float32, weights = scalar_type::float32, products = scalar_type::float32,
                output = scalar_type::float32;
    filter_kernels family = filter_kernels::conv2d;
    conv2d_algorithm algorithm = conv2d_algorithm::automatic;
    bool residual = false;
    bool affine = false;  // int8 products whose weights have zero points, or are packed so; groups with a minimum
    bool int16_panels = false, fine_table = false;  // of what is small:
    kernel::linear_extents small{};                 // extents that code is generated for; rows = 0 elsewhere
    bool is_connected = false;
    float_epilogue epilogue = float_epilogue::none;  // of dynamic products of whole vectors
    int weight_only_bits = 0;                        // of a code, of weights alone
    int group = 0;                                   // of 4-bit weights, how many inputs share a scale
    bool float_row = false;                          // floats whose weights are packed for one row
};

constexpr matrix_key matrix_key_of(const node_view& v) {
    const node& n = v.n;
    matrix_key key;
    key.family = n.op->filters;
    if (n.is_weight_only()) {
        key.weights = n.weights.storage;
        key.weight_only_bits = weight_only_bits(n);
        return key;
    }
    if (n.is_float() && !n.is_dynamic()) {
        key.float_row = n.weights.packed_row;
        if (key.float_row) key.small = kernel::linear_extents_of(n.op->geometry(v));
        return key;
    }
    key.weights = n.weights.storage;
    key.products = scalar_type::int8;
    if (n.is_dynamic()) {
        key.is_connected = n.op->is_connected;
        if (key.is_connected) key.epilogue = epilogue_of(n);
        if (n.is_grouped()) {
            key.group = n.weights.group;
            key.affine = n.weights.storage == scalar_type::uint8;
            return key;
        }
        if (is_small_dynamic(v)) {
            key.small = extents_of_linear(v);
            key.int16_panels = n.weights.packed_int16;
        }
        return key;
    }
    key.input = v.x_type().storage;
    key.output = n.out.storage;
    key.algorithm = n.by.algorithm;
    if (key.input == scalar_type::int16) {
        key.is_connected = n.op->is_connected;
        return key;
    }
    key.is_connected = n.op->is_connected;
    key.residual = n.fused.adds_input_1;
    key.affine = packs_zero_points(n);
    key.small = small_extents(v);
    if (key.small.rows != 0) {
        key.int16_panels = n.weights.packed_int16;
        key.fine_table = has_fine_table(n);
    }
    return key;
}

/// The policy that follows from it says all that it says of codes of 8 bits.
constexpr matrix_key without_connection(matrix_key key) {
    key.is_connected = false;
    return key;
}

/// A node that no algorithm can compute, which is an error told elsewhere.
struct no_form {
    static constexpr run_function run_pointer = nullptr;
};
template <matrix_key Key, class Arch, class Policies> constexpr auto find_matrix_form() {
    if constexpr (Key.weight_only_bits != 0)
        return std::type_identity<weight_only_filters<Key.weight_only_bits, Arch>>();
    else if constexpr (Key.float_row) return std::type_identity<float_row_filters<Key.small, Arch>>();
    else if constexpr (Key.products == scalar_type::float32)
        return std::type_identity<float_filters<Key.family, Arch>>();
    else if constexpr (Key.group != 0)
        return std::type_identity<nibble_filters<Key.group, Key.affine, Key.epilogue, Arch>>();
    else if constexpr (Key.input == scalar_type::float32)
        return std::type_identity<dynamic_filters<Key, Arch, typename Policies::dynamic>>();
    else if constexpr (Key.algorithm == conv2d_algorithm::automatic) return std::type_identity<no_form>();
    else if constexpr (Key.input == scalar_type::int16)
        return std::type_identity<int16_filters<Key, Arch, typename Policies::requantization>>();
    else {
        using policy = typename policy_of_layer<typename Policies::requantization, Key.is_connected>::type;
        return std::type_identity<int8_filters<without_connection(Key), Arch, policy>>();
    }
}

struct matrix_forms {
    static constexpr bool is_keyed = true;
    static constexpr matrix_key key(const node_view& v) { return matrix_key_of(v); }
    template <matrix_key Key, class Arch, class Policies>
    using form = typename decltype(find_matrix_form<Key, Arch, Policies>())::type;
};

}  // namespace zp::inline v0::operators
