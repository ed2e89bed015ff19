// SPDX-License-Identifier: BSD-3-Clause
// Padding of NHWC images, codes or floats, on both sides of every axis.
#pragma once

#include <cstddef>

#include <zeropoint/core/shape.hpp>
#include <zeropoint/kernel/geometry/conv2d.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/movement/rearrange.hpp>
#include <zeropoint/kernel/movement/strided_copy.hpp>

namespace zp::inline v0::kernel {

/// What stands around the image: one value, or with PyTorch's names the image mirrored without its border, its border
/// again and again, the image from its other side; TFLite's SYMMETRIC is the image mirrored with its border.
enum class pad_mode { constant, reflect, symmetric, replicate, circular };

constexpr shape padded_shape(const shape& in, const pad_sides& sides) {
    return {sides.before[0] + in.height + sides.after[0], sides.before[1] + in.width + sides.after[1],
            sides.before[2] + in.channels + sides.after[2]};
}

/// The widest side that a mode can make from an axis of `extent` values.
constexpr int most_padding(pad_mode mode, int extent) {
    if (mode == pad_mode::reflect) return extent - 1;
    if (mode == pad_mode::symmetric || mode == pad_mode::circular) return extent;
    return 1 << 30;
}

/// Part 0 of an axis lies before the image, part 1 is the image, part 2 lies behind it; for every mode but constant.
constexpr axis_segment pad_segment(pad_mode mode, int extent, int before, int after, int part) {
    if (part == 1) return {before, extent, 0, 1};
    const int to = part == 0 ? 0 : before + extent, width = part == 0 ? before : after;
    switch (mode) {
        case pad_mode::reflect: return {to, width, part == 0 ? before : extent - 2, -1};
        case pad_mode::symmetric: return {to, width, part == 0 ? before - 1 : extent - 1, -1};
        case pad_mode::circular: return {to, width, part == 0 ? extent - before : 0, 1};
        default: return {to, width, part == 0 ? 0 : extent - 1, 0};
    }
}

/// y = x with `sides` around it; y has padded_shape(in, sides). `value` is for the mode constant: real zero is the zero
/// point. Sides are no wider than most_padding().
template <class Arch, class T>
void pad(const shape& in, const pad_sides& sides, pad_mode mode, T value, const T* x, T* y) noexcept {
    const shape out = padded_shape(in, sides);
    if (mode != pad_mode::constant) {
        for (int parts = 0; parts != 27; ++parts) {
            const int part[3] = {parts / 9, parts / 3 % 3, parts % 3};
            axis_segment segments[3];
            for (int axis = 0; axis != 3; ++axis)
                segments[axis] =
                    pad_segment(mode, extent_of(in, axis), sides.before[axis], sides.after[axis], part[axis]);
            copy_box<Arch>(segment_copy(in, out, segments), x, y);
        }
        return;
    }
    // Whole rows above and below, then columns at the sides of the rows between, then channels.
    axis_segment segments[3];
    for (int axis = 0; axis != 3; ++axis) segments[axis] = {0, extent_of(out, axis), 0, 0};
    const shape one;
    for (int axis = 0; axis != 3; ++axis) {
        for (const int part : {0, 2}) {
            if (part == 0) segments[axis] = {0, sides.before[axis], 0, 0};
            else segments[axis] = {sides.before[axis] + extent_of(in, axis), sides.after[axis], 0, 0};
            copy_box<Arch>(segment_copy(one, out, segments), &value, y);
        }
        segments[axis] = {sides.before[axis], extent_of(in, axis), 0, 0};
    }
    copy_box<Arch>(place_copy(in, sides.before, out), x, y);
}

}  // namespace zp::inline v0::kernel
