// SPDX-License-Identifier: BSD-3-Clause
// 3x3 convolution of stride 1 by Winograd's transforms: exact, with a quarter or less than half of the products.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/gemm/bands.hpp>
#include <zeropoint/kernel/gemm/gemm.hpp>
#include <zeropoint/kernel/geometry/conv2d.hpp>
#include <zeropoint/kernel/winograd/pack_winograd.hpp>
#include <zeropoint/kernel/winograd/winograd_transform.hpp>

// The output is covered by tiles of outputs x outputs pixels. Tiles that hang over its edges compute pixels that are
// thrown away; the input outside of the image is zero, whatever the padding.
//
//     for each block of tiles of all images:                   so many that their operands stay in the second-level cache
//         for each row of tiles in it:
//             stage its input rows, x - x_zero_point, once
//             transform vertically, in place
//             for each tile: transform horizontally into       operands  [position][tile][channel] int16
//         for each panel of output channels:
//             for each part of the input channels:
//                 transform the filters into                   weights   [position][channel / 2][output channel][2] int16
//                 for each run of tiles of the block:
//                     for each position: one matrix product    products  [position][tile][output channel] int32
//                     for each tile: transform back, add to    sums      [tile row][pixel][output channel] int32
//                     y = epilogue(sums)                       after the last part

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
/// The same of several images: filters are transformed once a block, which takes as long as multiplying 4 to 7 tiles by them, and longer than
/// reading operands from the third-level cache does.
inline constexpr std::ptrdiff_t winograd_operand_bytes_of_images = 4 * winograd_operand_bytes;
/// Bytes that the products of tiles stay within which are multiplied with a panel and transformed back together: about a
/// first-level cache. With panels of 32 channels (Zen 5, AVX-512) 12 tiles were faster than 9 and than 18.
inline constexpr int winograd_product_bytes = 54 * 1024;
/// Bytes that the weights of a panel stay within which are transformed together: half of a second-level cache. With panels of 32
/// channels 256 input channels were as fast as 128 or faster.
inline constexpr int winograd_weight_bytes = 576 * 1024;
/// So many tiles, and input channels; narrow panels have no more than was best with AVX2's of 16 channels.
template <class Arch>
inline constexpr int winograd_most_tiles = std::clamp(winograd_product_bytes /
                                                          (winograd_4x4::method.positions() * panel_width<Arch> *
                                                           static_cast<int>(sizeof(std::int32_t))),
                                                      4, 18);
template <class Arch>
inline constexpr int winograd_part_channels = std::clamp(winograd_weight_bytes /
                                                             (winograd_4x4::method.positions() * panel_width<Arch> *
                                                              static_cast<int>(sizeof(std::int16_t))) /
                                                             4 * 4,
                                                         64, 256);
/// Tiles of a row that are transformed back and finished together.
inline constexpr int winograd_row_tiles = 8;

/// The pitch of matrices one behind the other, in elements: an odd number of cache lines, so that the same place in
/// all of them does not fall into few sets of the first-level cache.
constexpr std::ptrdiff_t odd_line_pitch(std::ptrdiff_t elements, std::ptrdiff_t element_size) {
    const auto lines = static_cast<std::ptrdiff_t>(align_up(static_cast<std::size_t>(elements * element_size))) / 64;
    return (lines | 1) * 64 / element_size;
}

/// What follows from a geometry and a method: blocks of tiles, and the parts of scratch.
template <class Arch> struct winograd_plan {
    static constexpr int width = panel_width<Arch>;

    int tile_rows, tile_columns;  ///< tiles over the output of an image
    int tiles;                    ///< of all images
    int block_tiles;              ///< of a block; the last may have fewer
    int run_tiles;                ///< of them, that are multiplied together; the last may be fewer
    int part_channels;            ///< input channels that are multiplied together; the last may be fewer
    conv2d_geometry tiled;        ///< the geometry whose output is all tiles, for staging
    band_layout band;
    std::ptrdiff_t operand_pitch, weight_pitch, product_pitch;  ///< from one position to the next
    std::size_t operands_begin, weights_begin, products_begin, sums_begin, offsets_begin, scratch_bytes;

    constexpr winograd_plan(const conv2d_geometry& g, const winograd_method& method)
        : winograd_plan(g, method, false) {}
    /// With the scratch that this many output rows or fewer need.
    static constexpr winograd_plan of_most_rows(const conv2d_geometry& g, const winograd_method& method) {
        return {g, method, true};
    }

private:
    constexpr winograd_plan(const conv2d_geometry& g, const winograd_method& method, bool of_most)
        : tile_rows((g.out.height + method.outputs - 1) / method.outputs),
          tile_columns((g.out.width + method.outputs - 1) / method.outputs),
          tiles(g.images * tile_rows * tile_columns),
          block_tiles(0),
          run_tiles(0),
          part_channels(std::min((g.group_in() + 3) / 4 * 4, winograd_part_channels<Arch>)),
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
        const std::ptrdiff_t operand_bytes = g.images == 1 ? winograd_operand_bytes : winograd_operand_bytes_of_images;
        const std::ptrdiff_t fitting =
            std::max<std::ptrdiff_t>(operand_bytes / tile_bytes, operations<Arch>::tile_rows);
        const auto most_tiles = static_cast<int>(std::min<std::ptrdiff_t>(fitting, tiles));
        block_tiles = of_most ? most_tiles : even_part(tiles, most_tiles);
        run_tiles = of_most ? std::min(block_tiles, winograd_most_tiles<Arch>)
                            : even_part(block_tiles, winograd_most_tiles<Arch>);

        operand_pitch = odd_line_pitch(block_tiles * band.pixel_pitch, sizeof(std::int16_t));
        weight_pitch = odd_line_pitch(std::ptrdiff_t{part_channels} * width, sizeof(std::int16_t));
        product_pitch = odd_line_pitch(run_tiles * width, sizeof(std::int32_t));
        const winograd_layout<Arch> layout(g, method);
        const bool whole = layout.most_parts == 1 && part_channels == layout.depth;
        const int sum_tiles = whole ? winograd_row_tiles : block_tiles;
        const auto bytes = [](std::ptrdiff_t elements, std::size_t size) {
            return align_up(static_cast<std::size_t>(elements) * size);
        };
        operands_begin = bytes(method.inputs * band.row_pitch, sizeof(std::int16_t));
        weights_begin = operands_begin + bytes(method.positions() * operand_pitch, sizeof(std::int16_t));
        products_begin = weights_begin + bytes(method.positions() * weight_pitch, sizeof(std::int16_t));
        sums_begin = products_begin + bytes(method.positions() * product_pitch, sizeof(std::int32_t));
        offsets_begin = sums_begin + bytes(sum_tiles * method.outputs * method.outputs * width, sizeof(std::int32_t));
        scratch_bytes = offsets_begin + bytes(run_tiles, sizeof(std::int32_t));
    }

    /// The size of parts of `count`, the fewest of at most `most` each and as even as can be.
    static constexpr int even_part(int count, int most) {
        const int parts = (count + most - 1) / most;
        return (count + parts - 1) / parts;
    }
};

/// The transforms of a method on an architecture.
template <class Arch> struct winograd_transforms {
    const winograd_method& method;
    void (*filters)(const std::int8_t*, const std::int16_t*, int, std::int16_t*, std::ptrdiff_t) noexcept;
    void (*input_columns)(std::int16_t*, std::ptrdiff_t, std::ptrdiff_t) noexcept;
    void (*input_rows)(const std::int16_t*, std::ptrdiff_t, std::ptrdiff_t, std::int16_t*, std::ptrdiff_t) noexcept;
    void (*output_tile)(const std::int32_t*, std::ptrdiff_t, const std::int32_t*, std::int32_t*,
                        std::ptrdiff_t) noexcept;
};
template <class Arch, class Winograd>
inline constexpr winograd_transforms<Arch> winograd_transforms_of{
    Winograd::method, &transform_filters<Arch, Winograd>, &transform_input_columns<Arch, Winograd>,
    &transform_input_rows<Arch, Winograd>, &transform_output_tile<Arch, Winograd>};

/// The operands of a product at each position: rows of tiles, times the weights of a part.
struct winograd_operands {
    const std::int16_t* tiles;
    std::ptrdiff_t tile_pitch;  ///< from one position to the next, as all pitches here
    const std::int32_t* offsets;
    int count;
    const std::int16_t* weights;
    std::ptrdiff_t weight_pitch;
    int channels;
};

/// The products at each position. Meanwhile [ahead, end), the codes to be transformed next, come into the second-level
/// cache: in a network they are in none when the layer begins.
template <class Arch>
[[gnu::noinline]] void multiply_winograd_part(winograd_operands from, const std::int8_t* ahead, const std::int8_t* end,
                                              int positions, std::int32_t* products,
                                              std::ptrdiff_t product_pitch) noexcept {
    constexpr int width = panel_width<Arch>;
    alignas(64) static constexpr std::int32_t no_bias[width]{};
    window_runs runs;
    runs.length = from.channels;
    const std::ptrdiff_t step = ((end - ahead) / positions + 64) / 64 * 64;
    for (int position = 0; position != positions; ++position) {
        for (const std::int8_t* stop = ahead + std::min(step, end - ahead); ahead < stop; ahead += 64)
            __builtin_prefetch(ahead, 0, 2);
        for (int tile = 0; tile != from.count;) {
            const int count = next_tile_rows<Arch>(from.count - tile);
            tile_kernels<Arch, word_pairs>[static_cast<std::size_t>(count - 1)](
                from.tiles, from.offsets + tile, runs, from.weights, no_bias, products + std::ptrdiff_t{tile} * width);
            tile += count;
        }
        from.tiles += from.tile_pitch;
        from.weights += from.weight_pitch;
        products += product_pitch;
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
    std::int16_t* weights_of_part() const { return reinterpret_cast<std::int16_t*>(scratch + plan.weights_begin); }
    std::int32_t* products() const { return reinterpret_cast<std::int32_t*>(scratch + plan.products_begin); }
    std::int32_t* sums() const { return reinterpret_cast<std::int32_t*>(scratch + plan.sums_begin); }
    std::int32_t* offsets() const { return reinterpret_cast<std::int32_t*>(scratch + plan.offsets_begin); }

    /// Tiles from `tile` on that are finished together: of one row, and before `end`.
    int row_length(int tile, int end) const {
        return std::min({winograd_row_tiles, end - tile, plan.tile_columns - tile % plan.tile_columns});
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
            const In* image = x + std::ptrdiff_t{row / plan.tile_rows} * call.geometry.in.size();
            stage_band<Arch>(plan.tiled, plan.band, row % plan.tile_rows * method.outputs, method.outputs, image, codes,
                             call.band());
            call.transforms.input_columns(call.band(), plan.band.row_pitch, plan.band.row_pitch);
            staged = row;
        }
        call.transforms.input_rows(call.band() + column * method.outputs * plan.band.pixel_pitch, plan.band.row_pitch,
                                   plan.band.pixel_pitch, call.operands() + (tile - first) * plan.band.pixel_pitch,
                                   plan.operand_pitch);
    }
}

/// Input channels [begin, end) of a panel, which are multiplied together.
struct winograd_part {
    int panel, begin, end;
};

/// The weights of a part, transformed.
template <class Arch> void transform_winograd_part(const winograd_call<Arch>& call, winograd_part part) noexcept {
    call.transforms.filters(call.weights.panel(part.panel) + call.weights.layout.place(0, part.begin, 0),
                            call.weights.zero_points(part.panel), part.end - part.begin, call.weights_of_part(),
                            call.plan.weight_pitch);
}

/// The products of `count` tiles from the `first` of a block on with a part. The first run of a block also fetches the
/// codes of the next part.
template <class Arch>
[[gnu::noinline]] void multiply_winograd_run(const winograd_call<Arch>& call, winograd_part part, int first,
                                             int count) noexcept {
    const winograd_plan<Arch>& plan = call.plan;
    const winograd_layout<Arch>& layout = call.weights.layout;
    const std::ptrdiff_t channel = part.panel / layout.group_panels * call.geometry.group_in() + part.begin;
    const std::int8_t* ahead = call.weights.panel(part.panel) + layout.place(0, part.end, 0);
    const std::ptrdiff_t left = call.weights.panel(call.geometry.panels.end_of(layout.panels)) - ahead,
                         next = layout.place(0, plan.part_channels, 0);
    multiply_winograd_part<Arch>(
        {call.operands() + first * plan.band.pixel_pitch + channel, plan.operand_pitch, call.offsets(), count,
         call.weights_of_part(), plan.weight_pitch, part.end - part.begin},
        ahead, first == 0 ? ahead + std::min(left, next) : ahead, call.transforms.method.positions(), call.products(),
        plan.product_pitch);
}

/// What becomes of those products, the tiles being [first, last) of a block that begins at `block`: they are added to
/// the sums of earlier parts, and finished if the part is the last.
template <class Arch, class Out>
[[gnu::noinline]] void finish_winograd_run(const winograd_call<Arch>& call, winograd_part part, int block, int first,
                                           int last, const any_epilogue<Arch, Out>& epilogue, Out* y) noexcept {
    const conv2d_geometry& g = call.geometry;
    const winograd_plan<Arch>& plan = call.plan;
    const winograd_layout<Arch>& layout = call.weights.layout;
    const int outputs = call.transforms.method.outputs;
    const bool begins = part.begin == 0, ends = part.end == layout.depth;
    const std::ptrdiff_t line = std::ptrdiff_t{outputs} * plan.width;
    for (int tile = first, count; tile != last; tile += count) {
        count = call.row_length(tile, last);
        const std::ptrdiff_t row_pitch = count * line;
        std::int32_t* sums = call.sums() + (begins && ends ? 0 : (tile - block) * outputs * line);
        for (int i = 0; i != count; ++i) {
            call.transforms.output_tile(call.products() + std::ptrdiff_t{tile - first + i} * plan.width,
                                        plan.product_pitch, begins ? call.weights.bias(part.panel) : nullptr,
                                        sums + i * line, row_pitch);
        }
        if (!ends) continue;
        const int tile_row = tile / plan.tile_columns;
        const int top = tile_row % plan.tile_rows * outputs, left = tile % plan.tile_columns * outputs;
        Out* image = y + std::ptrdiff_t{tile_row / plan.tile_rows} * g.out.size();
        const int rows = std::min(outputs, g.out.height - top), columns = std::min(count * outputs, g.out.width - left);
        const int channel = layout.first_channel(g, part.panel), channels = layout.channels(g, part.panel);
        for (int row = 0; row != rows; ++row) {
            finish_rows<Arch>(epilogue, sums + row * row_pitch, columns, channel, channels,
                              image + (std::ptrdiff_t{top + row} * g.out.width + left) * g.out.channels + channel,
                              g.out.channels);
        }
    }
}

/// The whole convolution, block by block. `scratch` has winograd_plan::scratch_bytes bytes.
template <class Arch, class In, class Out>
[[gnu::noinline]] void winograd_conv2d(const conv2d_geometry& g, const winograd_transforms<Arch>& transforms,
                                       const In* x, activation_codes codes, const std::byte* packed,
                                       const std::type_identity_t<any_epilogue<Arch, Out>>& epilogue, Out* y,
                                       std::byte* scratch) noexcept {
    const winograd_plan<Arch> plan(g, transforms.method);
    const winograd_weights<Arch> weights(g, transforms.method, packed);
    const winograd_call<Arch> call{g, transforms, plan, weights, scratch};
    const int tiles = plan.tiles, depth = weights.layout.depth;
    for (int tile = 0; tile != plan.run_tiles; ++tile)
        call.offsets()[tile] = static_cast<std::int32_t>(tile * plan.band.pixel_pitch);

    int staged = -1;
    for (int block = 0; block < tiles; block += plan.block_tiles) {
        const int block_end = std::min(block + plan.block_tiles, tiles);
        stage_winograd_block(call, block, block_end, x, codes, staged);
        for (int panel = g.panels.begin; panel != g.panels.end_of(weights.layout.panels); ++panel) {
            const std::int32_t* end_of_part = weights.ends(panel);
            for (int begin = 0, end; begin != depth; begin = end) {
                end = std::min(begin + plan.part_channels, *end_of_part);
                end_of_part += end == *end_of_part;
                const winograd_part part{panel, begin, end};
                transform_winograd_part(call, part);
                for (int first = block, last; first != block_end; first = last) {
                    last = std::min(first + plan.run_tiles, block_end);
                    multiply_winograd_run(call, part, first - block, last - first);
                    finish_winograd_run(call, part, block, first, last, epilogue, y);
                }
            }
        }
    }
}

}  // namespace kernel
}  // namespace v0
}  // namespace zp
