// SPDX-License-Identifier: BSD-3-Clause
// Depthwise and narrow grouped convolution: vectorized over output channels, whose lanes have inputs of their own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <zeropoint/kernel/arch/operations.hpp>
#include <zeropoint/kernel/depthwise/cell_ring.hpp>
#include <zeropoint/kernel/depthwise/column_quads.hpp>
#include <zeropoint/kernel/depthwise/packed_cells.hpp>
#include <zeropoint/kernel/epilogue/apply_epilogue.hpp>
#include <zeropoint/kernel/gemm/panel_formats.hpp>
#include <zeropoint/kernel/gemm/panel_layout.hpp>
#include <zeropoint/kernel/geometry/conv2d.hpp>
#include <zeropoint/kernel/vector/unroll.hpp>

//   for each block of panels whose staged rows fit into the first-level cache:
//       for each row of outputs:
//           stage the input rows that its windows reach first, in a ring        depthwise_ring::move_to
//           for each panel, for each 32 outputs:
//               sums = bias + cells * weights                                   multiply_cells
//               y = epilogue(sums)                                              finish_rows
//
// A row is staged once and read kernel_height times. Codes are staged unsigned, as byte or int16, padding being their
// zero point, which is folded into the bias.

namespace zp::inline v0::kernel {

/// A vector of cells, or of their weights, `Code` being which of a format's types.
template <class Operations, class Code> [[gnu::always_inline]] inline auto load_cells(const std::byte* from) {
    using bytes = std::conditional_t<std::is_signed_v<Code>, typename Operations::int8, typename Operations::uint8>;
    using vector = std::conditional_t<sizeof(Code) == 1, bytes, typename Operations::int16>;
    return Operations::template load<vector>(reinterpret_cast<const Code*>(from));
}

/// Sums of one panel for `tiles` times `Groups` times `Phases` outputs, cells being byte_quads or word_pairs. Cell i of the window of an output is at cells[offsets[i]],
/// the next `Phases` outputs `group_bytes` further. `Count` is the number of cells, or 0 where it is known at run time.
template <class Arch, class Cells, int Phases, int Count, int Groups = depthwise_plan<Arch>::tile_outputs / Phases>
[[gnu::noinline]] void multiply_cells(const std::byte* cells, std::ptrdiff_t group_bytes, int tiles,
                                      const std::int32_t* offsets, [[maybe_unused]] int count, const std::byte* weights,
                                      const std::int32_t* bias, std::int32_t* sums) noexcept {
    using ops = operations<Arch>;
    using int32 = typename ops::int32;
    constexpr int width = panel_width<Arch>, vector_bytes = ops::lanes * 4;
    for (int tile = 0; tile != tiles; ++tile) {
#pragma GCC unroll 1
        for (int v = 0; v != ops::vectors; ++v) {
            int32 sum[Groups * Phases];
            repeat<Groups * Phases>([&](int i) __attribute__((always_inline)) {
                sum[i] = ops::template load<int32>(bias + v * ops::lanes);
            });
            const std::byte* panel = weights + v * vector_bytes;
            const auto multiply = [&](int i) __attribute__((always_inline)) {
                const std::byte* cell = cells + v * vector_bytes + offsets[i];
                decltype(load_cells<ops, typename Cells::weight>(panel)) w[Phases];
                repeat<Phases>([&](int phase) __attribute__((always_inline)) {
                    w[phase] = load_cells<ops, typename Cells::weight>(panel + phase * width * 4);
                    ops::keep(w[phase]);
                });
                repeat<Groups>([&](int group) __attribute__((always_inline)) {
                    auto a = load_cells<ops, typename Cells::activation>(cell + group * group_bytes);
                    if constexpr (Phases > 1) ops::keep(a);
                    repeat<Phases>([&](int phase) __attribute__((always_inline)) {
                        Cells::template dot<ops>(sum[group * Phases + phase], a, w[phase]);
                        ops::keep(sum[group * Phases + phase]);
                    });
                });
                panel += Phases * width * 4;
            };
            if constexpr (Count != 0) unroll<Count>(multiply);
            else
                for (int i = 0; i != count; ++i) multiply(i);
            repeat<Groups * Phases>([&](int i) __attribute__((always_inline)) {
                ops::store(sums + i * width + v * ops::lanes, sum[i]);
            });
        }
        cells += Groups * group_bytes;
        sums += Groups * Phases * width;
    }
}

/// The same for windows of three rows of two cells, of which the second is the first of the next `Phases` outputs: each
/// is loaded once. A tile is `Groups` times `Phases` outputs.
template <class Arch, int Phases, int Groups>
[[gnu::noinline]] void multiply_shared_cells(const std::byte* cells, std::ptrdiff_t group_bytes, int tiles,
                                             const std::int32_t* offsets, int, const std::byte* weights,
                                             const std::int32_t* bias, std::int32_t* sums) noexcept {
    using ops = operations<Arch>;
    constexpr int outputs = Groups * Phases, width = panel_width<Arch>, vector_bytes = ops::lanes * 4;
    for (int tile = 0; tile != tiles; ++tile) {
#pragma GCC unroll 1
        for (int v = 0; v != ops::vectors; ++v) {
            typename ops::int32 sum[outputs];
            repeat<outputs>([&](int i) __attribute__((always_inline)) {
                sum[i] = ops::template load<typename ops::int32>(bias + v * ops::lanes);
            });
            repeat<3>([&](int row) __attribute__((always_inline)) {
                const std::byte* cell = cells + v * vector_bytes + offsets[2 * row];
                typename ops::int16 w[2][Phases];
                repeat<2 * Phases>([&](int i) __attribute__((always_inline)) {
                    auto& vector = w[i / Phases][i % Phases];
                    vector =
                        load_cells<ops, std::int16_t>(weights + (2 * Phases * row + i) * width * 4 + v * vector_bytes);
                    ops::keep(vector);
                });
                unroll<Groups + 1>([&](auto group) __attribute__((always_inline)) {
                    auto a = load_cells<ops, std::int16_t>(cell + group * group_bytes);
                    ops::keep(a);
                    const auto add = [&](int output, const auto& operand) __attribute__((always_inline)) {
                        ops::dot2(sum[output], a, operand);
                        ops::keep(sum[output]);
                    };
                    unroll<Phases>([&](auto phase) __attribute__((always_inline)) {
                        if constexpr (group != 0) add((group - 1) * Phases + phase, w[1][phase]);
                        if constexpr (group != Groups) add(group * Phases + phase, w[0][phase]);
                    });
                });
            });
            repeat<outputs>([&](int i) __attribute__((always_inline)) {
                ops::store(sums + i * width + v * ops::lanes, sum[i]);
            });
        }
        cells += Groups * group_bytes;
        sums += outputs * width;
    }
}

/// What multiplies the cells of a convolution: in tiles of `groups` times grid.phases outputs and, where there is
/// `shorter`, in tiles of one group less.
struct cell_kernels {
    using kernel = void (*)(const std::byte* cells, std::ptrdiff_t group_bytes, int tiles, const std::int32_t* offsets,
                            int count, const std::byte* weights, const std::int32_t* bias, std::int32_t* sums) noexcept;
    kernel whole, shorter;
    int groups;

    /// The tiles that compute `outputs` outputs or, as few as can be, more.
    struct tiling {
        int outputs, whole, shorter;
    };
    constexpr tiling tiles_of(int outputs, int phases) const {
        const int needed = (outputs + phases - 1) / phases, tiles = (needed + groups - 1) / groups;
        const int less = shorter == nullptr ? 0 : std::min(tiles * groups - needed, tiles);
        return {outputs, tiles - less, less};
    }
};
template <class Arch>
cell_kernels choose_cell_kernels(const conv2d_geometry& g, const cell_grid& grid, panel_kernel kernel) {
    constexpr int tile = depthwise_plan<Arch>::tile_outputs;
    // Where quads are exact, nearly all panels have them: 28 outputs are then 8 + 8 + 6 + 6, and 7 are 7.
    const auto of_phases = [&]<class Cells, int Count, int Phases>() -> cell_kernels {
        constexpr int groups = tile / Phases;
        if constexpr (Cells::depth == 4 && operations<Arch>::has_batches && !quads_saturate<Arch>)
            return {&multiply_cells<Arch, Cells, Phases, Count>,
                    &multiply_cells<Arch, Cells, Phases, Count, groups - 1>, groups};
        else return {&multiply_cells<Arch, Cells, Phases, Count>, nullptr, groups};
    };
    const auto of_cells = [&]<class Cells>(Cells) -> cell_kernels {
        if constexpr (Cells::depth == 4)
            if (g.kernel_height * grid.row_cells(g, 4) == 3)  // 3x3
                return grid.phases == 1 ? of_phases.template operator()<Cells, 3, 1>()
                                        : of_phases.template operator()<Cells, 3, 2>();
        return grid.phases == 1 ? of_phases.template operator()<Cells, 0, 1>()
                                : of_phases.template operator()<Cells, 0, 2>();
    };
    if constexpr (has_quads<Arch>)
        if (kernel == panel_kernel::byte_quads) return of_cells(byte_quads{});
    const bool shared = grid.position(g, 2, 1) == grid.group_step * grid.planes(g, 2);
    if (g.kernel_height != 3 || grid.row_cells(g, 2) != 2 || !shared) return of_cells(word_pairs{});
    if (grid.phases == 1)
        return {&multiply_shared_cells<Arch, 1, tile>, &multiply_shared_cells<Arch, 1, tile - 1>, tile};
    return {&multiply_shared_cells<Arch, 2, tile / 2>, &multiply_shared_cells<Arch, 2, tile / 2 - 1>, tile / 2};
}

/// Sums of 16-bit codes, which int32 holds without their biases alone.
template <class Arch, class Out, class Epilogue>
[[gnu::noinline]] void finish_int64_rows(const Epilogue& epilogue, const std::int32_t* sums, int rows,
                                         int first_channel, int channels, Out* y, std::ptrdiff_t y_pitch) noexcept {
    constexpr int width = panel_width<Arch>;
    std::int64_t row[width];
    for (; rows > 0; --rows, sums += width, y += y_pitch) {
        std::copy_n(sums, width, row);
        epilogue.template finish_int64_tile<Arch>(row, 1, first_channel, channels, y, y_pitch);
    }
}

/// The whole convolution. `scratch` has depthwise_plan::scratch_bytes bytes.
template <class Arch, class In, class Out, class Epilogue>
[[gnu::noinline]] void depthwise_conv2d(const conv2d_geometry& g, const In* x, activation_codes codes,
                                        const std::byte* packed, const Epilogue& epilogue, Out* y,
                                        std::byte* scratch) noexcept {
    constexpr int most_outputs = 32, width = panel_width<Arch>;
    const packed_depthwise<Arch> panels(g, packed);
    const int end = g.panels.end_of(panels.layout.panels);
    if constexpr (has_column_quads<Arch> && sizeof(In) == 1 && sizeof(Out) == 1) {
        if constexpr (std::is_same_v<Epilogue, nearest_even>) {
            if (takes_column_quads<Arch>(g, panels, end, epilogue)) {
                column_conv2d<Arch>(g, x, codes, panels, end, epilogue, y, scratch);
                return;
            }
        }
    }
    using source = std::conditional_t<sizeof(In) == 2, std::int16_t, std::uint8_t>;
    depthwise_ring<Arch, source> ring(g, reinterpret_cast<const source*>(x), codes, scratch);
    const int phases = ring.plan().grid.phases;
    alignas(64) std::int32_t sums[most_outputs * width];
    for (int first = g.panels.begin; first < end;) {
        // A block is of one kind.
        const panel_kernel kernel = panels.kernel(first);
        int last = first + 1;
        while (last != std::min(first + ring.plan().block_panels, end) && panels.kernel(last) == kernel) ++last;
        ring.begin_block(first, last - first, kernel == panel_kernel::byte_quads ? 4 : 2);
        const cell_kernels kernels = choose_cell_kernels<Arch>(g, ring.plan().grid, kernel);
        const cell_kernels::tiling most = kernels.tiles_of(most_outputs, phases),
                                   rest = kernels.tiles_of(g.out.width % most_outputs, phases);
        for (int row = 0; row != g.out.height; ++row) {
            ring.move_to(row);
            for (int panel = first; panel != last; ++panel) {
                const int channel = panel * width, channels = std::min(width, g.out.channels - channel);
                Out* to = y + std::ptrdiff_t{row} * g.out.width * g.out.channels + channel;
                const std::byte* cells = ring.cells(panel);
                for (int left = g.out.width; left > 0; left -= most_outputs) {
                    const cell_kernels::tiling& tiles = left < most_outputs ? rest : most;
                    std::int32_t* tile_sums = sums;
                    const auto multiply = [&](cell_kernels::kernel multiply_tiles, int count, int groups) {
                        if (count == 0) return;
                        multiply_tiles(cells, ring.group_bytes(), count, ring.offsets(), ring.window_cells(),
                                       panels.weights(panel), panels.bias(panel), tile_sums);
                        cells += count * groups * ring.group_bytes();
                        tile_sums += count * groups * phases * width;
                    };
                    multiply(kernels.whole, tiles.whole, kernels.groups);
                    multiply(kernels.shorter, tiles.shorter, kernels.groups - 1);
                    if constexpr (sizeof(In) == 2) {
                        if (panels.has_int64_bias(panel))
                            finish_int64_rows<Arch>(epilogue, sums, tiles.outputs, channel, channels, to,
                                                    g.out.channels);
                        else
                            epilogue.template finish_tile<Arch>(sums, tiles.outputs, channel, channels, to,
                                                                g.out.channels);
                    } else {
                        finish_rows<Arch>(epilogue, sums, tiles.outputs, channel, channels, to, g.out.channels);
                    }
                    to += std::ptrdiff_t{most_outputs} * g.out.channels;
                }
            }
        }
        first = last;
    }
}

}  // namespace zp::inline v0::kernel
