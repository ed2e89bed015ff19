// SPDX-License-Identifier: BSD-3-Clause
// The same values along other axes, in another order along their own, or more than once: permute, transpose, flip, roll,
// tile, expand.
#pragma once

#include <zeropoint/operators/rearrangement.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind permute{"permute"}, flip{"flip"}, roll{"roll"}, tile{"tile"}, expand{"expand"};
}
namespace operators {

/// The output's height, width and channels are these axes of the input.
template <axis Height, axis Width, axis Channels> struct permute : rearrangement<permute<Height, Width, Channels>> {
    static constexpr const char* kind = "permute";
    static constexpr int options[] = {static_cast<int>(Height), static_cast<int>(Width), static_cast<int>(Channels)};
    static constexpr int order[3] = {options[0], options[1], options[2]};

    static constexpr shape output_shape(shape x) { return kernel::permuted_shape(x, order); }
    static constexpr kernel::box_copy copy(const shape& x) { return kernel::permute_copy(x, order); }
};

template <axis... Along> struct flip : rearrangement<flip<Along...>> {
    static constexpr const char* kind = "flip";
    static constexpr bool takes_volumes = ((Along != axis::height) && ...);
    static constexpr int options[] = {sizeof...(Along), static_cast<int>(Along)...};

    static constexpr shape output_shape(shape x) { return x; }
    static constexpr kernel::box_copy copy(const shape& x) {
        return kernel::flip_copy(
            x, {((Along == axis::height) || ...), ((Along == axis::width) || ...), ((Along == axis::channels) || ...)});
    }
};

template <int Height, int Width, int Channels> struct roll : moved_values {
    static constexpr const char* kind = "roll";
    static constexpr int options[] = {Height, Width, Channels};

    static constexpr shape output_shape(shape x) { return x; }
    template <class Arch, class T> static void forward(const operands<T>& o) noexcept {
        kernel::roll<Arch>(o.x_shape(), {Height, Width, Channels}, o.x(), o.y());
    }
};

template <int Height, int Width, int Channels> struct tile : moved_values {
    static constexpr const char* kind = "tile";
    static constexpr int options[] = {Height, Width, Channels};

    static constexpr shape output_shape(shape x) { return kernel::tiled_shape(x, Height, Width, Channels); }
    template <class Arch, class T> static void forward(const operands<T>& o) noexcept {
        kernel::tile<Arch>(o.x_shape(), Height, Width, Channels, o.x(), o.y());
    }
};

template <int Height, int Width, int Channels> struct expand : rearrangement<expand<Height, Width, Channels>> {
    static constexpr const char* kind = "expand";
    static constexpr int options[] = {Height, Width, Channels};
    static constexpr shape out{Height, Width, Channels};

    static constexpr bool accepts(shape x) {
        return (x.height == 1 || x.height == Height) && (x.width == 1 || x.width == Width) &&
               (x.channels == 1 || x.channels == Channels);
    }
    static constexpr shape output_shape(shape) { return out; }
    static constexpr kernel::box_copy copy(const shape& x) { return kernel::expand_copy(x, out); }
};

}  // namespace operators

/// The axes of the input, in PyTorch's order of them: those that become the output's channels, height and width.
/// `x.permute(0, 2, 3, 1)` of N x C x H x W is permute<axis::height, axis::width, axis::channels>.
template <axis Channels, axis Height, axis Width>
struct permute : operator_layer<op::permute, "", operators::permute<Height, Width, Channels>> {
    static_assert(Channels != Height && Height != Width && Width != Channels,
                  "permute<Channels, Height, Width>: name each axis once");
};

/// A and B change places: PyTorch's transpose. Of a sequence, transpose<axis::width, axis::channels>.
template <axis A, axis B>
struct transpose : operator_layer<op::permute, "",
                                  operators::permute<A == axis::height   ? B
                                                     : B == axis::height ? A
                                                                         : axis::height,
                                                     A == axis::width   ? B
                                                     : B == axis::width ? A
                                                                        : axis::width,
                                                     A == axis::channels   ? B
                                                     : B == axis::channels ? A
                                                                           : axis::channels>> {};

/// Layers that run over the channels, along another axis: `along<axis::width, softmax>` is PyTorch's softmax(dim = 3). Also of log_softmax,
/// topk, sort, argmax, linear and norms. Other axes than the channels cost two transposes.
template <axis Axis, class... Layers>
struct along : sequential<transpose<Axis, axis::channels>, Layers..., transpose<Axis, axis::channels>> {};
template <class... Layers> struct along<axis::channels, Layers...> : sequential<Layers...> {};

/// These axes backwards.
template <axis... Along> struct flip : operator_layer<op::flip, "", operators::flip<Along...>> {
    static_assert(sizeof...(Along) > 0, "flip<Along...>: name an axis, such as zp::axis::width");
};

/// Every value moves by so many places, and what leaves an axis comes in at its other end: PyTorch's roll.
template <int Height, int Width, int Channels = 0>
struct roll : operator_layer<op::roll, "", operators::roll<Height, Width, Channels>> {};

/// All of what goes in, so many times along each axis: PyTorch's tile(Channels, Height, Width) and repeat.
template <int Height, int Width, int Channels = 1>
struct tile : operator_layer<op::tile, "",
                             operators::tile<operators::at_least_one(Height), operators::at_least_one(Width),
                                             operators::at_least_one(Channels)>> {
    static_assert(Height >= 1 && Width >= 1 && Channels >= 1,
                  "tile<Height, Width, Channels>: each says how many times, and must be at least 1");
};

/// Axes of extent 1 repeat their value up to these extents; the others must have them already: PyTorch's expand.
template <int Height, int Width, int Channels>
struct expand : operator_layer<op::expand, "", operators::expand<Height, Width, Channels>> {};

}  // namespace zp::inline v0
