// One row of an int8 model: what it keeps in its parameter block and which function runs it.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include <zeropoint/kernel/add.hpp>
#include <zeropoint/kernel/clamp.hpp>
#include <zeropoint/kernel/concat.hpp>
#include <zeropoint/kernel/lookup_table.hpp>
#include <zeropoint/kernel/pooling.hpp>
#include <zeropoint/kernel/quantize.hpp>
#include <zeropoint/layer/embedding_table.hpp>
#include <zeropoint/layer/float_steps.hpp>
#include <zeropoint/layer/quantized_conv2d.hpp>
#include <zeropoint/layer/wide_steps.hpp>

namespace zp {
inline namespace v0 {

/// Steps over one storage type of activations, T = std::uint8_t or std::int8_t.
template <class Arch, class T> struct code_steps {
    static void quantize(const node& row, const context& c) noexcept {
        const qparams& range = c.range(row);
        kernel::quantize<Arch>(c.in<float>(row), static_cast<std::size_t>(row.out.size()), range.scale,
                               range.zero_point, row.quant_min, row.quant_max, c.out<T>(row));
    }
    static void dequantize(const node& row, const context& c) noexcept {
        const qparams& range = c.range_in(row);
        kernel::dequantize<Arch>(c.in<T>(row), static_cast<std::size_t>(row.out.size()), range.scale, range.zero_point,
                                 c.out<float>(row));
    }
    static void clamp(const node& row, const context& c) noexcept {
        const kernel::output_codes codes = clamped_codes(row, row.kind, c.range(row));
        kernel::clamp<Arch>(c.in<T>(row), static_cast<std::size_t>(row.out.size()), static_cast<T>(codes.min),
                            static_cast<T>(codes.max), c.out<T>(row));
    }
    static void add(const node& row, const context& c) noexcept {
        const kernel::output_codes codes = clamped_codes(row, row.activation, c.range(row));
        kernel::add_parameters parameters = *c.block<kernel::add_parameters>(row);
        parameters.quant_min = codes.min;
        parameters.quant_max = codes.max;
        kernel::add<Arch>(c.in<T>(row, 0), c.in<T>(row, 1), static_cast<std::size_t>(row.out.size()), parameters,
                          c.out<T>(row));
    }
    static void concat(const node& row, const context& c) noexcept {
        const auto pixels = static_cast<std::size_t>(row.out.pixels()),
                   all = static_cast<std::size_t>(row.out.channels);
        const T* table = c.block<T>(row);
        T* y = c.out<T>(row);
        for (int k = 0; k != row.input_count; ++k) {
            const auto channels = static_cast<std::size_t>(c.rows[row.inputs[k]].out.channels);
            const T* x = c.in<T>(row, k);
            if (c.range_in(row, k) == c.range(row)) kernel::copy_channels<Arch>(x, pixels, channels, y, all);
            else kernel::copy_channels<Arch>(x, pixels, channels, table, y, all);
            if ((row.requantized_inputs >> k & 1) != 0) table += kernel::lookup_table_size;
            y += channels;
        }
    }
    static void max_pool(const node& row, const context& c) noexcept {
        kernel::max_pool2d<Arch>(row.window, c.in<T>(row), c.out<T>(row));
    }
    static void avg_pool(const node& row, const context& c) noexcept {
        kernel::avg_pool2d<Arch>(row.window, row.count_include_pad, c.range(row).zero_point, c.in<T>(row),
                                 c.out<T>(row));
    }
    static void adaptive_avg_pool(const node& row, const context& c) noexcept {
        kernel::adaptive_avg_pool2d<Arch>(row.in, row.out, c.range(row).zero_point, c.in<T>(row), c.out<T>(row));
    }
    /// Where the output has the place of the input, as share_places plans it, nothing moves.
    static void copy(const node& row, const context& c) noexcept {
        if (c.out<T>(row) != c.in<T>(row))
            std::memcpy(c.out<T>(row), c.in<T>(row), static_cast<std::size_t>(row.out.size()) * sizeof(T));
    }
    template <class Out> static void table(const node& row, const context& c) noexcept {
        kernel::lookup_table<Arch>(c.in<T>(row), static_cast<std::size_t>(row.out.size()), c.block<Out>(row),
                                   c.out<Out>(row));
    }
};

/// The rows of an int8 model under one requantization policy on one architecture: those that Needs knows.
template <class Requantization, class Arch, kernel_needs Needs> struct quantized_kernels {
    using convolution = quantized_conv2d_kernels<Requantization, Arch>;
    using wide = wide_steps<Requantization, Arch, Needs>;
    using requantization_policy = Requantization;
    static constexpr kernel_needs needs = Needs;

    static constexpr int parameter_bytes(const node& row) {
        if (row.type == scalar_type::float32 && row.kind != op::dequantize) return float_parameter_bytes(row);
        if (is_wide(row) && row.described == nullptr) return wide::parameter_bytes(row);
        if (is_weighted(row.kind)) return convolution::parameter_bytes(row);
        if (is_table_row(row)) return 256;
        if (row.described != nullptr) return prepared_offset(row) + row.described->prepared_bytes(row);
        if (row.kind == op::concat) return std::popcount(row.requantized_inputs) * kernel::lookup_table_size;
        return row.kind == op::add ? static_cast<int>(sizeof(kernel::add_parameters)) : 0;
    }
    static constexpr int scratch_bytes(const node& row) {
        if (row.type == scalar_type::float32 && row.kind != op::dequantize) return float_scratch_bytes<Arch>(row);
        if (row.described != nullptr) return row.described->scratch_bytes(row);
        return is_weighted(row.kind) ? convolution::scratch_bytes(row) : 0;
    }

    /// Filling a row's block from what a conversion or a file gives.
    static void write_weighted(const node& row, const node* rows, const quantized_weights& weights,
                               const qparams* ranges, std::byte* block) {
        const node& producer = rows[row.inputs[0]];
        if (row.wide_input) {
            if constexpr (Needs.wide_codes)
                wide::convolution::template write<Needs>(row, weights, ranges[producer.slot], ranges[row.slot], block);
            return;
        }
        convolution::template write<Needs>(row, producer, weights, ranges[producer.slot],
                                           ranges[is_table(row.activation) ? row.table_slot : row.slot], block,
                                           has_residual(row) ? ranges[rows[row.inputs[1]].slot].scale : 0);
    }
    static quantized_weights read_weighted(const node& row, const node& producer, const qparams* ranges,
                                           const std::byte* block) {
        if constexpr (Needs.wide_codes)
            if (row.wide_input) return wide::convolution::template read<Needs>(row, block);
        return convolution::template read<Needs>(row, producer, ranges[producer.slot], block);
    }
    static void write_table(const node&, const std::vector<std::uint8_t>& table, std::byte* block) {
        std::memcpy(block, table.data(), 256);
    }
    /// A described row's block, which begins with its floats, unless it keeps codes of them.
    static preparation prepare(const node& row, const node* rows, const qparams* ranges, std::byte* block) {
        const auto* floats = keeps_codes(row) ? nullptr : reinterpret_cast<const float*>(block);
        return {row, rows, ranges, floats, block + prepared_offset(row)};
    }
    /// What follows from the ranges, and from the floats of a described row, and no file holds.
    static void write_derived(const node& row, const node* rows, const qparams* ranges, std::byte* block) {
        if (row.described != nullptr) row.described->prepare(prepare(row, rows, ranges, block));
        if (is_wide(row)) return wide::write_derived(row, rows, ranges, block);
        if (row.kind == op::concat) return write_concat_tables(row, rows, ranges, block);
        if (row.kind != op::add) return;
        const qparams &a = ranges[rows[row.inputs[0]].slot], &b = ranges[rows[row.inputs[1]].slot],
                      &y = ranges[row.slot];
        const kernel::add_parameters parameters = kernel::make_add_parameters(
            a.scale, a.zero_point, b.scale, b.zero_point, y.scale, y.zero_point, row.quant_min, row.quant_max);
        std::memcpy(block, &parameters, sizeof parameters);
    }

    /// The step of row `Row` of a plan: generated for its extents where it is a small matrix times one vector.
    template <class Plan, int Row> static constexpr step_function step_of() {
        constexpr const node* rows = Plan::planned.nodes;
        constexpr kernel::linear_extents extents = small_extents(rows[Row]);
        if constexpr (extents.rows == 1) {
            using in = storage_of<rows[rows[Row].inputs[0]].type>;
            using out = storage_of<rows[Row].type>;
            return convolution::template run_small<in, out, extents.rows, extents.depth, extents.channels,
                                                   rows[Row].word_weights, has_fine_table(rows[Row])>;
        } else {
            return step_of(rows, rows[Row]);
        }
    }
    static constexpr step_function step_of(const node* rows, const node& row) {
        if (row.kind == op::input) return nothing_step;
        if constexpr (Needs.coded_tables)
            if (has_coded_table(row)) return coded_table_step<Arch>(row);
        // What an embedding reads has no codes.
        const scalar_type input = is_embedding(row) ? row.type : rows[row.inputs[0]].type;
        if (row.type == scalar_type::float32 && row.kind != op::dequantize) {
            if constexpr (Needs.floats) return float_step<Arch>(row);
            else return nullptr;
        }
        if (row.steps != nullptr && input == scalar_type::int16) return row.steps->words;
        if (row.steps != nullptr)
            return input == scalar_type::uint8 ? row.steps->unsigned_codes : row.steps->signed_codes;
        const scalar_type codes = row.kind == op::quantize ? row.type : input;
        if constexpr (Needs.wide_codes)
            if (codes == scalar_type::int16 || row.type == scalar_type::int16) return wide::step_of(input, row);
        if constexpr (Needs.unsigned_codes)
            if (codes == scalar_type::uint8) return step_from<std::uint8_t>(row);
        if constexpr (Needs.signed_codes)
            if (codes == scalar_type::int8) return step_from<std::int8_t>(row);
        return nullptr;
    }

private:
    /// A table for each input that does not share the output's slot.
    static void write_concat_tables(const node& row, const node* rows, const qparams* ranges, std::byte* block) {
        const auto write = [&]<class T>(T* table) {
            for (int k = 0; k != row.input_count; ++k) {
                if ((row.requantized_inputs >> k & 1) == 0) continue;
                const qparams &x = ranges[rows[row.inputs[k]].slot], &y = ranges[row.slot];
                kernel::make_lookup_table<T>([](double real) { return real; }, x.scale, x.zero_point, y.scale,
                                             y.zero_point, row.quant_min, row.quant_max, table);
                table += kernel::lookup_table_size;
            }
        };
        if constexpr (Needs.has(op::concat)) {
            if (row.type == scalar_type::uint8) write(reinterpret_cast<std::uint8_t*>(block));
            else write(reinterpret_cast<std::int8_t*>(block));
        }
    }
    template <scalar_type Codes>
    using storage_of = std::conditional_t<Codes == scalar_type::uint8, std::uint8_t, std::int8_t>;

    /// By the storage type of the input's codes (of the output's, for quantize), then by that of the output.
    template <class In> static constexpr step_function step_from(const node& row) {
        if (row.kind == op::dequantize) return code_steps<Arch, In>::dequantize;
        if constexpr (Needs.unsigned_codes)
            if (row.type == scalar_type::uint8) return step_between<In, std::uint8_t>(row);
        if constexpr (Needs.signed_codes)
            if (row.type == scalar_type::int8) return step_between<In, std::int8_t>(row);
        return nullptr;
    }
    template <class In, class Out> static constexpr step_function step_between(const node& row) {
        if (is_weighted(row.kind)) return weighted_step<In, Out>(row);
        if constexpr (needs_tables)
            if (is_table_row(row)) return code_steps<Arch, In>::template table<Out>;
        if constexpr (std::is_same_v<In, Out>) return code_step<In>(row);
        else return nullptr;
    }
    template <class In, class Out> static constexpr step_function weighted_step(const node& row) {
        step_function step = nullptr;
        with_row_kernels<Needs, Arch>(row, [&]<conv2d_algorithm A, op Kind>(row_kernels<Arch, A, Kind>) {
            if constexpr (Needs.has(A, false, Kind))
                if (!has_residual(row)) step = convolution::template run<In, Out, A, false, Kind>;
            if constexpr (Requantization::adds_residuals && Needs.has(A, true, Kind))
                if (has_residual(row)) step = convolution::template run<In, Out, A, true, Kind>;
        });
        return step;
    }
    static constexpr bool needs_tables = Needs.has(op::leaky_relu) || Needs.has(op::sigmoid) || Needs.has(op::tanh) ||
                                         Needs.has(op::hardswish) || Needs.has(op::activation) ||
                                         Needs.has(op::requantize);
    template <class T> static constexpr step_function code_step(const node& row) {
        using steps = code_steps<Arch, T>;
        if constexpr (Needs.has(op::quantize))
            if (row.kind == op::quantize) return steps::quantize;
        if constexpr (Needs.has(op::relu) || Needs.has(op::relu6) || Needs.has(op::clamp))
            if (is_clamp(row.kind)) return steps::clamp;
        if constexpr (Needs.has(op::add))
            if (row.kind == op::add) return steps::add;
        if constexpr (Needs.has(op::concat))
            if (row.kind == op::concat) return steps::concat;
        if constexpr (Needs.has(op::max_pool2d))
            if (row.kind == op::max_pool2d) return steps::max_pool;
        if constexpr (Needs.has(op::avg_pool2d))
            if (row.kind == op::avg_pool2d) return steps::avg_pool;
        if constexpr (Needs.has(op::adaptive_avg_pool2d))
            if (row.kind == op::adaptive_avg_pool2d) return steps::adaptive_avg_pool;
        if constexpr (Needs.has(op::flatten))
            if (row.kind == op::flatten) return steps::copy;
        return nullptr;
    }
};

}  // namespace v0
}  // namespace zp
