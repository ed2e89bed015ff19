// SPDX-License-Identifier: BSD-3-Clause
// Which algorithm computes a convolution: what can, what each takes in time and in bytes, and the choice.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <zeropoint/kernel/arch/operations.hpp>
#include <zeropoint/kernel/convolution/direct_conv2d.hpp>
#include <zeropoint/kernel/depthwise/depthwise.hpp>
#include <zeropoint/kernel/gemm/pack_panels.hpp>
#include <zeropoint/kernel/geometry/conv2d.hpp>
#include <zeropoint/kernel/winograd/winograd.hpp>

namespace zp::inline v0::kernel {

/// Whether an algorithm can compute a geometry.
constexpr bool supports(const conv2d_geometry& g, conv2d_algorithm algorithm) {
    switch (algorithm) {
        case conv2d_algorithm::depthwise: return supports_depthwise(g);
        case conv2d_algorithm::winograd_4x4:
        case conv2d_algorithm::winograd_2x2: return winograd_supports(g);
        default: return true;
    }
}

/// Whether an algorithm has kernels for codes of 16 bits: Winograd's transforms have no room for them.
constexpr bool multiplies_words(conv2d_algorithm algorithm) {
    return algorithm == conv2d_algorithm::implicit_gemm || algorithm == conv2d_algorithm::depthwise ||
           algorithm == conv2d_algorithm::direct;
}
/// Whether an algorithm can compute a geometry over codes of 16 bits; a depthwise sum must not leave int32.
constexpr bool supports_int16(const conv2d_geometry& g, conv2d_algorithm algorithm) {
    const bool fits = algorithm != conv2d_algorithm::depthwise || g.depth() <= most_int16_products;
    return multiplies_words(algorithm) && supports(g, algorithm) && fits;
}

/// What an algorithm takes for a geometry. Times are estimates, for comparing algorithms with each other; packed bytes
/// are exact.
struct conv2d_cost {
    double nanoseconds = 0;        // estimated, of one call
    std::size_t packed_bytes = 0;  // exact
};

/// What a packed byte costs in time where it comes from memory, as it does in networks larger than a cache.
inline constexpr double nanoseconds_per_byte_from_memory = 0.03;
/// The same from a third-level cache: weights of one small layer, called again and again.
inline constexpr double nanoseconds_per_byte_from_cache = 0.022;

/// What Winograd's transforms take on an architecture.
template <class Arch>
inline constexpr winograd_costs winograd_costs_of = [] {
    if constexpr (requires { operations<Arch>::winograd; }) return operations<Arch>::winograd;
    else return winograd_costs{};
}();

template <class Arch> constexpr conv2d_cost winograd_cost(const conv2d_geometry& g, const winograd_method& method) {
    const winograd_plan<Arch> plan(g, method);
    const winograd_layout<Arch> layout(g, method);
    const double rate = operations<Arch>::word_products;
    constexpr winograd_costs costs = winograd_costs_of<Arch>;
    const double tiles = double{1} * plan.tile_rows * plan.tile_columns, positions = method.positions(),
                 channels = double{1} * layout.panels * layout.width, pixels = method.outputs * method.outputs;
    const int parts = (layout.depth + plan.part_channels - 1) / plan.part_channels;
    const double products = tiles * positions * (channels * layout.depth + costs.call * parts * layout.panels);
    const double transforms = tiles * (costs.input * positions * static_cast<double>(plan.channels) +
                                       costs.output * parts * pixels * channels);
    const int blocks = (plan.tile_rows * plan.tile_columns + plan.block_tiles - 1) / plan.block_tiles;
    const double filters = blocks * costs.filter * positions * channels * layout.depth;
    return {(products + transforms + filters) / rate, layout.bytes};
}

/// The cost of an algorithm that supports the geometry; not of `automatic`.
template <class Arch>
constexpr conv2d_cost cost_of_conv2d(const conv2d_geometry& g, conv2d_algorithm algorithm, bool affine_weights) {
    const double rate = affine_weights ? operations<Arch>::word_products : operations<Arch>::byte_products;
    const double pixels = double{1} * g.out.height * g.out.width, outputs = pixels * g.out.channels;
    switch (algorithm) {
        case conv2d_algorithm::depthwise: {  // cells are staged, and many are not full
            const depthwise_layout<Arch> layout(g);
            const double lanes = pixels * layout.panels * layout.width;
            return {lanes * (15 + 2 * g.depth()) / operations<Arch>::word_products, layout.bytes};
        }
        case conv2d_algorithm::direct:  // one product at a time
            return {outputs * g.depth(), direct_packed_bytes(g)};
        case conv2d_algorithm::winograd_4x4: return winograd_cost<Arch>(g, winograd_4x4::method);
        case conv2d_algorithm::winograd_2x2: return winograd_cost<Arch>(g, winograd_2x2::method);
        default: break;
    }
    // Lanes of a panel without a channel multiply in vain, and so do runs padded to quads.
    const panel_layout<Arch> layout(g, affine_weights);
    const double channels = double{1} * layout.panels * layout.width;
    const double reading = static_cast<double>(layout.bytes) * nanoseconds_per_byte_from_cache;
    return {std::max(pixels * channels * (layout.runs.depth() + 12) / rate, reading), layout.bytes};
}

/// Where plain loops are taken without a comparison: over depthwise codes of 8 bits, if there are no vectors. Cells are made
/// for those: staging them takes a scalar machine longer than the products, and as much memory as the input.
template <class Arch> constexpr bool prefers_direct(const conv2d_geometry& g) {
    return !operations<Arch>::has_batches && is_depthwise(g);
}

/// The algorithm that `automatic` stands for. Groups of up to half a panel would leave the rest of it empty. Of what
/// computes whole panels, the one with the least time, packed bytes being read from memory once a call.
template <class Arch> constexpr conv2d_algorithm choose_conv2d_algorithm(const conv2d_geometry& g) {
    const bool narrow = g.groups > 1 && (g.group_in() == 1 || g.group_out() <= panel_width<Arch> / 2);
    if (prefers_direct<Arch>(g)) return conv2d_algorithm::direct;
    if (narrow && supports(g, conv2d_algorithm::depthwise)) return conv2d_algorithm::depthwise;
    conv2d_algorithm best = conv2d_algorithm::implicit_gemm;
    double least = 0;
    for (const auto algorithm :
         {conv2d_algorithm::implicit_gemm, conv2d_algorithm::winograd_4x4, conv2d_algorithm::winograd_2x2}) {
        if (!supports(g, algorithm)) continue;
        const conv2d_cost cost = cost_of_conv2d<Arch>(g, algorithm, false);
        const double time =
            cost.nanoseconds + static_cast<double>(cost.packed_bytes) * nanoseconds_per_byte_from_memory;
        if (algorithm != conv2d_algorithm::implicit_gemm && time >= least) continue;
        best = algorithm;
        least = time;
    }
    return best;
}

/// `algorithm`, with `automatic` replaced by the choice.
template <class Arch> constexpr conv2d_algorithm resolve(const conv2d_geometry& g, conv2d_algorithm algorithm) {
    return algorithm == conv2d_algorithm::automatic ? choose_conv2d_algorithm<Arch>(g) : algorithm;
}

}  // namespace zp::inline v0::kernel
