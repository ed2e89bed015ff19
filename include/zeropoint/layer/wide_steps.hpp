// The rows of a model whose activations have 16 bits: what they keep, and their steps.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include <zeropoint/kernel/clamp.hpp>
#include <zeropoint/kernel/concat.hpp>
#include <zeropoint/kernel/pooling.hpp>
#include <zeropoint/kernel/quantize.hpp>
#include <zeropoint/kernel/wide_elementwise.hpp>
#include <zeropoint/kernel/wide_table.hpp>
#include <zeropoint/layer/quantized_wide_conv2d.hpp>

namespace zp {
inline namespace v0 {

/// Steps and parameters under one policy, for rows that are wide(), and for both boundaries of int16.
template <class Requantization, class Arch, kernel_needs Needs> struct wide_steps {
    using convolution = quantized_wide_conv2d_kernels<Requantization, Arch>;
    using word = std::int16_t;

    static constexpr int parameter_bytes(const node& row) {
        if (is_weighted(row.kind)) return convolution::parameter_bytes(row);
        if (is_wide_table_row(row)) return 4 * kernel::wide_table_nodes;
        if (row.kind == op::requantize) return static_cast<int>(sizeof(kernel::rescaling));
        if (row.kind == op::concat)
            return std::popcount(row.requantized_inputs) * static_cast<int>(sizeof(kernel::rescaling));
        return row.kind == op::add ? static_cast<int>(sizeof(kernel::wide_add_parameters)) : 0;
    }
    /// What follows from the ranges, and no file holds.
    static void write_derived(const node& row, const node* rows, const qparams* ranges, std::byte* block) {
        const auto range = [&](int k) -> const qparams& { return ranges[rows[row.inputs[k]].slot]; };
        const qparams& y = ranges[row.slot];
        if (row.kind == op::add) {
            const kernel::wide_add_parameters parameters =
                kernel::make_wide_add_parameters(range(0).scale, range(1).scale, y.scale, row.quant_min, row.quant_max);
            std::memcpy(block, &parameters, sizeof parameters);
        } else if (row.kind == op::requantize) {
            write_rescaling(row, range(0), y, block);
        } else if (row.kind == op::concat) {
            for (int k = 0; k != row.input_count; ++k) {
                if ((row.requantized_inputs >> k & 1) == 0) continue;
                write_rescaling(row, range(k), y, block);
                block += sizeof(kernel::rescaling);
            }
        }
    }

    static constexpr step_function step_of(scalar_type input, const node& row) {
        if (row.kind == op::quantize) return quantize;
        if (row.kind == op::dequantize) return dequantize;
        if (is_weighted(row.kind)) {
            if constexpr (Needs.unsigned_codes)
                if (row.type == scalar_type::uint8) return weighted_step<std::uint8_t>(row);
            if constexpr (Needs.signed_codes)
                if (row.type == scalar_type::int8) return weighted_step<std::int8_t>(row);
            return weighted_step<word>(row);
        }
        if constexpr (Needs.has(op::requantize))
            if (row.kind == op::requantize) return requantize_step(input, row.type);
        if (row.type != scalar_type::int16 || input != scalar_type::int16) return nullptr;
        if constexpr (Needs.has(op::relu) || Needs.has(op::relu6) || Needs.has(op::clamp))
            if (is_clamp(row.kind)) return clamp;
        if constexpr (Needs.has(op::add))
            if (row.kind == op::add) return add;
        if constexpr (Needs.has(op::concat))
            if (row.kind == op::concat) return concat;
        if constexpr (Needs.has(op::max_pool2d))
            if (row.kind == op::max_pool2d) return max_pool;
        if constexpr (Needs.has(op::avg_pool2d))
            if (row.kind == op::avg_pool2d) return avg_pool;
        if constexpr (Needs.has(op::adaptive_avg_pool2d))
            if (row.kind == op::adaptive_avg_pool2d) return adaptive_avg_pool;
        if (row.kind == op::flatten) return copy;
        return is_table(row.kind) ? table : nullptr;
    }

private:
    static constexpr kernel::half_way halves(op kind) { return Requantization::wide_halves(kind); }
    static void write_rescaling(const node& row, const qparams& x, const qparams& y, std::byte* block) {
        const fixed_point_multiplier m = quantize_multiplier_single_rounding(double{x.scale} / double{y.scale});
        const kernel::rescaling parameters{m.multiplier, m.shift,       x.zero_point, 0,
                                           y.zero_point, row.quant_min, row.quant_max};
        std::memcpy(block, &parameters, sizeof parameters);
    }
    static constexpr std::size_t count_of(const node& row) { return static_cast<std::size_t>(row.out.size()); }

    static void quantize(const node& row, const context& c) noexcept {
        kernel::quantize<Arch>(c.in<float>(row), count_of(row), c.range(row).scale, 0, row.quant_min, row.quant_max,
                               c.out<word>(row));
    }
    static void dequantize(const node& row, const context& c) noexcept {
        kernel::dequantize<Arch>(c.in<word>(row), count_of(row), c.range_in(row).scale, 0, c.out<float>(row));
    }
    template <class Out> static constexpr step_function weighted_step(const node& row) {
        step_function step = nullptr;
        if constexpr (Needs.has(op::conv_transpose2d)) {
            constexpr op kind = op::conv_transpose2d;
            if (row.kind == kind) {
                with_algorithm<Needs, kind>(row.algorithm, [&](auto algorithm) {
                    if constexpr (kernel::computes_phases(algorithm))
                        step = convolution::template run<Out, algorithm, halves(kind), kind>;
                });
                return step;
            }
        }
        with_algorithm<Needs>(row.algorithm, [&](auto algorithm) {
            if constexpr (kernel::multiplies_words(algorithm)) {
                if constexpr (Needs.has(op::linear))
                    if (row.kind == op::linear) step = convolution::template run<Out, algorithm, halves(op::linear)>;
                if constexpr (Needs.has(op::conv2d))
                    if (row.kind == op::conv2d) step = convolution::template run<Out, algorithm, halves(op::conv2d)>;
            }
        });
        return step;
    }
    template <class In, class Out> static void requantize(const node& row, const context& c) noexcept {
        kernel::requantize_codes<Arch>(c.in<In>(row), count_of(row), *c.block<kernel::rescaling>(row), c.out<Out>(row));
    }
    /// To or from int16.
    static constexpr step_function requantize_step(scalar_type in, scalar_type out) {
        if (in == scalar_type::int16) {
            if (out == scalar_type::uint8) return requantize<word, std::uint8_t>;
            return out == scalar_type::int8 ? requantize<word, std::int8_t> : requantize<word, word>;
        }
        return in == scalar_type::uint8 ? requantize<std::uint8_t, word> : requantize<std::int8_t, word>;
    }
    static void clamp(const node& row, const context& c) noexcept {
        const kernel::output_codes codes = clamped_codes(row, row.kind, c.range(row));
        kernel::clamp<Arch>(c.in<word>(row), count_of(row), static_cast<word>(codes.min), static_cast<word>(codes.max),
                            c.out<word>(row));
    }
    static void add(const node& row, const context& c) noexcept {
        const kernel::output_codes codes = clamped_codes(row, row.activation, c.range(row));
        kernel::wide_add_parameters parameters = *c.block<kernel::wide_add_parameters>(row);
        parameters.quant_min = codes.min;
        parameters.quant_max = codes.max;
        kernel::wide_add<Arch>(c.in<word>(row, 0), c.in<word>(row, 1), count_of(row), parameters, c.out<word>(row));
    }
    static void concat(const node& row, const context& c) noexcept {
        const auto pixels = static_cast<std::size_t>(row.out.pixels()),
                   all = static_cast<std::size_t>(row.out.channels);
        const auto* rescaling = c.block<kernel::rescaling>(row);
        word* y = c.out<word>(row);
        for (int k = 0; k != row.input_count; ++k) {
            const auto channels = static_cast<std::size_t>(c.rows[row.inputs[k]].out.channels);
            const word* x = c.in<word>(row, k);
            if (c.range_in(row, k) == c.range(row)) kernel::copy_channels<Arch>(x, pixels, channels, y, all);
            else kernel::copy_channels<Arch>(x, pixels, channels, *rescaling, y, all);
            if ((row.requantized_inputs >> k & 1) != 0) ++rescaling;
            y += channels;
        }
    }
    static void max_pool(const node& row, const context& c) noexcept {
        kernel::max_pool2d<Arch>(row.window, c.in<word>(row), c.out<word>(row));
    }
    static void avg_pool(const node& row, const context& c) noexcept {
        kernel::avg_pool2d<Arch>(row.window, row.count_include_pad, 0, c.in<word>(row), c.out<word>(row));
    }
    static void adaptive_avg_pool(const node& row, const context& c) noexcept {
        kernel::adaptive_avg_pool2d<Arch>(row.in, row.out, 0, c.in<word>(row), c.out<word>(row));
    }
    static void copy(const node& row, const context& c) noexcept {
        if (c.out<word>(row) != c.in<word>(row))
            std::memcpy(c.out<word>(row), c.in<word>(row), count_of(row) * sizeof(word));
    }
    static void table(const node& row, const context& c) noexcept {
        kernel::wide_table<Arch>(c.in<word>(row), count_of(row), c.block<std::int32_t>(row), row.quant_min,
                                 row.quant_max, c.out<word>(row));
    }
};

}  // namespace v0
}  // namespace zp
