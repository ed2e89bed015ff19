// Which kernels a model's rows take, found at compile time: no other is instantiated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>
#include <utility>

#include <zeropoint/kernel/conv2d_kernels.hpp>
#include <zeropoint/layer/embedding_geometry.hpp>
#include <zeropoint/layer/node.hpp>

namespace zp {
inline namespace v0 {

/// Sets of operators (but described ones), algorithms, and storage types of activations and weights, one bit each. Empty as it is made.
struct kernel_needs {
    std::uint64_t operators = 0;
    std::uint32_t algorithms = 0,
                  residual_algorithms = 0;  // of rows without a residual, and of those with one: see bit
    bool unsigned_codes = false, signed_codes = false, floats = false;
    bool unsigned_weights = false, signed_weights = false;
    bool wide_codes = false;
    bool coded_tables = false;  // of embeddings, with a scale a row

    constexpr bool operator==(const kernel_needs&) const = default;
    static constexpr kernel_needs everything() {
        return {~std::uint64_t{0}, ~0u, ~0u, true, true, true, true, true, true, true};
    }
    constexpr bool has(op kind) const { return (operators >> static_cast<int>(kind) & 1) != 0; }
    /// An algorithm of rows of one kind; linear layers are convolutions.
    static constexpr std::uint32_t bit(conv2d_algorithm algorithm, op kind = op::conv2d) {
        const int first = kind == op::conv_transpose2d   ? 8
                          : kind == op::conv3d           ? 16
                          : kind == op::conv_transpose3d ? 24
                                                         : 0;
        return std::uint32_t{1} << (first + static_cast<int>(algorithm));
    }
    constexpr bool has(conv2d_algorithm algorithm, op kind = op::conv2d) const {
        return ((algorithms | residual_algorithms) & bit(algorithm, kind)) != 0;
    }
    constexpr bool has(conv2d_algorithm algorithm, bool with_residual, op kind = op::conv2d) const {
        return ((with_residual ? residual_algorithms : algorithms) & bit(algorithm, kind)) != 0;
    }
    /// Adds what a row takes.
    constexpr void add(const node& row) {
        if (row.kind == op::input) return;
        if (has_coded_table(row)) {
            coded_tables = true;
            return;
        }
        if (row.type == scalar_type::float32 && row.kind != op::dequantize) {
            floats = true;
            return;
        }
        if (row.described == nullptr) operators |= std::uint64_t{1} << static_cast<int>(row.kind);
        unsigned_codes = unsigned_codes || row.type == scalar_type::uint8;
        signed_codes = signed_codes || row.type == scalar_type::int8;
        wide_codes = wide_codes || row.wide_input || row.type == scalar_type::int16;
        if (!is_weighted(row.kind)) return;
        (has_residual(row) ? residual_algorithms : algorithms) |= bit(row.algorithm, row.kind);
        unsigned_weights = unsigned_weights || row.weight_type == scalar_type::uint8;
        signed_weights = signed_weights || row.weight_type == scalar_type::int8;
    }
};

constexpr kernel_needs needs_of(const node* rows, int size) {
    kernel_needs needs;
    for (int i = 0; i != size; ++i) needs.add(rows[i]);
    return needs;
}

/// Calls f with a value of the row's weight type, which must be needed.
template <kernel_needs Needs, class F> void with_weight_type(const node& row, F&& f) {
    if constexpr (Needs.unsigned_weights)
        if (row.weight_type == scalar_type::uint8) return f(std::uint8_t{});
    if constexpr (Needs.signed_weights)
        if (row.weight_type == scalar_type::int8) f(std::int8_t{});
}

/// Calls f(std::integral_constant<conv2d_algorithm, A>) with the A that is `algorithm`, which rows of this kind must need. f
/// is instantiated for needed algorithms alone.
template <kernel_needs Needs, op Kind = op::conv2d, class F>
constexpr void with_algorithm(conv2d_algorithm algorithm, F&& f) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        const auto note = [&]<conv2d_algorithm A>(std::integral_constant<conv2d_algorithm, A> name) {
            if constexpr (Needs.has(A, Kind))
                if (algorithm == A) f(name);
        };
        (note(std::integral_constant<conv2d_algorithm, kernel::conv2d_algorithms[I]>{}), ...);
    }
    (std::make_index_sequence<std::size(kernel::conv2d_algorithms)>{});
}

}  // namespace v0
}  // namespace zp
