// SPDX-License-Identifier: BSD-3-Clause
// The block of a node with filters over codes of 8 bits: where its parts lie, filled and read again. Which kernels pack the weights
// is an argument, so that a program has this code once.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <zeropoint/graph/context.hpp>
#include <zeropoint/kernel/gemm/pack_panels.hpp>
#include <zeropoint/operators/fused_table.hpp>
#include <zeropoint/operators/requantization.hpp>

namespace zp::inline v0::operators {

/// The codes of what a node reads.
constexpr kernel::activation_codes codes_of(const value_type& x, const qparams& range) {
    return {range.zero_point, x.quant_min, x.quant_max};
}

/// Offsets of the parts in bytes: packed weights, then these.
template <class Requantization> struct int8_offsets {
    int scales = 0, first, second, real_bias, ratios, zero_points, table, bytes;

    constexpr int8_offsets(int packed, int channels, bool residual, bool affine, int table_size) : scales(packed) {
        const int array = static_cast<int>(align_up(4 * static_cast<std::size_t>(channels)));
        first = scales + array;
        second = first + array;
        real_bias = second + (Requantization::has_second ? array : 0);
        ratios = real_bias + (Requantization::has_float_bias ? array : 0);
        zero_points = ratios + (residual ? array : 0);
        table = zero_points + (affine ? array : 0);
        bytes = table + table_size;
    }
    constexpr int8_offsets(int packed, const node& n)
        : int8_offsets(packed, n.weights.channels, n.fused.adds_input_1, n.weights.affine, fused_table_size(n)) {}
    /// Of a node that knows its parameter_bytes: no program has to find out again what packed weights take.
    static constexpr int8_offsets of(const node& n) { return {n.at.parameter_bytes - int8_offsets(0, n).bytes, n}; }
};

/// Weight is the storage type of weights.
template <class Requantization, class Weight> struct int8_block {
    using first_type = typename Requantization::first_type;
    using second_type = typename Requantization::second_type;
    using offsets = int8_offsets<Requantization>;
    using pack_weights = void (*)(const node_view&, const kernel::conv2d_weights<Weight>&, kernel::activation_codes,
                                  std::byte*);
    using unpack_weights = void (*)(const node_view&, const std::int32_t* zero_points, kernel::activation_codes,
                                    const std::byte*, Weight*, std::int32_t* bias);

    // Defined outside: what is defined inside is inline, and compiled by all that call it.
    [[gnu::noinline]] static refusal pack(const preparation& p, const node_parameters& from, pack_weights pack_with);
    [[gnu::noinline]] static node_parameters unpack(const preparation& p, unpack_weights unpack_with);

private:
    /// Scales that are valid one by one may be so far apart that no kernel can go from one to the other.
    static refusal refuses(const preparation& p, const quantized_weights& weights) {
        const std::vector<float>& scales = weights.scales;
        const double x = p.x_qparams().scale, y = rounded_scale(p.at.n, p.ranges[rounded_qparams_id(p.at.n)]);
        for (const float scale : scales)
            if (!(x * double{scale} < 2147483648.0 * y))
                return {"input scales that times weight scales are below 2^31 output scales", x, y,
                        "calibrate the output's range on its own values"};
        for (std::size_t c = 0; c != weights.float_bias.size(); ++c) {
            const double step = x * double{scales[c]}, bias = std::abs(double{weights.float_bias[c]});
            if (!(step >= Requantization::least_step(y) && bias <= step * Requantization::most_steps))
                return {
                    "a channel's input scale * weight scale is too small for float arithmetic with its bias and the "
                    "output's "
                    "scale: convert the float network again, which raises such weight scales"};
        }
        if (p.at.n.fused.adds_input_1)
            for (const float scale : scales) {
                const double residual = p.x_qparams(1).scale, step = x * double{scale};
                if (!kernel::is_residual_ratio(residual / step))
                    return {"a residual's scale between 2^-100 and 2^100 times input scale * weight scale", residual,
                            step, "calibrate both on real data, or take zp::separate_sums"};
            }
        return {};
    }
    /// Files and fine tables count codes from the lowest, an epilogue of 8 bits by their bits: for signed codes the halves
    /// change places.
    static void copy_table(const node& n, const std::uint8_t* from, std::uint8_t* to) {
        const auto size = static_cast<std::size_t>(fused_table_size(n));
        const std::size_t flip = n.out.storage == scalar_type::int8 && !has_fine_table(n) ? 128 : 0;
        for (std::size_t i = 0; i != size; ++i) to[i ^ flip] = from[i];
    }
};

template <class Requantization, class Weight>
refusal int8_block<Requantization, Weight>::pack(const preparation& p, const node_parameters& from,
                                                 pack_weights pack_with) {
    const node& n = p.at.n;
    const quantized_weights& weights = from.matrices.front();
    const qparams &x_range = p.x_qparams(), &output = p.ranges[rounded_qparams_id(n)];
    if (const refusal wrong = refuses(p, weights); wrong.rule != nullptr) return wrong;
    const offsets at = offsets::of(n);
    const bool is_shared = std::equal(weights.scales.begin() + 1, weights.scales.end(), weights.scales.begin());
    // Weights that have zero points are packed as words, also where all are 0.
    const std::vector<std::int32_t> zeros(n.weights.packed_int16 ? weights.scales.size() : 0);
    const std::vector<std::int32_t>& zero_points = n.weights.packed_int16 ? zeros : weights.zero_points;
    pack_with(
        p.at,
        {reinterpret_cast<const Weight*>(weights.codes.data()), zero_points.empty() ? nullptr : zero_points.data(),
         weights.bias.empty() ? nullptr : weights.bias.data()},
        codes_of(p.x_type(), x_range), p.block);
    std::memcpy(p.block + at.scales, weights.scales.data(), weights.scales.size() * sizeof(float));
    for (int c = 0; c != n.weights.channels; ++c) {
        const auto i = static_cast<std::size_t>(c);
        first_type first{};
        second_type second{};
        Requantization::prepare({x_range.scale, weights.scales[i], rounded_scale(n, output), is_shared},
                                Requantization::has_float_bias ? weights.float_bias[i] : 0.0f, first, second);
        std::memcpy(p.block + at.first + 4 * c, &first, 4);
        if constexpr (Requantization::has_second) std::memcpy(p.block + at.second + 4 * c, &second, 4);
        if (Requantization::has_float_bias) std::memcpy(p.block + at.real_bias + 4 * c, &weights.float_bias[i], 4);
        if (n.fused.adds_input_1) {
            const float ratio =
                kernel::residual_ratio(p.x_qparams(1).scale, double{x_range.scale} * double{weights.scales[i]});
            std::memcpy(p.block + at.ratios + 4 * c, &ratio, 4);
        }
        if (n.weights.affine) std::memcpy(p.block + at.zero_points + 4 * c, &weights.zero_points[i], 4);
    }
    if (n.fused.lut != nullptr) copy_table(n, from.lut.data(), reinterpret_cast<std::uint8_t*>(p.block + at.table));
    return {};
}
template <class Requantization, class Weight>
node_parameters int8_block<Requantization, Weight>::unpack(const preparation& p, unpack_weights unpack_with) {
    const node& n = p.at.n;
    const offsets at = offsets::of(n);
    const auto channels = static_cast<std::size_t>(n.weights.channels);
    node_parameters to;
    quantized_weights& weights = to.matrices.emplace_back();
    weights.scales.resize(channels);
    std::memcpy(weights.scales.data(), p.block + at.scales, 4 * channels);
    if (n.weights.affine) {
        weights.zero_points.resize(channels);
        std::memcpy(weights.zero_points.data(), p.block + at.zero_points, 4 * channels);
    }
    weights.codes.resize(static_cast<std::size_t>(n.weights.count));
    weights.bias.resize(channels);
    unpack_with(p.at, weights.zero_points.empty() ? nullptr : weights.zero_points.data(),
                codes_of(p.x_type(), p.x_qparams()), p.block, reinterpret_cast<Weight*>(weights.codes.data()),
                weights.bias.data());
    if (Requantization::has_float_bias) {
        weights.bias.clear();
        weights.float_bias.resize(channels);
        std::memcpy(weights.float_bias.data(), p.block + at.real_bias, 4 * channels);
    }
    if (n.fused.lut != nullptr) {
        to.lut.resize(static_cast<std::size_t>(fused_table_size(n)));
        copy_table(n, reinterpret_cast<const std::uint8_t*>(p.block + at.table), to.lut.data());
    }
    return to;
}

}  // namespace zp::inline v0::operators
