// SPDX-License-Identifier: BSD-3-Clause
// Winograd's 3x3 convolutions in floats: a quarter of the products of windows, forward and for both gradients.
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include <zeropoint/core/float_values.hpp>
#include <zeropoint/kernel/geometry/conv2d.hpp>
#include <zeropoint/kernel/gradient/batch.hpp>
#include <zeropoint/kernel/gradient/outer_product.hpp>
#include <zeropoint/kernel/gradient/window_product.hpp>
#include <zeropoint/kernel/vector/unroll.hpp>

// F(4x4, 3x3) of Toom and Cook (Winograd 1980; Lavin and Gray 2016): a tile of 4x4 outputs sees 6x6 inputs. Inputs, filters and gradients of
// outputs are brought to 36 places by a matrix of each on both sides (B, G, A), and what was a sum over taps and channels is at every place
// a product of matrices over channels alone:
//     y = A' [(G w G') . (B' x B)] A          dw = G' [sum over tiles of (A dy A') . (B' x B)] G
// The points are 0, +-sqrt(1/2), +-sqrt(2) and infinity. Rounding errors are twice those of sums over windows there (root mean square, 16 to
// 64 channels of normal values), four times with the usual 0, +-1, +-2. The products of the four points but 0 are 1, so that B has few
// numbers: 1, 1/2, 2, 5/2 and the points.

namespace zp::inline v0::kernel {
namespace winograd_points {

inline constexpr float near_point = 0.70710678f, far_point = 1.41421356f;

/// B': of inputs.
struct inputs {
    static constexpr int size = 6, places = 6;
    template <class Number>
    [[gnu::always_inline]] static inline void apply(const Number (&x)[size], Number (&y)[places]) noexcept {
        const Number half(0.5f), two(2.0f), most(-2.5f), near(near_point), far(far_point);
        y[0] = multiply_add(most, x[2], Number(x[0] + x[4]));
        y[5] = multiply_add(most, x[3], Number(x[1] + x[5]));
        const Number even = x[4] - two * x[2], odd = near * (x[3] - two * x[1]);
        y[1] = even + odd;
        y[2] = even - odd;
        const Number far_even = x[4] - half * x[2], far_odd = far * (x[3] - half * x[1]);
        y[3] = far_even + far_odd;
        y[4] = far_even - far_odd;
    }
};
/// G: of the taps of filters.
struct taps {
    static constexpr int size = 3, places = 6;
    template <class Number>
    [[gnu::always_inline]] static inline void apply(const Number (&x)[size], Number (&y)[places]) noexcept {
        const Number by_near(-2.0f / 3), by_far(1.0f / 6);
        y[0] = x[0];
        y[5] = x[2];
        const Number even = by_near * multiply_add(Number(0.5f), x[2], x[0]), odd = Number(near_point * -2 / 3) * x[1];
        y[1] = even + odd;
        y[2] = even - odd;
        const Number far_even = by_far * multiply_add(Number(2.0f), x[2], x[0]), far_odd = Number(far_point / 6) * x[1];
        y[3] = far_even + far_odd;
        y[4] = far_even - far_odd;
    }
};
/// A: of the gradients of outputs.
struct output_gradients {
    static constexpr int size = 4, places = 6;
    template <class Number>
    [[gnu::always_inline]] static inline void apply(const Number (&x)[size], Number (&y)[places]) noexcept {
        const Number half(0.5f), two(2.0f);
        y[0] = x[0];
        y[5] = x[3];
        const Number even = multiply_add(half, x[2], x[0]), odd = Number(near_point) * multiply_add(half, x[3], x[1]);
        y[1] = even + odd;
        y[2] = even - odd;
        const Number far_even = multiply_add(two, x[2], x[0]),
                     far_odd = Number(far_point) * multiply_add(two, x[3], x[1]);
        y[3] = far_even + far_odd;
        y[4] = far_even - far_odd;
    }
};
/// A': back to outputs.
struct outputs {
    static constexpr int size = 4, places = 6;
    template <class Number>
    [[gnu::always_inline]] static inline void apply(const Number (&x)[places], Number (&y)[size]) noexcept {
        const Number even = x[1] + x[2], odd = Number(near_point) * (x[1] - x[2]);
        const Number far_even = x[3] + x[4], far_odd = Number(far_point) * (x[3] - x[4]);
        y[0] = x[0] + even + far_even;
        y[1] = odd + far_odd;
        y[2] = multiply_add(Number(2.0f), far_even, Number(Number(0.5f) * even));
        y[3] = multiply_add(Number(2.0f), far_odd, multiply_add(Number(0.5f), odd, x[5]));
    }
};
/// G': back to the gradients of taps.
struct tap_gradients {
    static constexpr int size = 3, places = 6;
    template <class Number>
    [[gnu::always_inline]] static inline void apply(const Number (&x)[places], Number (&y)[size]) noexcept {
        const Number by_near(-2.0f / 3), by_far(1.0f / 6);
        const Number even = by_near * (x[1] + x[2]), far_even = by_far * (x[3] + x[4]);
        y[0] = x[0] + even + far_even;
        y[1] = multiply_add(Number(near_point * -2 / 3), Number(x[1] - x[2]),
                            Number(Number(far_point / 6) * (x[3] - x[4])));
        y[2] = multiply_add(Number(2.0f), far_even, multiply_add(Number(0.5f), even, x[5]));
    }
};

}  // namespace winograd_points

/// to[(i * 6 + j) * step + c] = the transform on both sides of the values from(i, j)[c] of a square, for c < channels.
template <class Arch, class Transform, class From>
void to_places(const From& from, std::ptrdiff_t channels, float* to, std::ptrdiff_t step) noexcept {
    constexpr int size = Transform::size, places = Transform::places;
    for_each_vector<Arch>(
        static_cast<std::size_t>(channels), [&](std::size_t c, auto kind) __attribute__((always_inline)) {
            using Number = decltype(kind);
            Number rows[places][size];
            unroll<size>([&](auto j) __attribute__((always_inline)) {
                Number column[size], transformed[places];
                unroll<size>([&](auto i)
                                 __attribute__((always_inline)) { column[i] = load_number<Number>(from(i, j) + c); });
                Transform::apply(column, transformed);
                unroll<places>([&](auto i) __attribute__((always_inline)) { rows[i][j] = transformed[i]; });
            });
            unroll<places>([&](auto i) __attribute__((always_inline)) {
                Number transformed[places];
                Transform::apply(rows[i], transformed);
                unroll<places>([&](auto j) __attribute__((always_inline)) {
                    store_number(transformed[j], to + static_cast<std::ptrdiff_t>(i * places + j) * step +
                                                     static_cast<std::ptrdiff_t>(c));
                });
            });
        });
}
/// The way back: put(i, j, c, value) for each place of the square.
template <class Arch, class Transform, class Put>
void from_places(const float* from, std::ptrdiff_t step, std::ptrdiff_t channels, Put&& put) noexcept {
    constexpr int size = Transform::size, places = Transform::places;
    for_each_vector<Arch>(
        static_cast<std::size_t>(channels), [&](std::size_t c, auto kind) __attribute__((always_inline)) {
            using Number = decltype(kind);
            Number rows[size][places];
            unroll<places>([&](auto j) __attribute__((always_inline)) {
                Number column[places], transformed[size];
                unroll<places>([&](auto i) __attribute__((always_inline)) {
                    column[i] = load_number<Number>(from + static_cast<std::ptrdiff_t>(i * places + j) * step +
                                                    static_cast<std::ptrdiff_t>(c));
                });
                Transform::apply(column, transformed);
                unroll<size>([&](auto i) __attribute__((always_inline)) { rows[i][j] = transformed[i]; });
            });
            unroll<size>([&](auto i) __attribute__((always_inline)) {
                Number transformed[size];
                Transform::apply(rows[i], transformed);
                unroll<size>([&](auto j) __attribute__((always_inline)) { put(i, j, c, transformed[j]); });
            });
        });
}

/// How a 3x3 convolution of a mini-batch is computed by tiles, or its gradients are.
template <class Arch> struct float_winograd {
    static constexpr int tile = 4, window = 6, places = window * window;

    shape in, out;      // images
    int top, left;      // padding
    int rows, columns;  // of tiles of an image

    constexpr explicit float_winograd(const conv2d_geometry& g)
        : in(g.in),
          out(g.out),
          top(g.padding_top),
          left(g.padding_left),
          rows((g.out.height + tile - 1) / tile),
          columns((g.out.width + tile - 1) / tile) {}

    /// Whether that is possible, and faster than windows: where tiles are filled, and channels make products larger than transforms.
    static constexpr bool takes(const conv2d_geometry& g) {
        if (g.kernel_height != 3 || g.kernel_width != 3 || g.stride_height != 1 || g.stride_width != 1) return false;
        if (g.dilation_height != 1 || g.dilation_width != 1 || g.groups != 1) return false;
        constexpr int least = std::max(static_cast<int>(vector_size<float, Arch>), 4);
        if (g.in.channels < least || g.out.channels < least) return false;
        const float_winograd plan(g);
        const double pixels = double{1} * g.out.height * g.out.width, tiles = double{1} * plan.rows * plan.columns;
        const double both = double{1} * g.in.channels * g.out.channels, each = g.in.channels + g.out.channels;
        return pixels * 9 * both > tiles * (places * both + transform_cost * each);
    }

    /// Tiles whose transformed values, `of_tile` floats each, are at hand together.
    static constexpr std::ptrdiff_t together(std::ptrdiff_t of_tile, std::ptrdiff_t room) {
        constexpr std::ptrdiff_t step = product_tile<Arch>::pixels;
        return std::clamp<std::ptrdiff_t>(room / (places * of_tile) / step * step, step, 8 * step);
    }
    constexpr std::ptrdiff_t tiles_of_product() const { return together(in.channels + out.channels, 1 << 15); }
    constexpr std::ptrdiff_t tiles_of_gradient() const { return together(in.channels + out.channels, 1 << 17); }
    /// From a place to the next, of so many floats: an odd number of cache lines, since transforms write to all places in turn, and those
    /// of an even distance fall into a few sets of the cache.
    static constexpr std::ptrdiff_t apart(std::ptrdiff_t floats) {
        constexpr std::ptrdiff_t line = 16;
        return ((floats + line - 1) / line | 1) * line;
    }
    constexpr std::ptrdiff_t filters() const { return apart(std::ptrdiff_t{in.channels} * out.channels); }
    /// Output channels of whole vectors.
    constexpr std::ptrdiff_t width() const {
        constexpr std::ptrdiff_t size = product_tile<Arch>::narrow * product_tile<Arch>::size;
        return (out.channels + size - 1) / size * size;
    }
    constexpr std::ptrdiff_t panels() const {
        constexpr std::ptrdiff_t wide = product_tile<Arch>::channels;
        return (out.channels + wide - 1) / wide * wide * in.channels;
    }
    constexpr std::ptrdiff_t values(std::ptrdiff_t tiles) const { return apart(tiles * in.channels); }
    constexpr std::ptrdiff_t sums() const { return apart(tiles_of_product() * width()); }
    constexpr std::ptrdiff_t gradients() const { return apart(tiles_of_gradient() * out.channels); }
    /// In floats.
    constexpr std::size_t product_scratch() const {
        return static_cast<std::size_t>(places * (filters() + panels() + values(tiles_of_product()) + sums()) +
                                        std::max(in.channels, out.channels));
    }
    constexpr std::size_t gradient_scratch() const {
        return static_cast<std::size_t>(places * (filters() + values(tiles_of_gradient()) + gradients()) +
                                        std::max(in.channels, out.channels));
    }

    /// Where tile `number` of the mini-batch lies: its sample, and its first output.
    struct place {
        int sample, row, column;
    };
    constexpr place of(std::ptrdiff_t number) const {
        const std::ptrdiff_t each = std::ptrdiff_t{rows} * columns, inside = number % each;
        return {static_cast<int>(number / each), static_cast<int>(inside / columns) * tile,
                static_cast<int>(inside % columns) * tile};
    }
    constexpr std::ptrdiff_t tiles(int samples) const { return std::ptrdiff_t{samples} * rows * columns; }

private:
    /// What transforms of a tile cost a channel, in multiply-adds.
    static constexpr double transform_cost = 250;
};

/// The transform of the square of an image that begins at (row, column); `zeros` are its values beyond the borders.
template <class Arch, class Transform>
void square_to_places(const shape& image, const float* x, int row, int column, const float* zeros, float* to,
                      std::ptrdiff_t step) noexcept {
    constexpr int size = Transform::size;
    const std::ptrdiff_t pixel = image.channels, pitch = pixel * image.width;
    x += row * pitch + column * pixel;
    if (row >= 0 && row + size <= image.height && column >= 0 && column + size <= image.width) {
        to_places<Arch, Transform>(
            [=](int i, int j) __attribute__((always_inline)) { return x + i * pitch + j * pixel; }, pixel, to, step);
        return;
    }
    const float* from[size][size];
    for (int i = 0; i != size; ++i) {
        const bool inside = row + i >= 0 && row + i < image.height;
        for (int j = 0; j != size; ++j)
            from[i][j] = inside && column + j >= 0 && column + j < image.width ? x + i * pitch + j * pixel : zeros;
    }
    to_places<Arch, Transform>(
        [&](int i, int j) __attribute__((always_inline)) { return from[i][j]; }, pixel, to, step);
}

/// filters[place][o][i], places float_winograd::apart(), of weights [o][tap][i], whose taps are taken in the opposite order where `turned`.
template <class Arch>
void transform_taps(const float* weights, std::ptrdiff_t outputs, std::ptrdiff_t inputs, bool turned,
                    float* filters) noexcept {
    for (std::ptrdiff_t o = 0; o != outputs; ++o) {
        const float* const first = weights + (o * 9 + (turned ? 8 : 0)) * inputs;
        const std::ptrdiff_t step = turned ? -inputs : inputs;
        to_places<Arch, winograd_points::taps>(
            [=](int i, int j) __attribute__((always_inline)) { return first + (3 * i + j) * step; }, inputs,
            filters + o * inputs, float_winograd<Arch>::apart(outputs * inputs));
    }
}

/// One register tile: product_tile::pixels rows of `depth` values, one behind another, times the first vectors of a panel; rows of sums
/// are `pitch` apart.
template <class Arch, int Vectors>
[[gnu::always_inline]] inline void multiply_places(const float* rows, std::ptrdiff_t depth, const float* panel,
                                                   float* sums, std::ptrdiff_t pitch) noexcept {
    using tile = product_tile<Arch>;
    using Number = number<Arch>;
    Number totals[tile::pixels][Vectors];
    unroll<tile::pixels>([&](auto p) __attribute__((always_inline)) {
        unroll<Vectors>([&](auto v) __attribute__((always_inline)) { totals[p][v] = Number(0.0f); });
    });
    for (std::ptrdiff_t i = 0; i != depth; ++i, panel += tile::channels) {
        Number weights[Vectors];
        unroll<Vectors>([&](auto v) __attribute__((always_inline)) {
            weights[v] = load_number<Number>(panel + v * tile::size);
        });
        unroll<tile::pixels>([&](auto p) __attribute__((always_inline)) {
            const Number value(rows[p * depth + i]);
            unroll<Vectors>([&](auto v) __attribute__((always_inline)) {
                totals[p][v] = multiply_add(value, weights[v], totals[p][v]);
            });
        });
    }
    unroll<tile::pixels>([&](auto p) __attribute__((always_inline)) {
        unroll<Vectors>([&](auto v) __attribute__((always_inline)) {
            store_number(totals[p][v], sums + p * pitch + v * tile::size);
        });
    });
}

/// y = clamp(bias + sums) of a 3x3 convolution that float_winograd::takes(). transform(filters) writes the transformed filters, 36
/// matrices, and pack(a matrix, channel, channels, panel) the panel of some output channels of one. `scratch` has product_scratch() floats.
template <class Arch, class Transform, class Pack>
void multiply_tiles(const conv2d_geometry& g, int samples, const const_float_batch& x, const product_epilogue& epilogue,
                    const float_batch& y, float* scratch, const Transform& transform, const Pack& pack) noexcept {
    using plan_type = float_winograd<Arch>;
    using product = product_tile<Arch>;
    constexpr int places = plan_type::places;
    const plan_type plan(g);
    const std::ptrdiff_t in = g.in.channels, out = g.out.channels, width = plan.width(), most = plan.tiles_of_product(),
                         all = plan.tiles(samples), next_values = plan.values(most), next_sums = plan.sums();
    float* const filters = scratch;
    float* const panels = filters + places * plan.filters();
    float* const values = panels + places * plan.panels();
    float* const sums = values + places * next_values;
    float* const zeros = sums + places * next_sums;
    std::fill_n(zeros, std::max(in, out), 0.0f);
    if (all < most)
        std::fill_n(values, places * next_values, 0.0f);  // rows of a register tile that no tile has written
    const float* const bias = epilogue.bias == nullptr ? zeros : epilogue.bias;
    const float low = epilogue.low, high = epilogue.high;
    const std::ptrdiff_t pitch = out * g.out.width;
    transform(filters);
    for (int k = 0; k != places; ++k) {
        float* panel = panels + k * plan.panels();
        for (int channel = 0; channel < out; channel += product::channels, panel += product::channels * in)
            pack(filters + k * plan.filters(), channel, std::min(g.out.channels - channel, product::channels), panel);
    }
    for (std::ptrdiff_t first = 0; first < all; first += most) {
        const std::ptrdiff_t count = std::min(most, all - first);
        for (std::ptrdiff_t t = 0; t != count; ++t) {
            const auto at = plan.of(first + t);
            square_to_places<Arch, winograd_points::inputs>(g.in, x[at.sample], at.row - plan.top,
                                                            at.column - plan.left, zeros, values + t * in, next_values);
        }
        for (int k = 0; k != places; ++k) {
            const float *const rows = values + k * next_values, *panel = panels + k * plan.panels();
            float* const to = sums + k * next_sums;
            for (std::ptrdiff_t channel = 0; channel < out;
                 channel += product::channels, panel += product::channels * in) {
                const auto multiply = [&](auto vectors) {
                    for (std::ptrdiff_t t = 0; t < count; t += product::pixels)
                        multiply_places<Arch, decltype(vectors)::value>(rows + t * in, in, panel,
                                                                        to + t * width + channel, width);
                };
                if (width - channel >= product::channels) multiply(std::integral_constant<int, product::vectors>());
                else multiply(std::integral_constant<int, product::narrow>());
            }
        }
        for (std::ptrdiff_t t = 0; t != count; ++t) {
            const auto at = plan.of(first + t);
            const int rows = g.out.height - at.row, columns = g.out.width - at.column;
            float* const to = y[at.sample] + (std::ptrdiff_t{at.row} * g.out.width + at.column) * out;
            const auto write = [&](auto is_whole) {
                from_places<Arch, winograd_points::outputs>(
                    sums + t * width, next_sums,
                    out, [&](int i, int j, std::size_t c, const auto& value) __attribute__((always_inline)) {
                        using Number = std::remove_cvref_t<decltype(value)>;
                        if (!is_whole && (i >= rows || j >= columns)) return;
                        store_number(Number(clamp_number(Number(value + load_number<Number>(bias + c)), low, high)),
                                     to + i * pitch + j * out + static_cast<std::ptrdiff_t>(c));
                    });
            };
            if (rows >= plan_type::tile && columns >= plan_type::tile) write(std::true_type{});
            else write(std::false_type{});
        }
    }
}

/// dw[o][tap][i] += the gradient of a 3x3 convolution that float_winograd::takes(). `scratch` has gradient_scratch() floats. All samples
/// are summed before anything is added to dw.
template <class Arch>
void add_weight_gradient_of_tiles(const conv2d_geometry& g, int samples, const const_float_batch& x,
                                  const const_float_batch& dy, float* dw, float* scratch) noexcept {
    using plan_type = float_winograd<Arch>;
    constexpr int places = plan_type::places;
    const plan_type plan(g);
    const std::ptrdiff_t in = g.in.channels, out = g.out.channels, most = plan.tiles_of_gradient(),
                         all = plan.tiles(samples), next_values = plan.values(most), next_given = plan.gradients();
    float* const sums = scratch;
    float* const values = sums + places * plan.filters();
    float* const given = values + places * next_values;
    float* const zeros = given + places * next_given;
    std::fill_n(zeros, std::max(in, out), 0.0f);
    std::fill_n(sums, places * plan.filters(), 0.0f);
    for (std::ptrdiff_t first = 0; first < all; first += most) {
        const std::ptrdiff_t count = std::min(most, all - first);
        for (std::ptrdiff_t t = 0; t != count; ++t) {
            const auto at = plan.of(first + t);
            square_to_places<Arch, winograd_points::inputs>(g.in, x[at.sample], at.row - plan.top,
                                                            at.column - plan.left, zeros, values + t * in, next_values);
            square_to_places<Arch, winograd_points::output_gradients>(g.out, dy[at.sample], at.row, at.column, zeros,
                                                                      given + t * out, next_given);
        }
        for (int k = 0; k != places; ++k)
            add_outer_products<Arch>({1, 1, static_cast<int>(count)}, {given + k * next_given, out},
                                     {values + k * next_values, in}, g.out.channels, g.in.channels, false,
                                     sums + k * plan.filters(), in);
    }
    for (std::ptrdiff_t o = 0; o != out; ++o)
        from_places<Arch, winograd_points::tap_gradients>(
            sums + o * in, plan.filters(),
            in, [&](int i, int j, std::size_t c, const auto& value) __attribute__((always_inline)) {
                using Number = std::remove_cvref_t<decltype(value)>;
                float* const to = dw + (o * 9 + i * 3 + j) * in + static_cast<std::ptrdiff_t>(c);
                store_number(Number(load_number<Number>(to) + value), to);
            });
}

}  // namespace zp::inline v0::kernel
