// Values around an image: PyTorch's pad and its layers.
#pragma once

#include <zeropoint/kernel/pad.hpp>
#include <zeropoint/layer/operators/rearrangement.hpp>
#include <zeropoint/scheme/quantize.hpp>

namespace zp {
inline namespace v0 {

using kernel::pad_mode;

/// How many values are put on each side of an image; one number means that many on all four sides of height and width.
struct sides {
    int left = 0, right = 0, top = 0, bottom = 0, front = 0, back = 0;  // front and back: before and after the channels
    constexpr sides() = default;
    constexpr sides(int all) : left(all), right(all), top(all), bottom(all) {}  // NOLINT(google-explicit-constructor)
    constexpr sides(int at_left, int at_right, int at_top, int at_bottom, int in_front = 0, int behind = 0)
        : left(at_left), right(at_right), top(at_top), bottom(at_bottom), front(in_front), back(behind) {}
    constexpr bool operator==(const sides&) const = default;

    constexpr bool none_below_zero() const {
        return left >= 0 && right >= 0 && top >= 0 && bottom >= 0 && front >= 0 && back >= 0;
    }
    constexpr kernel::pad_sides around() const { return {{top, left, front}, {bottom, right, back}}; }
};

namespace operators {

template <sides Sides, pad_mode Mode, int Thousandths> struct pad {
    static constexpr const char* kind = "pad";
    static constexpr bool takes_words = true;
    // A constant that is not 0 has to be seen by the observer: input and output then share the output's scale.
    static constexpr output_range range = Thousandths == 0 ? output_range::of_input : output_range::observed;
    static constexpr bool on_one_grid = Thousandths != 0, picks_values = Thousandths == 0;
    static constexpr int options[] = {
        Sides.left, Sides.right, Sides.top, Sides.bottom, Sides.front, Sides.back, static_cast<int>(Mode), Thousandths};
    static constexpr kernel::pad_sides around = Sides.around();
    static constexpr bool puts_zeros =
        Mode == pad_mode::constant && Thousandths == 0 && Sides.front == 0 && Sides.back == 0;
    static constexpr const kernel::pad_sides* zeros = puts_zeros ? &around : nullptr;  // a convolution takes them over
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
        else constant = static_cast<T>(quantize(value, o.y_qparams(), o.row().quant_min, o.row().quant_max));
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

template <sides Sides> struct zero_pad2d : pad<Sides> {};
template <sides Sides, int Thousandths> struct constant_pad2d : pad<Sides, pad_mode::constant, Thousandths> {};
template <sides Sides> struct reflection_pad2d : pad<Sides, pad_mode::reflect> {};
template <sides Sides> struct replication_pad2d : pad<Sides, pad_mode::replicate> {};
template <sides Sides> struct circular_pad2d : pad<Sides, pad_mode::circular> {};

}  // namespace v0
}  // namespace zp
