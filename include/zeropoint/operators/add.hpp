// SPDX-License-Identifier: BSD-3-Clause
// add: of two values. Of one shape most become a part of the layer that makes the later operand; others spread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <zeropoint/graph/define.hpp>
#include <zeropoint/kernel/elementwise/add.hpp>
#include <zeropoint/kernel/elementwise/elementwise_int16.hpp>
#include <zeropoint/kernel/float/float_elementwise.hpp>
#include <zeropoint/operators/binary_operator.hpp>
#include <zeropoint/operators/clamp.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind add{"add"};
}
namespace operators {

/// Of operands of one shape.
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

struct add_int16 {
    kernel::add_int16_parameters sum;

    static constexpr bool fits(double a, double b, double y) { return std::max(a, b) < 0x1p21 * y; }
    static add_int16 prepare(const preparation& p, const kernel::output_codes& codes) {
        return {kernel::make_add_int16_parameters(p.x_qparams(0).scale, p.x_qparams(1).scale, p.y_qparams().scale,
                                                  codes.min, codes.max)};
    }
    template <class Arch>
    static void run(const std::int16_t* a, const std::int16_t* b, std::size_t count, const add_int16& made,
                    std::int16_t* y) noexcept {
        kernel::add_int16<Arch>(a, b, count, made.sum, y);
    }
};
/// The same sum as a function for operands that spread.
struct sum_of_two {
    static constexpr const char* kind = "add";
    using floats = kernel::binary::add;
    using int16 = add_int16;
    using prepared = kernel::add_parameters;
    static constexpr bool fits(double a, double b, double y) { return std::max(a, b) < 0x1p21 * y; }
    static prepared prepare(const preparation& p, const kernel::output_codes& codes) {
        const qparams &a = p.x_qparams(0), &b = p.x_qparams(1), &y = p.y_qparams();
        return kernel::make_add_parameters(a.scale, a.zero_point, b.scale, b.zero_point, y.scale, codes.zero_point,
                                           codes.min, codes.max);
    }
    template <class Arch, class T>
    static void run(const T* a, const T* b, std::size_t count, const prepared& made, T* y) noexcept {
        kernel::add<Arch>(a, b, count, made, y);
    }
};
/// Gives no addend: an epilogue reads a residual value by value.
using spreading_add = binary<sum_of_two>;

}  // namespace operators

template <> struct forms_of<op::add> {
    static constexpr bool is_keyed = true;
    struct form_key {
        scalar_type storage;
        bool spreads;
    };
    static constexpr form_key key(const node_view& v) { return {computing_storage(v), v.x_shape(0) != v.x_shape(1)}; }
    template <form_key Key, class Arch, class Policies>
    struct form : std::conditional_t<Key.spreads, forms_by_storage<operators::spreading_add>,
                                     forms_by_storage<operators::add>>::template form<Key.storage, Arch, Policies> {};
};

template <int> constexpr int builder::add(int a, int b, const char* name) {
    if (const shape operands[] = {nodes[a].out.extents, nodes[b].out.extents};
        operands[0] != operands[1] && operators::spreading_add::accepts(operands)) {
        const int both[] = {a, b};
        return append_operator<op::add, operators::spreading_add>(*this, both, name);
    }
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

/// A(x) + B(x). Along each axis their extents are equal, or one of them is 1: its values then count for the whole axis.
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

}  // namespace zp::inline v0
