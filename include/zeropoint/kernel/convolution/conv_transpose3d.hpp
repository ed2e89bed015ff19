// SPDX-License-Identifier: BSD-3-Clause
// Quantized and float transposed 3-D convolution: for each output plane a transposed 2-D one over the planes under it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <zeropoint/kernel/convolution/conv3d.hpp>
#include <zeropoint/kernel/convolution/conv_transpose2d.hpp>
#include <zeropoint/kernel/float/float_conv_transpose2d.hpp>
#include <zeropoint/kernel/geometry/conv_transpose3d.hpp>

// Packed: the transposed 2-D convolution of each phase along depth, one behind the other. Planes that no tap reaches, as with a
// stride beyond the kernel, have filters of zeros: their outputs are the bias, by the same code.

namespace zp::inline v0::kernel {

/// Whether an algorithm can compute a transposed 3-D convolution: all of its phases.
constexpr bool supports(const conv_transpose3d_geometry& g, conv2d_algorithm algorithm) {
    bool all = true;
    for_each_volume_phase(g,
                          [&](const transposed_volume_phase& phase) { all = all && supports(phase.image, algorithm); });
    return all;
}

/// All that there is of an algorithm, which supports the geometry.
template <class Arch, conv2d_algorithm Algorithm> struct conv_transpose3d_kernels {
    using kernels = conv_transpose2d_kernels<Arch, Algorithm>;

    /// Bytes of packed weights and bias, a multiple of 64. `affine_weights` as conv2d_weights::affine says.
    static constexpr std::size_t packed_bytes(const conv_transpose3d_geometry& g, bool affine_weights) {
        std::size_t bytes = 0;
        for_each_volume_phase(g, [&](const transposed_volume_phase& phase) {
            bytes += kernels::packed_bytes(phase.image, affine_weights);
        });
        return bytes;
    }
    /// Bytes of scratch for one call, a multiple of 64: the stacked planes, and what their convolution takes.
    static constexpr std::size_t scratch_bytes(const conv_transpose3d_geometry& g) {
        std::size_t bytes = 0;
        for_each_volume_phase(g, [&](const transposed_volume_phase& phase) {
            bytes = std::max(bytes, image_bytes(phase) + kernels::scratch_bytes(phase.image));
        });
        return bytes;
    }

    /// Packs weights, [out_channels][kernel_depth][kernel_height][kernel_width][in_channels / groups], and bias into
    /// packed_bytes bytes at a 64-byte boundary.
    template <class Weight>
    static void pack(const conv_transpose3d_geometry& g, const conv2d_weights<Weight>& weights, activation_codes codes,
                     std::byte* packed) {
        std::vector<Weight> filters;
        for_each_volume_phase(g, [&](const transposed_volume_phase& phase) {
            const std::ptrdiff_t depth = phase.image.depth();
            filters.assign(static_cast<std::size_t>(g.plane.out.channels * depth), Weight{0});
            if (weights.zero_points != nullptr)  // the code of a weight of 0
                for (int c = 0; c != g.plane.out.channels; ++c)
                    std::fill_n(filters.data() + c * depth, depth, static_cast<Weight>(weights.zero_points[c]));
            for_each_phase_run(g, phase, [&](std::ptrdiff_t from, std::ptrdiff_t to) {
                std::copy_n(weights.values + from, g.plane.group_in(), filters.data() + to);
            });
            kernels::pack(phase.image, conv2d_weights<Weight>{filters.data(), weights.zero_points, weights.bias}, codes,
                          packed);
            packed += kernels::packed_bytes(phase.image, weights.affine());
        });
    }
    /// The exact inverse of pack, given the same zero points and codes: weights in the same order, and one bias a channel.
    template <class Weight>
    static void unpack(const conv_transpose3d_geometry& g, const std::int32_t* zero_points, bool affine,
                       activation_codes codes, const std::byte* packed, Weight* values, std::int32_t* bias) {
        std::vector<Weight> filters;
        for_each_volume_phase(g, [&](const transposed_volume_phase& phase) {
            filters.resize(static_cast<std::size_t>(g.plane.out.channels) *
                           static_cast<std::size_t>(phase.image.depth()));
            kernels::unpack(phase.image, zero_points, affine, codes, packed, filters.data(), bias);
            for_each_phase_run(g, phase, [&](std::ptrdiff_t to, std::ptrdiff_t from) {
                std::copy_n(filters.data() + from, g.plane.group_in(), values + to);
            });
            packed += kernels::packed_bytes(phase.image, affine);
        });
    }

    /// y = epilogue(bias + sum (x - x_zero_point) * (w - w_zero_point)), as reference::conv_transpose3d defines the sum.
    /// `scratch` has scratch_bytes bytes at a 64-byte boundary, `packed` comes from pack with the same geometry and codes.
    template <class In, class Out, class Epilogue>
    static void run(const conv_transpose3d_geometry& g, const In* x, activation_codes codes, bool affine_weights,
                    const std::byte* packed, const Epilogue& epilogue, Out* y, std::byte* scratch) noexcept {
        for_each_volume_phase(g, [&](const transposed_volume_phase& phase) {
            for (int i = 0; i != phase.axis.outputs; ++i) {
                const In* planes =
                    planes_under(phase.planes, x, static_cast<In>(codes.zero_point), i, reinterpret_cast<In*>(scratch));
                kernels::run(phase.image, planes, codes, affine_weights, packed, epilogue,
                             y + std::ptrdiff_t{phase.plane + i * g.stride_depth} * g.plane.out.size(),
                             scratch + image_bytes(phase));
            }
            packed += kernels::packed_bytes(phase.image, affine_weights);
        });
    }

    /// The panels of all phases.
    static conv2d_description describe(const conv_transpose3d_geometry& g, bool affine_weights,
                                       const std::byte* packed) {
        conv2d_description description{Algorithm, operations<Arch>::name, {}, 0};
        for_each_volume_phase(g, [&](const transposed_volume_phase& phase) {
            const conv2d_description one = kernels::describe(phase.image, affine_weights, packed);
            for (std::size_t kind = 0; kind != std::size(one.panels); ++kind)
                description.panels[kind] += one.panels[kind];
            packed += kernels::packed_bytes(phase.image, affine_weights);
        });
        return description;
    }

private:
    static constexpr std::size_t image_bytes(const transposed_volume_phase& phase) {
        return align_up(static_cast<std::size_t>(phase.image.in.size()));
    }
};

/// visit(conv_transpose3d_kernels<Arch, A>()) for the algorithm A that `algorithm` is, which supports the geometry.
template <class Arch, class Visit>
constexpr decltype(auto) with_conv_transpose3d_kernels(conv2d_algorithm algorithm, Visit&& visit) {
    if (algorithm == conv2d_algorithm::depthwise)
        return visit(conv_transpose3d_kernels<Arch, conv2d_algorithm::depthwise>());
    return visit(conv_transpose3d_kernels<Arch, conv2d_algorithm::implicit_gemm>());
}

/// The cost of an algorithm that supports the geometry: as many transposed 2-D convolutions as there are output planes.
template <class Arch>
constexpr conv2d_cost cost_of_conv_transpose3d(const conv_transpose3d_geometry& g, conv2d_algorithm algorithm,
                                               bool affine_weights) {
    conv2d_cost cost;
    for_each_volume_phase(g, [&](const transposed_volume_phase& phase) {
        const conv2d_cost one = cost_of_conv_transpose2d<Arch>(phase.image, algorithm, affine_weights);
        cost.nanoseconds += one.nanoseconds * phase.axis.outputs;
        cost.packed_bytes += one.packed_bytes;
    });
    return cost;
}

/// How many floats of scratch conv_transpose3d_float() needs: the filters of a phase, stacked planes, and what their convolution
/// takes.
template <class Arch> constexpr std::size_t conv_transpose3d_float_scratch(const conv_transpose3d_geometry& g) {
    std::size_t most = 0;
    for_each_volume_phase(g, [&](const transposed_volume_phase& phase) {
        most = std::max(most,
                        static_cast<std::size_t>(g.plane.out.channels) * static_cast<std::size_t>(phase.image.depth()) +
                            static_cast<std::size_t>(phase.image.in.size()) +
                            conv_transpose2d_float_scratch<Arch>(phase.image));
    });
    return most;
}

/// y = clamp(bias + sum x * w, clamp_min, clamp_max), weights in the order of conv_transpose3d_kernels::pack. `bias` may be
/// null: zero. No clamp: -infinity and infinity. `scratch` has conv_transpose3d_float_scratch<Arch>(g) floats. x, y and scratch
/// do not overlap. Sums are rounded in an order that depends on Arch.
template <class Arch>
void conv_transpose3d_float(const conv_transpose3d_geometry& g, const float* x, const float* weights, const float* bias,
                            float clamp_min, float clamp_max, float* y, float* scratch) noexcept {
    for_each_volume_phase(g, [&](const transposed_volume_phase& phase) {
        if (!phase.has_outputs()) return;
        const std::ptrdiff_t count = std::ptrdiff_t{g.plane.out.channels} * phase.image.depth();
        if (phase.axis.taps == 0) std::fill_n(scratch, count, 0.0f);
        for_each_phase_run(g, phase, [&](std::ptrdiff_t from, std::ptrdiff_t to) {
            std::copy_n(weights + from, g.plane.group_in(), scratch + to);
        });
        float* plane = scratch + count;
        for (int i = 0; i != phase.axis.outputs; ++i)
            conv_transpose2d_float<Arch>(phase.image, planes_under(phase.planes, x, 0.0f, i, plane), scratch, bias,
                                         clamp_min, clamp_max,
                                         y + std::ptrdiff_t{phase.plane + i * g.stride_depth} * g.plane.out.size(),
                                         plane + phase.image.in.size());
    });
}

}  // namespace zp::inline v0::kernel
