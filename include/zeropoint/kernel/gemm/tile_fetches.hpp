// SPDX-License-Identifier: BSD-3-Clause
// What tiles fetch into the second-level cache while they multiply: weights that come next.
#pragma once

#include <cstddef>
#include <type_traits>

#include <zeropoint/kernel/arch/operations.hpp>
#include <zeropoint/kernel/gemm/panel_formats.hpp>

namespace zp::inline v0::kernel {

/// From the weights of a tile to those that it fetches of its own, the next panel's at the end of one: as bytes, some hundred
/// cycles.
inline constexpr std::ptrdiff_t fetched_ahead = 4096;
/// Whether tiles fetch, where they have so many products a step that it does not show. Between tiles, a burst of so many
/// misses would be waited for. Tiles of two panels are bound by what the second-level cache gives them.
template <class Operations, class Format, int Rows, int Vectors> constexpr bool fetches_in_tiles() {
    if constexpr (requires { Operations::fetches_in_tiles; })
        return Operations::fetches_in_tiles && Format::depth == 4 && Rows * Vectors >= 8 &&
               Vectors <= Operations::vectors;
    else return false;
}

/// Rows of the tiles that multiply any number of rows by two panels at once, where an architecture has such (gemm/two_panels.hpp); else 0.
template <class Operations, class Format>
inline constexpr int paired_rows = [] {
    if constexpr (requires { Operations::paired_rows; })
        return std::is_same_v<Format, byte_quads> ? Operations::paired_rows : 0;
    else return 0;
}();

/// Steps of a tile between which it fetches its share of the next panel, 0 where it does not. Of tiles of many rows, of which there
/// are several a panel: twelve rows leave no register for the place within a step, and few would not hide what is done between steps.
template <class Arch, class Format, int Rows, int Vectors = operations<Arch>::vectors> constexpr int fetching_steps() {
    using ops = operations<Arch>;
    if constexpr (requires { ops::fetching_steps; }) {
        constexpr bool is_paired = Vectors > ops::vectors;
        constexpr int tall = is_paired ? paired_rows<ops, Format> : Vectors == ops::vectors ? ops::tile_rows : 0;
        constexpr bool is_tall = tall != 0 && 2 * Rows >= tall;
        return is_tall && (is_paired || fetches_in_tiles<ops, Format, Rows, Vectors>()) ? ops::fetching_steps : 0;
    } else {
        return 0;
    }
}

/// What one tile fetches.
struct tile_fetches {
    const std::byte *from = nullptr, *end = nullptr;
    int lines = 0;             ///< before each block of steps
    std::ptrdiff_t bytes = 0;  ///< in all blocks

    /// To the share of the next tile.
    constexpr void move_on() {
        from += bytes;
        if (from >= end) lines = 0;
    }
};

/// The share of the first tile of so many rows, whose depth is `runs` of `length` elements: as much as that of another. A core has
/// few misses under way at a time, and what comes slower than one tile would take it is waited for.
template <class Arch, class Format, int TileRows = operations<Arch>::tile_rows, int Vectors = operations<Arch>::vectors>
tile_fetches share_fetches(const std::byte* ahead, std::ptrdiff_t ahead_bytes, int rows, int runs,
                           int length) noexcept {
    constexpr int line = 64, block = fetching_steps<Arch, Format, TileRows, Vectors>() * Format::depth;
    const int tiles = (rows + TileRows - 1) / TileRows, blocks = runs * ((length + block - 1) / block);
    const int all = static_cast<int>(ahead_bytes / line), fetches = tiles * blocks;
    const int lines = (all + fetches - 1) / fetches;
    return {ahead, ahead + ahead_bytes, lines, std::ptrdiff_t{line} * lines * blocks};
}

}  // namespace zp::inline v0::kernel
