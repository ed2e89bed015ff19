// SPDX-License-Identifier: BSD-3-Clause
// Chosen pixels of an image as a sequence, and a sequence spread over an image: TFLite's GATHER_ND and SCATTER_ND.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include <zeropoint/operators/rearrangement.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind gather_nd{"gather_nd"}, scatter_nd{"scatter_nd"};
}

/// A place of an image, both counted from 0.
struct pixel {
    int row = 0, column = 0;  // from the top left
    constexpr bool operator==(const pixel&) const = default;
    /// Whether an image of these extents has it.
    constexpr bool is_in(int height, int width) const {
        return 0 <= row && row < height && 0 <= column && column < width;
    }
};

namespace operators {

template <pixel... Pixels> struct gather_nd : moved_values {
    static constexpr const char* kind = "gather_nd";
    static constexpr pixel pixels[] = {Pixels...};
    static constexpr int count = sizeof...(Pixels);
    static constexpr int options[] = {Pixels.row..., Pixels.column...};

    static constexpr bool accepts(shape x) { return (Pixels.is_in(x.height, x.width) && ...); }
    static constexpr shape output_shape(shape x) { return {1, count, x.channels}; }
    template <class Arch, class T> static void forward(const operands<T>& o) noexcept {
        const int channels = o.x_shape().channels;
        for (int i = 0; i != count; ++i)
            std::memcpy(o.y() + i * channels, o.x() + (pixels[i].row * o.x_shape().width + pixels[i].column) * channels,
                        static_cast<std::size_t>(channels) * sizeof(T));
    }
};

template <int Height, int Width, pixel... Pixels> struct scatter_nd : moved_values {
    static constexpr const char* kind = "scatter_nd";
    static constexpr pixel pixels[] = {Pixels...};
    static constexpr int count = sizeof...(Pixels);
    static constexpr int options[] = {Height, Width, Pixels.row..., Pixels.column...};

    static constexpr bool accepts(shape x) { return x.height == 1 && x.width == count; }
    static constexpr shape output_shape(shape x) { return {Height, Width, x.channels}; }
    template <class Arch, class T> static void forward(const operands<T>& o) noexcept {
        const int channels = o.x_shape().channels;
        std::fill_n(o.y(), Height * Width * channels, static_cast<T>(o.y_zero_point()));
        for (int i = 0; i != count; ++i)
            std::memcpy(o.y() + (pixels[i].row * Width + pixels[i].column) * channels, o.x() + i * channels,
                        static_cast<std::size_t>(channels) * sizeof(T));
    }
};

template <int Height, int Width, pixel... Pixels> constexpr bool are_different_pixels() {
    constexpr pixel all[] = {Pixels..., pixel{-1, -1}};
    for (std::size_t i = 0; i != sizeof...(Pixels); ++i) {
        if (!all[i].is_in(Height, Width)) return false;
        for (std::size_t j = 0; j != i; ++j)
            if (all[i] == all[j]) return false;
    }
    return sizeof...(Pixels) != 0;
}

}  // namespace operators

/// The image's pixels at these places, in this order, any of them more than once: height x width x channels becomes 1 x count
/// x channels. `zp::gather_nd<zp::pixel{0, 0}, zp::pixel{3, 4}>`. A place outside of the image is an error of the model.
template <pixel First, pixel... Pixels>
struct gather_nd : operator_layer<op::gather_nd, "", operators::gather_nd<First, Pixels...>> {};

/// The vectors of a sequence, 1 x count x channels, at these places of an image of Height x Width; zeros elsewhere.
template <int Height, int Width, pixel... Pixels>
struct scatter_nd : operator_layer<op::scatter_nd, "", operators::scatter_nd<Height, Width, Pixels...>> {
    static_assert(operators::are_different_pixels<Height, Width, Pixels...>(),
                  "scatter_nd<Height, Width, Pixels...>: give it different pixels, each inside of Height x Width");
};

}  // namespace zp::inline v0
