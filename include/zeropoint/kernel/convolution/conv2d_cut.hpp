// SPDX-License-Identifier: BSD-3-Clause
// How a convolution is cut into parts that several threads compute, and what each of these does again.
#pragma once

#include <algorithm>

#include <zeropoint/kernel/arch/operations.hpp>
#include <zeropoint/kernel/geometry/conv2d.hpp>
#include <zeropoint/kernel/winograd/winograd_transform.hpp>

namespace zp::inline v0::kernel {

/// What parts do again, in products of one pixel with all channels, or of one channel with all pixels; and what panels lose where they read
/// what another core has written, which rows do not. Fitted to ResNet-18 and MobileNetV2 on two cores of Zen 3: bench_threads --rows=20.
struct cut_costs {
    static constexpr int filters_in_pixels = 6, transformed_filters_in_tiles = 6, inputs_in_channels = 5,
                         staged_cells_of_1024 = 350, read_inputs_of_1024 = 20, read_cells_of_1024 = 300;
};

/// How a convolution is cut that an algorithm computes.
template <class Arch> constexpr conv2d_cut cut_of_conv2d(const conv2d_geometry& g, conv2d_algorithm algorithm) {
    conv2d_cut cut;
    const auto of_1024 = [](int repeated, int once) { return 1024 * repeated / (repeated + once); };
    const int width = panel_width<Arch>;
    int panels = (g.group_out() + width - 1) / width * g.groups;
    switch (algorithm) {
        case conv2d_algorithm::winograd_4x4:
        case conv2d_algorithm::winograd_2x2: {
            const int outputs = algorithm == conv2d_algorithm::winograd_4x4 ? 4 : 2;
            const int tiles = (g.out.height + outputs - 1) / outputs * ((g.out.width + outputs - 1) / outputs);
            cut.row_unit = outputs;
            cut.repeated_by_rows = of_1024(cut_costs::transformed_filters_in_tiles, tiles);
            cut.repeated_by_panels =
                of_1024(cut_costs::inputs_in_channels, g.group_out()) + cut_costs::read_inputs_of_1024;
            break;
        }
        case conv2d_algorithm::implicit_gemm:
            cut.repeated_by_rows = of_1024(cut_costs::filters_in_pixels, g.out.pixels());
            cut.repeated_by_panels =
                of_1024(cut_costs::inputs_in_channels, g.group_out() * g.taps()) + cut_costs::read_inputs_of_1024;
            break;
        case conv2d_algorithm::depthwise:  // two parts of rows stage what is under the windows of both
            cut.repeated_by_rows =
                cut_costs::staged_cells_of_1024 * (g.window_height() - 1) / (g.out.height * g.stride_height);
            cut.repeated_by_panels = cut_costs::read_cells_of_1024;
            panels = (g.out.channels + width - 1) / width;
            break;
        default: return cut;
    }
    cut.panels = panels;
    cut.panel_unit = std::max(1, 64 / width);
    return cut;
}
static_assert(winograd_4x4::method.outputs == 4 && winograd_2x2::method.outputs == 2);

}  // namespace zp::inline v0::kernel
