// SPDX-License-Identifier: BSD-3-Clause
// Linear layers of quantized weights and float activations: rows are quantized as they come, multiplied as integers, and
// leave as floats.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/arch/operations.hpp>
#include <zeropoint/kernel/dynamic/dynamic_quantize.hpp>
#include <zeropoint/kernel/dynamic/post_activation.hpp>
#include <zeropoint/kernel/gemm/implicit_gemm.hpp>
#include <zeropoint/kernel/gemm/pack_panels.hpp>
#include <zeropoint/kernel/gemm/panel_layout.hpp>
#include <zeropoint/kernel/gemm/small_linear.hpp>
#include <zeropoint/kernel/vector/batch_group.hpp>
#include <zeropoint/kernel/vector/ieee_floats.hpp>
#include <zeropoint/kernel/vector/uncontracted.hpp>
#include <zeropoint/kernel/vector/unroll.hpp>

// The zero point of a row is not known when weights are packed. So they are packed for zero point 0, which makes sums of
// x * w, and beside them lies the sum of the weights of each channel:
//
//     sum (x - z) * w = sum x * w - z * sum w
//
// Both sides fit int32 where depth * 255 * 128 does; nothing is rounded until all is one integer. So a row's result is the
// same alone and among others.

namespace zp::inline v0::kernel {

/// The largest depth of a dynamic product: 255 * 128 * depth is an int32, and 255 * 255 * depth where weights have a zero
/// point.
constexpr int largest_dynamic_depth(bool affine_weights) { return 0x7fffffff / (255 * (affine_weights ? 255 : 128)); }

/// y = float(sum - x.zero_point * weight_sum[c]) * (x.scale * weight_scale[c]) + bias[c]: an epilogue for rows that share
/// a range. Each operation is rounded to float, in this order, whatever -ffp-contract says.
struct dynamic_to_float {
    const float* weight_scale = nullptr;
    const std::int32_t* weight_sum = nullptr;
    const float* bias = nullptr;
    dynamic_range x{};

    float operator()(std::int32_t sum, int channel) const noexcept {
        const std::int32_t centered = sum - x.zero_point * weight_sum[channel];
        return rounded(static_cast<float>(centered) * rounded(x.scale * weight_scale[channel])) + bias[channel];
    }
    template <class Operations> [[gnu::always_inline]] auto vector(int channel, int count) const {
        using int32 = typename Operations::int32;
        using real = typename Operations::real;
        const real factor = real(x.scale) * Operations::load_first(weight_scale + channel, count);
        const real added = Operations::load_first(bias + channel, count);
        const int32 correction = int32(x.zero_point) * Operations::load_first(weight_sum + channel, count);
        return [=](const int32& sums) __attribute__((always_inline)) {
            return rounded(xsimd::to_float(sums - correction) * factor) + added;
        };
    }
};

/// The same for rows with a range each: ranges[row], where row 0 begins at `output` and rows lie `pitch` apart; and what
/// `After` of dynamic/post_activation.hpp makes of the result.
template <class After = as_it_is> struct dynamic_rows_to_float {
    dynamic_to_float common{};  ///< but for its range
    const dynamic_range* ranges = nullptr;
    const float* output = nullptr;
    std::ptrdiff_t pitch = 0;
    After after{};

    /// Sums to their place in the output, as finish_rows() says.
    template <class Arch>
    void finish_tile(const std::int32_t* sums, int rows, int first_channel, int channels, float* y,
                     std::ptrdiff_t y_pitch) const noexcept {
        using ops = operations<Arch>;
        constexpr int width = panel_width<Arch>;
        const dynamic_range* range = ranges + (y - output) / pitch;
        // Vectors whose floats are not those of scalars do nothing but what they did without `After`.
        if constexpr (!ops::has_batches || (!has_ieee_vectors<Arch> && !std::is_same_v<After, as_it_is>)) {
            for (int row = 0; row != rows; ++row, y += y_pitch) {
                dynamic_to_float epilogue = common;
                epilogue.x = range[row];
                for (int c = 0; c != channels; ++c) {
                    const float value = epilogue(sums[row * width + c], first_channel + c);
                    if constexpr (takes_rows<After>) y[c] = after(value, after.rows[y + c - output]);
                    else y[c] = after(value);
                }
            }
        } else {
            for (int first = 0, step = 0; first < channels; first += step) {
                const int left = channels - first;
                step = left >= 2 * ops::lanes ? 2 * ops::lanes : ops::lanes;
                if (left >= 2 * ops::lanes)
                    finish_vectors<ops, 2>(sums + first, range, rows, first_channel + first, left, y + first, y_pitch);
                else finish_vectors<ops, 1>(sums + first, range, rows, first_channel + first, left, y + first, y_pitch);
            }
        }
    }

private:
    /// `Vectors` vectors of each row, of whose channels `channels` exist: all of them, or some of one.
    template <class Operations, int Vectors>
    [[gnu::always_inline]] void finish_vectors(const std::int32_t* sums, const dynamic_range* range, int rows,
                                               int channel, int channels, float* y,
                                               std::ptrdiff_t y_pitch) const noexcept {
        using ops = Operations;
        using int32 = typename ops::int32;
        using real = typename ops::real;
        constexpr int width = ops::vectors * ops::lanes;
        real scale[Vectors], added[Vectors];
        int32 weight_sum[Vectors];
        unroll<Vectors>([&](auto v) __attribute__((always_inline)) {
            const int at = channel + v * ops::lanes, count = channels - v * ops::lanes;
            scale[v] = ops::load_first(common.weight_scale + at, count);
            added[v] = ops::load_first(common.bias + at, count);
            weight_sum[v] = ops::load_first(common.weight_sum + at, count);
        });
        const bool is_whole = channels >= Vectors * ops::lanes;
        const auto finish = [&](auto at_once) __attribute__((always_inline)) {
            constexpr int parts = at_once() * Vectors;
            vector_group<real, parts> values, others;
            unroll<parts>([&](auto i) __attribute__((always_inline)) {
                constexpr int row = i / Vectors, v = i % Vectors;
                const int32 zero_point(range[row].zero_point);
                const int32 sum = ops::template load<int32>(sums + row * width + v * ops::lanes);
                const real factor = real(range[row].scale) * scale[v];
                values.parts[i] = rounded(real(xsimd::to_float(sum - zero_point * weight_sum[v]) * factor)) + added[v];
                if constexpr (takes_rows<After>)
                    others.parts[i] = ops::load_first(after.rows + (y + row * y_pitch + v * ops::lanes - output),
                                                      channels - v * ops::lanes);
            });
            if constexpr (takes_rows<After>) values = after(values, others);
            else values = after(values);
            unroll<parts>([&](auto i) __attribute__((always_inline)) {
                float* to = y + i / Vectors * y_pitch + i % Vectors * ops::lanes;
                if (is_whole) {
                    ops::store(to, values.parts[i]);
                } else {
                    float part[ops::lanes];
                    ops::store(part, values.parts[i]);
                    std::memcpy(to, part, static_cast<std::size_t>(channels) * sizeof(float));
                }
            });
            range += at_once();
            sums += at_once() * width;
            y += at_once() * y_pitch;
        };
        if constexpr (is_long<After>)
            for (; rows >= 2; rows -= 2) finish(std::integral_constant<int, 2>());
        for (; rows > 0; --rows) finish(std::integral_constant<int, 1>());
    }
};

/// Where the parts of a packed dynamic product lie: panels, then a scale, a sum and a bias for each channel. `words` says
/// that weights are packed as int16, as affine ones are.
template <class Arch> struct dynamic_layout {
    std::size_t scales, sums, bias, bytes;

    constexpr dynamic_layout(const conv2d_geometry& g, bool words)
        : scales(panel_layout<Arch>(g, words).bytes),
          sums(scales + array(g)),
          bias(sums + array(g)),
          bytes(bias + array(g)) {}

private:
    static constexpr std::size_t array(const conv2d_geometry& g) {
        return align_up(4 * static_cast<std::size_t>(g.out.channels));
    }
};

/// The same of a linear layer.
template <class Arch> struct dynamic_linear_layout : dynamic_layout<Arch> {
    int depth, channels;

    constexpr dynamic_linear_layout(int inputs, int outputs, bool words)
        : dynamic_layout<Arch>(geometry_of({1, inputs, outputs}), words), depth(inputs), channels(outputs) {}

    constexpr conv2d_geometry geometry(int rows) const { return geometry_of({rows, depth, channels}); }
};

/// Where the parts of the scratch of `rows` rows lie: codes, a range for each row, what the product needs.
template <class Arch> struct dynamic_linear_scratch {
    std::size_t ranges, product, bytes;

    constexpr dynamic_linear_scratch(const conv2d_geometry& g, int rows)
        : ranges(align_up(static_cast<std::size_t>(rows) * static_cast<std::size_t>(g.in.channels))),
          product(ranges + align_up(static_cast<std::size_t>(rows) * sizeof(dynamic_range))),
          bytes(product + implicit_gemm_plan<Arch>(g).scratch_bytes) {}

    /// What so many rows or fewer need: fewer can need more, where they are one band and not two.
    static constexpr std::size_t bytes_of_most(const conv2d_geometry& g, int rows) {
        return dynamic_linear_scratch(g, rows).product + implicit_gemm_plan<Arch>::of_most_rows(g).scratch_bytes;
    }
};

/// Packs `weights` (their bias is not read), one scale and one float bias a channel; gives the place of the sums.
template <class Arch, class Weight>
std::int32_t* pack_dynamic(const dynamic_layout<Arch>& layout, const conv2d_geometry& g, conv2d_weights<Weight> weights,
                           const float* scales, const float* bias, activation_codes codes, std::byte* packed) {
    weights.bias = nullptr;
    pack_panels<Arch>(g, weights, codes, packed);
    const std::size_t size = 4 * static_cast<std::size_t>(g.out.channels);
    std::memcpy(packed + layout.scales, scales, size);
    std::memcpy(packed + layout.bias, bias, size);
    return reinterpret_cast<std::int32_t*>(packed + layout.sums);
}

/// Packs `weights` (channels x depth), one scale and one float bias a channel.
template <class Arch, class Weight>
void pack_dynamic_linear(const dynamic_linear_layout<Arch>& layout, const conv2d_weights<Weight>& weights,
                         const float* scales, const float* bias, code_limits limits, std::byte* packed) {
    std::int32_t* sums = pack_dynamic(layout, layout.geometry(1), weights, scales, bias,
                                      activation_codes{0, limits.min, limits.max}, packed);
    for (int c = 0; c != layout.channels; ++c) {
        const std::int32_t zero_point = weights.zero_points == nullptr ? 0 : weights.zero_points[c];
        const Weight* filter = weights.values + std::ptrdiff_t{c} * layout.depth;
        sums[c] = 0;
        for (int k = 0; k != layout.depth; ++k) sums[c] += filter[k] - zero_point;
    }
}

/// The epilogue of a packed product for rows of one range.
template <class Arch>
dynamic_to_float dynamic_epilogue(const dynamic_layout<Arch>& layout, const std::byte* packed,
                                  dynamic_range x) noexcept {
    return {reinterpret_cast<const float*>(packed + layout.scales),
            reinterpret_cast<const std::int32_t*>(packed + layout.sums),
            reinterpret_cast<const float*>(packed + layout.bias), x};
}

/// y[rows][channels] = dequantize(quantize(x) * w) + bias for x[rows][depth], as reference::dynamic_linear says. With
/// `PerRow` each row has a range of its own, and its result depends on nothing else; else all rows share one. Q, the
/// storage of activations, and `limits` are those that weights were packed for. `scratch` has dynamic_linear_scratch::bytes
/// bytes, 64-byte aligned. `after` (dynamic/post_activation.hpp) has the last word on each value. Of some `panels` alone, others' outputs are
/// left as they are.
template <class Arch, class Q, bool PerRow, class Choose, class After = as_it_is>
void dynamic_linear(const dynamic_linear_layout<Arch>& layout, const float* x, int rows, code_limits limits,
                    const Choose& choose, const std::byte* packed, float* y, std::byte* scratch,
                    const After& after = {}, panel_range panels = {}) noexcept {
    conv2d_geometry g = layout.geometry(rows);
    g.panels = panels;
    const dynamic_linear_scratch<Arch> parts(g, rows);
    auto* codes = reinterpret_cast<Q*>(scratch);
    const activation_codes packed_for{0, limits.min, limits.max};
    const auto height = static_cast<std::size_t>(rows), depth = static_cast<std::size_t>(layout.depth);
    if constexpr (std::is_same_v<After, as_it_is>) {
        if (!PerRow || rows == 1) {
            const dynamic_range range = dynamic_quantize<Arch>(x, height * depth, limits, choose, codes);
            implicit_gemm<Arch>(g, codes, packed_for, packed, dynamic_epilogue(layout, packed, range), y,
                                scratch + parts.product);
            return;
        }
    }
    if constexpr (PerRow || !std::is_same_v<After, as_it_is>) {
        auto* ranges = reinterpret_cast<dynamic_range*>(scratch + parts.ranges);
        if constexpr (PerRow) dynamic_quantize_rows<Arch>(x, height, depth, limits, choose, ranges, codes);
        else std::fill_n(ranges, height, dynamic_quantize<Arch>(x, height * depth, limits, choose, codes));
        const dynamic_rows_to_float<After> epilogue{dynamic_epilogue(layout, packed, {}), ranges, y, layout.channels,
                                                    after};
        implicit_gemm<Arch>(g, codes, packed_for, packed, epilogue, y, scratch + parts.product);
    }
}

/// dynamic_linear() of one row and small fixed extents, straight-line code. `Words` says that weights were packed so.
template <class Arch, class Q, int Depth, int Channels, bool Words, class Choose>
void small_dynamic_linear(const float* x, code_limits limits, const Choose& choose, const std::byte* packed, float* y,
                          std::byte* scratch) noexcept {
    using product = small_linear<Arch, 1, Depth, Channels, Words>;
    constexpr dynamic_linear_layout<Arch> layout(Depth, Channels, Words);
    constexpr dynamic_linear_scratch<Arch> parts(layout.geometry(1), 1);
    if (!product::supports(packed))
        return dynamic_linear<Arch, Q, true>(layout, x, 1, limits, choose, packed, y, scratch);
    auto* codes = reinterpret_cast<Q*>(scratch);
    const dynamic_range range = dynamic_quantize<Arch>(x, Depth, limits, choose, codes);
    product::run(codes, activation_codes{0, limits.min, limits.max}, packed, dynamic_epilogue(layout, packed, range), y,
                 scratch + parts.product);
}

}  // namespace zp::inline v0::kernel
