// SPDX-License-Identifier: BSD-3-Clause
// Operators that move values and change none, on NHWC images of codes or floats: slice, permute, flip, expand, the
// shuffles, stacking, gather, roll and PyTorch's reshape. Axes are 0 for height, 1 for width, 2 for channels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>

#include <zeropoint/core/shape.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/movement/strided_copy.hpp>

namespace zp::inline v0::kernel {

constexpr int extent_of(const shape& s, int axis) { return axis == 0 ? s.height : axis == 1 ? s.width : s.channels; }

/// The distance between neighbours along an axis, in values.
constexpr std::ptrdiff_t stride_of(const shape& s, int axis) {
    return axis == 2 ? 1 : axis == 1 ? s.channels : std::ptrdiff_t{s.width} * s.channels;
}

/// Along one axis, the outputs `to`, `to + 1`, ... `to + extent - 1` get the inputs `from`, `from + step`, ...
struct axis_segment {
    int to = 0, extent = 1, from = 0, step = 1;
};

/// One segment of each axis of `in`, copied into `out`.
constexpr box_copy segment_copy(const shape& in, const shape& out, const axis_segment (&segments)[3]) {
    box_copy box;
    for (int axis = 0; axis != 3; ++axis) {
        const axis_segment& s = segments[axis];
        const std::ptrdiff_t from = stride_of(in, axis), to = stride_of(out, axis);
        box.from += s.from * from;
        box.to += s.to * to;
        box.along(s.extent, s.step * from, to);
    }
    return box;
}

/// out[h][w][c] = in[begin[0] + h * step[0]][begin[1] + w * step[1]][begin[2] + c * step[2]] for all of `out`. Steps may
/// be negative; every index must lie in the input. split, chunk and unstack are slices with steps of 1.
constexpr box_copy slice_copy(const shape& in, const int (&begin)[3], const int (&step)[3], const shape& out) {
    return segment_copy(
        in, out,
        {{0, out.height, begin[0], step[0]}, {0, out.width, begin[1], step[1]}, {0, out.channels, begin[2], step[2]}});
}

/// All of `in` to its place in `out`: one input of a concatenation or a stack along any axis.
constexpr box_copy place_copy(const shape& in, const int (&begin)[3], const shape& out) {
    return segment_copy(in, out,
                        {{begin[0], in.height, 0, 1}, {begin[1], in.width, 0, 1}, {begin[2], in.channels, 0, 1}});
}

/// The axes marked in `flipped` run backwards: PyTorch's flip.
constexpr box_copy flip_copy(const shape& in, const bool (&flipped)[3]) {
    const auto segment = [&](int axis) {
        const int extent = extent_of(in, axis);
        return flipped[axis] ? axis_segment{0, extent, extent - 1, -1} : axis_segment{0, extent, 0, 1};
    };
    return segment_copy(in, in, {segment(0), segment(1), segment(2)});
}

/// Every extent of `in` is that of `out` or 1, and then its one value stands in all places: expand, broadcast.
constexpr box_copy expand_copy(const shape& in, const shape& out) {
    const auto segment = [&](int axis) {
        return axis_segment{0, extent_of(out, axis), 0, extent_of(in, axis) == 1 ? 0 : 1};
    };
    return segment_copy(in, out, {segment(0), segment(1), segment(2)});
}

/// The image `height` times below itself, `width` times beside itself, each pixel's channels `channels` times: PyTorch's
/// tile and repeat.
constexpr shape tiled_shape(const shape& in, int height, int width, int channels) {
    return {in.height * height, in.width * width, in.channels * channels};
}
template <class Arch, class T>
void tile(const shape& in, int height, int width, int channels, const T* x, T* y) noexcept {
    const shape out = tiled_shape(in, height, width, channels);
    box_copy box = box_copy()
                       .along(in.height, stride_of(in, 0), stride_of(out, 0))
                       .along(width, 0, std::ptrdiff_t{in.width} * out.channels)
                       .along(in.width, in.channels, out.channels)
                       .along(channels, 0, in.channels)
                       .along(in.channels, 1, 1);
    for (int i = 0; i != height; ++i, box.to += in.height * stride_of(out, 0)) copy_box<Arch>(box, x, y);
}

/// The shape of a permuted image: axis i of the output is axis order[i] of the input.
constexpr shape permuted_shape(const shape& in, const int (&order)[3]) {
    return {extent_of(in, order[0]), extent_of(in, order[1]), extent_of(in, order[2])};
}
constexpr box_copy permute_copy(const shape& in, const int (&order)[3]) {
    const shape out = permuted_shape(in, order);
    box_copy box;
    for (int axis = 0; axis != 3; ++axis)
        box.along(extent_of(out, axis), stride_of(in, order[axis]), stride_of(out, axis));
    return box;
}

/// H x W x C to H * factor x W * factor x C / factor^2: out[h * factor + i][w * factor + j][c] =
/// in[h][w][(c * factor + i) * factor + j], PyTorch's pixel_shuffle.
constexpr shape pixel_shuffled_shape(const shape& in, int factor) {
    return {in.height * factor, in.width * factor, in.channels / (factor * factor)};
}
constexpr box_copy pixel_shuffle_copy(const shape& in, int factor) {
    const shape out = pixel_shuffled_shape(in, factor);
    const std::ptrdiff_t row = stride_of(out, 0), pixel = stride_of(out, 1);
    return box_copy()
        .along(in.height, stride_of(in, 0), factor * row)
        .along(factor, factor, row)
        .along(in.width, stride_of(in, 1), factor * pixel)
        .along(factor, 1, pixel)
        .along(out.channels, std::ptrdiff_t{factor} * factor, 1);
}
/// The inverse: H x W x C to H / factor x W / factor x C * factor^2. TFLite's DEPTH_TO_SPACE and SPACE_TO_DEPTH have
/// the channels outside: out[h * factor + i][w * factor + j][c] = in[h][w][(i * factor + j) * C + c], which are
/// depth_to_space_copy and space_to_depth_copy.
constexpr shape pixel_unshuffled_shape(const shape& in, int factor) {
    return {in.height / factor, in.width / factor, in.channels * factor * factor};
}

/// A copy with source and destination exchanged.
constexpr box_copy inverse_copy(box_copy box) {
    std::swap(box.from, box.to);
    for (int i = 0; i != box.count; ++i) std::swap(box.axes[i].from, box.axes[i].to);
    return box;
}
constexpr box_copy pixel_unshuffle_copy(const shape& in, int factor) {
    return inverse_copy(pixel_shuffle_copy(pixel_unshuffled_shape(in, factor), factor));
}
constexpr box_copy depth_to_space_copy(const shape& in, int factor) {
    const shape out = pixel_shuffled_shape(in, factor);
    const std::ptrdiff_t row = stride_of(out, 0);
    return box_copy()
        .along(in.height, stride_of(in, 0), factor * row)
        .along(factor, std::ptrdiff_t{factor} * out.channels, row)
        .along(in.width, stride_of(in, 1), std::ptrdiff_t{factor} * out.channels)
        .along(factor * out.channels, 1, 1);
}
constexpr box_copy space_to_depth_copy(const shape& in, int factor) {
    return inverse_copy(depth_to_space_copy(pixel_unshuffled_shape(in, factor), factor));
}

/// H x W x C to height * width images of H / height x W / width x C, one behind the other: pixel (h * height + i, w * width + j)
/// goes to (h, w) of image i * width + j. TFLite's SPACE_TO_BATCH_ND of one image; its inverse is BATCH_TO_SPACE_ND.
constexpr box_copy space_to_batch_copy(const shape& in, int height, int width) {
    const std::ptrdiff_t row = stride_of(in, 0), pixel = in.channels, out_row = row / width,
                         image = out_row * (in.height / height);
    return box_copy()
        .along(in.height / height, height * row, out_row)
        .along(height, row, width * image)
        .along(in.width / width, width * pixel, pixel)
        .along(width, pixel, image)
        .along(in.channels, 1, 1);
}

/// out[c * groups + g] = in[g * (C / groups) + c] in every pixel: PyTorch's channel_shuffle.
constexpr box_copy channel_shuffle_copy(const shape& in, int groups) {
    const int each = in.channels / groups;
    return box_copy().along(in.pixels(), in.channels, in.channels).along(each, 1, groups).along(groups, each, 1);
}

/// out[..., i, ...] = in[..., indices[i], ...] along `axis` for i < count, indices within the input's extent: PyTorch's
/// index_select, TFLite's GATHER.
template <class Arch, class T>
void gather(const shape& in, int axis, const std::int32_t* indices, int count, const T* x, T* y) noexcept {
    if (axis == 2) {
        for (int pixel = 0; pixel != in.pixels(); ++pixel, x += in.channels)
            for (int i = 0; i != count; ++i) *y++ = x[indices[i]];
        return;
    }
    const shape out = axis == 0 ? shape{count, in.width, in.channels} : shape{in.height, count, in.channels};
    for (int i = 0; i != count; ++i) {
        const axis_segment whole_rows{0, in.height, 0, 1}, whole_columns{0, in.width, 0, 1}, one{i, 1, indices[i], 1};
        copy_box<Arch>(segment_copy(in, out,
                                    {axis == 0 ? one : whole_rows, axis == 1 ? one : whole_columns,
                                     axis_segment{0, in.channels, 0, 1}}),
                       x, y);
    }
}

/// out[(h + shift[0]) mod H][(w + shift[1]) mod W][(c + shift[2]) mod C] = in[h][w][c]: PyTorch's roll. Any shifts.
template <class Arch, class T> void roll(const shape& in, const int (&shift)[3], const T* x, T* y) noexcept {
    const auto segment = [&](int axis, int part) {
        const int extent = extent_of(in, axis), moved = (shift[axis] % extent + extent) % extent;
        return part == 0 ? axis_segment{moved, extent - moved, 0, 1} : axis_segment{0, moved, extent - moved, 1};
    };
    for (int parts = 0; parts != 8; ++parts)
        copy_box<Arch>(
            segment_copy(in, in, {segment(0, parts & 1), segment(1, parts >> 1 & 1), segment(2, parts >> 2)}), x, y);
}

/// Whether reshape() between two shapes of equal size leaves every value where it is.
constexpr bool reshape_is_view(const shape& in, const shape& out) {
    // Memory has the order of the channel-first index where there is one channel or one pixel.
    const bool in_order = in.channels == 1 || in.pixels() == 1, out_order = out.channels == 1 || out.pixels() == 1;
    return in.channels == out.channels || (in_order && out_order);
}

/// PyTorch's reshape, view, squeeze: the values of [C][H][W], read one after the other, become those of [C'][H'][W'].
/// Here, channels last, that is a permutation. With P pixels, f = c * P + p is the index that both sides share; it lies
/// at p * C + c. Where g = gcd(C, C'), C = g * a, C' = g * b, the pixels are P = b * q and P' = a * q, and run m of q
/// values of a block of channels, m < a * b, belongs to channel m / b and pixels from m % b * q on the one side, to m / a
/// and m % a * q on the other. `in` and `out` have equal sizes.
template <class Arch, class T> void reshape(const shape& in, const shape& out, const T* x, T* y) noexcept {
    if (reshape_is_view(in, out)) {
        copy_box<Arch>(box_copy().along(in.size(), 1, 1), x, y);
        return;
    }
    const int g = std::gcd(in.channels, out.channels), a = in.channels / g, b = out.channels / g;
    const int q = in.pixels() / b;
    for (int m = 0; m != a * b; ++m) {
        box_copy box;
        box.from = std::ptrdiff_t{m % b} * q * in.channels + m / b;
        box.to = std::ptrdiff_t{m % a} * q * out.channels + m / a;
        copy_box<Arch>(box.along(q, in.channels, out.channels).along(g, a, b), x, y);
    }
}

}  // namespace zp::inline v0::kernel
