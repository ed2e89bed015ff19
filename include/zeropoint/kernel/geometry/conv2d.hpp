// SPDX-License-Identifier: BSD-3-Clause
// What a convolution computes: its extents, its algorithms and the codes of its input, as plain numbers.
#pragma once

#include <cstdint>

#include <zeropoint/core/shape.hpp>

namespace zp::inline v0::kernel {

/// Which panels of output channels a call computes: [begin, end), or all from begin on where there are fewer.
struct panel_range {
    int begin = 0, end = INT32_MAX;

    constexpr int end_of(int panels) const { return end < panels ? end : panels; }
    /// The channels [begin, end) of panels of `width`, of which the last may have fewer.
    constexpr panel_range channels(int width, int all) const {
        const int behind = end_of((all + width - 1) / width) * width;
        return {begin * width, behind < all ? behind : all};
    }
    constexpr bool operator==(const panel_range&) const = default;
};

/// One 2-D convolution over one NHWC image. A linear layer is 1x1: in {1, 1, K}, out {1, 1, N}, and a matrix of M rows
/// is in {M, 1, K}, out {M, 1, N}. Bottom and right padding follow from `out`; every padded position holds the input
/// zero point. A negative padding in front, as phases of transposed convolutions have it (stride 1), leaves inputs out.
struct conv2d_geometry {
    shape in, out;                                // height x width x channels
    int kernel_height = 1, kernel_width = 1;      // rows and columns of the window
    int stride_height = 1, stride_width = 1;      // from one window to the next
    int padding_top = 0, padding_left = 0;        // rows above and columns on the left
    int dilation_height = 1, dilation_width = 1;  // from one value of a window to the next
    int groups = 1;                               // they divide both channel counts
    int images = 1;        // of Winograd: inputs one behind the other, as outputs; extents are of one
    panel_range panels{};  // what a call computes; packing and plans are those of the whole

    /// Values of a window in one channel.
    constexpr int taps() const { return kernel_height * kernel_width; }
    /// Input and output channels of one group.
    constexpr int group_in() const { return groups == 1 ? in.channels : in.channels / groups; }
    /// Output channels of a group.
    constexpr int group_out() const { return groups == 1 ? out.channels : out.channels / groups; }
    /// Products summed for one output.
    constexpr int depth() const { return taps() * group_in(); }
    /// Rows and columns of input that the window of one output covers.
    constexpr int window_height() const { return (kernel_height - 1) * dilation_height + 1; }
    /// Columns that a window spans, dilation included.
    constexpr int window_width() const { return (kernel_width - 1) * dilation_width + 1; }
    /// Whether any window reaches over an edge of the input.
    constexpr bool has_padding() const {
        return padding_top > 0 || padding_left > 0 ||
               (out.height - 1) * stride_height + window_height() - padding_top > in.height ||
               (out.width - 1) * stride_width + window_width() - padding_left > in.width;
    }
    constexpr bool operator==(const conv2d_geometry&) const = default;
};

/// How a convolution is computed. All algorithms give the same integers; they differ in time and in packed bytes.
enum class conv2d_algorithm : std::uint8_t {
    automatic,      ///< what choose_conv2d_algorithm says
    implicit_gemm,  ///< panels of output channels over windows of a padded copy of the input; needs no im2col buffer
    depthwise,      ///< inputs for each lane: one channel a group, any number of outputs; other narrow groups
    direct,         ///< plain loops for any geometry, to compare with: chosen for depthwise ones without vectors
    winograd_4x4,   ///< 3x3 windows of stride 1 only: a quarter of the products
    winograd_2x2,   ///< the same with 4/9 of the products
};

constexpr const char* name_of(conv2d_algorithm algorithm) {
    switch (algorithm) {
        case conv2d_algorithm::automatic: return "automatic";
        case conv2d_algorithm::implicit_gemm: return "implicit_gemm";
        case conv2d_algorithm::depthwise: return "depthwise";
        case conv2d_algorithm::direct: return "direct";
        case conv2d_algorithm::winograd_4x4: return "winograd_4x4";
        case conv2d_algorithm::winograd_2x2: return "winograd_2x2";
    }
    return "?";
}

/// How a call is cut into several, for threads. Parts are some rows of the output, or some panels of its channels. Numbers of 1024 say how much of a call's time each part takes whatever
/// its size: of rows, reading or transforming the weights; of panels, reading, staging or transforming the input.
struct conv2d_cut {
    int panels = 0;  ///< of channels; 0: it is not cut by them
    int panel_unit =
        1;  ///< parts of panels begin at its multiples: 64 channels, so that no two write to one cache line of a pixel
    int row_unit = 1;  ///< parts of rows begin at its multiples: tiles of Winograd are not divided
    int repeated_by_rows = 0, repeated_by_panels = 0;
};

/// Values put around an image, in the order height, width, channels; none below 0.
struct pad_sides {
    int before[3] = {}, after[3] = {};
    constexpr bool operator==(const pad_sides&) const = default;
};

/// The codes that the input can hold, from its dtype: x is in [min, max] at run time, and so is zero_point. A negative
/// `min` says that codes are std::int8_t. A narrower range lets more panels take the faster kernel.
struct activation_codes {
    std::int32_t zero_point = 0, min = 0, max = 255;  // the code of real zero, and the range of codes

    /// Codes of 16 bits: std::int16_t, zero point 0.
    constexpr bool are_int16() const { return min < -128 || max > 255; }
};

}  // namespace zp::inline v0::kernel
