// What operators of two activations have in common: operands that spread, a float form, a kernel on codes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

#include <zeropoint/kernel/broadcast.hpp>
#include <zeropoint/kernel/float_binary.hpp>
#include <zeropoint/layer/operation.hpp>

namespace zp {
inline namespace v0 {
namespace operators {

/// What a function of two arrays makes of activations: Function has a float form, what is prepared from the scales, and
/// a kernel on codes. A smaller operand spreads over the larger one along each axis on which it has the extent 1.
template <class Function> struct binary {
    using prepared = typename Function::prepared;
    static constexpr const char* kind = Function::kind;
    static constexpr bool elementwise = true, fuses_clamps = true;

    static constexpr shape output_shape(std::span<const shape> xs) {
        const shape &a = xs.front(), &b = xs.back();
        return {std::max(a.height, b.height), std::max(a.width, b.width), std::max(a.channels, b.channels),
                std::max(a.depth, b.depth)};
    }
    static constexpr bool accepts(std::span<const shape> xs) {
        const shape full = output_shape(xs);
        return xs.size() == 2 && kernel::broadcasts(xs[0], full) && kernel::broadcasts(xs[1], full);
    }
    template <class Arch> static void forward(const operands<float>& o) noexcept {
        const float low = o.lowest(), high = o.highest();
        float* y = o.y();
        kernel::for_each_broadcast<Arch>(o.x(0), o.x_shape(0), o.x(1), o.x_shape(1), o.y_shape(),
                                         [=](const float* a, const float* b, std::size_t count, std::size_t first) {
                                             kernel::float_binary<Arch, typename Function::floats>(a, b, count, low,
                                                                                                   high, y + first);
                                         });
    }

    static constexpr int prepared_bytes(const node&) { return static_cast<int>(sizeof(prepared)); }
    static const char* problem(const preparation& p) {
        const double a = p.x_qparams(0).scale, b = p.x_qparams(1).scale, y = p.y_qparams().scale;
        return Function::fits(a, b, y) ? nullptr
                                       : "the operands' scales and the output's are too far apart to compute with: "
                                         "calibrate the output's range on its own values";
    }
    static void prepare(const preparation& p) {
        const prepared made = Function::prepare(p, clamped_codes(p.row, p.row.activation, p.y_qparams()));
        std::memcpy(p.prepared, &made, sizeof made);
    }
    template <class Arch, class T> static void forward(const operands<T>& o) noexcept {
        const prepared& made = *o.template prepared<prepared>();
        T* y = o.y();
        kernel::for_each_broadcast<Arch>(o.x(0), o.x_shape(0), o.x(1), o.x_shape(1), o.y_shape(),
                                         [&](const T* a, const T* b, std::size_t count, std::size_t first) {
                                             Function::template run<Arch>(a, b, count, made, y + first);
                                         });
    }
};

template <op Kind, class Function, class A, class B>
struct binary_layer : operator_layer<Kind, "", binary<Function>, A, B> {};

}  // namespace operators
}  // namespace v0
}  // namespace zp
