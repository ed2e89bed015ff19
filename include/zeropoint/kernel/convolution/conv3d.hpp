// SPDX-License-Identifier: BSD-3-Clause
// Quantized and float 3-D convolution: for each output plane one 2-D convolution over the planes under its window.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/convolution/conv2d.hpp>
#include <zeropoint/kernel/float/float_conv2d.hpp>
#include <zeropoint/kernel/geometry/conv3d.hpp>

// The planes under a window are copied side by side, pixel by pixel: kernel_depth times the channels. All that is known of
// 2-D convolutions holds: algorithms, epilogues, residuals. One copy is kernel_depth values an input value; each is then
// multiplied kernel_height * kernel_width * out_channels times. A kernel of depth 1 copies nothing.

namespace zp::inline v0::kernel {

/// Calls visit(index in [out_channels][kernel_depth][kernel_height][kernel_width][in_channels / groups], index in the
/// filters of g.stacked()) for each run of in_channels / groups weights.
template <class Visit> constexpr void for_each_stacked_run(const conv3d_geometry& g, Visit visit) {
    const std::ptrdiff_t area = g.plane.taps(), run = g.plane.group_in();
    std::ptrdiff_t from = 0;
    for (std::ptrdiff_t channel = 0; channel != g.plane.out.channels; ++channel)
        for (std::ptrdiff_t z = 0; z != g.kernel_depth; ++z)
            for (std::ptrdiff_t tap = 0; tap != area; ++tap, from += run)
                visit(from, ((channel * area + tap) * g.kernel_depth + z) * run);
}

/// Copies the planes under an output plane into one image of g.stacked().in; planes outside the input are `border`.
template <class T> void stack_planes(const conv3d_geometry& g, const T* x, T border, int out_plane, T* image) noexcept {
    const std::ptrdiff_t channels = g.plane.in.channels, run = g.plane.group_in(),
                         pixel_pitch = channels * g.kernel_depth;
    for (int tap = 0; tap != g.kernel_depth; ++tap) {
        const int plane = g.in_plane(out_plane, tap);
        const T* from = plane < 0 || plane >= g.in_depth ? nullptr : x + std::ptrdiff_t{plane} * g.plane.in.size();
        T* to = image + tap * run;
        for (int pixel = 0; pixel != g.plane.in.pixels(); ++pixel, to += pixel_pitch) {
            for (std::ptrdiff_t c = 0; c != channels; c += run) {
                if (from != nullptr) std::copy_n(from + c, run, to + c * g.kernel_depth);
                else std::fill_n(to + c * g.kernel_depth, run, border);
            }
            if (from != nullptr) from += channels;
        }
    }
}

/// The input of the 2-D convolution of an output plane: the input's own plane, or a stack of them in `image`.
template <class T>
const T* planes_under(const conv3d_geometry& g, const T* x, T border, int out_plane, T* image) noexcept {
    const int plane = g.in_plane(out_plane, 0);
    if (g.kernel_depth == 1 && plane >= 0 && plane < g.in_depth) return x + std::ptrdiff_t{plane} * g.plane.in.size();
    stack_planes(g, x, border, out_plane, image);
    return image;
}

/// All that there is of an algorithm, which supports g.stacked().
template <class Arch, conv2d_algorithm Algorithm> struct conv3d_kernels {
    using kernels = conv2d_kernels<Arch, Algorithm>;

    /// Bytes of packed weights and bias, a multiple of 64. `affine_weights` as conv2d_weights::affine says.
    static constexpr std::size_t packed_bytes(const conv3d_geometry& g, bool affine_weights) {
        return kernels::packed_bytes(g.stacked(), affine_weights);
    }
    /// Bytes of scratch for one call, a multiple of 64: the stacked image, and what its convolution takes.
    static constexpr std::size_t scratch_bytes(const conv3d_geometry& g) {
        return image_bytes(g) + kernels::scratch_bytes(g.stacked());
    }

    /// Packs weights, [out_channels][kernel_depth][kernel_height][kernel_width][in_channels / groups], and bias into
    /// packed_bytes bytes at a 64-byte boundary.
    template <class Weight>
    static void pack(const conv3d_geometry& g, const conv2d_weights<Weight>& weights, activation_codes codes,
                     std::byte* packed) {
        std::vector<Weight> stacked(weight_count(g));
        for_each_stacked_run(g, [&](std::ptrdiff_t from, std::ptrdiff_t to) {
            std::copy_n(weights.values + from, g.plane.group_in(), stacked.data() + to);
        });
        kernels::pack(g.stacked(), conv2d_weights<Weight>{stacked.data(), weights.zero_points, weights.bias}, codes,
                      packed);
    }
    /// The exact inverse of pack: weights in the same order, and one bias a channel.
    template <class Weight>
    static void unpack(const conv3d_geometry& g, const std::int32_t* zero_points, activation_codes codes,
                       const std::byte* packed, Weight* values, std::int32_t* bias) {
        std::vector<Weight> stacked(weight_count(g));
        kernels::unpack(g.stacked(), zero_points, codes, packed, stacked.data(), bias);
        for_each_stacked_run(g, [&](std::ptrdiff_t to, std::ptrdiff_t from) {
            std::copy_n(stacked.data() + from, g.plane.group_in(), values + to);
        });
    }

    /// y = epilogue(bias + sum (x - x_zero_point) * (w - w_zero_point)), as reference::conv3d defines the sum. `scratch`
    /// has scratch_bytes bytes at a 64-byte boundary, `packed` comes from pack with the same geometry and codes.
    template <class In, class Out, class Epilogue>
    static void run(const conv3d_geometry& g, const In* x, activation_codes codes, const std::byte* packed,
                    const Epilogue& epilogue, Out* y, std::byte* scratch) noexcept {
        const conv2d_geometry stacked = g.stacked();
        for (int plane = 0; plane != g.out_depth; ++plane, y += stacked.out.size()) {
            const In* from =
                planes_under(g, x, static_cast<In>(codes.zero_point), plane, reinterpret_cast<In*>(scratch));
            kernels::run(stacked, from, codes, packed, epilogue, y, scratch + image_bytes(g));
        }
    }

private:
    static constexpr std::size_t image_bytes(const conv3d_geometry& g) {
        return align_up(static_cast<std::size_t>(g.stacked().in.size()));
    }
    static constexpr std::size_t weight_count(const conv3d_geometry& g) {
        return static_cast<std::size_t>(g.plane.out.channels) * static_cast<std::size_t>(g.depth());
    }
};

/// visit(conv3d_kernels<Arch, A>()) for the algorithm A that `algorithm` is, or that `automatic` stands for.
template <class Arch, class Visit>
constexpr decltype(auto) with_conv3d_kernels(const conv3d_geometry& g, conv2d_algorithm algorithm, Visit&& visit) {
    return with_conv2d_kernels<Arch>(
        g.stacked(), algorithm, [&]<conv2d_algorithm Algorithm>(conv2d_kernels<Arch, Algorithm>) -> decltype(auto) {
            return visit(conv3d_kernels<Arch, Algorithm>());
        });
}

/// How many floats of scratch conv3d_float() needs: the filters, a stacked image, and what its convolution takes.
template <class Arch> constexpr std::size_t conv3d_float_scratch(const conv3d_geometry& g) {
    return static_cast<std::size_t>(g.plane.out.channels) * static_cast<std::size_t>(g.depth()) +
           static_cast<std::size_t>(g.stacked().in.size()) + conv2d_float_scratch<Arch>(g.stacked());
}

/// y = clamp(bias + sum x * w, clamp_min, clamp_max), weights in the order of pack_conv3d. `bias` may be null: zero. No clamp:
/// -infinity and infinity. `scratch` has conv3d_float_scratch<Arch>(g) floats. x, y and scratch do not overlap. Sums are
/// rounded in an order that depends on Arch.
template <class Arch>
void conv3d_float(const conv3d_geometry& g, const float* x, const float* weights, const float* bias, float clamp_min,
                  float clamp_max, float* y, float* scratch) noexcept {
    const conv2d_geometry stacked = g.stacked();
    for_each_stacked_run(g, [&](std::ptrdiff_t from, std::ptrdiff_t to) {
        std::copy_n(weights + from, g.plane.group_in(), scratch + to);
    });
    float* image = scratch + std::ptrdiff_t{stacked.out.channels} * stacked.depth();
    for (int plane = 0; plane != g.out_depth; ++plane, y += stacked.out.size())
        conv2d_float<Arch>(stacked, planes_under(g, x, 0.0f, plane, image), scratch, bias, clamp_min, clamp_max, y,
                           image + stacked.in.size());
}

}  // namespace zp::inline v0::kernel
