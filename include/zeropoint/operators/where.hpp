// SPDX-License-Identifier: BSD-3-Clause
// A choice between the outputs of two branches by that of a third.
#pragma once

#include <type_traits>

#include <zeropoint/kernel/elementwise/where.hpp>
#include <zeropoint/graph/define.hpp>
#include <zeropoint/operators/code_table.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind where{"where"};
}
namespace operators {

struct where {
    static constexpr const char* kind = "where";
    static constexpr bool takes_volumes = true;
    static constexpr bool accepts(std::span<const shape> xs) {
        return xs.size() == 3 && xs[1] == xs[2] && xs[0].pixels() == xs[1].pixels() && xs[0].height == xs[1].height &&
               xs[0].width == xs[1].width && (xs[0].channels == xs[1].channels || xs[0].channels == 1);
    }
    static constexpr shape output_shape(std::span<const shape> xs) { return xs.size() == 3 ? xs[1] : xs[0]; }

    /// A table for each operand that is not on the output's grid.
    struct prepared {
        std::byte of_a[kernel::lookup_table_size], of_b[kernel::lookup_table_size];
        bool has_a, has_b;
    };
    static prepared prepare(const preparation& p) {
        const qparams &a = p.x_qparams(1), &b = p.x_qparams(2), &y = p.y_qparams();
        prepared made{{}, {}, a != y, b != y};
        make_grid_table(p, a, codes_of_output(p), made.of_a);
        make_grid_table(p, b, codes_of_output(p), made.of_b);
        return made;
    }
    template <class Arch, class T> static void forward(const operands<T>& o) noexcept {
        const auto pixels = static_cast<std::size_t>(o.y_shape().pixels());
        const auto channels = static_cast<std::size_t>(o.y_shape().channels);
        const bool by_pixel = o.x_shape(0).channels != o.y_shape().channels;
        if constexpr (std::is_same_v<T, float>) {
            if (by_pixel) kernel::where_pixels<Arch>(o.x(0), 0.0f, o.x(1), o.x(2), pixels, channels, o.y());
            else kernel::where<Arch>(o.x(0), 0.0f, o.x(1), o.x(2), pixels * channels, o.y());
        } else {
            const auto* t = o.template prepared<prepared>();
            const T* of_a = t->has_a ? reinterpret_cast<const T*>(t->of_a) : nullptr;
            const T* of_b = t->has_b ? reinterpret_cast<const T*>(t->of_b) : nullptr;
            const auto zero = static_cast<T>(o.x_qparams(0).zero_point);
            if (by_pixel) kernel::where_pixels<Arch>(o.x(0), zero, o.x(1), of_a, o.x(2), of_b, pixels, channels, o.y());
            else kernel::where<Arch>(o.x(0), zero, o.x(1), of_a, o.x(2), of_b, pixels * channels, o.y());
        }
    }
};

}  // namespace operators

/// Condition(x) != 0 ? A(x) : B(x), value by value; Condition may have one channel, for all of A and B. In int8 a value is
/// 0 where its code is the zero point: those that would round to it are not told from 0.
template <class Condition, class A, class B>
struct where : operator_layer<op::where, "", operators::where, Condition, A, B> {};

}  // namespace zp::inline v0
