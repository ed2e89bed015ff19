// SPDX-License-Identifier: BSD-3-Clause
// A fine table in rows of near entries, which shuffles of numbers look up.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <zeropoint/kernel/arch/operations.hpp>

// Eight neighbours of a table of 1024 entries lie close together, as those of a tanh or sigmoid do: of each row of eight, the lowest is
// 8 bits and what others are more is three, 32 bits in all. A table that is steeper is so behind a slope, one or a half of an entry a
// place, that all have taken away. 128 numbers are as many shuffles as 16 entries one by one are loads, and no store lies between.
//
//     table[p] = (row & 255) + (row >> (8 + 3 * (p % 8)) & 7) + (p >> slope)     row = rows[p / 8], of which 8 bits are the entry

namespace zp::inline v0::kernel {

template <class Arch>
inline constexpr bool has_near_tables = requires(const std::uint32_t* rows,
                                                 const typename operations<Arch>::int32& places) {
    operations<Arch>::look_up_near(rows, places);
};

/// The rows, and the slope once for each lane. A row is a number as memory holds it.
struct near_table {
    static constexpr int entries = 1024, row = 8, no_slope = 31;
    std::uint32_t rows[entries / row];
    std::uint32_t slope[16];  ///< counts of shifts, or 2^32 - 1 where the table is none of these
    static constexpr int bytes = 4 * (entries / row + 16);

    bool is_used() const { return slope[0] < 32; }
};
static_assert(sizeof(near_table) == near_table::bytes && near_table::bytes % 64 == 0);

/// The near table of so many entries, of which places up to `last` are looked up, or one that is not used.
template <class Arch> near_table make_near_table(const std::uint8_t* table, int size, int last) {
    near_table made{};
    std::fill(std::begin(made.slope), std::end(made.slope), ~std::uint32_t{0});
    if (size != near_table::entries || last >= size) return made;
    for (const int slope : {near_table::no_slope, 1, 0}) {
        bool holds = true;
        for (int row = 0; row != near_table::entries / near_table::row; ++row) {
            int left[near_table::row], least = 255 + near_table::entries;
            for (int i = 0; i != near_table::row; ++i) {
                const int place = row * near_table::row + i;
                left[i] = table[place] - (place >> slope);
                least = std::min(least, left[i]);
            }
            std::uint32_t number = static_cast<std::uint32_t>(least) & 255;
            for (int i = 0; i != near_table::row; ++i) {
                holds = holds && left[i] - least < 8;
                number |= static_cast<std::uint32_t>(left[i] - least) << (8 + 3 * i);
            }
            made.rows[row] = number;
        }
        if (!holds) continue;
        std::fill(std::begin(made.slope), std::end(made.slope), static_cast<std::uint32_t>(slope));
        break;
    }
    return made;
}

}  // namespace zp::inline v0::kernel
