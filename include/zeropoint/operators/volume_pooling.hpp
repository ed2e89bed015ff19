// SPDX-License-Identifier: BSD-3-Clause
// Pooling of volumes: PyTorch's max_pool3d, avg_pool3d and adaptive_avg_pool3d.
#pragma once

#include <type_traits>

#include <zeropoint/kernel/reduction/volume_pooling.hpp>
#include <zeropoint/graph/define.hpp>
#include <zeropoint/operators/window_extents.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind max_pool3d{"max_pool3d"}, avg_pool3d{"avg_pool3d"},
    adaptive_avg_pool3d{"adaptive_avg_pool3d"};
}

/// Options of a pooling window over a volume, with PyTorch's defaults: a stride of 0 means the kernel's extent.
struct volume_pool {
    volume_extent kernel = 2;       // planes, rows and columns of the window
    volume_extent stride = 0;       // from one window to the next
    volume_extent padding = 0;      // around the volume; at most half of the kernel
    volume_extent dilation = 1;     // max_pool3d
    bool ceil_mode = false;         // whether a last window that is partly outside counts
    bool count_include_pad = true;  // avg_pool3d

    /// Whether kernel and dilation are at least 1, strides as well or all 0, and no padding is below 0.
    constexpr bool has_windows() const {
        return kernel.at_least(1) && (stride == volume_extent(0) || stride.at_least(1)) && padding.at_least(0) &&
               dilation.at_least(1);
    }
    /// Else a window could see padding alone.
    constexpr bool padding_fits() const {
        return padding.depth * 2 <= kernel.depth && padding.height * 2 <= kernel.height &&
               padding.width * 2 <= kernel.width;
    }
    /// The windows over an input of these extents.
    constexpr kernel::conv3d_geometry over(const shape& x) const {
        const volume_extent step = stride == volume_extent(0) ? kernel : stride;
        const auto windows = [&](int extent, int volume_extent::*along) {
            return output_extent(extent, kernel.*along, step.*along, padding.*along, dilation.*along, ceil_mode);
        };
        kernel::conv3d_geometry g;
        g.plane.in = {x.height, x.width, x.channels};
        g.plane.out = {windows(x.height, &volume_extent::height), windows(x.width, &volume_extent::width), x.channels};
        g.in_depth = x.depth;
        g.out_depth = windows(x.depth, &volume_extent::depth);
        g.kernel_depth = kernel.depth, g.plane.kernel_height = kernel.height, g.plane.kernel_width = kernel.width;
        g.stride_depth = step.depth, g.plane.stride_height = step.height, g.plane.stride_width = step.width;
        g.padding_front = padding.depth, g.plane.padding_top = padding.height, g.plane.padding_left = padding.width;
        g.dilation_depth = dilation.depth;
        g.plane.dilation_height = dilation.height, g.plane.dilation_width = dilation.width;
        return g;
    }
};

namespace operators {

/// `Options` is a volume_pool, or an int for a cube with strides of the same size.
template <auto Options> constexpr volume_pool volume_pool_of() {
    if constexpr (std::is_same_v<std::remove_const_t<decltype(Options)>, int>) return {.kernel = Options};
    else if constexpr (std::is_same_v<std::remove_const_t<decltype(Options)>, volume_pool>) return Options;
    else return {};
}
/// What a static_assert has refused becomes the default, so that the assertion is the only error.
constexpr volume_pool valid(const volume_pool& given) {
    return given.has_windows() && given.padding_fits() ? given : volume_pool{};
}

/// What windows over volumes have in common; codes keep their scale and zero point.
template <volume_pool Options> struct volume_pooling {
    static constexpr qparams_source range = qparams_source::of_input;
    static constexpr bool takes_volumes = true, homogeneous = true;
    static constexpr int options[] = {Options.kernel.depth,   Options.kernel.height,         Options.kernel.width,
                                      Options.stride.depth,   Options.stride.height,         Options.stride.width,
                                      Options.padding.depth,  Options.padding.height,        Options.padding.width,
                                      Options.dilation.depth, Options.dilation.height,       Options.dilation.width,
                                      int{Options.ceil_mode}, int{Options.count_include_pad}};

    static constexpr shape output_shape(shape x) {
        const kernel::conv3d_geometry g = Options.over(x);
        return {g.plane.out.height, g.plane.out.width, x.channels, g.out_depth};
    }
};

template <volume_pool Options> struct max_pool3d : volume_pooling<Options> {
    static constexpr const char* kind = "max_pool3d";
    static constexpr bool picks_values = true;
    static constexpr int scratch_bytes(const node_view& v) {
        const int each = v.n.is_float() ? static_cast<int>(sizeof(float)) : 1;
        return kernel::max_pool3d_scratch(Options.over(v.x_shape())) * each;
    }
    template <class Arch, class T> static void forward(const operands<T>& o) noexcept {
        kernel::max_pool3d<Arch>(Options.over(o.x_shape()), o.x(), o.y(), o.template scratch<T>());
    }
};

template <volume_pool Options> struct avg_pool3d : volume_pooling<Options> {
    static constexpr const char* kind = "avg_pool3d";
    template <class Arch, class T> static void forward(const operands<T>& o) noexcept {
        kernel::avg_pool3d<Arch>(Options.over(o.x_shape()), Options.count_include_pad, o.y_zero_point(), o.x(), o.y());
    }
};

template <int Depth, int Height, int Width> struct adaptive_avg_pool3d {
    static constexpr const char* kind = "adaptive_avg_pool3d";
    static constexpr qparams_source range = qparams_source::of_input;
    static constexpr bool takes_volumes = true, homogeneous = true;
    static constexpr int options[] = {Depth, Height, Width};

    static constexpr shape output_shape(shape x) { return {Height, Width, x.channels, Depth}; }
    template <class Arch, class T> static void forward(const operands<T>& o) noexcept {
        kernel::adaptive_avg_pool3d<Arch>(o.x_shape(), o.y_shape(), o.y_zero_point(), o.x(), o.y());
    }
};

template <auto Options>
constexpr bool is_volume_pool = std::is_same_v<std::remove_const_t<decltype(Options)>, volume_pool> ||
                                std::is_same_v<std::remove_const_t<decltype(Options)>, int>;

/// The rules for options, one sentence each.
template <auto Options> struct volume_pool_rules {
    static_assert(
        is_volume_pool<Options>,
        "max_pool3d / avg_pool3d<Options>: Options must be an int such as 2, or a zp::volume_pool{.kernel = {1, "
        "2, 2}, .stride = 2}");
    static_assert(
        volume_pool_of<Options>().has_windows(),
        "max_pool3d / avg_pool3d<Options>: kernel, stride and dilation must be at least 1, and padding at least "
        "0");
    static_assert(!volume_pool_of<Options>().has_windows() || volume_pool_of<Options>().padding_fits(),
                  "max_pool3d / avg_pool3d<Options>: the padding may be at most half of the kernel, else a window sees "
                  "padding alone");
};

}  // namespace operators

// Over volumes of depth x height x width x channels, and over images, whose depth is 1. As with images the codes of an int8
// model keep the scale and zero point of the input, and an average is the exact one, rounded once.

/// The largest value of each window: `zp::max_pool3d<2>`, `zp::max_pool3d<zp::volume_pool{.kernel = {1, 2, 2}}>`.
template <auto Options>
struct max_pool3d
    : operator_layer<op::max_pool3d, "", operators::max_pool3d<operators::valid(operators::volume_pool_of<Options>())>>,
      operators::volume_pool_rules<Options> {};
/// The mean of each window.
template <auto Options>
struct avg_pool3d
    : operator_layer<op::avg_pool3d, "", operators::avg_pool3d<operators::valid(operators::volume_pool_of<Options>())>>,
      operators::volume_pool_rules<Options> {
    static_assert(operators::volume_pool_of<Options>().dilation == volume_extent(1),
                  "avg_pool3d<Options>: its windows have no dilation, as PyTorch's");
};
/// Pools any volume to Depth x Height x Width; `adaptive_avg_pool3d<1>` is the global average.
template <int Depth, int Height = Depth, int Width = Height>
struct adaptive_avg_pool3d
    : operator_layer<op::adaptive_avg_pool3d, "",
                     operators::adaptive_avg_pool3d<operators::at_least_one(Depth), operators::at_least_one(Height),
                                                    operators::at_least_one(Width)>> {
    static_assert(Depth > 0 && Height > 0 && Width > 0,
                  "adaptive_avg_pool3d<Depth, Height, Width>: each extent must be at least 1");
};

}  // namespace zp::inline v0
