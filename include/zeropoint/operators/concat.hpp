// concat: values side by side along the channels.
#pragma once

#include <zeropoint/graph/define.hpp>
#include <zeropoint/kernel/concat.hpp>

namespace zp {
inline namespace v0 {
namespace op {
inline constexpr operator_kind concat{"concat"};
}
namespace operators {

struct concat {
    static constexpr input_rule inputs = input_rule::same_qparams;
    static constexpr stream_rule stream = stream_rule::pointwise;
    static constexpr bool takes_volumes = true, takes_int16 = true, signed_by_kind = true;

    template <class Arch, class T> static void forward(const operands<T>& o) noexcept {
        T* y = o.y();
        for (int k = 0; k != o.inputs(); ++k) {
            const auto channels = static_cast<std::size_t>(o.x_shape(k).channels);
            kernel::copy_channels<Arch>(o.x(k), static_cast<std::size_t>(o.y_shape().pixels()), channels, y,
                                        static_cast<std::size_t>(o.y_shape().channels));
            y += channels;
        }
    }
};

}  // namespace operators

template <> struct forms_of<op::concat> : forms_by_storage<operators::concat> {};

constexpr int builder::concat(std::span<const int> xs, const char* name) {
    node n = unary(info_of<operators::concat, op::concat>, rules_of<operators::concat>, xs[0], name);
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

}  // namespace v0
}  // namespace zp
