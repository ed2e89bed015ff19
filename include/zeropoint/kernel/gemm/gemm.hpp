// SPDX-License-Identifier: BSD-3-Clause
// The one loop nest of the integer kernels: rows of activations times a panel of weights, by tiles, into an epilogue.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include <zeropoint/kernel/arch/operations.hpp>
#include <zeropoint/kernel/epilogue/apply_epilogue.hpp>
#include <zeropoint/kernel/gemm/panel_formats.hpp>
#include <zeropoint/kernel/gemm/tile_fetches.hpp>
#include <zeropoint/kernel/vector/unroll.hpp>

//   for each tile of rows:                      multiply_panel
//       sums = bias                                 multiply_tile: int32 registers
//       for each run of the depth:
//           for each quad (pair) of the run:
//               load the panel's weights
//               for each row: broadcast its quad, dot, add
//       store sums                                  a few tiles, in the first-level cache
//       y = epilogue(sums)                      finish_rows
//
// The tile kernel knows activation and weight types only, the epilogue output types only: their product is never
// compiled.

namespace zp::inline v0::kernel {

/// Where the products of one row lie, relative to its window's first element: kernel_rows x segments runs of `length`
/// elements, length a multiple of 4; of 2 where panels of pairs skip half a quad of padding. Some kinds of panel have
/// numbers of their own.
struct window_runs {
    int kernel_rows = 1, segments = 1, length = 4;
    std::ptrdiff_t row_advance = 0, segment_advance = 0;
    std::span<const std::int32_t>
        steps{};                     ///< of tiles that take a list: where each quad lies, in the order of its weights
    int skipped_pairs = 0;           ///< pairs of weights behind each run that are padding
    int window = 1;                  ///< windowed_quads: quads summed in 16 bits
    int row_sums = 0;                ///< from a row's offset to a sum of its: signed_quads: of the flipped magnitudes;
                                     ///< offset_quads: of all bytes, 0 where tiles are not used
    std::ptrdiff_t flips = 0;        ///< signed_quads: from a magnitude to its flip
    std::ptrdiff_t panel_pitch = 0;  ///< signed_quads: from the weights of a panel to those of the next
    const std::byte* ahead = nullptr;  ///< weights that come next, for the second-level cache
    std::ptrdiff_t ahead_bytes = 0;
    tile_fetches fetches{};  ///< of weights that come next, by one tile
};

/// The sums that an architecture adds blocks of a row to: int32 vectors unless it has a type of its own.
template <class Operations, class Activation> struct block_sums_of { using type = typename Operations::int32; };
template <class Operations, class Activation>
    requires requires { typename Operations::template block_sums<Activation>; }
struct block_sums_of<Operations, Activation> {
    using type = typename Operations::template block_sums<Activation>;
};

/// Whether an architecture multiplies whole blocks of a row by instructions of its own (arch/contract.hpp).
template <class Operations, class Format, int Rows, int Vectors>
inline constexpr bool has_blocks =
    !std::is_same_v<Format, signed_quads> &&
    requires(typename block_sums_of<Operations, typename Format::activation>::type(&sums)[Rows][Vectors],
             const typename Format::activation* const (&rows)[Rows], const typename Format::weight* panel) {
    Operations::multiply_block(sums, rows, std::ptrdiff_t{}, panel);
};

/// Rows that the registers have room for, where an architecture says that they are fewer than those of a tile.
template <class Operations, class Format, int Vectors> constexpr int rows_at_once(int rows) {
    if constexpr (std::is_same_v<Format, signed_quads> && requires { Operations::most_flipped_rows; })
        return std::min(rows, Operations::most_flipped_rows);
    else if constexpr (requires { Operations::template most_rows<typename Format::activation>(Vectors); })
        return std::min(rows, Operations::template most_rows<typename Format::activation>(Vectors));
    else return rows;
}

/// The sums of one tile, bias[channel] + the products of `Rows` rows with one panel, modulo 2^32: finish(row, sums[Vectors]) for one
/// row after the other, whose sums are in registers. `Listed` where runs are not looked at, but the steps that they have: a window
/// of short runs is then one loop, and no address changes between runs.
template <class Arch, class Format, int Rows, int Vectors, bool Listed = false, class Finish>
[[gnu::always_inline]] inline void sum_tile(const typename Format::activation* band, const std::int32_t* offsets,
                                            const window_runs& runs, const typename Format::weight* panel,
                                            const std::int32_t* bias, const Finish& finish) noexcept {
    using ops = operations<Arch>;
    using int32 = typename ops::int32;
    constexpr int step = ops::lanes * Format::depth;
    constexpr bool flipped = std::is_same_v<Format, signed_quads>;
    // A narrow tile has twice as many rows: if each loaded the weights, loads would take longer than products. A tile of
    // fewer rows has registers for them.
    constexpr bool narrow = Vectors < ops::vectors;
    constexpr bool load_once = Format::depth == 4 && (narrow || (!flipped && Rows < ops::tile_rows));
    const auto load_weights = [](const typename Format::weight* from) __attribute__((always_inline)) {
        if constexpr (load_once) return Format::template load_vector<ops>(from);
        else return Format::template load<ops>(from);
    };
    using weights = decltype(load_weights(panel));

    // Sets of sums: one row or two would wait for their additions otherwise.
    constexpr int sets =
        Rows <= 2 ? std::clamp(ops::sums_in_flight / (Rows * std::min(Vectors, ops::vectors)), 1, 4) : 1;
    constexpr int steps = std::max(sets, 2);
    // Where steps are all there is, rows are those of a run's end, and k counts up to zero: an instruction less, and a
    // register, of which twelve rows leave none.
    constexpr bool from_end = !Listed && !has_blocks<ops, Format, Rows, Vectors>;
    const typename Format::activation* rows[Rows];
    std::ptrdiff_t moved = from_end ? runs.length : 0;
#pragma GCC unroll 64
    for (int row = 0; row != Rows; ++row) rows[row] = band + moved + offsets[row];
    using block_sums = typename block_sums_of<ops, typename Format::activation>::type;
    constexpr bool own_sums = has_blocks<ops, Format, Rows, Vectors> && !std::is_same_v<block_sums, int32>;
    std::conditional_t<own_sums, block_sums, int32> tile[sets][Rows][Vectors];
    const auto load_bias = [&](int32(&sums_of_set)[Rows][Vectors]) __attribute__((always_inline)) {
#pragma GCC unroll 64
        for (int i = 0; i != Rows * Vectors; ++i) {
            int32& sum = sums_of_set[i / Vectors][i % Vectors];
            sum = ops::template load<int32>(bias + i % Vectors * ops::lanes);
            if constexpr (flipped) ops::add(sum, offsets[i / Vectors + runs.row_sums]);
        }
    };
    unroll<sets>([&](auto set) __attribute__((always_inline)) {
#pragma GCC unroll 64
        for (int i = 0; i != Rows * Vectors; ++i) {
            if constexpr (own_sums) ops::clear(tile[set][i / Vectors][i % Vectors]);
            else if constexpr (set != 0) tile[set][i / Vectors][i % Vectors] = int32{};
        }
    });
    if constexpr (!own_sums) load_bias(tile[0]);
    constexpr int block_steps = from_end ? fetching_steps<Arch, Format, Rows, Vectors>() : 0;
    [[maybe_unused]] const std::byte* fetched = runs.fetches.from;
    const auto multiply = [&](std::ptrdiff_t k, auto set) __attribute__((always_inline)) {
        if constexpr (own_sums) {
            ops::multiply_step(tile[set], rows, k, panel);
        } else {
            weights w[Vectors];
            if constexpr (fetches_in_tiles<ops, Format, Rows, Vectors>()) {
                constexpr int bytes = ops::vectors * step * int{sizeof(*panel)}, line = 64;
#pragma GCC unroll 64
                for (int i = 0; i != (bytes + line - 1) / line; ++i)
                    __builtin_prefetch(reinterpret_cast<const std::byte*>(panel) + fetched_ahead + i * line, 0, 2);
            }
            // What is unrolled late beside blocks costs g++ a register of theirs.
            unroll<Vectors, from_end>([&](auto v) __attribute__((always_inline)) {
                w[v] = load_weights(panel + v / ops::vectors * runs.panel_pitch + v % ops::vectors * step);
            });
            [[maybe_unused]] const std::ptrdiff_t flips = k + runs.flips;
            unroll<Rows, from_end>([&](auto row) __attribute__((always_inline)) {
                const auto a = ops::broadcast(rows[row] + k);
                unroll<Vectors>([&](auto v) __attribute__((always_inline)) {
                    if constexpr (flipped)
                        Format::template dot<ops>(tile[set][row][v], a, ops::broadcast(rows[row] + flips), w[v]);
                    else Format::template dot<ops>(tile[set][row][v], a, w[v]);
                });
                if constexpr (Vectors == 1) ops::keep(tile[set][row][0]);
                else if constexpr (Rows > 2) ops::fence(tile[set][row]);
            });
            // Or g++ takes their registers for sums of the last row, by moves there and back in each step.
            if constexpr (block_steps != 0) ops::fence(w);
        }
        panel += ops::vectors * step;
    };
    // Where a block is a step, nothing is left behind the blocks.
    constexpr bool steps_are_blocks = [] {
        if constexpr (has_blocks<ops, Format, Rows, Vectors>)
            return ops::template block_length<typename Format::activation> == Format::depth;
        else return false;
    }();
    constexpr std::integral_constant<int, 0> first;
    constexpr std::integral_constant<int, sets - 1> last;
    if constexpr (Listed)
        for (const std::int32_t k : runs.steps) {
            if constexpr (requires { ops::addresses_in_memory(); }) ops::addresses_in_memory();
            multiply(k, first);
        }
    const int kernel_rows = Listed ? 0 : runs.kernel_rows;
    for (int kernel_row = 0; kernel_row != kernel_rows; ++kernel_row) {
        std::ptrdiff_t begin = kernel_row * runs.row_advance;
        for (int segment = 0; segment != runs.segments; ++segment, begin += runs.segment_advance) {
            const std::ptrdiff_t end = from_end ? 0 : begin + runs.length;
            std::ptrdiff_t k = end - runs.length;
            if (const std::ptrdiff_t more = begin + runs.length - moved; from_end && more != 0) {
#pragma GCC unroll 64
                for (int row = 0; row != Rows; ++row) rows[row] += more;
                moved += more;
            }
            if constexpr (has_blocks<ops, Format, Rows, Vectors>) {
                constexpr std::ptrdiff_t length = ops::template block_length<typename Format::activation>;
                const auto multiply_block = [&](auto set) __attribute__((always_inline)) {
                    ops::multiply_block(tile[set], rows, k, panel);
                    k += length;
                    panel += length * (ops::vectors * ops::lanes);
                };
                const std::ptrdiff_t last_block = end - length, last_two = last_block - length;
                while (sets > 1 && k <= last_two) {  // NOLINT(bugprone-infinite-loop): multiply_block moves k
                    multiply_block(first);
                    multiply_block(last);
                }
                while (k <= last_block) multiply_block(first);  // NOLINT(bugprone-infinite-loop): the same
                if constexpr (has_octets<Arch> && std::is_same_v<Format, byte_quads>) {
                    if (end - k >= 8) {
                        ops::multiply_octet(tile[0], rows, k, panel);
                        k += 8;
                        panel += 8 * ops::vectors * ops::lanes;
                    }
                }
            }
            if constexpr (Rows <= 2 &&
                          !has_blocks<ops, Format, Rows, Vectors>) {  // too little work a step to hide the loop
#pragma GCC unroll 2
                for (; k + steps * Format::depth <= end; k += steps * Format::depth) {
                    unroll<steps>([&](auto i) __attribute__((always_inline)) {
                        multiply(k + i * Format::depth, std::integral_constant<int, i % sets>{});
                    });
                }
            }
            if constexpr (block_steps != 0) {
                while (k != 0) {
#pragma GCC unroll 1
                    for (int line = runs.fetches.lines; line > 0; --line, fetched += 64)
                        __builtin_prefetch(fetched, 0, 2);
                    do {  // a block ends some whole blocks before the run does: that takes no register
                        multiply(k, first);
                        k += Format::depth;
                    } while (k % (block_steps * Format::depth) != 0);
                }
            } else if constexpr (!steps_are_blocks)
                for (; k < end; k += Format::depth) multiply(k, first);
            if constexpr (Format::depth == 2) panel += runs.skipped_pairs * (ops::vectors * step);
        }
    }
    int32 total[Rows][Vectors];
    if constexpr (own_sums) {
        load_bias(total);
#pragma GCC unroll 64
        for (int set = 0; set != sets; ++set) ops::add_blocks(total, tile[set]);
    }
#pragma GCC unroll 64
    for (int row = 0; row != Rows; ++row) {
#pragma GCC unroll 64
        for (int v = 0; v != Vectors; ++v) {
            if constexpr (!own_sums) {
                total[row][v] = tile[0][row][v];
#pragma GCC unroll 64
                for (int set = 1; set != sets; ++set) ops::add(total[row][v], tile[set][row][v]);
            }
        }
        finish(row, total[row]);
    }
}

/// One tile: sums[row][channel]. If only the first half of a panel's vectors is multiplied, the sums of the others are 0.
template <class Arch, class Format, int Rows, int Vectors = operations<Arch>::vectors>
[[gnu::noinline]] void multiply_tile(const typename Format::activation* band, const std::int32_t* offsets,
                                     const window_runs& runs, const typename Format::weight* panel,
                                     const std::int32_t* bias, std::int32_t* sums) noexcept {
    using ops = operations<Arch>;
    using int32 = typename ops::int32;
    constexpr int most = rows_at_once<ops, Format, Vectors>(Rows);
    if constexpr (Rows > most) {
        constexpr int parts = (Rows + most - 1) / most, first = (Rows + parts - 1) / parts;
        multiply_tile<Arch, Format, first, Vectors>(band, offsets, runs, panel, bias, sums);
        multiply_tile<Arch, Format, Rows - first, Vectors>(band, offsets + first, runs, panel, bias,
                                                           sums + first * ops::vectors * ops::lanes);
    } else {
        const auto store = [&](int row, const int32(&total)[Vectors]) __attribute__((always_inline)) {
#pragma GCC unroll 64
            for (int v = 0; v != Vectors; ++v) ops::store(sums + (row * ops::vectors + v) * ops::lanes, total[v]);
#pragma GCC unroll 64
            for (int v = Vectors; Vectors < ops::vectors && v != ops::vectors; ++v)
                ops::store(sums + (row * ops::vectors + v) * ops::lanes, int32{});
        };
        sum_tile<Arch, Format, Rows, Vectors>(band, offsets, runs, panel, bias, store);
    }
}

/// Whether whole tiles become codes while their sums are in registers: on architectures that say so, of codes of bytes. Storing
/// 12 x 32 sums and reading them again takes a sixth of the time of 64 products each, 6 x 16 a fifth of that of 16.
template <class Arch, class Format, class Out> constexpr bool finishes_in_registers() {
    constexpr bool is_taken =
        std::is_same_v<Format, quads_of<Arch>> ||
        (quads_saturate<Arch> && (std::is_same_v<Format, signed_quads> || std::is_same_v<Format, widened_pairs>));
    if constexpr (requires { operations<Arch>::finishes_in_registers; })
        return operations<Arch>::finishes_in_registers && is_taken && sizeof(Out) == 1;
    else return false;
}
/// Whether tiles that become codes take a list of the quads of a window: where addresses of twelve rows are all registers that there are, and
/// changing them after each kernel row of a 7x7 window of 3 channels took 16 cycles of 90.
template <class Arch, class Format>
inline constexpr bool lists_steps =
    std::is_same_v<Format, quads_of<Arch>> && !quads_saturate<Arch> &&
    !has_blocks<operations<Arch>, Format, operations<Arch>::tile_rows, operations<Arch>::vectors>;

/// Where the quads of a window lie, into room for all of them; their end.
inline std::int32_t* list_steps(const window_runs& runs, std::int32_t* steps) noexcept {
    for (int kernel_row = 0; kernel_row != runs.kernel_rows; ++kernel_row) {
        std::ptrdiff_t at = kernel_row * runs.row_advance;
        for (int segment = 0; segment != runs.segments; ++segment, at += runs.segment_advance)
            for (int k = 0; k < runs.length; k += 4) *steps++ = static_cast<std::int32_t>(at + k);
    }
    return steps;
}

/// Depth up to which that is done: beyond, what it saves is less than a hundredth. Lists also save what runs take: 3x3 of 64 channels with
/// stride 2 gains 4 %, of 128 0.7 %.
template <class Arch, class Format> inline constexpr int most_finished_depth = lists_steps<Arch, Format> ? 1152 : 512;
/// The same of one run: a list makes a long one slower.
inline constexpr int most_finished_run = 512;

/// The same with int16 sums of a window in registers and int32 sums in memory, there being too few registers for both.
template <class Arch, int Rows>
[[gnu::noinline]] void multiply_tile_windowed(const std::uint8_t* band, const std::int32_t* offsets,
                                              const window_runs& runs, const std::int8_t* panel,
                                              const std::int32_t* bias, std::int32_t* sums) noexcept {
    using ops = operations<Arch>;
    using int32 = typename ops::int32;
    constexpr int step = ops::lanes * 4;

    const std::uint8_t* rows[Rows];
#pragma GCC unroll 64
    for (int row = 0; row != Rows; ++row) {
        rows[row] = band + offsets[row];
#pragma GCC unroll 64
        for (int v = 0; v != ops::vectors; ++v)
            ops::store(sums + (row * ops::vectors + v) * ops::lanes, ops::template load<int32>(bias + v * ops::lanes));
    }
    const std::ptrdiff_t window = std::ptrdiff_t{4} * runs.window;
    for (int kernel_row = 0; kernel_row != runs.kernel_rows; ++kernel_row) {
        std::ptrdiff_t begin = kernel_row * runs.row_advance;
        for (int segment = 0; segment != runs.segments; ++segment, begin += runs.segment_advance) {
            const std::ptrdiff_t end = begin + runs.length;
            std::ptrdiff_t k = begin;
            while (k < end) {
                typename ops::int16 tile[Rows][ops::vectors];
                const std::ptrdiff_t stop = k + window < end ? k + window : end;
                const auto multiply = [&](std::ptrdiff_t at, auto first) __attribute__((always_inline)) {
                    typename ops::int8 w[ops::vectors];
#pragma GCC unroll 64
                    for (int v = 0; v != ops::vectors; ++v)
                        w[v] = ops::template load<typename ops::int8>(panel + v * step);
#pragma GCC unroll 64
                    for (int row = 0; row != Rows; ++row) {
                        const auto a = ops::broadcast(rows[row] + at);
                        unroll<ops::vectors>([&](auto v) __attribute__((always_inline)) {
                            if constexpr (first) tile[row][v] = ops::pair_sums(a, w[v]);
                            else ops::add_pair_sums(tile[row][v], a, w[v]);
                        });
                        if constexpr (Rows > 2) ops::fence(tile[row]);
                    }
                    panel += ops::vectors * step;
                };
                multiply(k, std::true_type{});
                for (k += 4; k < stop; k += 4) multiply(k, std::false_type{});
                ops::memory_fence();
#pragma GCC unroll 64
                for (int row = 0; row != Rows; ++row) {
#pragma GCC unroll 64
                    for (int v = 0; v != ops::vectors; ++v) {
                        std::int32_t* place = sums + (row * ops::vectors + v) * ops::lanes;
                        int32 sum = ops::template load<int32>(place);
                        ops::add_widened(sum, tile[row][v]);
                        ops::store(place, sum);
                    }
                }
            }
        }
    }
}

/// multiply_tile for 1, 2, ... tile_rows rows.
template <class Arch, class Format>
inline constexpr auto tile_kernels = []<int... Row>(std::integer_sequence<int, Row...>) {
    if constexpr (std::is_same_v<Format, windowed_quads>) return std::array{&multiply_tile_windowed<Arch, Row + 1>...};
    else return std::array{&multiply_tile<Arch, Format, Row + 1>...};
}
(std::make_integer_sequence<int, operations<Arch>::tile_rows>{});

/// Rows of the next tile: full ones, and the rest in two of nearly equal height, because a tile of one row is slow.
template <class Arch> constexpr int next_tile_rows(int rows_left, int most = operations<Arch>::tile_rows) {
    return rows_left >= 2 * most ? most : rows_left > most ? (rows_left + 1) / 2 : rows_left;
}

/// How many tiles are of all rows.
template <class Arch> constexpr int full_tiles(int rows, int most = operations<Arch>::tile_rows) {
    return rows % most == 0 ? rows / most : std::max(rows / most - 1, 0);
}

/// Tiles of whole rows as codes, by an epilogue that shrinks() them to all codes of a byte: of a panel, of two, or of one whose channels
/// are all in the first of its two vectors. Rows that are four vectors together become codes at once.
template <class Arch, class Format, int Rows, int Vectors, class Out>
[[gnu::noinline]] void multiply_to_codes(const typename Format::activation* band, const std::int32_t* offsets,
                                         int tiles, const window_runs& runs, const typename Format::weight* panels,
                                         const std::int32_t* bias, const nearest_even& epilogue, int first_channel,
                                         int channels, Out* y, std::ptrdiff_t y_pitch) noexcept {
    using ops = operations<Arch>;
    using int32 = typename ops::int32;
    constexpr int together = 4 / Vectors;
    static_assert(ops::vectors == 2 && Rows % together == 0, "multiply_to_codes: four vectors become codes together");
    // By value: an argument whose address is taken costs g++ the registers of a tile's sums.
    const auto scaled = [ =, &epilogue ](int v) __attribute__((always_inline)) {
        const int channel = first_channel + v * ops::lanes;
        return epilogue.template shrinking_vector<ops>(channel, Vectors == 1 ? channels : ops::lanes);
    };
    const auto left = scaled(0), right = scaled(Vectors - 1);
    const code_clamp<ops, Out> clamp(epilogue.codes);
    for (; tiles > 0; --tiles, offsets += Rows, y += Rows * y_pitch) {
        int32 four[4];
        const auto finish = [&](int row, const int32(&total)[Vectors]) __attribute__((always_inline)) {
            const int place = row % together * Vectors;
            if constexpr (Vectors == 1 || (Vectors == 2 && Rows < 12)) {
                four[place] = left(total[0]);
                if constexpr (Vectors == 2) four[place + 1] = right(total[1]);
            } else {  // of 32 registers so many are sums that g++ would hold multipliers in some and weights in memory
                if (row == 0) ops::memory_fence();
#pragma GCC unroll 4
                for (int v = 0; v != Vectors; ++v) four[place + v] = scaled(v)(total[v]);
            }
            if (place + Vectors != 4) return;
            Out* rows = y + (row + 1 - together) * y_pitch;
            if constexpr (Vectors == 2) clamp.template store_pairs<true>(four, rows, rows + y_pitch);
            else if constexpr (Vectors == 4)
                ops::store(reinterpret_cast<std::uint8_t*>(rows), clamp.template operator()<true>(four));
            else ops::store_first_of_quarters(rows, y_pitch, clamp.template operator()<true>(four), channels);
        };
        sum_tile<Arch, Format, Rows, Vectors, lists_steps<Arch, Format>>(band, offsets, runs, panels, bias, finish);
    }
}

/// The same for a band, where its epilogue is such a one and windows are not too deep: how many rows are done.
template <class Arch, class Format, int Rows, int Vectors, class Out, class Epilogue>
int finish_in_registers(const typename Format::activation* band, const std::int32_t* offsets, int rows,
                        const window_runs& runs, const typename Format::weight* panels, const std::int32_t* bias,
                        int first_channel, int channels, const Epilogue& epilogue, Out* y,
                        std::ptrdiff_t y_pitch) noexcept {
    const int count = runs.kernel_rows * runs.segments,
              most = count == 1 ? most_finished_run : most_finished_depth<Arch, Format>;
    if (rows < Rows || count * runs.length > most) return 0;
    const nearest_even* nearest = nullptr;
    for (int channel = 0; channel < channels; channel += panel_width<Arch>) {
        const int of_panel = std::min(channels - channel, panel_width<Arch>);
        nearest = shrinking_epilogue<Arch>(epilogue, first_channel + channel, of_panel);
        if (nearest == nullptr) return 0;
    }
    window_runs listed = runs;
    std::int32_t steps[most_finished_depth<Arch, Format> / 4];
    if constexpr (lists_steps<Arch, Format>) listed.steps = {steps, list_steps(runs, steps)};
    const int tiles = Vectors == 1 ? rows / Rows : full_tiles<Arch>(rows, Rows);
    multiply_to_codes<Arch, Format, Rows, Vectors>(band, offsets, tiles, listed, panels, bias, *nearest, first_channel,
                                                   channels, y, y_pitch);
    return tiles * Rows;
}

/// Runs as the tiles of a band read them, which fetch a share each of what comes next where such tiles do.
template <class Arch, class Format, int Rows, int Vectors> struct runs_of_tiles {
    static constexpr bool fetches_shares = fetching_steps<Arch, Format, Rows, Vectors>() != 0;

    runs_of_tiles(const window_runs& runs, [[maybe_unused]] int rows) noexcept : now(&runs) {
        if constexpr (fetches_shares) {
            if (runs.ahead_bytes == 0) return;
            shared = runs;
            shared.fetches = share_fetches<Arch, Format, Rows, Vectors>(runs.ahead, runs.ahead_bytes, rows,
                                                                        runs.kernel_rows * runs.segments, runs.length);
            now = &shared;
        }
    }
    const window_runs& operator*() const noexcept { return *now; }
    void move_on() noexcept {
        if constexpr (fetches_shares) shared.fetches.move_on();
    }

private:
    const window_runs* now;
    std::conditional_t<fetches_shares, window_runs, tile_fetches> shared;
};

/// Whether a panel with channels in the first half of its vectors alone is multiplied with those, twice as many rows a tile.
template <class Arch, class Format>
inline constexpr bool has_narrow_tiles =
    operations<Arch>::has_batches&& operations<Arch>::vectors % 2 == 0 && !std::is_same_v<Format, windowed_quads>;

/// Rows of the tiles that an architecture multiplies by instructions of its own, one or two at a time; 0 where it does not.
template <class Arch, class Format>
inline constexpr int whole_tile_rows = [] {
    if constexpr (has_whole_tiles<Arch> && std::is_same_v<Format, offset_quads>)
        return operations<Arch>::whole_tile_rows;
    else return 0;
}();

/// All rows of a band times one panel. Row r begins at band[offsets[r]]; its results go to y + r * y_pitch.
template <class Arch, class Format, class Out, class Epilogue>
void multiply_panel(const typename Format::activation* band, const std::int32_t* offsets, int rows,
                    const window_runs& runs, const typename Format::weight* panel, const std::int32_t* bias,
                    int first_channel, int channels, const Epilogue& epilogue, Out* y,
                    std::ptrdiff_t y_pitch) noexcept {
    constexpr int tiles = 4;  // that are finished together: a call of the epilogue has its own cost
    constexpr int whole_rows = whole_tile_rows<Arch, Format>;
    constexpr int most_rows = std::max(operations<Arch>::tile_rows, 2 * whole_rows);
    alignas(64) std::int32_t sums[tiles * most_rows * panel_width<Arch>];
    constexpr bool in_tiles =
        !std::is_same_v<Format, windowed_quads> &&
        fetches_in_tiles<operations<Arch>, Format, operations<Arch>::tile_rows, operations<Arch>::vectors>();
    const bool in_whole_tiles = whole_rows != 0 && runs.row_sums != 0;  // they fetch nothing themselves
    const std::ptrdiff_t ahead_bytes = in_tiles && !in_whole_tiles ? 0 : runs.ahead_bytes;
    const std::ptrdiff_t ahead_step = ahead_bytes / (rows / most_rows + 1) + 64;
    std::ptrdiff_t ahead = 0, ahead_end = 0;
    int row = 0;
    if constexpr (finishes_in_registers<Arch, Format, Out>()) {
        constexpr int tall = operations<Arch>::tile_rows;
        const bool narrow = stores_parts_of_rows<Arch> && channels <= panel_width<Arch> / 2;
        if (!in_whole_tiles && !narrow)
            row = finish_in_registers<Arch, Format, tall, 2>(band, offsets, rows, runs, panel, bias, first_channel,
                                                             channels, epilogue, y, y_pitch);
        if constexpr (stores_parts_of_rows<Arch>) {
            if (!in_whole_tiles && narrow)
                row = finish_in_registers<Arch, Format, 2 * tall, 1>(band, offsets, rows, runs, panel, bias,
                                                                     first_channel, channels, epilogue, y, y_pitch);
        }
    }
    if (row == rows) return;
    runs_of_tiles<Arch, Format, operations<Arch>::tile_rows, operations<Arch>::vectors> of_tiles(runs, rows - row);
    while (row != rows) {
        const int first = row;
        for (int tile = 0; tile != tiles && row != rows; ++tile) {
            std::int32_t* to = sums + (row - first) * panel_width<Arch>;
            if constexpr (has_narrow_tiles<Arch, Format>) {
                constexpr int twice = 2 * operations<Arch>::tile_rows;
                if (!in_whole_tiles && channels <= panel_width<Arch> / 2 && rows - row >= twice && tile + 1 != tiles) {
                    multiply_tile<Arch, Format, twice, operations<Arch>::vectors / 2>(band, offsets + row, runs, panel,
                                                                                      bias, to);
                    row += twice;
                    ++tile;
                    continue;
                }
            }
            ahead_end = std::min(ahead_end + ahead_step, ahead_bytes);
            if constexpr (whole_rows != 0) {
                if (in_whole_tiles && rows - row >= operations<Arch>::fewest_whole_rows) {
                    const std::span fetched(runs.ahead + ahead, static_cast<std::size_t>(ahead_end - ahead));
                    row += operations<Arch>::multiply_whole_tiles(band, offsets + row, rows - row, runs, panel, bias,
                                                                  channels, fetched, to);
                    ahead = ahead_end;
                    break;  // as many sums as those of several other tiles
                }
            }
            for (; ahead < ahead_end; ahead += 64) __builtin_prefetch(runs.ahead + ahead, 0, 2);
            const int count = next_tile_rows<Arch>(rows - row);
            tile_kernels<Arch, Format>[static_cast<std::size_t>(count - 1)](band, offsets + row, *of_tiles, panel, bias,
                                                                            to);
            of_tiles.move_on();
            row += count;
        }
        finish_rows<Arch>(epilogue, sums, row - first, first_channel, channels, y + first * y_pitch, y_pitch);
    }
}

}  // namespace zp::inline v0::kernel
