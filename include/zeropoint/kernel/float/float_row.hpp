// SPDX-License-Identifier: BSD-3-Clause
// A float linear layer of one row: outputs are the lanes of vectors, and weights are packed in the order in which they are read.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include <zeropoint/kernel/geometry/conv2d.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/vector/code_lanes.hpp>
#include <zeropoint/kernel/vector/number.hpp>
#include <zeropoint/kernel/vector/unroll.hpp>

// A row of dot products ends each of them with a sum over lanes, which takes longer than a short product itself. With outputs in
// lanes there is none, and a sum runs along the depth, whatever the width of vectors is. It waits for itself, four cycles a product:
// with few outputs the depth is dealt to several sums in turn, so that there are always enough of them to fill the time.

namespace zp::inline v0::kernel {

/// Products k, k + n, k + 2 n, ... of an output are one sum, and n sums are added by halves: of 64 values at a time.
constexpr int sums_of_float_row(int channels) { return channels <= 16 ? 4 : channels <= 32 ? 2 : 1; }

/// Where the weights of such a layer lie: panels of as many vectors of outputs as are in registers at once, [depth][outputs] each,
/// then as many biases. Outputs behind the last are zeros.
template <class Arch> struct float_row_layout {
    static constexpr int lanes = static_cast<int>(vector_size<float, Arch>), registers = 8;

    int depth, channels, vectors, sums;

    constexpr float_row_layout(int of_depth, int of_channels)
        : depth(of_depth),
          channels(of_channels),
          vectors((of_channels + lanes - 1) / lanes),
          sums(sums_of_float_row(of_channels)) {}

    constexpr int bias_begin() const { return vectors * lanes * depth; }
    constexpr int floats() const { return vectors * lanes * (depth + 1); }
    /// Panels, of which the last one may have fewer vectors.
    constexpr int panels() const { return (vectors + registers / sums - 1) / (registers / sums); }
    /// Vectors of the panel that begins with a vector.
    constexpr int vectors_of_panel(int first) const { return std::min(registers / sums, vectors - first); }
    /// Calls visit(output, k, place) for all weights of the layer.
    template <class Visit> void for_each_weight(Visit visit) const {
        for (int first = 0, count = 0; first != vectors; first += count) {
            count = vectors_of_panel(first);
            const int begin = first * lanes, width = count * lanes;
            for (int k = 0; k != depth; ++k)
                for (int i = 0; i != std::min(width, channels - begin); ++i)
                    visit(begin + i, k, begin * depth + k * width + i);
        }
    }
};

/// weights: channels x depth; bias: channels. `packed` has layout.floats() floats, aligned as vectors are.
template <class Arch>
void pack_float_row(const float_row_layout<Arch>& layout, const float* weights, const float* bias, float* packed) {
    std::fill_n(packed, layout.floats(), 0.0f);
    layout.for_each_weight([&](int output, int k, int place) { packed[place] = weights[output * layout.depth + k]; });
    std::copy_n(bias, layout.channels, packed + layout.bias_begin());
}
template <class Arch>
void unpack_float_row(const float_row_layout<Arch>& layout, const float* packed, float* weights, float* bias) {
    layout.for_each_weight([&](int output, int k, int place) { weights[output * layout.depth + k] = packed[place]; });
    std::copy_n(packed + layout.bias_begin(), layout.channels, bias);
}

/// a * b + c, fused where `Arch` has that.
[[gnu::always_inline]] inline float multiply_add(float a, float b, float c) noexcept { return a * b + c; }
template <class Arch>
[[gnu::always_inline]] inline xsimd::batch<float, Arch> multiply_add(const xsimd::batch<float, Arch>& a,
                                                                     const xsimd::batch<float, Arch>& b,
                                                                     const xsimd::batch<float, Arch>& c) noexcept {
    return xsimd::fma(a, b, c);
}

/// One panel: `Vectors` vectors of outputs, `count` of them values.
template <class Number, int Vectors, int Sums>
[[gnu::always_inline]] inline void float_row_panel(const float* x, int depth, const float* weights, const float* bias,
                                                   float low, float high, int count, float* y) noexcept {
    constexpr int lanes = int{sizeof(Number) / sizeof(float)}, width = Vectors * lanes;
    Number sums[Sums][Vectors];
    repeat<Vectors>([&](int v) __attribute__((always_inline)) {
        sums[0][v] = load_number<Number>(bias + v * lanes);
        for (int s = 1; s != Sums; ++s) sums[s][v] = Number(0.0f);
    });
    const auto multiply = [&](int s, float value) __attribute__((always_inline)) {
        repeat<Vectors>([&](int v) __attribute__((always_inline)) {
            sums[s][v] = multiply_add(Number(value), load_number<Number>(weights + v * lanes), sums[s][v]);
        });
        weights += width;
    };
    int k = 0;
    for (; k + Sums <= depth; k += Sums)
        repeat<Sums>([&](int s) __attribute__((always_inline)) { multiply(s, x[k + s]); });
    if constexpr (Sums > 1)
        repeat<Sums - 1>([&](int s) __attribute__((always_inline)) {
            if (k + s < depth) multiply(s, x[k + s]);
        });
    alignas(64) float last[width];
    float* to = count == width ? y : last;
    repeat<Vectors>([&](int v) __attribute__((always_inline)) {
        Number sum = sums[0][v];
        if constexpr (Sums == 2) sum = sum + sums[1][v];
        if constexpr (Sums == 4) sum = (sum + sums[2][v]) + (sums[1][v] + sums[3][v]);
        if constexpr (std::is_arithmetic_v<Number>) sum = std::min(std::max(sum, low), high);
        else sum = xsimd::min(xsimd::max(sum, Number(low)), Number(high));
        store_number(sum, to + v * lanes);
    });
    if (to != y) std::copy_n(last, count, y);
}

/// y[o] = clamp(bias[o] + sum over k of x[k] * w[o][k], low, high) over pack_float_row()'s weights of Depth x Channels. Sums run
/// as sums_of_float_row() says, the first from the bias: the same on every architecture but for whether products are rounded
/// before they are added. x and y do not overlap. Of some `panels` alone, others' outputs are left as they are.
template <class Arch, int Depth, int Channels>
void float_row(const float* x, const float* packed, float low, float high, float* y, panel_range panels = {}) noexcept {
    using number = typename decltype([] {
        if constexpr (has_vectors<Arch>) return std::type_identity<xsimd::batch<float, Arch>>();
        else return std::type_identity<float>();
    }())::type;
    constexpr float_row_layout<Arch> layout(Depth, Channels);
    constexpr int most = layout.registers / layout.sums, passes = layout.panels() - 1, width = most * layout.lanes,
                  last = passes * width;
    const float* bias = packed + layout.bias_begin();
    const auto multiply_panel = [&](int begin) __attribute__((always_inline)) {
        float_row_panel<number, most, layout.sums>(x, Depth, packed + begin * Depth, bias + begin, low, high, width,
                                                   y + begin);
    };
    if constexpr (passes != 0) {
        for (int panel = panels.begin; panel < panels.end_of(passes); ++panel) multiply_panel(panel * width);
        if (panels.end_of(layout.panels()) != layout.panels()) return;
    }
    float_row_panel<number, layout.vectors - passes * most, layout.sums>(x, Depth, packed + last * Depth, bias + last,
                                                                         low, high, Channels - last, y + last);
}

}  // namespace zp::inline v0::kernel
