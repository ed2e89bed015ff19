// SPDX-License-Identifier: BSD-3-Clause
// Forms of nodes that are built by hand, whose algorithm is known when a test runs.
#pragma once

#include <cstddef>
#include <iterator>
#include <type_traits>

#include <zeropoint/operators/matrix.hpp>

namespace zp_test {

/// Key of the form of a node with filters over uint8, with int8 weights.
constexpr zp::operators::matrix_key key_of_bytes(zp::filter_kernels family, bool residual = false) {
    zp::operators::matrix_key key;
    key.input = key.output = zp::scalar_type::uint8;
    key.weights = key.products = zp::scalar_type::int8;
    key.family = family;
    key.residual = residual;
    return key;
}
constexpr zp::operators::matrix_key with_algorithm(zp::operators::matrix_key key, zp::conv2d_algorithm algorithm) {
    key.algorithm = algorithm;
    return key;
}
template <zp::operators::matrix_key Key, class Requantization>
using matrix_form =
    zp::operators::matrix_forms::form<Key, zp::default_architecture, zp::stage_policies<Requantization, void>>;

/// call(std::type_identity<Form>()) with the form of an algorithm.
template <zp::operators::matrix_key Key, class Requantization, std::size_t First = 0, class Call>
void with_matrix_form(zp::conv2d_algorithm algorithm, const Call& call) {
    if constexpr (First != std::size(zp::kernel::conv2d_algorithms)) {
        constexpr zp::operators::matrix_key key = with_algorithm(Key, zp::kernel::conv2d_algorithms[First]);
        if (key.algorithm == algorithm) return call(std::type_identity<matrix_form<key, Requantization>>());
        with_matrix_form<Key, Requantization, First + 1>(algorithm, call);
    }
}

/// Makes a node one over uint8 with all codes and the qparams of that id, and int8 weights if it has any.
inline void set_bytes(zp::node& n, short qparams_id) {
    n.out.storage = zp::scalar_type::uint8;
    n.out.quant_max = 255;
    n.out.qparams_id = qparams_id;
    if (!n.op->multiplies) return;
    n.weights.storage = n.weights.products = zp::scalar_type::int8;
    n.weights.quant_min = -128;
    n.weights.quant_max = 127;
}

}  // namespace zp_test
