// SPDX-License-Identifier: BSD-3-Clause
// concat: values side by side along the channels.
#pragma once

#include <bit>
#include <cstddef>
#include <new>
#include <type_traits>

#include <zeropoint/graph/define.hpp>
#include <zeropoint/kernel/movement/concat.hpp>
#include <zeropoint/operators/boundary.hpp>
#include <zeropoint/operators/code_table.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind concat{"concat"};
}
namespace operators {

/// Inputs of the output's range are copied. What brings another one there is in the block, an entry for each bit of
/// node::requantized_inputs: a table of 256 codes, or a ratio of 16-bit scales.
struct concat {
    static constexpr input_rule inputs = input_rule::same_qparams;
    static constexpr stream_rule stream = stream_rule::pointwise;
    static constexpr bool takes_volumes = true, takes_int16 = true, signed_by_kind = true, requantizes_inputs = true;

    static constexpr int bytes_each(scalar_type codes) {
        return codes == scalar_type::int16 ? static_cast<int>(sizeof(kernel::rescaling)) : kernel::lookup_table_size;
    }
    static constexpr int prepared_bytes(const node_view& v) {
        return std::popcount(v.n.requantized_inputs) * bytes_each(v.y_type().storage);
    }
    static void prepare(const preparation& p) {
        const scalar_type storage = p.y_type().storage;
        std::byte* to = p.prepared();
        for (int k = 0; k != p.at.n.input_count; ++k) {
            if ((p.at.n.requantized_inputs >> k & 1) == 0) continue;
            if (storage != scalar_type::int16) make_grid_table(p, p.x_qparams(k), codes_of_output(p), to);
            else new (to) kernel::rescaling(rescaling_between(p.x_qparams(k), p.y_qparams(), p.y_type()));
            to += bytes_each(storage);
        }
    }
    template <class Arch, class T> static void forward(const operands<T>& o) noexcept {
        const auto pixels = static_cast<std::size_t>(o.y_shape().pixels()),
                   all = static_cast<std::size_t>(o.y_shape().channels);
        T* y = o.y();
        [[maybe_unused]] const std::byte* block = nullptr;
        if constexpr (!std::is_same_v<T, float>) block = o.template prepared<std::byte>();
        for (int k = 0; k != o.inputs(); ++k) {
            const auto channels = static_cast<std::size_t>(o.x_shape(k).channels);
            bool is_copy = true;
            if constexpr (!std::is_same_v<T, float>) is_copy = o.x_qparams(k) == o.y_qparams();
            if (is_copy) kernel::copy_channels<Arch>(o.x(k), pixels, channels, y, all);
            else if constexpr (sizeof(T) == 2)
                kernel::copy_channels<Arch>(o.x(k), pixels, channels,
                                            *reinterpret_cast<const kernel::rescaling*>(block), y, all);
            else if constexpr (sizeof(T) == 1)
                kernel::copy_channels<Arch>(o.x(k), pixels, channels, reinterpret_cast<const T*>(block), y, all);
            if constexpr (!std::is_same_v<T, float>)
                if ((o.at().n.requantized_inputs >> k & 1) != 0) block += bytes_each(o.y_type().storage);
            y += channels;
        }
    }
};

}  // namespace operators

template <> struct forms_of<op::concat> : forms_by_storage<operators::concat> {};

constexpr int builder::concat(std::span<const int> xs, const char* name) {
    node n = unary(info_of<operators::concat, op::concat>, keyed_rules_of<operators::concat>, xs[0], name);
    const shape first = n.out.extents;
    n.input_count = 0;
    n.out.extents.channels = 0;
    for (const int x : xs) {
        const value_type& value = nodes[x].out;
        if (n.input_count == max_inputs) {
            fail(rule::too_many_inputs, first);
            break;
        }
        shape as_first = value.extents;
        as_first.channels = first.channels;
        if (as_first != first) fail(rule::branch_shapes_differ, first, value.extents);
        if (value.is_flattened_image()) fail(rule::flattened_image, value.flattened);
        n.inputs[n.input_count++] = static_cast<short>(x);
        n.out.extents.channels += value.extents.channels;
    }
    return append(n);
}

/// The outputs of all branches side by side along the channels.
template <class... Branches> struct concat {
    static_assert(sizeof...(Branches) >= 1, "concat<Branches...>: give it 1 to 8 branches; nest concats for more");
    static constexpr int nodes = (1 + ... + nodes_of<Branches>);
    static constexpr int lower(builder& b, int x) {
        const int outputs[] = {sequential<Branches>::lower(b, x)...};
        return b.concat(outputs);
    }
};

}  // namespace zp::inline v0
