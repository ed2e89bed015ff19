// SPDX-License-Identifier: BSD-3-Clause
// Tables that take the codes of an input to codes of a node's output, which operators prepare.
#pragma once

#include <cstddef>
#include <cstdint>

#include <zeropoint/graph/context.hpp>
#include <zeropoint/kernel/epilogue/lookup_table.hpp>
#include <zeropoint/kernel/epilogue/requantize.hpp>

namespace zp::inline v0::operators {

/// Entry i of `table` is function(x) of the i-th code of 8 bits, from the lowest, of an input of range `x`; bytes, whatever the
/// storage type. `codes`: zero point and bounds of the output.
template <class Function>
void make_code_table(const preparation& p, const qparams& x, const kernel::output_codes& codes, std::byte* table,
                     Function function) {
    const auto make = [&]<class Code>(Code* entries) {
        kernel::make_lookup_table<Code>(function, x.scale, x.zero_point, p.y_qparams().scale, codes.zero_point,
                                        codes.min, codes.max, entries);
    };
    if (p.y_type().storage == scalar_type::int8) make(reinterpret_cast<std::int8_t*>(table));
    else make(reinterpret_cast<std::uint8_t*>(table));
}
/// All codes of the output's dtype.
inline kernel::output_codes codes_of_output(const preparation& p) {
    return {p.y_qparams().zero_point, p.y_type().quant_min, p.y_type().quant_max, nullptr};
}
/// To the output's grid.
inline void make_grid_table(const preparation& p, const qparams& x, const kernel::output_codes& codes,
                            std::byte* table) {
    make_code_table(p, x, codes, table, [](double real) { return real; });
}

}  // namespace zp::inline v0::operators
