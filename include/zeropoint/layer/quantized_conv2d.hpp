// The quantized convolution and linear layer of a model: its parameter block, how it is filled and read back, its step.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/conv2d.hpp>
#include <zeropoint/layer/context.hpp>
#include <zeropoint/layer/quantized_weights.hpp>
#include <zeropoint/layer/requantization.hpp>
#include <zeropoint/scheme/quantize.hpp>

namespace zp {
inline namespace v0 {

/// The codes that a fused clamp leaves: relu cuts at real 0, relu6 at real 6 as well.
constexpr kernel::output_codes clamped_codes(op activation, std::int32_t quant_min, std::int32_t quant_max,
                                             const qparams& range) {
    kernel::output_codes codes{range.zero_point, quant_min, quant_max, nullptr};
    if (is_clamp(activation)) codes.min = std::max(quant_min, range.zero_point);
    if (activation == op::relu6) codes.max = std::min(quant_max, quantize(6.0f, range, quant_min, quant_max));
    return codes;
}

/// Kernels for one requantization policy on one architecture, for unsigned and signed activations alike.
template <class Requantization, class Arch> struct quantized_conv2d_kernels {
    using first_type = typename Requantization::first_type;
    using second_type = typename Requantization::second_type;

    static constexpr kernel::conv2d_algorithm algorithm(const node& row) {
        return kernel::choose_conv2d_algorithm<Arch>(row.window);
    }

    /// Where the parts lie in the row's block, in bytes.
    struct block {
        int scales, first, second, real_bias, zero_points, table, bytes;
        constexpr explicit block(const node& row) {
            const int array = static_cast<int>(align_up(4 * static_cast<std::size_t>(row.channels)));
            scales = static_cast<int>(
                align_up(kernel::conv2d_packed_bytes<Arch>(row.window, algorithm(row), row.affine_weights)));
            first = scales + array;
            second = first + array;
            real_bias = second + (Requantization::has_second ? array : 0);
            zero_points = real_bias + (Requantization::has_float_bias ? array : 0);
            table = zero_points + (row.affine_weights ? array : 0);
            bytes = table + (is_table(row.activation) ? 256 : 0);
        }
    };
    static constexpr int parameter_bytes(const node& row) { return block(row).bytes; }
    static constexpr int scratch_bytes(const node& row) {
        return static_cast<int>(kernel::conv2d_scratch_bytes<Arch>(row.window, algorithm(row)));
    }

    /// Fills the block. `input` and `output` are the ranges around the layer; `output` is that before a fused table.
    static void write(const node& row, const node& producer, const quantized_weights& weights, const qparams& input,
                      const qparams& output, std::byte* memory) {
        const block at(row);
        if (row.weight_type == scalar_type::uint8) pack<std::uint8_t>(row, producer, weights, input, memory);
        else pack<std::int8_t>(row, producer, weights, input, memory);
        std::memcpy(memory + at.scales, weights.scales.data(), weights.scales.size() * sizeof(float));
        for (int c = 0; c != row.channels; ++c) {
            const auto i = static_cast<std::size_t>(c);
            first_type first{};
            second_type second{};
            Requantization::prepare({input.scale, weights.scales[i], output.scale},
                                    Requantization::has_float_bias ? weights.float_bias[i] : 0.0f, first, second);
            std::memcpy(memory + at.first + 4 * c, &first, 4);
            if constexpr (Requantization::has_second) std::memcpy(memory + at.second + 4 * c, &second, 4);
            if (Requantization::has_float_bias) std::memcpy(memory + at.real_bias + 4 * c, &weights.float_bias[i], 4);
            if (row.affine_weights) std::memcpy(memory + at.zero_points + 4 * c, &weights.zero_points[i], 4);
        }
        if (is_table(row.activation))
            copy_table(row, weights.table.data(), reinterpret_cast<std::uint8_t*>(memory + at.table));
    }
    /// The inverse of write: what a file holds, from the packed block.
    static quantized_weights read(const node& row, const node& producer, const qparams& input,
                                  const std::byte* memory) {
        const block at(row);
        quantized_weights weights;
        const auto channels = static_cast<std::size_t>(row.channels);
        weights.scales.resize(channels);
        std::memcpy(weights.scales.data(), memory + at.scales, 4 * channels);
        if (row.affine_weights) {
            weights.zero_points.resize(channels);
            std::memcpy(weights.zero_points.data(), memory + at.zero_points, 4 * channels);
        }
        if (row.weight_type == scalar_type::uint8) unpack<std::uint8_t>(row, producer, input, memory, weights);
        else unpack<std::int8_t>(row, producer, input, memory, weights);
        if (Requantization::has_float_bias) {
            weights.bias.clear();
            weights.float_bias.resize(channels);
            std::memcpy(weights.float_bias.data(), memory + at.real_bias, 4 * channels);
        }
        if (is_table(row.activation)) {
            weights.table.resize(256);
            copy_table(row, reinterpret_cast<const std::uint8_t*>(memory + at.table), weights.table.data());
        }
        return weights;
    }

    template <class In, class Out> static void run(const node& row, const context& c) noexcept {
        const block parts(row);
        const node& producer = c.rows[row.inputs[0]];
        const bool fused_table = is_table(row.activation);
        const qparams& range = fused_table ? c.ranges[row.table_slot] : c.range(row);
        kernel::output_codes codes = clamped_codes(row.activation, row.quant_min, row.quant_max, range);
        if (fused_table) codes.table = c.block<std::uint8_t>(row, parts.table);
        const auto epilogue = Requantization::epilogue(c.block<first_type>(row, parts.first),
                                                       c.block<second_type>(row, parts.second), codes);
        kernel::conv2d<Arch>(row.window, algorithm(row), c.in<In>(row), codes_of(producer, c.range_in(row)),
                             c.block<std::byte>(row), epilogue, c.out<Out>(row), c.scratch<std::byte>(row));
    }

private:
    static kernel::activation_codes codes_of(const node& producer, const qparams& range) {
        return {range.zero_point, producer.quant_min, producer.quant_max};
    }
    /// Files and lookup tables count codes from the lowest, an epilogue by their bits: for signed codes the halves change places.
    static void copy_table(const node& row, const std::uint8_t* from, std::uint8_t* to) {
        const std::size_t flip = row.type == scalar_type::int8 ? 128 : 0;
        for (std::size_t i = 0; i != 256; ++i) to[i ^ flip] = from[i];
    }
    template <class Weight>
    static void pack(const node& row, const node& producer, const quantized_weights& weights, const qparams& input,
                     std::byte* memory) {
        const kernel::conv2d_weights<Weight> source{reinterpret_cast<const Weight*>(weights.codes.data()),
                                                    weights.zero_points.empty() ? nullptr : weights.zero_points.data(),
                                                    weights.bias.empty() ? nullptr : weights.bias.data()};
        kernel::pack_conv2d<Arch>(row.window, algorithm(row), source, codes_of(producer, input), memory);
    }
    template <class Weight>
    static void unpack(const node& row, const node& producer, const qparams& input, const std::byte* memory,
                       quantized_weights& weights) {
        weights.codes.resize(static_cast<std::size_t>(row.weights));
        weights.bias.resize(static_cast<std::size_t>(row.channels));
        kernel::unpack_conv2d<Arch>(row.window, algorithm(row), row.affine_weights,
                                    weights.zero_points.empty() ? nullptr : weights.zero_points.data(),
                                    codes_of(producer, input), memory, reinterpret_cast<Weight*>(weights.codes.data()),
                                    weights.bias.data());
    }
};

}  // namespace v0
}  // namespace zp
