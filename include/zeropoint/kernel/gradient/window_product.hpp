// SPDX-License-Identifier: BSD-3-Clause
// Products of windows of a mini-batch with panels of weights: convolutions forward, and the gradients of their inputs.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>

#include <zeropoint/kernel/geometry/conv2d.hpp>
#include <zeropoint/kernel/gradient/batch.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/vector/code_lanes.hpp>
#include <zeropoint/kernel/vector/map_codes.hpp>
#include <zeropoint/kernel/vector/unroll.hpp>

// A panel holds the weights of a few output channels as [depth][channel], so that a vector is channels. It is made once for
// all samples, and a register tile of outputs may reach from one sample into the next: small images and rows of linear
// layers fill tiles as well as large ones. Images with padding are copied with their zeros first, a few at a time; windows
// then never leave memory.

namespace zp::inline v0::kernel {

/// The register tile: so many outputs times so many vectors of output channels.
template <class Arch> struct product_tile {
    static constexpr int size = static_cast<int>(vector_size<float, Arch>);
    static constexpr int pixels = size >= 16 ? 8 : 6;
    static constexpr int vectors = has_vectors<Arch> ? 2 : 8;
    static constexpr int narrow =
        has_vectors<Arch> ? 1 : vectors;  ///< of a panel's vectors, where one holds its channels
    static constexpr int channels = vectors * size;
};

/// One convolution of a product, and where its outputs lie in an image of outputs: the first, and the distances between
/// rows and columns, in values.
struct product_window {
    conv2d_geometry window;
    std::ptrdiff_t first = 0, row = 0, pixel = 0;
    int together = 1;  ///< so many panels of a group may be packed by one call, one behind another

    constexpr explicit product_window(const conv2d_geometry& g)
        : window(g), row(std::ptrdiff_t{g.out.width} * g.out.channels), pixel(g.out.channels) {}
    constexpr product_window(const conv2d_geometry& g, std::ptrdiff_t at, std::ptrdiff_t row_step,
                             std::ptrdiff_t pixel_step)
        : window(g), first(at), row(row_step), pixel(pixel_step) {}
    /// Floats of all its panels.
    template <class Arch> constexpr std::ptrdiff_t panels_size() const {
        constexpr int tile = product_tile<Arch>::channels;
        return std::ptrdiff_t{window.groups} * ((window.group_out() + tile - 1) / tile) * tile * window.depth();
    }
};

/// How far windows reach beyond an image, and how it is cut: into whole images, several together where they are small, or into
/// rows of outputs, so that a copy stays in the first-level cache.
struct image_margins {
    int top = 0, left = 0, bottom = 0, right = 0;
    int stride = 1,
        most_rows = 0;  ///< of all convolutions: the rows from one output to the next, the most rows of outputs
    int below = 0;      ///< rows of a window from the input row that its output stands at, at most

    constexpr void include(const conv2d_geometry& g) {
        top = std::max(top, g.padding_top);
        left = std::max(left, g.padding_left);
        bottom =
            std::max(bottom, (g.out.height - 1) * g.stride_height + g.window_height() - g.padding_top - g.in.height);
        right = std::max(right, (g.out.width - 1) * g.stride_width + g.window_width() - g.padding_left - g.in.width);
        stride = g.stride_height;
        most_rows = std::max(most_rows, g.out.height);
        below = std::max(below, g.window_height() - g.padding_top);
    }
    constexpr bool any() const { return (top | left | bottom | right) != 0; }
    /// Values of a row, and of the copied rows of an image.
    constexpr std::ptrdiff_t row(const shape& image) const {
        return (std::ptrdiff_t{image.width} + left + right) * image.channels;
    }
    /// Rows of outputs that are computed together, and the images whose rows are.
    constexpr int rows_together(const shape& image) const {
        constexpr std::ptrdiff_t room = 6144;  // floats
        const auto rows = static_cast<int>(std::clamp<std::ptrdiff_t>(room / (row(image) * stride), 3, 1 << 20));
        return rows >= most_rows ? std::max(most_rows, 1) : rows - rows % 3;  // often whole tiles
    }
    constexpr int images_together(const shape& image) const {
        const bool whole = rows_together(image) >= most_rows;
        return whole ? std::max(192 / std::max(image.height * image.width, 1), 1) : 1;
    }
    /// Copied rows of an image for outputs [first, first + rows), from row first * stride of the image with its margins on.
    constexpr int copied_rows(int rows) const { return (rows - 1) * stride + top + below; }
    constexpr std::ptrdiff_t copied_size(const shape& image) const {
        return copied_rows(std::min(rows_together(image), most_rows)) * row(image);
    }
};

/// Rows [first, first + rows) of an image with its margins, which are zeros.
inline void copy_with_margins(const shape& image, const image_margins& margins, const float* x, int first, int rows,
                              float* to) noexcept {
    const std::ptrdiff_t row = margins.row(image), inside = std::ptrdiff_t{image.width} * image.channels;
    for (int r = first - margins.top; r != first - margins.top + rows; ++r) {
        if (r < 0 || r >= image.height) {
            to = std::fill_n(to, row, 0.0f);
            continue;
        }
        to = std::fill_n(to, std::ptrdiff_t{margins.left} * image.channels, 0.0f);
        to = std::copy_n(x + r * inside, inside, to);
        to = std::fill_n(to, std::ptrdiff_t{margins.right} * image.channels, 0.0f);
    }
}

/// Where the images of some samples lie, with the distances between rows in values, and how much of their margins there is.
struct product_source {
    const_float_batch images;
    std::ptrdiff_t row = 0;
    int top = 0, left = 0;
};

/// What is done to sums: a bias for each output channel or null, and bounds.
struct product_epilogue {
    const float* bias = nullptr;
    float low = 0, high = 0;
};

/// One tile: the windows that begin at from[p], times the first vectors of a panel, to to[p]. `runs` runs of `length` values lie `step` apart in a
/// row of a window, whose rows are `row` apart.
template <class Arch, int Vectors, class Pointers, class Places>
[[gnu::always_inline]] inline void multiply_window_tile(const Pointers& from, int rows, std::ptrdiff_t row, int runs,
                                                        std::ptrdiff_t step, int length, const float* panel,
                                                        const float* bias, float low, float high, const Places& to,
                                                        int count, int channels) noexcept {
    using tile = product_tile<Arch>;
    using Number = number<Arch>;
    constexpr int size = tile::size;
    Number sums[tile::pixels][Vectors];
    unroll<tile::pixels>([&](auto p) __attribute__((always_inline)) {
        unroll<Vectors>([&](auto v)
                            __attribute__((always_inline)) { sums[p][v] = load_number<Number>(bias + v * size); });
    });
    for (int r = 0; r != rows; ++r) {
        for (int k = 0; k != runs; ++k) {
            const std::ptrdiff_t offset = r * row + k * step;
            std::array<const float*, tile::pixels> at;
            unroll<tile::pixels>([&](auto p) __attribute__((always_inline)) { at[p] = from[p] + offset; });
            for (int i = 0; i != length; ++i, panel += tile::channels) {
                Number weights[Vectors];
                unroll<Vectors>([&](auto v) __attribute__((always_inline)) {
                    weights[v] = load_number<Number>(panel + v * size);
                });
                unroll<tile::pixels>([&](auto p) __attribute__((always_inline)) {
                    const Number value(at[p][i]);
                    unroll<Vectors>([&](auto v) __attribute__((always_inline)) {
                        sums[p][v] = multiply_add(value, weights[v], sums[p][v]);
                    });
                });
            }
        }
    }
    unroll<tile::pixels>([&](auto p) __attribute__((always_inline)) {
        if (p >= count) return;
        std::array<float, static_cast<std::size_t>(Vectors) * size> results;
        float* const y = channels == Vectors * size ? to[p] : results.data();
        unroll<Vectors>([&](auto v) __attribute__((always_inline)) {
            store_number(Number(clamp_number(sums[p][v], low, high)), y + v * size);
        });
        if (y != to[p]) std::copy_n(y, channels, to[p]);
    });
}

/// Rows of outputs.
struct output_rows {
    int first = 0, count = 0;
};

/// `channels` output channels from `channel` on, of some rows of outputs of `samples` samples.
template <class Arch>
void multiply_window_panel(const product_window& p, int samples, output_rows rows, const product_source& x,
                           const float* panel, int channel, int channels, const product_epilogue& epilogue,
                           const float_batch& y) noexcept {
    using tile = product_tile<Arch>;
    const conv2d_geometry& g = p.window;
    const std::ptrdiff_t pixel = g.in.channels, group_offset = std::ptrdiff_t{channel / g.group_out()} * g.group_in();
    const bool whole_rows = g.groups == 1 && g.dilation_width == 1;
    const int runs = whole_rows ? 1 : g.kernel_width,
              length = whole_rows ? g.kernel_width * g.in.channels : g.group_in();
    const std::ptrdiff_t origin = (x.top - g.padding_top) * x.row + (x.left - g.padding_left) * pixel + group_offset;
    std::array<float, tile::channels> bias{};
    if (epilogue.bias != nullptr) std::copy_n(epilogue.bias + channel, channels, bias.data());

    int sample = 0, row = rows.first, column = 0;
    for (std::ptrdiff_t left = std::ptrdiff_t{samples} * rows.count * g.out.width; left > 0; left -= tile::pixels) {
        const int count = static_cast<int>(std::min<std::ptrdiff_t>(left, tile::pixels));
        std::array<const float*, tile::pixels> from;
        std::array<float*, tile::pixels> to;
        for (int i = 0; i != tile::pixels; ++i) {
            const auto at = static_cast<std::size_t>(i);
            if (i >= count) {  // behind the last output, that once more
                from[at] = from[at - 1];
                to[at] = to[at - 1];
                continue;
            }
            from[at] = x.images[sample] + (origin + row * g.stride_height * x.row + column * g.stride_width * pixel);
            to[at] = y[sample] + (p.first + row * p.row + column * p.pixel + channel);
            if (++column != g.out.width) continue;
            column = 0;
            if (++row != rows.first + rows.count) continue;
            row = rows.first;
            ++sample;
        }
        const auto multiply = [&](auto vectors) {
            multiply_window_tile<Arch, decltype(vectors)::value>(from, g.kernel_height, g.dilation_height * x.row, runs,
                                                                 g.dilation_width * pixel, length, panel, bias.data(),
                                                                 epilogue.low, epilogue.high, to, count, channels);
        };
        if (channels > tile::narrow * tile::size) multiply(std::integral_constant<int, tile::vectors>());
        else multiply(std::integral_constant<int, tile::narrow>());
    }
}

/// Writes the panels of a product, one behind another: panels_size() floats. See multiply_windows() for `pack`.
template <class Arch, class Pack>
void pack_window_panels(const product_window& p, const Pack& pack, float* panels) noexcept {
    constexpr int tile = product_tile<Arch>::channels;
    const int each = p.window.group_out();
    for (int group = 0; group != p.window.groups; ++group)
        for (int j = 0; j < each; j += tile, panels += std::ptrdiff_t{p.window.depth()} * tile)
            pack(group * each + j, std::min(each - j, tile), panels);
}

/// The product of all panels, for windows that do not leave the images.
template <class Arch>
void multiply_window_panels(const product_window& p, int samples, const product_source& x, const float* panels,
                            const product_epilogue& epilogue, const float_batch& y) noexcept {
    constexpr int tile = product_tile<Arch>::channels;
    const int each = p.window.group_out();
    for (int group = 0; group != p.window.groups; ++group)
        for (int j = 0; j < each; j += tile, panels += std::ptrdiff_t{p.window.depth()} * tile)
            multiply_window_panel<Arch>(p, samples, {0, p.window.out.height}, x, panels, group * each + j,
                                        std::min(each - j, tile), epilogue, y);
}

/// The scratch of multiply_windows(), in floats.
template <class Arch, class ForEach>
constexpr std::size_t multiply_windows_scratch(const shape& image, ForEach&& for_each_window) {
    image_margins margins;
    std::ptrdiff_t all = 0, most = 0;
    for_each_window([&](const product_window& p, const auto&) {
        margins.include(p.window);
        all += p.panels_size<Arch>();
        most = std::max(most, std::ptrdiff_t{p.together} * product_tile<Arch>::channels * p.window.depth());
    });
    return static_cast<std::size_t>(margins.any() ? all + margins.images_together(image) * margins.copied_size(image)
                                                  : most);
}

/// y of `samples` samples = clamp(bias + sums of products of windows of x and weights). `for_each_window(visit)` calls
/// visit(product_window, pack) for each convolution of an image, whose outputs are of places of their own. pack(channel,
/// channels, panel) writes the weights of up to `together` tiles of channels, each as [depth][product_tile::channels],
/// zeros behind the last.
template <class Arch, class ForEach>
void multiply_windows(const shape& image, int samples, const const_float_batch& x, const product_epilogue& epilogue,
                      const float_batch& y, float* scratch, ForEach&& for_each_window) noexcept {
    constexpr int tile = product_tile<Arch>::channels;
    image_margins margins;
    std::ptrdiff_t all = 0;
    for_each_window([&](const product_window& p, const auto&) {
        margins.include(p.window);
        all += p.panels_size<Arch>();
    });
    const bool copies = margins.any();
    const int together = copies ? margins.images_together(image) : samples;
    const int rows_together = copies ? margins.rows_together(image) : std::max(margins.most_rows, 1);
    float* const copied = scratch + all;
    const std::ptrdiff_t copied_size = margins.copied_size(image);
    for (int first = 0; first < samples; first += together) {
        const int count = std::min(together, samples - first);
        for (int row = 0; row < margins.most_rows; row += rows_together) {
            product_source source{{x[first], x.stride}, margins.row(image), margins.top, margins.left};
            if (copies) {
                const int from = row * margins.stride,
                          rows = margins.copied_rows(std::min(rows_together, margins.most_rows - row));
                for (int i = 0; i != count; ++i)
                    copy_with_margins(image, margins, x[first + i], from, rows, copied + i * copied_size);
                source.images = {copied, copied_size};
                source.top -= from;
            }
            float* panel = scratch;
            for_each_window([&](const product_window& p, const auto& pack) {
                const conv2d_geometry& g = p.window;
                const output_rows outputs{row, std::clamp(g.out.height - row, 0, rows_together)};
                const std::ptrdiff_t each = std::ptrdiff_t{g.depth()} * tile;
                const int wide = copies ? tile : p.together * tile;  // what is packed by one call
                for (int group = 0; group != g.groups; ++group) {
                    for (int j = 0; j < g.group_out(); j += wide) {
                        const int channel = group * g.group_out() + j, channels = std::min(g.group_out() - j, wide);
                        if (first == 0 && row == 0) pack(channel, channels, panel);
                        for (int k = 0; k < channels; k += tile)
                            multiply_window_panel<Arch>(p, count, outputs, source, panel + k / tile * each, channel + k,
                                                        std::min(channels - k, tile), epilogue, {y[first], y.stride});
                        if (copies) panel += each;
                    }
                }
            });
        }
    }
}

}  // namespace zp::inline v0::kernel
