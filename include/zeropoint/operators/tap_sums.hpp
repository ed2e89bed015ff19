// SPDX-License-Identifier: BSD-3-Clause
// What each weight of the filters of linear layers and convolutions is multiplied with, summed over all outputs.
#pragma once

#include <zeropoint/graph/operator_info.hpp>
#include <zeropoint/kernel/convolution/tap_input_sums.hpp>
#include <zeropoint/graph/window.hpp>

namespace zp::inline v0::operators {
constexpr int groups_of(const kernel::conv2d_geometry& g) { return g.groups; }
constexpr int groups_of(const kernel::conv_transpose2d_geometry& g) { return g.groups; }
template <class Volume> constexpr int groups_of(const Volume& g) { return groups_of(g.plane); }

/// `Geometry(view)` is what a node computes, which kernel::add_tap_sums takes.
template <auto Geometry>
inline constexpr tap_sums_rule tap_sums_over{
    [](const node_view& v) { return Geometry(v).taps(); }, [](const node_view& v) { return groups_of(Geometry(v)); },
    [](const node_view& v, const float* x, double* sums) { kernel::add_tap_sums(Geometry(v), x, sums); }};

/// Of conv3d, and of conv2d and linear, whose image is a volume of one plane.
constexpr kernel::conv3d_geometry window_over_planes(const node_view& v) {
    if (v.n.op->filters == filter_kernels::conv3d) return volume_window(v);
    return {v.n.op->geometry(v)};
}
inline constexpr const tap_sums_rule &tap_sums_of_windows = tap_sums_over<window_over_planes>,
                                     &tap_sums_of_transposed_windows = tap_sums_over<transposed_window>,
                                     &tap_sums_of_transposed_volumes = tap_sums_over<transposed_volume_window>;

}  // namespace zp::inline v0::operators
