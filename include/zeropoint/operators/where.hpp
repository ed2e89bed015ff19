// A choice between the outputs of two branches by that of a third.
#pragma once

#include <cstdint>
#include <type_traits>

#include <zeropoint/kernel/elementwise/where.hpp>
#include <zeropoint/graph/define.hpp>

namespace zp {
inline namespace v0 {
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
    struct tables {
        std::uint8_t of_a[kernel::lookup_table_size], of_b[kernel::lookup_table_size];
        bool has_a, has_b;
    };
    static constexpr int prepared_bytes(const node_view&) { return sizeof(tables); }
    static void prepare(const preparation& p) {
        auto* t = reinterpret_cast<tables*>(p.prepared());
        const qparams& y = p.y_qparams();
        const auto fill = [&](const qparams& x, std::uint8_t* table) {
            const auto make = [&]<class T>(T* entries) {
                kernel::make_lookup_table<T>([](double real) { return real; }, x.scale, x.zero_point, y.scale,
                                             y.zero_point, p.y_type().quant_min, p.y_type().quant_max, entries);
            };
            if (p.y_type().storage == scalar_type::int8) make(reinterpret_cast<std::int8_t*>(table));
            else make(table);
            return x.scale != y.scale || x.zero_point != y.zero_point;
        };
        t->has_a = fill(p.x_qparams(1), t->of_a);
        t->has_b = fill(p.x_qparams(2), t->of_b);
    }
    template <class Arch, class T> static void forward(const operands<T>& o) noexcept {
        const auto pixels = static_cast<std::size_t>(o.y_shape().pixels());
        const auto channels = static_cast<std::size_t>(o.y_shape().channels);
        const bool by_pixel = o.x_shape(0).channels != o.y_shape().channels;
        if constexpr (std::is_same_v<T, float>) {
            if (by_pixel) kernel::where_pixels<Arch>(o.x(0), 0.0f, o.x(1), o.x(2), pixels, channels, o.y());
            else kernel::where<Arch>(o.x(0), 0.0f, o.x(1), o.x(2), pixels * channels, o.y());
        } else {
            const auto* t = o.template prepared<tables>();
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

}  // namespace v0
}  // namespace zp
