// 3x3 convolution of stride 1 by Winograd's transforms: exact, with a quarter or less than half of the products.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/gemm.hpp>
#include <zeropoint/kernel/geometry.hpp>
#include <zeropoint/kernel/staging.hpp>
#include <zeropoint/kernel/winograd_pack.hpp>
#include <zeropoint/kernel/winograd_transform.hpp>

// The output is covered by tiles of outputs x outputs pixels. Tiles that hang over its edges compute pixels that are
// thrown away; the input outside of the image is zero, whatever the padding.
//
//     for each block of tiles:                                 so many that their operands stay in the second-level cache
//         for each row of tiles in it:
//             stage its input rows, x - x_zero_point, once
//             transform vertically, in place
//             for each tile: transform horizontally into       operands  [position][tile][channel] int16
//         for each panel of output channels:
//             for each part of the input channels:
//                 for each position: one matrix product into   products  [position][tile][output channel] int32
//                 for each tile: transform back, add to        sums      [tile row][pixel][output channel] int32
//             y = epilogue(sums)

namespace zp {
inline namespace v0 {
namespace kernel {

/// Whether Winograd's transforms can compute a geometry: any padding and any groups, but only dense 3x3 windows.
constexpr bool winograd_supports(const conv2d_geometry& g) {
    return g.kernel_height == 3 && g.kernel_width == 3 && g.stride_height == 1 && g.stride_width == 1 &&
           g.dilation_height == 1 && g.dilation_width == 1;
}

/// Bytes of operands that a block should stay within: they are read once a panel, from the second-level cache.
inline constexpr std::ptrdiff_t winograd_operand_bytes = 352 * 1024;
/// Tiles of a block at most: products of as many lie between one panel's multiplication and its transform.
inline constexpr int winograd_most_tiles = 18;
/// Tiles of a row that are transformed back and finished together.
inline constexpr int winograd_run_tiles = 8;

/// The pitch of matrices one behind the other, in elements: an odd number of cache lines, so that the same place in
/// all of them does not fall into few sets of the first-level cache.
constexpr std::ptrdiff_t odd_line_pitch(std::ptrdiff_t elements, std::ptrdiff_t element_size) {
    const auto lines = static_cast<std::ptrdiff_t>(align_up(static_cast<std::size_t>(elements * element_size))) / 64;
    return (lines | 1) * 64 / element_size;
}

/// What follows from a geometry and a method: blocks of tiles, and the parts of scratch.
template <class Arch> struct winograd_plan {
    static constexpr int width = panel_width<Arch>;

    int tile_rows, tile_columns;  ///< tiles over the output
    int block_tiles;              ///< of a block; the last may have fewer
    conv2d_geometry tiled;        ///< the geometry whose output is all tiles, for staging
    band_layout band;
    std::ptrdiff_t operand_pitch, product_pitch;  ///< from one position to the next
    std::size_t operands_begin, products_begin, sums_begin, offsets_begin, scratch_bytes;

    constexpr winograd_plan(const conv2d_geometry& g, const winograd_method& method)
        : tile_rows((g.out.height + method.outputs - 1) / method.outputs),
          tile_columns((g.out.width + method.outputs - 1) / method.outputs),
          block_tiles(0),
          tiled(g) {
        tiled.out = {tile_rows * method.outputs, tile_columns * method.outputs, g.out.channels};
        band.columns = tiled.out.width + 2;
        // Whole vectors of channels, and the padded depth of the last group; rows of a tile not at multiples of 512
        // bytes, which would share sets of the first-level cache.
        constexpr std::ptrdiff_t step = std::max(winograd_lanes<Arch>::word_count, 4);
        const std::ptrdiff_t channels = g.in.channels + (g.group_in() + 3) / 4 * 4 - g.group_in();
        band.pixel_pitch = (channels + step - 1) / step * step;
        if (band.pixel_pitch * 2 % 512 == 0) band.pixel_pitch += 32;
        band.row_pitch = band.columns * band.pixel_pitch;

        const std::ptrdiff_t tile_bytes = method.positions() * band.pixel_pitch * 2;
        const std::ptrdiff_t fitting =
            std::max<std::ptrdiff_t>(winograd_operand_bytes / tile_bytes, operations<Arch>::tile_rows);
        const int tiles = tile_rows * tile_columns;
        const int most = static_cast<int>(std::min<std::ptrdiff_t>(fitting, winograd_most_tiles));
        const int blocks = (tiles + most - 1) / most;
        block_tiles = (tiles + blocks - 1) / blocks;

        operand_pitch = odd_line_pitch(block_tiles * band.pixel_pitch, sizeof(std::int16_t));
        product_pitch = odd_line_pitch(block_tiles * width, sizeof(std::int32_t));
        const int sum_tiles = winograd_layout<Arch>(g, method).most_parts > 1 ? block_tiles : winograd_run_tiles;
        const auto bytes = [](std::ptrdiff_t elements, std::size_t size) {
            return align_up(static_cast<std::size_t>(elements) * size);
        };
        operands_begin = bytes(method.inputs * band.row_pitch, sizeof(std::int16_t));
        products_begin = operands_begin + bytes(method.positions() * operand_pitch, sizeof(std::int16_t));
        sums_begin = products_begin + bytes(method.positions() * product_pitch, sizeof(std::int32_t));
        offsets_begin = sums_begin + bytes(sum_tiles * method.outputs * method.outputs * width, sizeof(std::int32_t));
        scratch_bytes = offsets_begin + bytes(block_tiles, sizeof(std::int32_t));
    }
};

/// The transforms of a method on an architecture.
template <class Arch> struct winograd_transforms {
    const winograd_method& method;
    void (*input_columns)(std::int16_t*, std::ptrdiff_t, std::ptrdiff_t) noexcept;
    void (*input_rows)(const std::int16_t*, std::ptrdiff_t, std::ptrdiff_t, std::int16_t*, std::ptrdiff_t) noexcept;
    void (*output_tile)(const std::int32_t*, std::ptrdiff_t, const std::int32_t*, std::int32_t*,
                        std::ptrdiff_t) noexcept;
};
template <class Arch, class Winograd>
inline constexpr winograd_transforms<Arch> winograd_transforms_of{
    Winograd::method, &transform_input_columns<Arch, Winograd>, &transform_input_rows<Arch, Winograd>,
    &transform_output_tile<Arch, Winograd>};

/// The matrix products of one part: at each position, `tiles` rows of operands times the part's weights.
template <class Arch>
[[gnu::noinline]] void multiply_winograd_part(const std::int16_t* operands, std::ptrdiff_t operand_pitch,
                                              const std::int32_t* offsets, int tiles, const std::int16_t* weights,
                                              const std::int16_t* end, int channels, int positions,
                                              std::int32_t* products, std::ptrdiff_t product_pitch) noexcept {
    constexpr int width = panel_width<Arch>;
    alignas(64) static constexpr std::int32_t no_bias[width]{};
    window_runs runs;
    runs.length = channels;
    const std::ptrdiff_t block = std::ptrdiff_t{channels} * width;
    for (int position = 0; position != positions; ++position) {
        // The weights of the next position come into the second-level cache while these are multiplied with
        // several rows of operands, also those of the next panel. In a network they are in no cache when the layer begins.
        const std::int16_t* ahead = weights + std::min(block, end - weights);
        const std::ptrdiff_t count_ahead = tiles > operations<Arch>::tile_rows ? std::min(block, end - ahead) : 0;
        for (int tile = 0; tile != tiles;) {
            const int count = next_tile_rows<Arch>(tiles - tile);
            for (std::ptrdiff_t i = count_ahead * tile / tiles; i < count_ahead * (tile + count) / tiles; i += 32)
                __builtin_prefetch(ahead + i, 0, 2);
            tile_kernels<Arch, word_pairs>[static_cast<std::size_t>(count - 1)](
                operands, offsets + tile, runs, weights, no_bias, products + std::ptrdiff_t{tile} * width);
            tile += count;
        }
        operands += operand_pitch;
        products += product_pitch;
        weights += block;
    }
}

/// The arguments of one convolution.
template <class Arch> struct winograd_call {
    const conv2d_geometry& geometry;
    const winograd_transforms<Arch>& transforms;
    const winograd_plan<Arch>& plan;
    const winograd_weights<Arch>& weights;
    std::byte* scratch;

    std::int16_t* band() const { return reinterpret_cast<std::int16_t*>(scratch); }
    std::int16_t* operands() const { return reinterpret_cast<std::int16_t*>(scratch + plan.operands_begin); }
    std::int32_t* products() const { return reinterpret_cast<std::int32_t*>(scratch + plan.products_begin); }
    std::int32_t* sums() const { return reinterpret_cast<std::int32_t*>(scratch + plan.sums_begin); }
    std::int32_t* offsets() const { return reinterpret_cast<std::int32_t*>(scratch + plan.offsets_begin); }

    /// Tiles from `tile` on that are finished together: of one row, and of the block that ends at `end`.
    int run_length(int tile, int end) const {
        return std::min({winograd_run_tiles, end - tile, plan.tile_columns - tile % plan.tile_columns});
    }
};

/// The operands of tiles [first, last). `staged` is the row of tiles that the band holds, and is kept up to date.
template <class Arch, class In>
[[gnu::noinline]] void stage_winograd_block(const winograd_call<Arch>& call, int first, int last, const In* x,
                                            activation_codes codes, int& staged) noexcept {
    const winograd_plan<Arch>& plan = call.plan;
    const winograd_method& method = call.transforms.method;
    for (int tile = first; tile != last; ++tile) {
        const int row = tile / plan.tile_columns, column = tile % plan.tile_columns;
        if (row != staged) {
            stage_band<Arch>(plan.tiled, plan.band, row * method.outputs, method.outputs, x, codes, call.band());
            call.transforms.input_columns(call.band(), plan.band.row_pitch, plan.band.row_pitch);
            staged = row;
        }
        call.transforms.input_rows(call.band() + column * method.outputs * plan.band.pixel_pitch, plan.band.row_pitch,
                                   plan.band.pixel_pitch, call.operands() + (tile - first) * plan.band.pixel_pitch,
                                   plan.operand_pitch);
    }
}

/// The products of tiles [first, last) with one panel of output channels, over the input channels [begin, end) of its
/// group.
template <class Arch>
[[gnu::noinline]] void multiply_winograd_panel(const winograd_call<Arch>& call, int panel, int first, int last,
                                               int begin, int end) noexcept {
    const winograd_plan<Arch>& plan = call.plan;
    const int positions = call.weights.layout.positions;
    const std::ptrdiff_t channel = panel / call.weights.layout.group_panels * call.geometry.group_in() + begin;
    multiply_winograd_part<Arch>(call.operands() + channel, plan.operand_pitch, call.offsets(), last - first,
                                 call.weights.panel(panel) + std::ptrdiff_t{begin} * positions * plan.width,
                                 call.weights.panel(call.weights.layout.panels), end - begin, positions,
                                 call.products(), plan.product_pitch);
}

/// The whole convolution, block by block. `scratch` has winograd_plan::scratch_bytes bytes.
template <class Arch, class In, class Out, class Epilogue>
[[gnu::noinline]] void winograd_conv2d(const conv2d_geometry& g, const winograd_transforms<Arch>& transforms,
                                       const In* x, activation_codes codes, const std::byte* packed,
                                       const Epilogue& epilogue, Out* y, std::byte* scratch) noexcept {
    const winograd_plan<Arch> plan(g, transforms.method);
    const winograd_weights<Arch> weights(g, transforms.method, packed);
    const winograd_call<Arch> call{g, transforms, plan, weights, scratch};
    const int outputs = transforms.method.outputs, tiles = plan.tile_rows * plan.tile_columns;
    for (int tile = 0; tile != plan.block_tiles; ++tile)
        call.offsets()[tile] = static_cast<std::int32_t>(tile * plan.band.pixel_pitch);

    int staged = -1;
    for (int first = 0; first < tiles; first += plan.block_tiles) {
        const int last = std::min(first + plan.block_tiles, tiles);
        stage_winograd_block(call, first, last, x, codes, staged);
        for (int panel = 0; panel != weights.layout.panels; ++panel) {
            const int channel = weights.layout.first_channel(g, panel), channels = weights.layout.channels(g, panel);
            const std::int32_t* end = weights.ends(panel);
            const bool split = *end != weights.layout.depth;
            for (int begin = 0; begin != weights.layout.depth; begin = *end++) {
                multiply_winograd_panel(call, panel, first, last, begin, *end);
                for (int tile = first, run; tile != last; tile += run) {
                    run = call.run_length(tile, last);
                    const std::ptrdiff_t row_pitch = std::ptrdiff_t{run} * outputs * plan.width;
                    std::int32_t* sums =
                        call.sums() + (split ? std::ptrdiff_t{tile - first} * outputs * outputs * plan.width : 0);
                    for (int i = 0; i != run; ++i) {
                        transforms.output_tile(call.products() + std::ptrdiff_t{tile - first + i} * plan.width,
                                               plan.product_pitch, begin == 0 ? weights.bias(panel) : nullptr,
                                               sums + std::ptrdiff_t{i} * outputs * plan.width, row_pitch);
                    }
                    if (*end != weights.layout.depth) continue;
                    const int top = tile / plan.tile_columns * outputs, left = tile % plan.tile_columns * outputs;
                    const int rows = std::min(outputs, g.out.height - top);
                    const int columns = std::min(run * outputs, g.out.width - left);
                    for (int row = 0; row != rows; ++row) {
                        finish_rows<Arch>(
                            epilogue, sums + row * row_pitch, columns, channel, channels,
                            y + (std::ptrdiff_t{top + row} * g.out.width + left) * g.out.channels + channel,
                            g.out.channels);
                    }
                }
            }
        }
    }
}

}  // namespace kernel
}  // namespace v0
}  // namespace zp
