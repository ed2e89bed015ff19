// SPDX-License-Identifier: BSD-3-Clause
// Gradients of what moves values: the inverse movement, in which values that were read several times add up.
#pragma once

#include <algorithm>
#include <cstddef>

#include <zeropoint/core/shape.hpp>
#include <zeropoint/kernel/geometry/resize_axis.hpp>
#include <zeropoint/kernel/gradient/batch.hpp>
#include <zeropoint/kernel/movement/embedding.hpp>
#include <zeropoint/kernel/movement/pad.hpp>
#include <zeropoint/kernel/movement/rearrange.hpp>
#include <zeropoint/kernel/movement/strided_copy.hpp>

// Movements that read each value once, as permutations, reshapes, shuffles and flips do, have their inverse:
// copy_box(inverse_copy(box), dy, dx). All others, slices, expansions and padding, add to zeros: fill dx, then add_box().
// The gradient of a concatenation's input is a slice of dy: copy_box(inverse_copy(place_copy(...))).

namespace zp::inline v0::kernel {

/// dx[from + ...] += dy[to + ...] over a box: what copy_box() took, it gives back. In the order of dy.
template <class Arch> void add_box(const box_copy& plan, const float* dy, float* dx) noexcept {
    box_copy box = plan.simplified();
    const copy_axis inner = box.axes[--box.count];
    if (inner.extent == 0) return;
    for_each_offset(box.axes, box.count, box.from, box.to, [&](std::ptrdiff_t from, std::ptrdiff_t to) {
        if (inner.from == 1 && inner.to == 1) {
            float* const sums = dx + from;
            const float* const values = dy + to;
            for_each_vector<Arch>(
                static_cast<std::size_t>(inner.extent), [=](std::size_t i, auto kind) __attribute__((always_inline)) {
                    using Number = decltype(kind);
                    store_number(Number(load_number<Number>(sums + i) + load_number<Number>(values + i)), sums + i);
                });
            return;
        }
        for (int i = 0; i != inner.extent; ++i) dx[from + i * inner.from] += dy[to + i * inner.to];
    });
}

/// dx, `count` values, = the gradient of copies by the boxes.
template <class Arch>
void box_gradient(const box_copy& box, const float* dy, std::ptrdiff_t count, float* dx) noexcept {
    std::fill_n(dx, count, 0.0f);
    add_box<Arch>(box, dy, dx);
}

/// dx = the gradient of pad(): of the image in the middle, and of the values that were mirrored or repeated around it.
template <class Arch>
void pad_gradient(const shape& in, const pad_sides& sides, pad_mode mode, const float* dy, float* dx) noexcept {
    const shape out = padded_shape(in, sides);
    std::fill_n(dx, in.size(), 0.0f);
    if (mode == pad_mode::constant) {
        add_box<Arch>(place_copy(in, sides.before, out), dy, dx);
        return;
    }
    for (int parts = 0; parts != 27; ++parts) {
        const int part[3] = {parts / 9, parts / 3 % 3, parts % 3};
        axis_segment segments[3];
        for (int axis = 0; axis != 3; ++axis)
            segments[axis] = pad_segment(mode, extent_of(in, axis), sides.before[axis], sides.after[axis], part[axis]);
        add_box<Arch>(segment_copy(in, out, segments), dy, dx);
    }
}

/// dx = the gradient of roll() by `shift`.
template <class Arch> void roll_gradient(const shape& in, const int (&shift)[3], const float* dy, float* dx) noexcept {
    roll<Arch>(in, {-shift[0], -shift[1], -shift[2]}, dy, dx);
}

/// dx = the gradient of tile(): the sum of the copies.
template <class Arch>
void tile_gradient(const shape& in, int height, int width, int channels, const float* dy, float* dx) noexcept {
    const shape out = tiled_shape(in, height, width, channels);
    std::fill_n(dx, in.size(), 0.0f);
    for (int i = 0; i != height; ++i)
        for (int j = 0; j != width; ++j)
            for (int k = 0; k != channels; ++k)
                add_box<Arch>(place_copy(in, {i * in.height, j * in.width, k * in.channels}, out), dy, dx);
}

/// dx = the gradient of gather() along an axis: in the order of indices.
template <class Arch>
void gather_gradient(const shape& in, int axis, const std::int32_t* indices, int count, const float* dy,
                     float* dx) noexcept {
    std::fill_n(dx, in.size(), 0.0f);
    shape out = in;
    (axis == 0 ? out.height : axis == 1 ? out.width : out.channels) = count;
    for (int i = 0; i != count; ++i) {
        axis_segment segments[3];
        for (int k = 0; k != 3; ++k)
            segments[k] = k == axis ? axis_segment{i, 1, indices[i], 1} : axis_segment{0, extent_of(in, k), 0, 1};
        add_box<Arch>(segment_copy(in, out, segments), dy, dx);
    }
}

/// The gradient of a table of floats, rows x columns: dtable[indices[i]] += dy[i], in the order of indices, which lie in
/// the table. The row `padding_index`, PyTorch's padding_idx, gets nothing; -1: none.
template <class Arch, class Index>
void add_embedding_gradient(const Index* indices, std::size_t count, int columns, std::ptrdiff_t padding_index,
                            const float* dy, float* dtable) noexcept {
    for (std::size_t i = 0; i != count; ++i, dy += columns) {
        const auto index = static_cast<std::ptrdiff_t>(indices[i]);
        if (index == padding_index) continue;
        add_box<Arch>(box_copy().along(columns, 1, 1), dy, dtable + index * columns);
    }
}

/// The same of embedding_bag() without weights: each row of a bag gets dy of that, divided by the number of rows for a mean.
template <class Arch, class Index>
void add_embedding_bag_gradient(const Index* indices, std::size_t count, const Index* offsets, std::size_t bags,
                                embedding_bag_mode mode, std::ptrdiff_t padding_index, int columns, const float* dy,
                                float* dtable) noexcept {
    for (std::size_t bag = 0; bag != bags; ++bag, dy += columns) {
        const bag_span span(offsets, bags, bag, count);
        std::size_t rows = 0;
        for (std::size_t i = span.begin; i != span.end; ++i)
            rows += static_cast<std::ptrdiff_t>(indices[i]) != padding_index;
        const float share = mode == embedding_bag_mode::mean && rows > 1 ? 1.0f / static_cast<float>(rows) : 1.0f;
        for (std::size_t i = span.begin; i != span.end; ++i) {
            const auto index = static_cast<std::ptrdiff_t>(indices[i]);
            if (index == padding_index) continue;
            for (int c = 0; c != columns; ++c) dtable[index * columns + c] += dy[c] * share;
        }
    }
}

/// dx = the gradient of interpolate_nearest(): what was taken adds up.
template <class Arch>
void interpolate_nearest_gradient(const nearest_axis& rows, const nearest_axis& columns, std::size_t channels,
                                  const float* dy, float* dx) noexcept {
    const auto pixel = static_cast<std::ptrdiff_t>(channels), row = columns.in * pixel;
    std::fill_n(dx, rows.in * row, 0.0f);
    for (int h = 0; h != rows.out; ++h)
        for (int w = 0; w != columns.out; ++w, dy += pixel)
            add_box<Arch>(box_copy().along(static_cast<int>(channels), 1, 1), dy,
                          dx + rows.source(h) * row + columns.source(w) * pixel);
}

/// dx = the gradient of interpolate_bilinear(): each output gives its four inputs the shares that it took of them.
template <class Arch>
void interpolate_bilinear_gradient(const linear_axis& rows, const linear_axis& columns, std::size_t channels,
                                   const float* dy, float* dx) noexcept {
    const auto pixel = static_cast<std::ptrdiff_t>(channels), row = columns.in * pixel;
    std::fill_n(dx, rows.in * row, 0.0f);
    linear_walk row_walk(rows);
    for (int h = 0; h != rows.out; ++h, row_walk.advance()) {
        const linear_taps vertical = row_walk.taps();
        const float below = static_cast<float>(vertical.weight) / static_cast<float>(rows.denominator);
        linear_walk column_walk(columns);
        for (int w = 0; w != columns.out; ++w, column_walk.advance(), dy += pixel) {
            const linear_taps horizontal = column_walk.taps();
            const float right = static_cast<float>(horizontal.weight) / static_cast<float>(columns.denominator);
            const auto give = [&](int r, int c, float share) {
                if (share == 0) return;
                float* const to = dx + r * row + c * pixel;
                const float* const from = dy;
                for_each_vector<Arch>(
                    channels, [=](std::size_t i, auto kind) __attribute__((always_inline)) {
                        using Number = decltype(kind);
                        store_number(
                            multiply_add(load_number<Number>(from + i), Number(share), load_number<Number>(to + i)),
                            to + i);
                    });
            };
            give(vertical.lower, horizontal.lower, (1 - below) * (1 - right));
            give(vertical.lower, horizontal.upper, (1 - below) * right);
            give(vertical.upper, horizontal.lower, below * (1 - right));
            give(vertical.upper, horizontal.upper, below * right);
        }
    }
}

}  // namespace zp::inline v0::kernel
