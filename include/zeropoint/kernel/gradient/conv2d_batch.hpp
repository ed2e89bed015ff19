// SPDX-License-Identifier: BSD-3-Clause
// Float convolutions and linear layers over the samples of a mini-batch: weights are brought in order once for all of them.
#pragma once

#include <algorithm>
#include <cstddef>

#include <zeropoint/kernel/float/float_conv2d.hpp>
#include <zeropoint/kernel/gradient/batch.hpp>
#include <zeropoint/kernel/gradient/float_winograd.hpp>
#include <zeropoint/kernel/gradient/window_product.hpp>

namespace zp::inline v0::kernel {

/// Whether each input channel has one filter of its own: conv2d_float() computes those, sample by sample.
constexpr bool pairs_channels(const conv2d_geometry& g) {
    return g.groups > 1 && g.group_in() == 1 && g.group_out() == 1;
}

/// panel[k][j] = weights[channel + j][k] of [out_channels][depth], for j < channels; zeros behind.
template <class Arch>
void pack_forward_panel(const float* weights, std::size_t depth, int channel, int channels, float* panel) noexcept {
    constexpr auto tile = static_cast<std::size_t>(product_tile<Arch>::channels);
    const float* from = weights + static_cast<std::size_t>(channel) * depth;
    const auto present = static_cast<std::size_t>(channels);
    if constexpr (has_vectors<Arch> && product_tile<Arch>::channels == float_tile<Arch>::channels) {
        transpose_panel<Arch>(from, depth, present, panel);
    } else {
        for (std::size_t k = 0; k != depth; ++k)
            for (std::size_t j = 0; j != tile; ++j) panel[k * tile + j] = j < present ? from[j * depth + k] : 0.0f;
    }
}

/// Calls visit(the convolution, what packs its panels).
template <class Arch> constexpr auto forward_window(const conv2d_geometry& g, const float* weights) {
    return [&g, weights](auto&& visit) {
        const auto depth = static_cast<std::size_t>(g.depth());
        visit(product_window(g), [=](int channel, int channels, float* panel) {
            pack_forward_panel<Arch>(weights, depth, channel, channels, panel);
        });
    };
}

/// How many floats of scratch conv2d_batch() needs, whatever the number of samples.
template <class Arch> constexpr std::size_t conv2d_batch_scratch(const conv2d_geometry& g) {
    if (pairs_channels(g)) return conv2d_float_scratch<Arch>(g);
    if (float_winograd<Arch>::takes(g)) return float_winograd<Arch>(g).product_scratch();
    return multiply_windows_scratch<Arch>(g.in, forward_window<Arch>(g, nullptr));
}

/// y = clamp(bias + sum over the window of x * w, low, high) for each of `samples` images, as conv2d_float() of each: weights
/// [out_channels][kernel_height][kernel_width][in_channels / groups], a null bias is zeros, no bounds are -infinity and
/// infinity. A linear layer is in {1, 1, K}, out {1, 1, N}: x is then samples x K. `scratch` has conv2d_batch_scratch<Arch>(g)
/// floats; nothing overlaps. The bits of a sum do not depend on the samples beside it: it runs from the bias along the depth, or is of a tile
/// where float_winograd::takes() the convolution.
template <class Arch>
void conv2d_batch(const conv2d_geometry& g, int samples, const_float_batch x, const float* weights, const float* bias,
                  float low, float high, float_batch y, float* scratch) noexcept {
    if (pairs_channels(g)) {
        for (int i = 0; i != samples; ++i) conv2d_float<Arch>(g, x[i], weights, bias, low, high, y[i], scratch);
        return;
    }
    if (float_winograd<Arch>::takes(g)) {
        multiply_tiles<Arch>(
            g, samples, x, {bias, low, high}, y, scratch,
            [&](float* filters) { transform_taps<Arch>(weights, g.out.channels, g.in.channels, false, filters); },
            [&](const float* filters, int channel, int channels, float* panel) {
                pack_forward_panel<Arch>(filters, static_cast<std::size_t>(g.in.channels), channel, channels, panel);
            });
        return;
    }
    multiply_windows<Arch>(g.in, samples, x, {bias, low, high}, y, scratch, forward_window<Arch>(g, weights));
}

}  // namespace zp::inline v0::kernel
