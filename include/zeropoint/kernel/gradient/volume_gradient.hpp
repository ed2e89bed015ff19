// SPDX-License-Identifier: BSD-3-Clause
// Gradients of convolutions over NDHWC volumes, transposed ones too: those of images, tap by tap along depth.
#pragma once

#include <algorithm>
#include <cstddef>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/geometry/conv3d.hpp>
#include <zeropoint/kernel/geometry/conv_transpose3d.hpp>
#include <zeropoint/kernel/gradient/batch.hpp>
#include <zeropoint/kernel/gradient/conv2d_input_gradient.hpp>
#include <zeropoint/kernel/gradient/conv2d_weight_gradient.hpp>
#include <zeropoint/kernel/gradient/conv_transpose2d_gradient.hpp>

// A tap of the kernel's depth is a convolution of planes with a slice of the filters: of one sample, planes that are as far apart as the
// stride of the window are a batch of images. What a plane gets from several taps is added in their order.

namespace zp::inline v0::kernel {

/// Which planes meet at a tap: `count` of the side that has fewer taps between, from `first` on, and on the other side every
/// `stride`-th from `other` on.
struct planes_of_tap {
    int first = 0, count = 0, other = 0;

    /// other = index * stride - padding + tap * dilation lies in [0, others) for index in [first, first + count), of `indices`.
    constexpr planes_of_tap(int tap, int indices, int others, int stride, int padding, int dilation) {
        const int begin = tap * dilation - padding;
        while (first != indices && first * stride + begin < 0) ++first;
        while (first + count != indices && (first + count) * stride + begin < others) ++count;
        other = first * stride + begin;
    }
};

/// What both kinds of convolution have: filters [channels][kernel_depth][slice].
template <class Geometry> struct volume_slices {
    std::size_t channels, taps, slice;

    explicit constexpr volume_slices(const Geometry& g)
        : channels(static_cast<std::size_t>(g.plane.out.channels)),
          taps(static_cast<std::size_t>(g.kernel_depth)),
          slice(static_cast<std::size_t>(g.plane.depth())) {}
    constexpr std::size_t floats() const { return align_up(channels * slice * sizeof(float)) / sizeof(float); }
    void take(const float* filters, int tap, float* to) const noexcept {
        for (std::size_t c = 0; c != channels; ++c)
            std::copy_n(filters + (c * taps + static_cast<std::size_t>(tap)) * slice, slice, to + c * slice);
    }
    void put(const float* from, int tap, float* filters) const noexcept {
        for (std::size_t c = 0; c != channels; ++c)
            std::copy_n(from + c * slice, slice, filters + (c * taps + static_cast<std::size_t>(tap)) * slice);
    }
};

namespace detail {

/// Planes of one sample, as a batch: `apart` planes from one to the next.
template <class T> batch_of<T> planes(T* volume, int first, int apart, std::ptrdiff_t plane) {
    return {volume + first * plane, apart * plane};
}
constexpr std::size_t floats_of_planes(int count, int size) {
    return align_up(static_cast<std::size_t>(count) * static_cast<std::size_t>(size) * sizeof(float)) / sizeof(float);
}
/// to[plane] += from[plane] of `count` planes.
template <class Arch>
void add_planes(int count, const_float_batch from, float_batch to, std::ptrdiff_t plane) noexcept {
    for (int p = 0; p != count; ++p)
        for_each_vector<Arch>(
            static_cast<std::size_t>(plane), [&](std::size_t i, auto kind) __attribute__((always_inline)) {
                using Number = decltype(kind);
                store_number(Number(load_number<Number>(to[p] + i) + load_number<Number>(from[p] + i)), to[p] + i);
            });
}

}  // namespace detail

/// How many floats of scratch the gradients need.
template <class Arch> constexpr std::size_t conv3d_gradient_scratch(const conv3d_geometry& g) {
    return volume_slices(g).floats() + detail::floats_of_planes(g.out_depth, g.plane.in.size()) +
           std::max(conv2d_input_gradient_scratch<Arch>(g.plane), conv2d_weight_gradient_scratch<Arch>(g.plane));
}
template <class Arch> constexpr std::size_t conv_transpose3d_gradient_scratch(const conv_transpose3d_geometry& g) {
    return volume_slices(g).floats() + detail::floats_of_planes(g.in_depth, g.plane.in.size()) +
           std::max(conv_transpose2d_input_gradient_scratch<Arch>(g.plane),
                    conv_transpose2d_weight_gradient_scratch<Arch>(g.plane));
}

/// dw += the gradient of a conv3d by its filters, in their order; sums as conv2d_weight_gradient()'s.
template <class Arch>
void conv3d_weight_gradient(const conv3d_geometry& g, int samples, const_float_batch x, const_float_batch dy, float* dw,
                            float* scratch) noexcept {
    const volume_slices slices(g);
    float *own = scratch, *rest = scratch + slices.floats();
    for (int tap = 0; tap != g.kernel_depth; ++tap) {
        const planes_of_tap at(tap, g.out_depth, g.in_depth, g.stride_depth, g.padding_front, g.dilation_depth);
        if (at.count == 0) continue;
        slices.take(dw, tap, own);
        for (int i = 0; i != samples; ++i)
            conv2d_weight_gradient<Arch>(g.plane, at.count,
                                         detail::planes(x[i], at.other, g.stride_depth, g.plane.in.size()),
                                         detail::planes(dy[i], at.first, 1, g.plane.out.size()), own, rest);
        slices.put(own, tap, dw);
    }
}
/// dx = the gradient of a conv3d by its input.
template <class Arch>
void conv3d_input_gradient(const conv3d_geometry& g, int samples, const_float_batch dy, const float* weights,
                           float_batch dx, float* scratch) noexcept {
    const volume_slices slices(g);
    const std::ptrdiff_t plane = g.plane.in.size();
    float *own = scratch, *parts = scratch + slices.floats(),
          *rest = parts + detail::floats_of_planes(g.out_depth, g.plane.in.size());
    for (int i = 0; i != samples; ++i) std::fill_n(dx[i], g.in_size(), 0.0f);
    for (int tap = 0; tap != g.kernel_depth; ++tap) {
        const planes_of_tap at(tap, g.out_depth, g.in_depth, g.stride_depth, g.padding_front, g.dilation_depth);
        if (at.count == 0) continue;
        slices.take(weights, tap, own);
        for (int i = 0; i != samples; ++i) {
            conv2d_input_gradient<Arch>(g.plane, at.count, detail::planes(dy[i], at.first, 1, g.plane.out.size()), own,
                                        {parts, plane}, rest);
            detail::add_planes<Arch>(at.count, {parts, plane}, detail::planes(dx[i], at.other, g.stride_depth, plane),
                                     plane);
        }
    }
}

/// The same of a conv_transpose3d, whose planes of input meet every stride-th plane of output.
template <class Arch>
void conv_transpose3d_weight_gradient(const conv_transpose3d_geometry& g, int samples, const_float_batch x,
                                      const_float_batch dy, float* dw, float* scratch) noexcept {
    const volume_slices slices(g);
    float *own = scratch, *rest = scratch + slices.floats();
    for (int tap = 0; tap != g.kernel_depth; ++tap) {
        const planes_of_tap at(tap, g.in_depth, g.out_depth, g.stride_depth, g.padding_front, g.dilation_depth);
        if (at.count == 0) continue;
        slices.take(dw, tap, own);
        for (int i = 0; i != samples; ++i)
            conv_transpose2d_weight_gradient<Arch>(
                g.plane, at.count, detail::planes(x[i], at.first, 1, g.plane.in.size()),
                detail::planes(dy[i], at.other, g.stride_depth, g.plane.out.size()), own, rest);
        slices.put(own, tap, dw);
    }
}
template <class Arch>
void conv_transpose3d_input_gradient(const conv_transpose3d_geometry& g, int samples, const_float_batch dy,
                                     const float* weights, float_batch dx, float* scratch) noexcept {
    const volume_slices slices(g);
    const std::ptrdiff_t plane = g.plane.in.size();
    float *own = scratch, *parts = scratch + slices.floats(),
          *rest = parts + detail::floats_of_planes(g.in_depth, g.plane.in.size());
    for (int i = 0; i != samples; ++i) std::fill_n(dx[i], g.in_size(), 0.0f);
    for (int tap = 0; tap != g.kernel_depth; ++tap) {
        const planes_of_tap at(tap, g.in_depth, g.out_depth, g.stride_depth, g.padding_front, g.dilation_depth);
        if (at.count == 0) continue;
        slices.take(weights, tap, own);
        for (int i = 0; i != samples; ++i) {
            conv_transpose2d_input_gradient<Arch>(g.plane, at.count,
                                                  detail::planes(dy[i], at.other, g.stride_depth, g.plane.out.size()),
                                                  own, {parts, plane}, rest);
            detail::add_planes<Arch>(at.count, {parts, plane}, detail::planes(dx[i], at.first, 1, plane), plane);
        }
    }
}

}  // namespace zp::inline v0::kernel
