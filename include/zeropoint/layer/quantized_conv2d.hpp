// The quantized convolution, transposed one and linear layer of a model: its parameter block, written and read, its step.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/small_linear.hpp>
#include <zeropoint/layer/context.hpp>
#include <zeropoint/layer/fused_table.hpp>
#include <zeropoint/layer/quantized_weights.hpp>
#include <zeropoint/layer/requantization.hpp>
#include <zeropoint/layer/row_kernels.hpp>
#include <zeropoint/scheme/quantize.hpp>

namespace zp {
inline namespace v0 {
/// The extents that a row's code is generated for: those of a small matrix product; rows = 0 for all other rows.
constexpr kernel::linear_extents small_extents(const node& row) {
    if (!is_weighted(row.kind) || row.type == scalar_type::float32 || row.affine_weights || has_residual(row))
        return {};
    if ((row.kind != op::conv2d && row.kind != op::linear) || row.wide_input) return {};
    if (row.algorithm != conv2d_algorithm::implicit_gemm) return {};
    const kernel::linear_extents extents = kernel::linear_extents_of(row.window);
    return extents.are_small() ? extents : kernel::linear_extents{};
}

/// Whether a row's weights are packed as words: small, faster so, and not asked to be as small as can be.
template <class Arch> constexpr bool takes_words(const node& row, const node& producer) {
    const kernel::linear_extents extents = small_extents(row);
    if (extents.rows == 0 || !extents.prefer_words() || row.policy.goal == algorithm_goal::smallest) return false;
    const kernel::activation_codes codes{producer.quant_min, producer.quant_min, producer.quant_max};
    return !kernel::always_byte_quads<Arch>(codes, row.weight_min, row.weight_max);
}

/// Kernels for one requantization policy on one architecture, for unsigned and signed activations alike. What computes a
/// row, row.algorithm, was chosen before: see algorithm.hpp.
template <class Requantization, class Arch> struct quantized_conv2d_kernels {
    using first_type = typename Requantization::first_type;
    using second_type = typename Requantization::second_type;

    /// Where the parts lie in the row's block, in bytes: packed weights, then these.
    struct block {
        int scales = 0, first, second, real_bias, ratios, zero_points, table, bytes;
        /// Of a row that knows its parameter_bytes: no program has to find out again what packed weights take.
        constexpr explicit block(const node& row) : block(row, 0) { *this = block(row, row.parameter_bytes - bytes); }
        constexpr block(const node& row, int packed) : scales(packed) {
            const int array = static_cast<int>(align_up(4 * static_cast<std::size_t>(row.channels)));
            first = scales + array;
            second = first + array;
            real_bias = second + (Requantization::has_second ? array : 0);
            ratios = real_bias + (Requantization::has_float_bias ? array : 0);
            zero_points = ratios + (has_residual(row) ? array : 0);
            table = zero_points + (row.affine_weights ? array : 0);
            bytes = table + fused_table_size(row);
        }
    };
    /// The same of a row that does not know its parameter_bytes yet.
    static constexpr block plan_block(const node& row) {
        return {row, static_cast<int>(align_up(packed_bytes_of<Arch>(row)))};
    }
    static constexpr int parameter_bytes(const node& row) { return plan_block(row).bytes; }
    static constexpr int scratch_bytes(const node& row) {
        return static_cast<int>(scratch_bytes_of<Arch>(row, row.algorithm));
    }

    /// Fills the block. `input` and `output` are the ranges around the layer; `output` is that before a fused table.
    /// Raises what kernel::residual_ratio raises.
    template <kernel_needs Needs>
    static void write(const node& row, const node& producer, const quantized_weights& weights, const qparams& input,
                      const qparams& output, std::byte* memory, float residual_scale = 0) {
        const block at(row);
        // Weights that have zero points are packed as words, also where all are 0.
        const std::vector<std::int32_t> zeros(row.word_weights ? weights.scales.size() : 0);
        const std::vector<std::int32_t>& zero_points = row.word_weights ? zeros : weights.zero_points;
        with_weight_type<Needs>(row, [&]<class Weight>(Weight) {
            const kernel::conv2d_weights<Weight> source{reinterpret_cast<const Weight*>(weights.codes.data()),
                                                        zero_points.empty() ? nullptr : zero_points.data(),
                                                        weights.bias.empty() ? nullptr : weights.bias.data()};
            with_row_kernels<Needs, Arch>(
                row, [&](auto kernels) { kernels.pack(row, source, codes_of(producer, input), memory); });
        });
        std::memcpy(memory + at.scales, weights.scales.data(), weights.scales.size() * sizeof(float));
        for (int c = 0; c != row.channels; ++c) {
            const auto i = static_cast<std::size_t>(c);
            first_type first{};
            second_type second{};
            Requantization::prepare({input.scale, weights.scales[i], rounded_scale(row, output)},
                                    Requantization::has_float_bias ? weights.float_bias[i] : 0.0f, first, second);
            std::memcpy(memory + at.first + 4 * c, &first, 4);
            if constexpr (Requantization::has_second) std::memcpy(memory + at.second + 4 * c, &second, 4);
            if (Requantization::has_float_bias) std::memcpy(memory + at.real_bias + 4 * c, &weights.float_bias[i], 4);
            if (has_residual(row)) {
                const float ratio =
                    kernel::residual_ratio(residual_scale, double{input.scale} * double{weights.scales[i]});
                std::memcpy(memory + at.ratios + 4 * c, &ratio, 4);
            }
            if (row.affine_weights) std::memcpy(memory + at.zero_points + 4 * c, &weights.zero_points[i], 4);
        }
        if (is_table(row.activation))
            copy_table(row, weights.table.data(), reinterpret_cast<std::uint8_t*>(memory + at.table));
    }
    /// The inverse of write: what a file holds, from the packed block.
    template <kernel_needs Needs>
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
        weights.codes.resize(static_cast<std::size_t>(row.weights));
        weights.bias.resize(channels);
        const std::int32_t* zero_points = weights.zero_points.empty() ? nullptr : weights.zero_points.data();
        with_weight_type<Needs>(row, [&]<class Weight>(Weight) {
            with_row_kernels<Needs, Arch>(row, [&](auto kernels) {
                kernels.unpack(row, zero_points, codes_of(producer, input), memory,
                               reinterpret_cast<Weight*>(weights.codes.data()), weights.bias.data());
            });
        });
        if (Requantization::has_float_bias) {
            weights.bias.clear();
            weights.float_bias.resize(channels);
            std::memcpy(weights.float_bias.data(), memory + at.real_bias, 4 * channels);
        }
        if (is_table(row.activation)) {
            weights.table.resize(static_cast<std::size_t>(fused_table_size(row)));
            copy_table(row, reinterpret_cast<const std::uint8_t*>(memory + at.table), weights.table.data());
        }
        return weights;
    }

    template <class In, class Out, conv2d_algorithm Algorithm, bool HasResidual = false, op Kind = op::conv2d>
    static void run(const node& row, const context& c) noexcept {
        row_kernels<Arch, Algorithm, Kind>::run(row, c.in<In>(row), codes_of(c, row), c.block<std::byte>(row),
                                                epilogue_of<Out, HasResidual>(c, row, block(row)), c.out<Out>(row),
                                                c.scratch<std::byte>(row));
    }
    /// The same for a row of these small_extents.
    template <class In, class Out, int Rows, int Depth, int Channels, bool Words, bool FineTable>
    static void run_small(const node& row, const context& c) noexcept {
        using product = kernel::small_linear<Arch, Rows, Depth, Channels, Words, FineTable>;
        constexpr block parts = [] {
            node like;
            like.algorithm = conv2d_algorithm::implicit_gemm;
            like.window = kernel::geometry_of({Rows, Depth, Channels});
            like.channels = Channels;
            like.word_weights = Words;
            return plan_block(like);
        }();
        if (!product::supports(c.block<std::byte>(row))) return run<In, Out, conv2d_algorithm::implicit_gemm>(row, c);
        product::run(c.in<In>(row), codes_of(c, row), c.block<std::byte>(row), epilogue_of<Out, false>(c, row, parts),
                     c.out<Out>(row), c.scratch<std::byte>(row));
    }

private:
    template <class Out, bool HasResidual>
    [[gnu::always_inline]] static auto epilogue_of(const context& c, const node& row, const block& parts) noexcept {
        const bool fused_table = is_table(row.activation);
        const qparams& range = fused_table ? c.ranges[row.table_slot] : c.range(row);
        kernel::output_codes codes = rounded_codes(row, range);
        if (fused_table) codes.table = c.block<std::uint8_t>(row, parts.table);
        const first_type* first = c.block<first_type>(row, parts.first);
        if constexpr (HasResidual)  // whose codes have the type of the output's
            return typename Requantization::template residual_epilogue<Out>{first,
                                                                            c.block<float>(row, parts.ratios),
                                                                            codes,
                                                                            c.in<Out>(row, 1),
                                                                            c.range_in(row, 1).zero_point,
                                                                            c.out<Out>(row)};
        else return Requantization::epilogue(first, c.block<second_type>(row, parts.second), codes);
    }
    static kernel::activation_codes codes_of(const context& c, const node& row) {
        return codes_of(c.rows[row.inputs[0]], c.range_in(row));
    }
    static kernel::activation_codes codes_of(const node& producer, const qparams& range) {
        return {range.zero_point, producer.quant_min, producer.quant_max};
    }
    /// Files and fine tables count codes from the lowest, an epilogue of 8 bits by their bits: for signed codes the halves
    /// change places.
    static void copy_table(const node& row, const std::uint8_t* from, std::uint8_t* to) {
        const auto size = static_cast<std::size_t>(fused_table_size(row));
        const std::size_t flip = row.type == scalar_type::int8 && !has_fine_table(row) ? 128 : 0;
        for (std::size_t i = 0; i != size; ++i) to[i ^ flip] = from[i];
    }
};

}  // namespace v0
}  // namespace zp
