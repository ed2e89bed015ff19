// SPDX-License-Identifier: BSD-3-Clause
// What operators of two activations have in common: operands that spread, a float form, a kernel on codes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

#include <zeropoint/kernel/elementwise/broadcast.hpp>
#include <zeropoint/kernel/float/float_binary.hpp>
#include <zeropoint/graph/define.hpp>

namespace zp::inline v0::operators {

/// What a function of two arrays makes of activations: Function has a float form, what is prepared from the scales, and
/// a kernel on codes. A smaller operand spreads over the larger one along each axis on which it has the extent 1.
template <class Function> struct binary {
    using prepared = typename Function::prepared;
    static constexpr const char* kind = Function::kind;
    static constexpr bool elementwise = true;
    static constexpr unsigned takes = bounds;
    static constexpr bool takes_int16 = requires { typename Function::int16; };  // what it does with 16-bit codes

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

    static constexpr int prepared_bytes(const node_view& v) {
        if constexpr (takes_int16)
            if (v.y_type().storage == scalar_type::int16) return static_cast<int>(sizeof(typename Function::int16));
        return static_cast<int>(sizeof(prepared));
    }
    static const char* problem(const preparation& p) {
        const double a = p.x_qparams(0).scale, b = p.x_qparams(1).scale, y = p.y_qparams().scale;
        bool fits = Function::fits(a, b, y);
        if constexpr (takes_int16)
            if (p.y_type().storage == scalar_type::int16) fits = Function::int16::fits(a, b, y);
        return fits ? nullptr
                    : "the operands' scales and the output's are too far apart to compute with: "
                      "calibrate the output's range on its own values";
    }
    static void prepare(const preparation& p) {
        const kernel::output_codes codes = clamped_codes(p.at.n, p.y_qparams());
        if constexpr (takes_int16) {
            if (p.y_type().storage == scalar_type::int16) {
                const auto made = Function::int16::prepare(p, codes);
                std::memcpy(p.prepared(), &made, sizeof made);
                return;
            }
        }
        const prepared made = Function::prepare(p, codes);
        std::memcpy(p.prepared(), &made, sizeof made);
    }
    template <class Arch, class T> static void forward(const operands<T>& o) noexcept {
        T* y = o.y();
        const auto run = [&](auto function, const auto& made) {
            kernel::for_each_broadcast<Arch>(o.x(0), o.x_shape(0), o.x(1), o.x_shape(1), o.y_shape(),
                                             [&](const T* a, const T* b, std::size_t count, std::size_t first) {
                                                 function.template run<Arch>(a, b, count, made, y + first);
                                             });
        };
        if constexpr (sizeof(T) == 2) run(typename Function::int16(), *o.template prepared<typename Function::int16>());
        else run(Function(), *o.template prepared<prepared>());
    }
};

template <const operator_kind& Kind, class Function, class A, class B>
struct binary_layer : operator_layer<Kind, "", binary<Function>, A, B> {};

}  // namespace zp::inline v0::operators
