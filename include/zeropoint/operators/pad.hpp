// SPDX-License-Identifier: BSD-3-Clause
// Values around an image: PyTorch's pad and its layers.
#pragma once

#include <zeropoint/kernel/movement/pad.hpp>
#include <zeropoint/operators/rearrangement.hpp>
#include <zeropoint/scheme/quantize.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind pad{"pad"};
}

using kernel::pad_mode;

/// How many values are put on each side of an image; one number means that many on all four sides of height and width.
struct sides {
    int left = 0, right = 0, top = 0, bottom = 0, front = 0, back = 0;  // front and back: before and after the channels
    /// None.
    constexpr sides() = default;
    constexpr sides(int all) : left(all), right(all), top(all), bottom(all) {}  // NOLINT(google-explicit-constructor)
    constexpr sides(int at_left, int at_right, int at_top, int at_bottom, int in_front = 0, int behind = 0)
        : left(at_left), right(at_right), top(at_top), bottom(at_bottom), front(in_front), back(behind) {}
    constexpr bool operator==(const sides&) const = default;

    /// Whether no side is below 0.
    constexpr bool none_below_zero() const {
        return left >= 0 && right >= 0 && top >= 0 && bottom >= 0 && front >= 0 && back >= 0;
    }
    /// As the kernel takes them.
    constexpr kernel::pad_sides around() const { return {{top, left, front}, {bottom, right, back}}; }
};

namespace operators {

template <sides Sides, pad_mode Mode, int Thousandths> struct pad {
    static constexpr const char* kind = "pad";
    static constexpr bool takes_int16 = true;
    // A constant that is not 0 has to be seen by the observer: input and output then share the output's scale.
    static constexpr qparams_source range = Thousandths == 0 ? qparams_source::of_input : qparams_source::observed;
    static constexpr bool picks_values = Thousandths == 0;
    static constexpr bool homogeneous = Thousandths == 0 && Sides.front == 0 && Sides.back == 0;
    static constexpr input_rule inputs = Thousandths == 0 ? input_rule::any : input_rule::same_qparams;
    static constexpr int options[] = {
        Sides.left, Sides.right, Sides.top, Sides.bottom, Sides.front, Sides.back, static_cast<int>(Mode), Thousandths};
    static constexpr kernel::pad_sides around = Sides.around();
    static constexpr bool puts_zeros =
        Mode == pad_mode::constant && Thousandths == 0 && Sides.front == 0 && Sides.back == 0;
    static constexpr const kernel::pad_sides* zeros = puts_zeros ? &around : nullptr;  // a convolution takes them over
    static constexpr bool along_steps = puts_zeros && Sides.top == 0 && Sides.bottom == 0;
    static constexpr stream_rule stream = along_steps ? stream_rule::zeros_in_front : stream_rule::whole;
    static constexpr float value = static_cast<float>(Thousandths / 1000.0);

    static constexpr bool accepts(shape x) {
        for (int along = 0; along != 3; ++along) {
            const int most = kernel::most_padding(Mode, kernel::extent_of(x, along));
            if (around.before[along] > most || around.after[along] > most) return false;
        }
        return true;
    }
    static constexpr shape output_shape(shape x) { return kernel::padded_shape(x, around); }
    template <class Arch, class T> static void forward(const operands<T>& o) noexcept {
        T constant{};
        if constexpr (std::is_same_v<T, float>) constant = value;
        else constant = static_cast<T>(quantize(value, o.y_qparams(), o.y_type().quant_min, o.y_type().quant_max));
        kernel::pad<Arch>(o.x_shape(), around, Mode, constant, o.x(), o.y());
    }
};

}  // namespace operators

/// Values around the input: constant (Thousandths / 1000), reflect, replicate or circular as in PyTorch, or symmetric,
/// TFLite's MIRROR_PAD. A mirrored or circular side may not be wider than its axis allows.
template <sides Sides, pad_mode Mode = pad_mode::constant, int Thousandths = 0>
struct pad : operator_layer<op::pad, "", operators::pad<Sides, Mode, Mode == pad_mode::constant ? Thousandths : 0>> {
    static_assert(Sides.none_below_zero(), "pad<Sides, ...>: no side may be below 0; zp::slice takes values away");
};

/// PyTorch's ZeroPad2d.
template <sides Sides> struct zero_pad2d : pad<Sides> {};
/// PyTorch's ConstantPad2d, the value in thousandths.
template <sides Sides, int Thousandths> struct constant_pad2d : pad<Sides, pad_mode::constant, Thousandths> {};
/// PyTorch's ReflectionPad2d: each side is smaller than its axis.
template <sides Sides> struct reflection_pad2d : pad<Sides, pad_mode::reflect> {};
/// PyTorch's ReplicationPad2d.
template <sides Sides> struct replication_pad2d : pad<Sides, pad_mode::replicate> {};
/// PyTorch's CircularPad2d: each side is at most its axis.
template <sides Sides> struct circular_pad2d : pad<Sides, pad_mode::circular> {};

}  // namespace zp::inline v0
