// SPDX-License-Identifier: BSD-3-Clause
// Filters over codes of 16 bits: the block of a node, packed and unpacked, and its run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <zeropoint/graph/clamp_bounds.hpp>
#include <zeropoint/graph/form.hpp>
#include <zeropoint/kernel/epilogue/requantize_int16.hpp>
#include <zeropoint/operators/filters.hpp>
#include <zeropoint/operators/requantization.hpp>

namespace zp::inline v0::operators {

/// Biases are int64, and stay beside the packed weights; outputs are int16, or codes of 8 bits. A policy says where halves go,
/// and how many bits the multiplier has: see requantization.hpp.
template <auto Key, class Arch, class Requantization> struct int16_filters {
    using out = storage_of<Key.output>;
    using weight = storage_of<Key.weights>;
    using kernels = kernels_of<Key.family, Arch, Key.algorithm>;
    static constexpr kernel::activation_codes codes{0, -32768, 32767};
    static constexpr kernel::half_way halves = Requantization::int16_halves(Key.is_connected);

    /// Where the parts lie in the node's block, in bytes: packed weights, then these.
    struct block {
        int scales = 0, multipliers, shifts, bias, zero_points, bytes;
        constexpr block(int packed, const node& n) : scales(packed) {
            const int array = static_cast<int>(align_up(4 * static_cast<std::size_t>(n.weights.channels)));
            multipliers = scales + array;
            shifts = multipliers + array;
            bias = shifts + array;
            zero_points = bias + 2 * array;
            bytes = zero_points + (n.weights.affine ? array : 0);
        }
        static constexpr block of(const node& n) { return {n.at.parameter_bytes - block(0, n).bytes, n}; }
    };
    static constexpr int parameter_bytes(const node_view& v) {
        return block(static_cast<int>(align_up(kernels::packed_bytes(v))), v.n).bytes;
    }
    static constexpr int scratch_bytes(const node_view& v) { return static_cast<int>(kernels::scratch_bytes(v)); }

    static refusal pack(const preparation& p, const node_parameters& from) {
        const node& n = p.at.n;
        const quantized_weights& weights = from.matrices.front();
        const double x_scale = p.x_qparams().scale, output = p.y_qparams().scale;
        for (const float scale : weights.scales)
            if (!(x_scale * double{scale} < 2147483648.0 * output))
                return {"input scales that times weight scales are below 2^31 output scales", x_scale, output,
                        "calibrate the output's range on its own values"};
        const block at = block::of(n);
        kernels::pack(p.at,
                      kernel::conv2d_weights<weight>{reinterpret_cast<const weight*>(weights.codes.data()),
                                                     n.weights.affine ? weights.zero_points.data() : nullptr, nullptr,
                                                     weights.int64_bias.data()},
                      codes, p.block);
        const auto channels = static_cast<std::size_t>(n.weights.channels);
        std::memcpy(p.block + at.scales, weights.scales.data(), 4 * channels);
        std::memcpy(p.block + at.bias, weights.int64_bias.data(), 8 * channels);
        if (n.weights.affine) std::memcpy(p.block + at.zero_points, weights.zero_points.data(), 4 * channels);
        auto* multipliers = reinterpret_cast<std::int32_t*>(p.block + at.multipliers);
        auto* shifts = reinterpret_cast<std::int32_t*>(p.block + at.shifts);
        for (std::size_t c = 0; c != channels; ++c) {
            const fixed_point_multiplier m = Requantization::int16_multiplier(
                Key.is_connected, {p.x_qparams().scale, weights.scales[c], p.y_qparams().scale});
            multipliers[c] = m.multiplier;
            shifts[c] = m.shift;
        }
        return {};
    }
    static node_parameters unpack(const preparation& p) {
        const node& n = p.at.n;
        const block at = block::of(n);
        const auto channels = static_cast<std::size_t>(n.weights.channels);
        node_parameters to;
        quantized_weights& weights = to.matrices.emplace_back();
        const auto fill = [&](auto& values, int offset, std::size_t size) {
            values.resize(channels);
            std::memcpy(values.data(), p.block + offset, size * channels);
        };
        fill(weights.scales, at.scales, 4);
        fill(weights.int64_bias, at.bias, 8);
        if (n.weights.affine) fill(weights.zero_points, at.zero_points, 4);
        weights.codes.resize(static_cast<std::size_t>(n.weights.count));
        std::vector<std::int32_t> packed_bias(channels);
        kernels::unpack(p.at, n.weights.affine ? weights.zero_points.data() : nullptr, codes, p.block,
                        reinterpret_cast<weight*>(weights.codes.data()), packed_bias.data());
        return to;
    }

    static void run(const node& n, const context& c) noexcept {
        const block at = block::of(n);
        const kernel::requantize_int16<halves> finish{c.block<std::int32_t>(n, at.multipliers),
                                                      c.block<std::int32_t>(n, at.shifts),
                                                      c.block<std::int64_t>(n, at.bias), clamped_codes(n, c.range(n))};
        kernels::run(c.view(n), c.in<std::int16_t>(n), codes, c.block<std::byte>(n), finish, c.out<out>(n),
                     c.scratch<std::byte>(n));
    }
};

}  // namespace zp::inline v0::operators
