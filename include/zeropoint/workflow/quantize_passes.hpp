// The constexpr half of convert: which rows an int8 model has.
#pragma once

#include <cstdint>

#include <zeropoint/layer/embedding_geometry.hpp>
#include <zeropoint/model/graph.hpp>
#include <zeropoint/model/shared_ranges.hpp>
#include <zeropoint/workflow/fuse_pass.hpp>

namespace zp {
inline namespace v0 {

/// What an entry of a qconfig means for a row, as plain numbers.
struct entry_description {
    scalar_type activation = scalar_type::uint8, weight = scalar_type::int8;
    std::int32_t quant_min = 0, quant_max = 255, weight_min = -128, weight_max = 127;
    bool affine_weights = false;
    int table_bits = 8;      // of the codes in front of a fused table
    int embedding_bits = 8;  // of embeddings' tables: 8 or 4
};

/// At most so many rows an int8 model has: those of the prepared one, each value once more as floats or as codes, and a
/// requantize for every input of a concat or another row on one grid.
template <int N> constexpr int most_quantized_rows(const graph<N>& g) {
    int rows = 2 * g.size;
    for (int i = 0; i != g.size; ++i) rows += is_on_one_grid(g.nodes[i]) ? g.nodes[i].input_count : 0;
    return rows;
}

/// The rows of the int8 model: 8-bit rows, quantize and dequantize where a float island meets them and at both ends,
/// requantize where the input of a row on one grid has another dtype or scale, tables fused into the layer in front of them, and with
/// `merges_sums` adds into the layer that makes the later one of their operands.
/// `describe(entry)` gives the entry_description of an entry.
template <int M, int N, class Describe>
constexpr graph<M> quantize_rows(const graph<N>& g, Describe describe, bool merges_sums) {
    graph<M> r;
    r.error = g.error;
    r.slots = g.slots;
    int uses[N] = {}, as_float[N] = {}, as_codes[N] = {};
    count_uses(g, uses);
    for (int i = 0; i != N; ++i) as_float[i] = as_codes[i] = -1;
    const auto boundary = [&](op kind, int source, int origin) {
        node row = r.nodes[source];
        const node& old = g.nodes[origin];
        const entry_description entry = describe(old.config);
        const bool to_float = kind == op::dequantize;
        node made;
        made.kind = kind;
        made.input_count = 1;
        made.inputs[0] = static_cast<short>(source);
        made.in = made.out = row.out;
        made.type = to_float ? scalar_type::float32 : entry.activation;
        made.quant_min = to_float ? 0 : entry.quant_min;
        made.quant_max = to_float ? 0 : entry.quant_max;
        made.wide_input = row.type == scalar_type::int16;
        made.slot = old.slot;
        made.config = old.config;
        made.origin = static_cast<short>(origin);
        made.keep_float = to_float;
        r.nodes[r.size] = made;
        return r.size++;
    };
    const auto floats = [&](int i) {
        if (as_float[i] < 0) as_float[i] = boundary(op::dequantize, as_codes[i], i);
        return as_float[i];
    };
    const auto codes = [&](int i) {
        if (as_codes[i] < 0) as_codes[i] = boundary(op::quantize, as_float[i], i);
        return as_codes[i];
    };
    for (int i = 0; i != g.size; ++i) {
        node row = g.nodes[i];
        row.origin = static_cast<short>(i);
        row.folded = -1;
        if (is_embedding(row)) {  // reads indices, or no value at all: its input is as it is
            const int read = row.inputs[0];
            row.inputs[0] = static_cast<short>(as_float[read] >= 0 ? as_float[read] : as_codes[read]);
            const entry_description entry = describe(row.config);
            const bool is_float = row.keep_float || entry.embedding_bits != 8;
            if (is_float && !row.keep_float) code_table(row, entry.embedding_bits);
            if (!is_float) {
                row.type = entry.activation;
                row.quant_min = entry.quant_min;
                row.quant_max = entry.quant_max;
            }
            r.nodes[r.size] = row;
            (is_float ? as_float : as_codes)[i] = r.size++;
            continue;
        }
        if (row.kind == op::input || row.keep_float) {
            for (int k = 0; k != row.input_count; ++k) row.inputs[k] = static_cast<short>(floats(row.inputs[k]));
            if (!row.is_indices()) row.type = scalar_type::float32;
            r.nodes[r.size] = row;
            as_float[i] = r.size++;
            continue;
        }
        if (row.kind == op::batch_norm && r.error.broken == rule::none)
            r.error = {rule::no_quantized_form, r.size, row.in, row.out};
        const entry_description entry = describe(row.config);
        const int producer = row.input_count == 0 ? -1 : row.inputs[0];
        if (is_table(row.kind) && uses[producer] == 1 && as_codes[producer] >= 0) {
            node& weighted = r.nodes[as_codes[producer]];
            const bool is_plain = is_weighted(weighted.kind) && weighted.activation == op::none && !is_wide(weighted);
            if (is_plain && weighted.config == row.config) {
                weighted.activation = row.kind;  // y = table[requantize(accumulator)]
                weighted.function = row.function;
                weighted.parameter = row.parameter;
                weighted.table_slot = weighted.slot;
                weighted.table_bits = static_cast<std::int8_t>(entry.table_bits);
                weighted.slot = row.slot;
                weighted.table_origin = static_cast<short>(i);
                as_codes[i] = as_codes[producer];
                continue;
            }
        }
        if (row.kind == op::add && merges_sums) {
            const int operands[] = {codes(row.inputs[0]), codes(row.inputs[1])};
            const int later = operands[0] > operands[1] ? 0 : 1;
            node& weighted = r.nodes[operands[later]];
            const bool is_whole = weighted.input_count == 1 && weighted.activation == op::none && !is_wide(weighted);
            if (is_weighted(weighted.kind) && is_whole && uses[row.inputs[later]] == 1 &&
                weighted.config == row.config && r.nodes[operands[1 - later]].type == weighted.type) {
                weighted.inputs[1] = static_cast<short>(operands[1 - later]);  // y = requantize(accumulator + residual)
                weighted.input_count = 2;
                weighted.activation = row.activation;
                weighted.lowest = row.lowest;
                weighted.highest = row.highest;
                weighted.slot = row.slot;
                weighted.sum_origin = static_cast<short>(i);
                as_codes[i] = operands[later];
                continue;
            }
        }
        const bool takes_type = keeps_qparams(row) || derives_qparams(row);
        const scalar_type type = takes_type ? r.nodes[codes(producer)].type : entry.activation;
        for (int k = 0; k != row.input_count; ++k) {
            int source = codes(row.inputs[k]);
            const node& value = r.nodes[source];
            if (is_on_one_grid(row)) {
                const bool differs = value.slot != row.slot;
                const bool may_share = value.type == entry.activation && may_share_range(g, row.inputs[k], row);
                if (may_share && differs && requantizes_inputs(row)) {
                    row.requantized_inputs = static_cast<std::uint8_t>(row.requantized_inputs | 1u << k);
                } else if (!may_share || differs) {
                    source = boundary(op::requantize, source, i);
                    r.nodes[source].unshared = may_share;
                }
            } else if ((row.kind == op::add || row.described != nullptr) && value.type != type &&
                       r.error.broken == rule::none) {
                const bool takes_it = value.type != scalar_type::int16 || has_wide_form(row);
                r.error = {takes_it ? rule::operand_types_differ : rule::no_wide_form, r.size, row.in, row.out};
            }
            row.inputs[k] = static_cast<short>(source);
            row.wide_input = row.wide_input || r.nodes[source].type == scalar_type::int16;
        }
        row.type = type;
        if (is_wide(row) && r.error.broken == rule::none) {
            const bool narrows = is_weighted(row.kind) && row.wide_input;  // its sums become codes of any size
            if (!has_wide_form(row)) r.error = {rule::no_wide_form, r.size, row.in, row.out};
            else if (!narrows && r.nodes[row.inputs[0]].type != type)
                r.error = {rule::operand_types_differ, r.size, row.in, row.out};
        }
        if (takes_type) {
            const node& value = r.nodes[row.inputs[0]];
            row.quant_min = value.quant_min;
            row.quant_max = value.quant_max;
        } else {
            row.quant_min = entry.quant_min;
            row.quant_max = entry.quant_max;
        }
        if (is_weighted(row.kind)) {
            row.weight_type = entry.weight;
            row.weight_min = entry.weight_min;
            row.weight_max = entry.weight_max;
            row.affine_weights = entry.affine_weights;
            const node& value = r.nodes[row.inputs[0]];
            // |sum (x - z)(w - z)| and the bias (see bias_limit) each have half of int32.
            const std::int64_t x = std::int64_t{value.quant_max} - value.quant_min;
            const std::int64_t low = -std::int64_t{entry.weight_min}, high = entry.weight_max;
            const std::int64_t w = entry.affine_weights ? high + low : (low > high ? low : high);
            const std::int64_t depth = row.weights / row.channels;
            if (!row.wide_input && depth * x * w > INT32_MAX / 2 && r.error.broken == rule::none)
                r.error = {rule::accumulator_overflow, r.size, row.in, row.out};
        }
        r.nodes[r.size] = row;
        as_codes[i] = r.size++;
    }
    if (as_float[g.size - 1] < 0) floats(g.size - 1);
    return r;
}

}  // namespace v0
}  // namespace zp
