// SPDX-License-Identifier: BSD-3-Clause
// Resizing: PyTorch's interpolate and Upsample, TFLite's RESIZE_NEAREST_NEIGHBOR and RESIZE_BILINEAR.
#pragma once

#include <zeropoint/kernel/movement/interpolate.hpp>
#include <zeropoint/graph/define.hpp>
#include <zeropoint/graph/extent.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind interpolate{"interpolate"};
}

/// Which inputs an output is made of, and at which place: see kernel::resize_rule.
enum class resize_mode {
    nearest,                 ///< PyTorch's nearest, TFLite's without options
    nearest_exact,           ///< PyTorch's nearest-exact, TFLite's half_pixel_centers
    bilinear,                ///< PyTorch's with align_corners=False, TFLite's half_pixel_centers
    bilinear_align_corners,  ///< PyTorch's and TFLite's with align_corners
    nearest_align_corners,   ///< TFLite's
    bilinear_corner          ///< TFLite's without options
};

/// Either the size of the output, or the factor, factor / divisor, by which height and width grow (rounded down).
struct resize {
    extent size = 0;                          // rows and columns of the output; 0 where a factor is given
    int factor = 1, divisor = 1;              // by how much height and width grow
    resize_mode mode = resize_mode::nearest;  // how values between pixels are found

    /// Whether a size is given.
    constexpr bool has_size() const { return size.height > 0 && size.width > 0; }
};

namespace operators {

template <resize Options> struct interpolate {
    static constexpr const char* kind = "interpolate";
    static constexpr qparams_source range = qparams_source::of_input;
    static constexpr int options[] = {Options.size.height, Options.size.width, Options.factor, Options.divisor,
                                      static_cast<int>(Options.mode)};
    static constexpr bool is_linear = Options.mode == resize_mode::bilinear ||
                                      Options.mode == resize_mode::bilinear_align_corners ||
                                      Options.mode == resize_mode::bilinear_corner;
    static constexpr bool picks_values = !is_linear, homogeneous = true;
    static constexpr kernel::resize_rule rule =
        Options.mode == resize_mode::nearest || Options.mode == resize_mode::bilinear_corner
            ? kernel::resize_rule::corner
        : Options.mode == resize_mode::nearest_exact || Options.mode == resize_mode::bilinear
            ? kernel::resize_rule::half_pixel
            : kernel::resize_rule::align_corners;

    static constexpr shape output_shape(shape x) {
        if (Options.has_size()) return {Options.size.height, Options.size.width, x.channels};
        constexpr int divisor = Options.divisor < 1 ? 1 : Options.divisor;  // below, the layer has refused it
        return {x.height * Options.factor / divisor, x.width * Options.factor / divisor, x.channels};
    }
    template <class Arch, class T> static void forward(const operands<T>& o) noexcept {
        const shape &in = o.x_shape(), &out = o.y_shape();
        const auto channels = static_cast<std::size_t>(in.channels);
        if constexpr (is_linear) {
            const int p = Options.has_size() ? 0 : Options.factor, q = Options.has_size() ? 0 : Options.divisor;
            kernel::interpolate_bilinear<Arch>(kernel::make_linear_axis(rule, in.height, out.height, p, q),
                                               kernel::make_linear_axis(rule, in.width, out.width, p, q), channels,
                                               o.y_zero_point(), o.x(), o.y());
        } else {
            const double factor = Options.has_size() ? 0 : static_cast<double>(Options.factor) / Options.divisor;
            kernel::interpolate_nearest<Arch>(kernel::make_nearest_axis(rule, in.height, out.height, factor),
                                              kernel::make_nearest_axis(rule, in.width, out.width, factor), channels,
                                              o.x(), o.y());
        }
    }
};

}  // namespace operators

/// `zp::interpolate<zp::resize{.size = {14, 14}, .mode = zp::resize_mode::bilinear}>`. In int8 nearest copies codes, and
/// bilinear is exact but for one rounding; both keep the input's scale.
template <resize Options> struct interpolate : operator_layer<op::interpolate, "", operators::interpolate<Options>> {
    static_assert(Options.factor >= 1 && Options.divisor >= 1 && (Options.size.height > 0) == (Options.size.width > 0),
                  "interpolate<Options>: give a .size of at least 1 x 1, or a .factor and a .divisor of at least 1");
};

/// Factor times as high and as wide: PyTorch's Upsample.
template <int Factor, resize_mode Mode = resize_mode::nearest>
struct upsample : interpolate<resize{.factor = Factor, .mode = Mode}> {};

}  // namespace zp::inline v0
