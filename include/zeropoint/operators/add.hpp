// add: of two values of one shape. Most become a part of the layer that makes the later operand.
#pragma once

#include <cstring>

#include <zeropoint/graph/define.hpp>
#include <zeropoint/kernel/elementwise/add.hpp>
#include <zeropoint/kernel/elementwise/elementwise_int16.hpp>
#include <zeropoint/kernel/float/float_elementwise.hpp>
#include <zeropoint/operators/clamp.hpp>

namespace zp {
inline namespace v0 {
namespace op {
inline constexpr operator_kind add{"add"};
}
namespace operators {

struct add {
    static constexpr bool elementwise = true, takes_int16 = true, signed_by_kind = true;
    static constexpr unsigned gives = addend, takes = bounds;

    /// y = requantize(accumulator + residual)
    static constexpr void merge(node& into, const node& self) {
        into.fused = self.fused;
        into.fused.adds_input_1 = true;
        into.out.qparams_id = self.out.qparams_id;
        into.from.sum = self.from.self;
    }
    template <class Arch> static void forward(const operands<float>& o) noexcept {
        kernel::add_float<Arch>(o.x(0), o.x(1), static_cast<std::size_t>(o.y_shape().size()), o.lowest(), o.highest(),
                                o.y());
    }

    static constexpr int prepared_bytes(const node_view& v) {
        return static_cast<int>(v.y_type().storage == scalar_type::int16 ? sizeof(kernel::add_int16_parameters)
                                                                         : sizeof(kernel::add_parameters));
    }
    static refusal problem(const preparation& p) {
        const double y = p.y_qparams().scale;
        for (const int k : {0, 1})
            if (const double x = p.x_qparams(k).scale; !(x < 2097152.0 * y))  // see kernel::make_add_parameters
                return {"operands' scales below 2^21 output scales", x, y,
                        "calibrate the output's range on its own values"};
        return {};
    }
    static void prepare(const preparation& p) {
        const qparams &a = p.x_qparams(0), &b = p.x_qparams(1), &y = p.y_qparams();
        const kernel::output_codes codes = clamped_codes(p.at.n, y);
        const auto put = [&](const auto& made) { std::memcpy(p.prepared(), &made, sizeof made); };
        if (p.y_type().storage == scalar_type::int16)
            put(kernel::make_add_int16_parameters(a.scale, b.scale, y.scale, codes.min, codes.max));
        else
            put(kernel::make_add_parameters(a.scale, a.zero_point, b.scale, b.zero_point, y.scale, y.zero_point,
                                            codes.min, codes.max));
    }
    template <class Arch, class T> static void forward(const operands<T>& o) noexcept {
        const auto count = static_cast<std::size_t>(o.y_shape().size());
        if constexpr (sizeof(T) == 2)
            kernel::add_int16<Arch>(o.x(0), o.x(1), count, *o.template prepared<kernel::add_int16_parameters>(), o.y());
        else kernel::add<Arch>(o.x(0), o.x(1), count, *o.template prepared<kernel::add_parameters>(), o.y());
    }
};

}  // namespace operators

template <> struct forms_of<op::add> : forms_by_storage<operators::add> {};

constexpr int builder::add(int a, int b, const char* name) {
    node n = unary(info_of<operators::add, op::add>, keyed_rules_of<operators::add>, a, name);
    const value_type &x = nodes[a].out, &y = nodes[b].out;
    n.input_count = 2;
    n.inputs[1] = static_cast<short>(b);
    n.out.flattened = x.flattened;
    if (x.extents != y.extents) fail(rule::branch_shapes_differ, x.extents, y.extents);
    if ((x.is_flattened_image() || y.is_flattened_image()) && x.flattened != y.flattened)
        fail(rule::flattened_image, x.flattened, y.flattened);
    return append(n);
}

/// A(x) + B(x).
template <class A, class B> struct add {
    static constexpr int nodes = nodes_of<A> + nodes_of<B> + 1;
    static constexpr int lower(builder& b, int x) {
        const int left = sequential<A>::lower(b, x);
        return b.add(left, sequential<B>::lower(b, x));
    }
};
/// relu(A(x) + B(x)).
template <class A, class B> struct add_relu : sequential<add<A, B>, relu> {};

/// Layers(x) + x.
template <class... Layers> struct residual : add<sequential<Layers...>, identity> {};

}  // namespace v0
}  // namespace zp
