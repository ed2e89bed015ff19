// SPDX-License-Identifier: BSD-3-Clause
// A transposed 3-D convolution as 2-D ones: phases along depth, the planes under each being channels of one image.
#pragma once

#include <zeropoint/kernel/geometry/conv3d.hpp>
#include <zeropoint/kernel/geometry/conv_transpose2d.hpp>

namespace zp::inline v0::kernel {

/// One transposed 3-D convolution over in_depth planes, each an NHWC image. `padding_front` planes of the full result are cut
/// off in front; where it ends behind follows from `out_depth`.
struct conv_transpose3d_geometry {
    conv_transpose2d_geometry plane;  ///< of one input plane and one output plane, with the kernel's height and width
    int in_depth = 1, out_depth = 1;
    int kernel_depth = 1, stride_depth = 1, padding_front = 0, dilation_depth = 1;

    constexpr int in_size() const { return in_depth * plane.in.size(); }
    constexpr int out_size() const { return out_depth * plane.out.size(); }
    constexpr int taps() const { return kernel_depth * plane.taps(); }
    /// Weights of one output channel: no output sums more products than these.
    constexpr int depth() const { return kernel_depth * plane.depth(); }
    constexpr bool operator==(const conv_transpose3d_geometry&) const = default;
};

/// Output planes `plane`, plane + stride_depth, ...: all have the same taps along depth, and read input planes 1 apart.
struct transposed_volume_phase {
    int plane;             ///< the first output plane
    transposed_axis axis;  ///< its taps of the kernel's depth; none: these planes are the bias
    conv_transpose2d_geometry
        image;               ///< of one output plane, over the planes under it side by side, [group][tap][channel]
    conv3d_geometry planes;  ///< where those planes are, for stack_planes()

    constexpr transposed_volume_phase(const conv_transpose3d_geometry& g, int first_plane)
        : plane(first_plane),
          axis(plane, g.out_depth, g.kernel_depth, g.stride_depth, g.padding_front, g.dilation_depth),
          image(g.plane) {
        planes.plane.in = g.plane.in;
        planes.plane.groups = g.plane.groups;
        planes.in_depth = g.in_depth;
        planes.kernel_depth = taps();
        planes.padding_front = axis.taps == 0 ? 0 : axis.padding;
        planes.dilation_depth = axis.dilation;
        image.in.channels *= taps();
    }
    /// At least 1: planes that no tap reaches have one of zeros.
    constexpr int taps() const { return axis.taps == 0 ? 1 : axis.taps; }
    constexpr bool has_outputs() const { return axis.outputs != 0; }
};

/// Calls visit(transposed_volume_phase) for each phase along depth, in order.
template <class Visit> constexpr void for_each_volume_phase(const conv_transpose3d_geometry& g, Visit visit) {
    for (int plane = 0; plane != g.stride_depth; ++plane) visit(transposed_volume_phase(g, plane));
}

/// Calls visit(index in [out_channels][kernel_depth][kernel_height][kernel_width][in_channels / groups], index in the filters of
/// phase.image) for each run of in_channels / groups weights of a phase that has taps.
template <class Visit>
constexpr void for_each_phase_run(const conv_transpose3d_geometry& g, const transposed_volume_phase& phase,
                                  Visit visit) {
    const std::ptrdiff_t area = g.plane.taps(), run = g.plane.group_in(), taps = phase.axis.taps;
    for (std::ptrdiff_t channel = 0; channel != g.plane.out.channels; ++channel)
        for (int at = 0; at != phase.axis.taps; ++at)
            for (std::ptrdiff_t tap = 0; tap != area; ++tap)
                visit(((channel * g.kernel_depth + phase.axis.tap(at)) * area + tap) * run,
                      ((channel * area + tap) * taps + at) * run);
}

}  // namespace zp::inline v0::kernel
