// SPDX-License-Identifier: BSD-3-Clause
// Where values change their type: floats to codes and back, and codes of one range to those of another.
#pragma once

#include <cstring>

#include <zeropoint/kernel/dynamic/quantize.hpp>
#include <zeropoint/kernel/elementwise/elementwise_int16.hpp>
#include <zeropoint/operators/lookup.hpp>
#include <zeropoint/scheme/requantization.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind quantize{"quantize"}, dequantize{"dequantize"}, requantize{"requantize"};
}
namespace operators {

constexpr operator_info make_boundary(const operator_kind& kind) {
    operator_info info;
    info.kind = &kind;
    info.name = kind.name;
    info.signed_by_kind = info.is_boundary = info.has_codes = info.takes_volumes = true;
    info.stream = stream_rule::pointwise;
    return info;
}
inline constexpr scalar_function identity_function{};
inline constexpr operator_info quantize_info = make_boundary(op::quantize);
inline constexpr operator_info dequantize_info = [] {
    operator_info info = make_boundary(op::dequantize);
    info.to_float = true;
    return info;
}();
/// What stands in front of an operator whose inputs must have its scale: over 8 bits a table of the identity.
inline constexpr operator_info requantize_info = [] {
    operator_info info = make_boundary(op::requantize);
    info.elementwise = info.has_int16 = true;
    info.function = &identity_function;
    return info;
}();
inline constexpr operator_rules boundary_rules{};

template <class Arch, class Out> struct quantize_form {
    static void run(const node& n, const context& c) noexcept {
        const qparams& range = c.range(n);
        kernel::quantize<Arch>(c.in<float>(n), static_cast<std::size_t>(n.out.extents.size()), range.scale,
                               range.zero_point, n.out.quant_min, n.out.quant_max, c.out<Out>(n));
    }
};
template <class Arch, class In> struct dequantize_form {
    static void run(const node& n, const context& c) noexcept {
        const qparams& range = c.range_in(n);
        kernel::dequantize<Arch>(c.in<In>(n), static_cast<std::size_t>(n.out.extents.size()), range.scale,
                                 range.zero_point, c.out<float>(n));
    }
};
/// From codes of a range to those of another, of which one has 16 bits.
inline kernel::rescaling rescaling_between(const qparams& x, const qparams& y, const value_type& y_type) {
    const fixed_point_multiplier m = quantize_multiplier_single_rounding(double{x.scale} / double{y.scale});
    return {m.multiplier, m.shift, x.zero_point, 0, y.zero_point, y_type.quant_min, y_type.quant_max};
}
/// Of 16 bits at one end at least.
template <class Arch, class In, class Out> struct rescale_form {
    static constexpr int parameter_bytes(const node_view&) { return static_cast<int>(sizeof(kernel::rescaling)); }
    static refusal pack(const preparation& p, const node_parameters&) {
        const qparams &x = p.x_qparams(), &y = p.y_qparams();
        if (!(double{x.scale} < 2097152.0 * double{y.scale}))
            return {"operands' scales below 2^21 output scales", x.scale, y.scale};
        const kernel::rescaling made = rescaling_between(x, y, p.y_type());
        std::memcpy(p.block, &made, sizeof made);
        return {};
    }
    static node_parameters unpack(const preparation&) { return {}; }
    static void run(const node& n, const context& c) noexcept {
        kernel::requantize_codes<Arch>(c.in<In>(n), static_cast<std::size_t>(n.out.extents.size()),
                                       *c.block<kernel::rescaling>(n), c.out<Out>(n));
    }
};

/// Whether codes of both types have 8 bits.
constexpr bool is_lookup(scalar_type in, scalar_type out) {
    return in != scalar_type::int16 && out != scalar_type::int16;
}
struct boundary_key {
    scalar_type in, out;
};
constexpr boundary_key key_of_boundary(const node_view& v) { return {v.x_type().storage, v.y_type().storage}; }

}  // namespace operators

template <> struct forms_of<op::quantize> {
    static constexpr bool is_keyed = true;
    static constexpr scalar_type key(const node_view& v) { return v.y_type().storage; }
    template <scalar_type Out, class Arch, class> using form = operators::quantize_form<Arch, storage_of<Out>>;
};
template <> struct forms_of<op::dequantize> {
    static constexpr bool is_keyed = true;
    static constexpr scalar_type key(const node_view& v) { return v.x_type().storage; }
    template <scalar_type In, class Arch, class> using form = operators::dequantize_form<Arch, storage_of<In>>;
};
template <> struct forms_of<op::requantize> {
    static constexpr bool is_keyed = true;
    static constexpr operators::boundary_key key(const node_view& v) { return operators::key_of_boundary(v); }
    template <operators::boundary_key Key, class Arch, class>
    using form =
        std::conditional_t<operators::is_lookup(Key.in, Key.out), operators::lookup_form<Arch, storage_of<Key.in>>,
                           operators::rescale_form<Arch, storage_of<Key.in>, storage_of<Key.out>>>;
};

}  // namespace zp::inline v0
