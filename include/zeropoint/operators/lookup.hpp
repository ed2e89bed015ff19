// SPDX-License-Identifier: BSD-3-Clause
// A function of one value over codes: a table of 256 entries, or of nodes between which 16 bits are interpolated.
#pragma once

#include <cstdint>
#include <cstring>

#include <zeropoint/graph/form.hpp>
#include <zeropoint/kernel/epilogue/lookup_table.hpp>
#include <zeropoint/kernel/epilogue/table_int16.hpp>

namespace zp::inline v0::operators {

/// Codes of type In to codes of 8 bits, whichever, by the table in the node's block.
template <class Arch, class In> struct lookup_form {
    static constexpr int parameter_bytes(const node_view&) { return kernel::lookup_table_size; }
    static refusal pack(const preparation& p, const node_parameters& from) {
        std::memcpy(p.block, from.lut.data(), kernel::lookup_table_size);
        return {};
    }
    static node_parameters unpack(const preparation& p) {
        const auto* table = reinterpret_cast<const std::uint8_t*>(p.block);
        node_parameters to;
        to.lut.assign(table, table + kernel::lookup_table_size);
        return to;
    }
    static void run(const node& n, const context& c) noexcept {
        kernel::lookup_table<Arch>(c.in<In>(n), static_cast<std::size_t>(n.out.extents.size()),
                                   c.block<std::uint8_t>(n), c.out<std::uint8_t>(n));
    }
};
/// Codes of 16 bits to such codes.
template <class Arch> struct lookup_form<Arch, std::int16_t> {
    static constexpr int parameter_bytes(const node_view&) { return 4 * kernel::table_int16_nodes; }
    static refusal pack(const preparation& p, const node_parameters& from) {
        std::memcpy(p.block, from.lut_nodes.data(), 4 * from.lut_nodes.size());
        return {};
    }
    static node_parameters unpack(const preparation& p) {
        const auto* nodes = reinterpret_cast<const std::int32_t*>(p.block);
        node_parameters to;
        to.lut_nodes.assign(nodes, nodes + kernel::table_int16_nodes);
        return to;
    }
    static void run(const node& n, const context& c) noexcept {
        kernel::table_int16<Arch>(c.in<std::int16_t>(n), static_cast<std::size_t>(n.out.extents.size()),
                                  c.block<std::int32_t>(n), n.out.quant_min, n.out.quant_max, c.out<std::int16_t>(n));
    }
};

}  // namespace zp::inline v0::operators
