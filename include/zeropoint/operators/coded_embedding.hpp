// SPDX-License-Identifier: BSD-3-Clause
// Embeddings that give floats, and whose table is codes of 8 or 4 bits with a scale and an offset a row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <zeropoint/graph/form.hpp>
#include <zeropoint/kernel/movement/embedding.hpp>
#include <zeropoint/operators/embedding_geometry.hpp>

namespace zp::inline v0::operators {

static_assert(sizeof(kernel::embedding_row) == coded_table_layout::bytes_of_range);

/// y[bag] = the sum or mean of the rows of a table, of `count` indices for each of `bags` bags.
template <class Arch, class Table>
void add_rows(const embedding_layer& layer, const Table& table, const std::int32_t* indices, int count,
              float* y) noexcept {
    const auto mode = layer.is_mean ? kernel::embedding_bag_mode::mean : kernel::embedding_bag_mode::sum;
    constexpr std::int32_t begin = 0;
    for (int bag = 0; bag != layer.bags; ++bag, indices += count, y += layer.columns)
        kernel::embedding_bag<Arch>(table, indices, static_cast<std::size_t>(count), &begin, 1, nullptr, mode,
                                    layer.padding_index, y);
}

/// Codes in a block as node_parameters has them; two of 4 bits share a byte in both.
template <int Bits, class Arch> struct coded_embedding_form {
    static constexpr int parameter_bytes(const node_view& v) { return coded_table_layout(v.n).bytes; }
    static refusal pack(const preparation& p, const node_parameters& from) {
        const coded_table_layout at(p.at.n);
        const quantized_weights& table = from.matrices[0];
        std::memcpy(p.block, table.codes.data(), table.codes.size());
        auto* ranges = reinterpret_cast<kernel::embedding_row*>(p.block + at.ranges);
        for (std::size_t i = 0; i != table.scales.size(); ++i) ranges[i] = {table.scales[i], 0, table.offsets[i]};
        return {};
    }
    static node_parameters unpack(const preparation& p) {
        const coded_table_layout at(p.at.n);
        node_parameters to;
        quantized_weights& table = to.matrices.emplace_back();
        table.codes.assign(p.block, p.block + at.rows * at.row_bytes);
        const auto* ranges = reinterpret_cast<const kernel::embedding_row*>(p.block + at.ranges);
        for (int i = 0; i != at.rows; ++i) {
            table.scales.push_back(ranges[i].scale);
            table.offsets.push_back(ranges[i].offset);
        }
        return to;
    }
    static void run(const node& n, const context& c) noexcept {
        const coded_table_layout at(n);
        const embedding_layer layer = embedding_layer_of(*n.op);
        const auto* block = c.block<std::byte>(n);
        const kernel::embedding_table<std::uint8_t, Bits> table{
            reinterpret_cast<const std::uint8_t*>(block),
            reinterpret_cast<const kernel::embedding_row*>(block + at.ranges), at.columns};
        auto* y = c.out<float>(n);
        const int count = n.out.extents.width;
        const auto* indices = c.in<std::int32_t>(n) + layer.first;
        if (layer.bags != 0)
            return add_rows<Arch>(layer, table, indices, layer.count_of(c.view(n).x_shape()) / layer.bags, y);
        if (!layer.by_place) return kernel::embedding<Arch>(table, indices, static_cast<std::size_t>(count), y);
        auto& place = *reinterpret_cast<std::int32_t*>(c.begin_state(n));
        for (int i = 0; i != count; ++i, y += layer.columns) {
            const std::int32_t row = next_place(layer, place);
            kernel::embedding<Arch>(table, &row, 1, y);
        }
    }
};

/// Nodes with such a table have that form, others the one that their operator brings.
struct embedding_forms {
    static constexpr bool is_keyed = true;
    static constexpr bool keyed(const node_view& v) { return v.n.is_float() && table_value_bits(v.n) != 32; }
    static constexpr int key(const node_view& v) { return table_value_bits(v.n); }
    template <int Bits, class Arch, class> using form = coded_embedding_form<Bits, Arch>;
};

}  // namespace zp::inline v0::operators
