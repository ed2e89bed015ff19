// The convolution, transposed one and linear layer over activations of 16 bits: its parameter block, written and read, and its step.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/wide_requantize.hpp>
#include <zeropoint/layer/context.hpp>
#include <zeropoint/layer/fused_clamp.hpp>
#include <zeropoint/layer/quantized_weights.hpp>
#include <zeropoint/layer/requantization.hpp>
#include <zeropoint/layer/row_kernels.hpp>

namespace zp {
inline namespace v0 {

/// Kernels of rows that read int16. Biases are int64, and stay beside the packed weights; outputs are int16, or codes of 8
/// bits. A policy says where halves go, and how many bits the multiplier has: see wide_halves and wide_multiplier.
template <class Requantization, class Arch> struct quantized_wide_conv2d_kernels {
    static constexpr kernel::activation_codes codes{0, -32768, 32767};

    /// Where the parts lie in the row's block, in bytes: packed weights, then these.
    struct block {
        int scales = 0, multipliers, shifts, bias, zero_points, bytes;
        /// Of a row that knows its parameter_bytes.
        constexpr explicit block(const node& row) : block(row, 0) { *this = block(row, row.parameter_bytes - bytes); }
        constexpr block(const node& row, int packed) : scales(packed) {
            const int array = static_cast<int>(align_up(4 * static_cast<std::size_t>(row.channels)));
            multipliers = scales + array;
            shifts = multipliers + array;
            bias = shifts + array;
            zero_points = bias + 2 * array;
            bytes = zero_points + (row.affine_weights ? array : 0);
        }
    };
    static constexpr int parameter_bytes(const node& row) {
        return block(row, static_cast<int>(align_up(packed_bytes_of<Arch>(row)))).bytes;
    }
    static constexpr int scratch_bytes(const node& row) {
        return static_cast<int>(scratch_bytes_of<Arch>(row, row.algorithm));
    }

    /// Fills the block; `input` and `output` are the ranges around the layer.
    template <kernel_needs Needs>
    static void write(const node& row, const quantized_weights& weights, const qparams& input, const qparams& output,
                      std::byte* memory) {
        const block at(row);
        with_weight_type<Needs>(row, [&]<class Weight>(Weight) {
            const kernel::conv2d_weights<Weight> source{reinterpret_cast<const Weight*>(weights.codes.data()),
                                                        row.affine_weights ? weights.zero_points.data() : nullptr,
                                                        nullptr, weights.wide_bias.data()};
            with_row_kernels<Needs, Arch>(row, [&](auto kernels) { kernels.pack(row, source, codes, memory); });
        });
        const auto channels = static_cast<std::size_t>(row.channels);
        std::memcpy(memory + at.scales, weights.scales.data(), 4 * channels);
        std::memcpy(memory + at.bias, weights.wide_bias.data(), 8 * channels);
        if (row.affine_weights) std::memcpy(memory + at.zero_points, weights.zero_points.data(), 4 * channels);
        auto* multipliers = reinterpret_cast<std::int32_t*>(memory + at.multipliers);
        auto* shifts = reinterpret_cast<std::int32_t*>(memory + at.shifts);
        for (std::size_t c = 0; c != channels; ++c) {
            const fixed_point_multiplier m =
                Requantization::wide_multiplier(row.kind, {input.scale, weights.scales[c], output.scale});
            multipliers[c] = m.multiplier;
            shifts[c] = m.shift;
        }
    }
    /// The inverse of write: what a file holds, from the packed block.
    template <kernel_needs Needs> static quantized_weights read(const node& row, const std::byte* memory) {
        const block at(row);
        const auto channels = static_cast<std::size_t>(row.channels);
        quantized_weights weights;
        const auto fill = [&](auto& values, int offset, std::size_t size) {
            values.resize(channels);
            std::memcpy(values.data(), memory + offset, size * channels);
        };
        fill(weights.scales, at.scales, 4);
        fill(weights.wide_bias, at.bias, 8);
        if (row.affine_weights) fill(weights.zero_points, at.zero_points, 4);
        weights.codes.resize(static_cast<std::size_t>(row.weights));
        std::vector<std::int32_t> packed_bias(channels);
        with_weight_type<Needs>(row, [&]<class Weight>(Weight) {
            with_row_kernels<Needs, Arch>(row, [&](auto kernels) {
                kernels.unpack(row, row.affine_weights ? weights.zero_points.data() : nullptr, codes, memory,
                               reinterpret_cast<Weight*>(weights.codes.data()), packed_bias.data());
            });
        });
        return weights;
    }

    template <class Out, conv2d_algorithm Algorithm, kernel::half_way Halves, op Kind = op::conv2d>
    static void run(const node& row, const context& c) noexcept {
        const block at(row);
        const kernel::wide_requantize<Halves> finish{
            c.block<std::int32_t>(row, at.multipliers), c.block<std::int32_t>(row, at.shifts),
            c.block<std::int64_t>(row, at.bias), clamped_codes(row, row.activation, c.range(row))};
        row_kernels<Arch, Algorithm, Kind>::run(row, c.in<std::int16_t>(row), codes, c.block<std::byte>(row), finish,
                                                c.out<Out>(row), c.scratch<std::byte>(row));
    }
};

}  // namespace v0
}  // namespace zp
