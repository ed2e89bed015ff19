// SPDX-License-Identifier: BSD-3-Clause
// 3x3 convolution of stride 1 by Winograd's transforms: exact, with a quarter or less than half of the products.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/gemm/gemm.hpp>
#include <zeropoint/kernel/geometry/conv2d.hpp>
#include <zeropoint/kernel/winograd/pack_winograd.hpp>
#include <zeropoint/kernel/winograd/winograd_transform.hpp>

// The output is covered by tiles of outputs x outputs pixels. Tiles that hang over its edges compute pixels that are
// thrown away; the input outside of the image is zero, whatever the padding.
//
//     for each block of tiles of all images:                   so many that their operands stay in the second-level cache
//         for each tile in it:
//             transform columns that the tile before has not   columns   [pixel][row][channel] int16
//             transform rows of columns into                   operands  [position][tile][channel] int16
//         for each panel of output channels:
//             for each part of the input channels:
//                 transform the filters into                   weights   [position][channel / 2][output channel][2] int16
//                 for each run of tiles of the block:
//                     for each position: one matrix product    products  [position][tile][output channel] int32
//                     for each tile: transform back, add to    sums      [tile row][pixel][output channel] int32
//                     y = epilogue(sums)                       after the last part
//
// Transformed filters are 8 times as large as codes. An Intel core with vectors of 512 bits takes 4 cycles to bring a line that was
// written into the second-level cache, and of them three quarters of the transform's time. There the filters of the next part are
// transformed between the products of this one, a few channels at a time, so that they are written while the core multiplies.

namespace zp::inline v0::kernel {

/// Whether Winograd's transforms can compute a geometry: any padding and any groups, but only dense 3x3 windows.
constexpr bool winograd_supports(const conv2d_geometry& g) {
    return g.kernel_height == 3 && g.kernel_width == 3 && g.stride_height == 1 && g.stride_width == 1 &&
           g.dilation_height == 1 && g.dilation_width == 1;
}

/// Whether filters are transformed between the products of other filters, where an architecture says so.
template <class Arch>
inline constexpr bool transforms_filters_ahead = [] {
    if constexpr (requires { operations<Arch>::transforms_filters_ahead; })
        return operations<Arch>::transforms_filters_ahead;
    else return false;
}();

/// Bytes of operands that a block should stay within: they are read once a panel, from the second-level cache.
template <class Arch>
inline constexpr std::ptrdiff_t winograd_operand_bytes = transforms_filters_ahead<Arch> ? 480 * 1024 : 352 * 1024;
/// The same of several images: filters are transformed once a block, which takes as long as multiplying 4 to 7 tiles by them, and longer than
/// reading operands from the third-level cache does.
template <class Arch>
inline constexpr std::ptrdiff_t winograd_operand_bytes_of_images = 4 * winograd_operand_bytes<Arch>;
/// Bytes that the products of tiles stay within which are multiplied with a panel and transformed back together: about a
/// first-level cache. With panels of 32 channels (Zen 5, AVX-512) 12 tiles were faster than 9 and than 18.
inline constexpr int winograd_product_bytes = 54 * 1024;
/// Bytes that the weights of a panel stay within which are transformed together: half of a second-level cache. With panels of 32
/// channels 256 input channels were as fast as 128 or faster, where those of two parts do not lie there at once.
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
                                                         64, transforms_filters_ahead<Arch> ? 128 : 256);
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
    std::ptrdiff_t channels;      ///< of the input, whole vectors of them
    std::ptrdiff_t pixel_pitch;   ///< from the channels of a pixel, or a tile, to those of the next
    bool in_place;  ///< whether vectors of channels are read from the input itself, or from copies of its pixels
    std::ptrdiff_t operand_pitch, weight_pitch, product_pitch;  ///< from one position to the next
    std::size_t pixels_begin, operands_begin, weights_begin, products_begin, sums_begin, offsets_begin, scratch_bytes;
    std::size_t weight_bytes;  ///< of the weights of a part, which lie there once, or twice where others are made ahead

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
          channels(g.in.channels + (g.group_in() + 3) / 4 * 4 - g.group_in()) {
        // Whole vectors of channels, and the padded depth of the last group; rows of a tile not at multiples of 512
        // bytes, which would share sets of the first-level cache.
        constexpr std::ptrdiff_t step = std::max(winograd_lanes<Arch>::word_count, 4);
        channels = (channels + step - 1) / step * step;
        pixel_pitch = channels + (channels * 2 % 512 == 0 ? 32 : 0);
        in_place = channels == g.in.channels;

        const std::ptrdiff_t tile_bytes = method.positions() * pixel_pitch * 2;
        const std::ptrdiff_t operand_bytes =
            g.images == 1 ? winograd_operand_bytes<Arch> : winograd_operand_bytes_of_images<Arch>;
        const std::ptrdiff_t fitting =
            std::max<std::ptrdiff_t>(operand_bytes / tile_bytes, operations<Arch>::tile_rows);
        const auto most_tiles = static_cast<int>(std::min<std::ptrdiff_t>(fitting, tiles));
        block_tiles = of_most ? most_tiles : even_part(tiles, most_tiles);
        run_tiles = of_most ? std::min(block_tiles, winograd_most_tiles<Arch>)
                            : even_part(block_tiles, winograd_most_tiles<Arch>);

        operand_pitch = odd_line_pitch(block_tiles * pixel_pitch, sizeof(std::int16_t));
        weight_pitch = odd_line_pitch(std::ptrdiff_t{part_channels} * width, sizeof(std::int16_t));
        product_pitch = odd_line_pitch(run_tiles * width, sizeof(std::int32_t));
        const winograd_layout<Arch> layout(g, method);
        const bool whole = layout.most_parts == 1 && part_channels == layout.depth;
        const int sum_tiles = whole ? winograd_row_tiles : block_tiles;
        const auto bytes = [](std::ptrdiff_t elements, std::size_t size) {
            return align_up(static_cast<std::size_t>(elements) * size);
        };
        pixels_begin = bytes(method.positions() * pixel_pitch, sizeof(std::int16_t));
        operands_begin = pixels_begin + bytes((in_place ? 1 : 1 + method.inputs) * channels, 1);
        weights_begin = operands_begin + bytes(method.positions() * operand_pitch, sizeof(std::int16_t));
        weight_bytes = bytes(method.positions() * weight_pitch, sizeof(std::int16_t));
        products_begin = weights_begin + (transforms_filters_ahead<Arch> ? 2 : 1) * weight_bytes;
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
    void (*input_tile)(const std::int16_t* const*, std::ptrdiff_t, std::ptrdiff_t, std::int16_t*,
                       std::ptrdiff_t) noexcept;
    void (*output_tile)(const std::int32_t*, std::ptrdiff_t, const std::int32_t*, std::int32_t*,
                        std::ptrdiff_t) noexcept;
};
/// Beside them, what takes codes of a type.
template <class Arch, class In> struct winograd_transforms_from : winograd_transforms<Arch> {
    void (*input_column)(const In* const*, std::int32_t, std::ptrdiff_t, std::int16_t*, std::ptrdiff_t) noexcept;
};
template <class Arch, class Winograd, class In>
inline constexpr winograd_transforms_from<Arch, In> winograd_transforms_of{
    {Winograd::method, &transform_filters<Arch, Winograd>, &transform_input_tile<Arch, Winograd>,
     &transform_output_tile<Arch, Winograd>},
    &transform_input_column<Arch, Winograd, In>};

/// The operands of a product at each position: rows of tiles, times the weights of a part.
struct winograd_operands {
    const std::int16_t* tiles;
    std::ptrdiff_t tile_pitch, tile_distance;  ///< from one position to the next, and from a tile to the next
    const std::int16_t* weights;
    std::ptrdiff_t weight_pitch;
    int channels;
};

/// Input channels [begin, end) of a panel, which are multiplied together.
struct winograd_part {
    int panel, begin, end;

    constexpr bool operator==(const winograd_part&) const = default;
};

/// The filters of the part that comes next, which are transformed, or fetched, while this one is multiplied: in a network they are
/// in no cache when the layer begins.
template <class Arch> struct coming_filters {
    const winograd_transforms<Arch>& transforms;
    const std::int8_t* codes;
    const std::int16_t* zero_points;
    std::int16_t* weights;
    std::ptrdiff_t weight_pitch;
    int channels;  ///< that are left

    /// The next of them, an even number.
    void transform(int count) noexcept {
        if (count == 0) return;
        transforms.filters(codes, zero_points, count, weights, weight_pitch);
        weights += std::ptrdiff_t{count} * panel_width<Arch>;
        skip(count);
    }
    /// Between two products: `count` channels or what is left.
    [[gnu::noinline]] void advance(int count) noexcept {
        constexpr std::ptrdiff_t fetched = transforms_filters_ahead<Arch> ? 16 * channel_bytes : 0;
        count = std::min(count, channels);
        for (std::ptrdiff_t i = 0; i < count * channel_bytes; i += 64) __builtin_prefetch(codes + fetched + i, 0, 2);
        if constexpr (transforms_filters_ahead<Arch>) transform(count);
        else skip(count);
    }

private:
    static constexpr std::ptrdiff_t channel_bytes = std::ptrdiff_t{9} * panel_width<Arch>;

    void skip(int count) noexcept {
        codes += count * channel_bytes;
        channels -= count;
    }
};

/// The arguments of one convolution.
template <class Arch> struct winograd_call {
    const conv2d_geometry& geometry;
    const winograd_transforms<Arch>& transforms;
    const winograd_plan<Arch>& plan;
    const winograd_weights<Arch>& weights;
    std::byte* scratch;

    std::int16_t* columns() const { return reinterpret_cast<std::int16_t*>(scratch); }
    std::byte* pixels() const { return scratch + plan.pixels_begin; }
    std::int16_t* operands() const { return reinterpret_cast<std::int16_t*>(scratch + plan.operands_begin); }
    std::int16_t* weights_of_part() const { return reinterpret_cast<std::int16_t*>(scratch + plan.weights_begin); }
    /// Of the next part.
    std::int16_t* weights_ahead() const { return weights_of_part() + plan.weight_bytes / sizeof(std::int16_t); }
    std::int32_t* products() const { return reinterpret_cast<std::int32_t*>(scratch + plan.products_begin); }
    std::int32_t* sums() const { return reinterpret_cast<std::int32_t*>(scratch + plan.sums_begin); }
    std::int32_t* offsets() const { return reinterpret_cast<std::int32_t*>(scratch + plan.offsets_begin); }

    /// Tiles from `tile` on that are finished together: of one row, and before `end`.
    int row_length(int tile, int end) const {
        return std::min({winograd_row_tiles, end - tile, plan.tile_columns - tile % plan.tile_columns});
    }

    /// The part of a panel that begins at an input channel, and the one behind it: of the first panel behind the last.
    winograd_part part_from(int panel, int begin) const {
        const std::int32_t* end = weights.ends(panel);
        while (*end <= begin) ++end;
        return {panel, begin, std::min(begin + plan.part_channels, *end)};
    }
    winograd_part part_behind(winograd_part part) const {
        if (part.end != weights.layout.depth) return part_from(part.panel, part.end);
        const bool is_last = part.panel + 1 == geometry.panels.end_of(weights.layout.panels);
        return part_from(is_last ? geometry.panels.begin : part.panel + 1, 0);
    }
    /// The filters of a part, to be transformed.
    coming_filters<Arch> filters_of(winograd_part part, std::int16_t* to) const {
        return {transforms,
                weights.panel(part.panel) + weights.layout.place(0, part.begin, 0),
                weights.zero_points(part.panel),
                to,
                plan.weight_pitch,
                part.end - part.begin};
    }
};

/// A column of pixels under the tile row `row` of all images, the input's column `column`, transformed. Pixels outside of the
/// image are zero points, and so are columns.
template <class Arch, class In>
[[gnu::noinline]] void stage_winograd_column(const winograd_call<Arch>& call,
                                             const winograd_transforms_from<Arch, In>& transforms, int row, int column,
                                             const In* x, activation_codes codes, std::int16_t* to) noexcept {
    const conv2d_geometry& g = call.geometry;
    const winograd_plan<Arch>& plan = call.plan;
    const int inputs = transforms.method.inputs;
    if (column < 0 || column >= g.in.width) {
        std::fill_n(to, inputs * plan.pixel_pitch, std::int16_t{0});
        return;
    }
    const auto channels = static_cast<std::size_t>(g.in.channels);
    const int top = row % plan.tile_rows * transforms.method.outputs - g.padding_top;
    x += std::ptrdiff_t{row / plan.tile_rows} * g.in.size() + std::ptrdiff_t{column} * g.in.channels;
    auto* border = reinterpret_cast<In*>(call.pixels());
    const In* pixels[most_winograd_inputs];
    for (int i = 0; i != inputs; ++i) {
        if (top + i < 0 || top + i >= g.in.height) {
            pixels[i] = border;
            continue;
        }
        pixels[i] = x + std::ptrdiff_t{top + i} * g.in.width * g.in.channels;
        if (plan.in_place) continue;
        In* copy = border + (1 + i) * plan.channels;
        std::memcpy(copy, pixels[i], channels);
        std::memset(copy + channels, codes.zero_point, static_cast<std::size_t>(plan.channels) - channels);
        pixels[i] = copy;
    }
    transforms.input_column(pixels, codes.zero_point, plan.channels, to, plan.pixel_pitch);
}

/// The operands of tiles [first, last).
template <class Arch, class In>
[[gnu::noinline]] void stage_winograd_block(const winograd_call<Arch>& call,
                                            const winograd_transforms_from<Arch, In>& transforms, int first, int last,
                                            const In* x, activation_codes codes) noexcept {
    const winograd_plan<Arch>& plan = call.plan;
    const int inputs = transforms.method.inputs, outputs = transforms.method.outputs;
    std::memset(call.pixels(), codes.zero_point, static_cast<std::size_t>(plan.channels));
    int staged = 0;  // columns of the tile that those of the tile before are
    for (int tile = first; tile != last; ++tile) {
        const int row = tile / plan.tile_columns, left = tile % plan.tile_columns * outputs;
        if (left == 0) staged = 0;
        const std::int16_t* columns[most_winograd_inputs];
        for (int i = 0; i != inputs; ++i) {
            std::int16_t* column = call.columns() + (left + i) % inputs * inputs * plan.pixel_pitch;
            if (i >= staged)
                stage_winograd_column(call, transforms, row, left + i - call.geometry.padding_left, x, codes, column);
            columns[i] = column;
        }
        staged = inputs - outputs;
        transforms.input_tile(columns, plan.pixel_pitch, plan.channels,
                              call.operands() + (tile - first) * plan.pixel_pitch, plan.operand_pitch);
    }
}

/// The products of `Rows` tiles at all positions. Beside tiles that are called at each position, which begin with addresses of rows, this
/// takes 0.95 of the cycles: rows lie at equal distances, so that one address serves three.
template <class Arch, int Rows>
[[gnu::noinline]] void multiply_winograd_positions(const winograd_operands& of, int positions, std::int32_t* products,
                                                   std::ptrdiff_t product_pitch, coming_filters<Arch>& coming,
                                                   int coming_channels) noexcept {
    using ops = operations<Arch>;
    using int32 = typename ops::int32;
    constexpr int vectors = ops::vectors, step = 2 * ops::lanes, bases = (Rows + 2) / 3;
    const std::ptrdiff_t end = of.channels, distance = of.tile_distance;
    const std::int16_t* rows[bases];
#pragma GCC unroll 64
    for (int base = 0; base != bases; ++base) rows[base] = of.tiles + end + 3 * base * distance;
    const std::int16_t* weights = of.weights;
    for (int position = 0; position != positions; ++position) {
        coming.advance(coming_channels);
        int32 sums[Rows][vectors];
#pragma GCC unroll 64
        for (int row = 0; row != Rows; ++row)
            unroll<vectors>([&](auto v) __attribute__((always_inline)) { sums[row][v] = int32(0); });
        const std::int16_t* panel = weights;
        for (std::ptrdiff_t k = -end; k != 0; k += 2, panel += vectors * step) {
            typename ops::int16 w[vectors];
            unroll<vectors>([&](auto v)
                                __attribute__((always_inline)) { w[v] = word_pairs::load<ops>(panel + v * step); });
#pragma GCC unroll 64
            for (int row = 0; row != Rows; ++row) {
                const auto a = ops::broadcast(rows[row / 3] + k + row % 3 * distance);
                unroll<vectors>([&](auto v)
                                    __attribute__((always_inline)) { word_pairs::dot<ops>(sums[row][v], a, w[v]); });
                ops::fence(sums[row]);
            }
            ops::fence(w);  // or g++ takes their registers for sums, by moves in each step
        }
#pragma GCC unroll 64
        for (int row = 0; row != Rows; ++row)
            unroll<vectors>([&](auto v) __attribute__((always_inline)) {
                ops::store(products + (row * vectors + v) * ops::lanes, sums[row][v]);
            });
        products += product_pitch;
        weights += of.weight_pitch;
#pragma GCC unroll 64
        for (int base = 0; base != bases; ++base) rows[base] += of.tile_pitch;
    }
}
/// So many rows of a tile that all its positions are multiplied in one loop; the most are those of a tile.
template <class Arch> inline constexpr int fewest_position_rows = operations<Arch>::tile_rows / 2 + 1;
/// The same for that many rows, one more, ... tile_rows.
template <class Arch> inline constexpr auto position_kernels = []<int... More>(std::integer_sequence<int, More...>) {
    return std::array{&multiply_winograd_positions<Arch, fewest_position_rows<Arch> + More>...};
}
(std::make_integer_sequence<int, operations<Arch>::tile_rows - fewest_position_rows<Arch> + 1>{});

/// The products of `count` tiles from the `first` of a block on with a part, whose weights are given. Meanwhile filters are
/// made ready for the next, so many channels at each position.
template <class Arch>
[[gnu::noinline]] void multiply_winograd_run(const winograd_call<Arch>& call, winograd_part part,
                                             const std::int16_t* weights, int first, int count,
                                             coming_filters<Arch>& coming, int coming_channels) noexcept {
    constexpr int width = panel_width<Arch>;
    alignas(64) static constexpr std::int32_t no_bias[width]{};
    const winograd_plan<Arch>& plan = call.plan;
    const std::ptrdiff_t channel =
        part.panel / call.weights.layout.group_panels * call.geometry.group_in() + part.begin;
    const std::int16_t* tiles = call.operands() + first * plan.pixel_pitch + channel;
    std::int32_t* products = call.products();
    if constexpr (transforms_filters_ahead<Arch>) {
        if (count >= fewest_position_rows<Arch> && count <= operations<Arch>::tile_rows) {
            const winograd_operands operands{tiles,   plan.operand_pitch, plan.pixel_pitch,
                                             weights, plan.weight_pitch,  part.end - part.begin};
            position_kernels<Arch>[static_cast<std::size_t>(count - fewest_position_rows<Arch>)](
                operands, call.transforms.method.positions(), products, plan.product_pitch, coming, coming_channels);
            return;
        }
    }
    window_runs runs;
    runs.length = part.end - part.begin;
    for (int position = 0; position != call.transforms.method.positions(); ++position) {
        coming.advance(coming_channels);
        for (int tile = 0; tile != count;) {
            const int rows = next_tile_rows<Arch>(count - tile);
            tile_kernels<Arch, word_pairs>[static_cast<std::size_t>(rows - 1)](
                tiles, call.offsets() + tile, runs, weights, no_bias, products + std::ptrdiff_t{tile} * width);
            tile += rows;
        }
        tiles += plan.operand_pitch;
        weights += plan.weight_pitch;
        products += plan.product_pitch;
    }
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
[[gnu::noinline]] void winograd_conv2d(const conv2d_geometry& g, const winograd_transforms_from<Arch, In>& transforms,
                                       const In* x, activation_codes codes, const std::byte* packed,
                                       const std::type_identity_t<any_epilogue<Arch, Out>>& epilogue, Out* y,
                                       std::byte* scratch) noexcept {
    const winograd_plan<Arch> plan(g, transforms.method);
    const winograd_weights<Arch> weights(g, transforms.method, packed);
    const winograd_call<Arch> call{g, transforms, plan, weights, scratch};
    const int tiles = plan.tiles;
    for (int tile = 0; tile != plan.run_tiles; ++tile)
        call.offsets()[tile] = static_cast<std::int32_t>(tile * plan.pixel_pitch);

    winograd_part part = call.part_from(g.panels.begin, 0);
    const winograd_part first_part = part;
    winograd_part part_before{-1, 0, 0};  // whose weights are still there
    std::int16_t *now = call.weights_of_part(), *then = transforms_filters_ahead<Arch> ? call.weights_ahead() : now;
    call.filters_of(part, now).transform(part.end - part.begin);
    for (int block = 0; block < tiles; block += plan.block_tiles) {
        const int block_end = std::min(block + plan.block_tiles, tiles);
        const int positions = transforms.method.positions() * (1 + (block_end - block - 1) / plan.run_tiles);
        stage_winograd_block(call, transforms, block, block_end, x, codes);
        do {
            const winograd_part next = call.part_behind(part);
            const bool ends = next == first_part && block_end == tiles;
            coming_filters<Arch> coming = call.filters_of(next, then);
            if (next == part || next == part_before || ends) coming.channels = 0;
            const int pairs_ahead = (coming.channels / 2 + positions - 1) / positions;
            for (int first = block, last; first != block_end; first = last) {
                last = std::min(first + plan.run_tiles, block_end);
                multiply_winograd_run(call, part, now, first - block, last - first, coming, 2 * pairs_ahead);
                finish_winograd_run(call, part, block, first, last, epilogue, y);
            }
            if (next != part && !ends) {
                if constexpr (transforms_filters_ahead<Arch>) std::swap(now, then), part_before = part;
                else call.filters_of(next, now).transform(next.end - next.begin);
            }
            part = next;
        } while (part != first_part);
    }
}

}  // namespace zp::inline v0::kernel
