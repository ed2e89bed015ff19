// SPDX-License-Identifier: BSD-3-Clause
// Values read along any number of axes and put down in another order of these: rearrange, windows and patches of images.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include <zeropoint/operators/rearrangement.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind rearrange{"rearrange"};
}

/// What zp::rearrange reads a value as, the last axis fastest.
template <int... Extents> struct extents {};
/// Which of those axes become the first, the second ... of the result.
template <int... Axes> struct order {};

namespace operators {

/// A permutation of axes with those merged that stay neighbours.
template <std::size_t Rank> struct permuted_axes {
    int count = 0;
    kernel::copy_axis axes[Rank == 0 ? 1 : Rank];

    constexpr permuted_axes(const std::array<int, Rank>& extents, const std::array<int, Rank>& order) {
        std::array<std::ptrdiff_t, Rank> strides{};
        std::ptrdiff_t stride = 1;
        for (std::size_t i = Rank; i-- != 0; stride *= extents[i]) strides[i] = stride;
        for (const int axis : order) {
            const int extent = extents[static_cast<std::size_t>(axis)];
            const std::ptrdiff_t from = strides[static_cast<std::size_t>(axis)];
            if (extent == 1) continue;
            if (count != 0 && axes[count - 1].from == from * extent)
                axes[count - 1] = {axes[count - 1].extent * extent, from, 0};
            else axes[count++] = {extent, from, 0};
        }
        stride = 1;
        for (int i = count; i-- != 0; stride *= axes[i].extent) axes[i].to = stride;
    }
    /// Needs at most box_copy::most_axes.
    constexpr kernel::box_copy copy() const {
        kernel::box_copy box;
        for (int i = 0; i != std::min(count, kernel::box_copy::most_axes); ++i)
            box.along(axes[i].extent, axes[i].from, axes[i].to);
        return count == 0 ? box.along(1, 1, 1) : box;
    }
};
/// Whether `order` names each axis once.
template <std::size_t Rank> constexpr bool names_each_axis(const std::array<int, Rank>& order) {
    for (std::size_t axis = 0; axis != Rank; ++axis)
        if (std::count(order.begin(), order.end(), static_cast<int>(axis)) != 1) return false;
    return true;
}

template <class Extents, class Order, shape Output> struct rearrange;
template <int... Extents, int... Axes, shape Output>
struct rearrange<extents<Extents...>, order<Axes...>, Output>
    : rearrangement<rearrange<extents<Extents...>, order<Axes...>, Output>> {
    static constexpr const char* kind = "rearrange";
    static constexpr bool takes_volumes = true;
    static constexpr int options[] = {sizeof...(Extents), Extents..., Axes...};
    static constexpr kernel::box_copy box =
        permuted_axes<sizeof...(Extents)>(std::array{Extents...}, std::array{Axes...}).copy();
    static constexpr bool moves_nothing = box.is_view();

    static constexpr bool accepts(shape x) { return x.size() == (1 * ... * Extents); }
    static constexpr shape output_shape(shape) { return Output; }
    template <class Arch, class T> static void forward(const operands<T>& o) noexcept {
        if (o.x() != o.y()) kernel::copy_box<Arch>(box, o.x(), o.y());
    }
};

/// Windows of Window x Window pixels one behind the other, each row by row.
template <int Window> constexpr kernel::box_copy window_copy(const shape& x) {
    const std::ptrdiff_t row = kernel::stride_of(x, 0), line = std::ptrdiff_t{Window} * x.channels;
    return kernel::box_copy()
        .along(x.height / Window, Window * row, Window * row)
        .along(Window, row, line)
        .along(x.width / Window, line, Window * line)
        .along(Window * x.channels, 1, 1);
}
template <int Window> constexpr bool has_whole_windows(const shape& x) {
    return x.height % Window == 0 && x.width % Window == 0;
}
template <int Window> struct window_partition : rearrangement<window_partition<Window>> {
    static constexpr const char* kind = "window_partition";
    static constexpr int options[] = {Window};
    static constexpr bool accepts(shape x) { return has_whole_windows<Window>(x); }
    static constexpr shape output_shape(shape x) {
        return {x.height / Window * (x.width / Window), Window * Window, x.channels};
    }
    static constexpr kernel::box_copy copy(const shape& x) { return window_copy<Window>(x); }
};
template <int Window, int Height, int Width>
struct window_reverse : rearrangement<window_reverse<Window, Height, Width>> {
    static constexpr const char* kind = "window_reverse";
    static constexpr int options[] = {Window, Height, Width};
    static constexpr bool accepts(shape x) {
        return has_whole_windows<Window>(output_shape(x)) &&
               x == window_partition<Window>::output_shape(output_shape(x));
    }
    static constexpr shape output_shape(shape x) { return {Height, Width, x.channels}; }
    static constexpr kernel::box_copy copy(const shape& x) {
        return kernel::inverse_copy(window_copy<Window>(output_shape(x)));
    }
};
template <int Size> struct patches : rearrangement<patches<Size>> {
    static constexpr const char* kind = "patches";
    static constexpr int options[] = {Size};
    static constexpr bool accepts(shape x) { return has_whole_windows<Size>(x); }
    static constexpr shape output_shape(shape x) {
        return {1, x.height / Size * (x.width / Size), Size * Size * x.channels};
    }
    static constexpr kernel::box_copy copy(const shape& x) { return window_copy<Size>(x); }
};

}  // namespace operators

/// x.reshape(extents).permute(order).reshape(output) of what goes in as it lies in memory: height x width x channels, of a volume
/// depth first. `rearrange<extents<4, 7, 4, 7, 96>, order<0, 2, 1, 3, 4>, shape{16, 49, 96}>` makes 16 windows of 7 x 7 of a
/// 28 x 28 image. Axes that stay neighbours count as one, of which there may be five. In int8 codes are copied, or where nothing
/// moves only seen as another shape.
template <class Extents, class Order, shape Output> struct rearrange {
    static_assert(sizeof(Extents) == 0,
                  "rearrange<Extents, Order, Output>: Extents is zp::extents<...>, Order zp::order<...> of as many "
                  "axes, Output a "
                  "zp::shape{height, width, channels}");
};
template <int... Extents, int... Axes, shape Output>
    requires(sizeof...(Extents) == sizeof...(Axes) && sizeof...(Extents) != 0)
struct rearrange<extents<Extents...>, order<Axes...>, Output> {
    static constexpr bool has_extents = ((Extents >= 1) && ...),
                          has_axes = operators::names_each_axis(std::array{Axes...});
    static_assert(has_extents, "rearrange<extents<...>, Order, Output>: each extent must be at least 1");
    static_assert(has_axes,
                  "rearrange<Extents, order<...>, Output>: name each axis of the extents once, the first is 0");
    static constexpr bool keeps_size = !has_extents || Output.size() == (1 * ... * Extents);
    static_assert(keeps_size, "rearrange<Extents, Order, Output>: the output must have as many values as the extents");
    static constexpr bool is_one_copy = [] {
        if constexpr (!has_extents || !has_axes) return true;
        else
            return operators::permuted_axes<sizeof...(Axes)>(std::array{Extents...}, std::array{Axes...}).count <=
                   kernel::box_copy::most_axes;
    }();
    static_assert(is_one_copy,
                  "rearrange<Extents, Order, Output>: more than five axes move apart from each other: take two of it");
    static constexpr int nodes = 1;
    static constexpr int lower(auto& b, int x) {  // a template: only a network that has it instantiates its forms
        if constexpr (has_extents && has_axes && keeps_size && is_one_copy)
            return append_operator<op::rearrange, operators::rearrange<extents<Extents...>, order<Axes...>, Output>>(
                b, {&x, 1});
        else
            return append_operator<op::rearrange, operators::window_partition<1>>(b, {&x, 1});  // the assertion says it
    }
};

// Names as in Swin's and ViT's code.

/// H x W x C to windows of Window x Window pixels, which must divide the image: H / Window * W / Window x Window^2 x C. A
/// zp::matmul multiplies each of them by itself.
template <int Window>
struct window_partition
    : operator_layer<op::rearrange, "", operators::window_partition<operators::at_least_one(Window)>> {
    static_assert(Window >= 1, "window_partition<Window>: Window must be at least 1, and divide height and width");
};
/// The inverse: such windows as the image of Height x Width that they are of.
template <int Window, int Height, int Width>
struct window_reverse
    : operator_layer<op::rearrange, "", operators::window_reverse<operators::at_least_one(Window), Height, Width>> {
    static_assert(Window >= 1 && Height >= 1 && Width >= 1,
                  "window_reverse<Window, Height, Width>: each must be at least 1, and Window divide the others");
};
/// H x W x C to a sequence of patches of Size x Size pixels: 1 x H / Size * W / Size x Size^2 * C, a patch row by row.
template <int Size>
struct patches : operator_layer<op::rearrange, "", operators::patches<operators::at_least_one(Size)>> {
    static_assert(Size >= 1, "patches<Size>: Size must be at least 1, and divide height and width");
};

}  // namespace zp::inline v0
