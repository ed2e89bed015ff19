// The one loop nest of the integer kernels: rows of activations times a panel of weights, by tiles, into an epilogue.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include <zeropoint/kernel/dispatch.hpp>
#include <zeropoint/kernel/finish_rows.hpp>
#include <zeropoint/kernel/unroll.hpp>

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

namespace zp {
inline namespace v0 {
namespace kernel {

/// Where a quad of products lies in a window: a tap of the kernel, and elements from the tap's first on.
struct quad_place {
    std::int16_t kernel_row, kernel_column;
    std::int32_t element;
};

/// Where the products of one row lie, relative to its window's first element: kernel_rows x segments runs of `length`
/// elements, length a multiple of 4; of 2 where panels of pairs skip half a quad of padding. Panels of quads have two more
/// numbers, which differ from panel to panel.
struct window_runs {
    int kernel_rows = 1, segments = 1, length = 4;
    std::ptrdiff_t row_advance = 0, segment_advance = 0;
    int skipped_pairs = 0;  ///< pairs of weights behind each run that are padding
    int window = 1;         ///< windowed_quads: quads summed in 16 bits
    int residuals = 0;      ///< byte_quads: further quads, whose places and weights follow
    const quad_place* residual_places = nullptr;
    const std::int8_t* residual_weights = nullptr;
    std::int16_t* widened = nullptr;  ///< widening_pairs: where the weights go, as word_pairs
};

/// The kinds of panel of pack.hpp, as tile kernels see them.
struct byte_quads {
    using activation = std::uint8_t;
    using weight = std::int8_t;
    static constexpr int depth = 4;
    template <class Operations> [[gnu::always_inline]] static auto load(const weight* panel) {
        return Operations::template load<typename Operations::int8>(panel);
    }
    template <class Operations, class Activations, class Weights>
    [[gnu::always_inline]] static void dot(typename Operations::int32& sums, Activations a, Weights w) {
        Operations::dot4(sums, a, w);
    }
};
/// byte_quads whose pair sums are added up in int16 over a window of quads before they are widened.
struct windowed_quads : byte_quads {};
/// byte_quads times one row of activations in halves of 4 bits, which lie in two rows. A pair sum of halves and any
/// weights is at most 15 * 128 * 2 in magnitude, so that int16 holds those of `window` quads.
struct nibble_quads : byte_quads {
    static constexpr int window = 8;
};
struct widened_pairs {
    using activation = std::int16_t;
    using weight = std::int8_t;
    static constexpr int depth = 2;
    template <class Operations> [[gnu::always_inline]] static auto load(const weight* panel) {
        return Operations::load_widened(panel);
    }
    template <class Operations, class Activations, class Weights>
    [[gnu::always_inline]] static void dot(typename Operations::int32& sums, Activations a, Weights w) {
        Operations::dot2(sums, a, w);
    }
};
/// The first tile of a panel that is word_pairs afterwards: its stores take nothing from the multiplications.
struct widening_pairs : widened_pairs {};
struct word_pairs {
    using activation = std::int16_t;
    using weight = std::int16_t;
    static constexpr int depth = 2;
    template <class Operations> [[gnu::always_inline]] static auto load(const weight* panel) {
        return Operations::template load<typename Operations::int16>(panel);
    }
    template <class Operations, class Activations, class Weights>
    [[gnu::always_inline]] static void dot(typename Operations::int32& sums, Activations a, Weights w) {
        Operations::dot2(sums, a, w);
    }
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
    !std::is_same_v<Format, widening_pairs> &&
    requires(typename block_sums_of<Operations, typename Format::activation>::type(&sums)[Rows][Vectors],
             const typename Format::activation* const (&rows)[Rows], const typename Format::weight* panel) {
    Operations::multiply_block(sums, rows, std::ptrdiff_t{}, panel);
};

/// Rows whose sums fit the registers, where an architecture says that they are fewer than those of a tile.
template <class Operations, class Format, int Vectors> constexpr int rows_at_once(int rows) {
    if constexpr (requires { Operations::template most_rows<typename Format::activation>(Vectors); })
        return std::min(rows, Operations::template most_rows<typename Format::activation>(Vectors));
    else return rows;
}

/// One tile: sums[row][channel] = bias[channel] + the products of `Rows` rows with one panel, modulo 2^32. If only the first
/// half of a panel's vectors is multiplied, the sums of the others are 0.
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
        return;
    }
    constexpr int step = ops::lanes * Format::depth;
    using weights = decltype(Format::template load<ops>(panel));

    // Sets of sums: one row or two would wait for their additions otherwise.
    constexpr int sets = Rows <= 2 ? std::clamp(ops::sums_in_flight / (Rows * Vectors), 1, 4) : 1;
    constexpr int steps = std::max(sets, 2);
    const typename Format::activation* rows[Rows];
    unroll<Rows>([&](auto row) __attribute__((always_inline)) { rows[row] = band + offsets[row]; });
    using block_sums = typename block_sums_of<ops, typename Format::activation>::type;
    constexpr bool own_sums = has_blocks<ops, Format, Rows, Vectors> && !std::is_same_v<block_sums, int32>;
    std::conditional_t<own_sums, block_sums, int32> tile[sets][Rows][Vectors];
    const auto load_bias = [&](int32(&sums_of_set)[Rows][Vectors]) __attribute__((always_inline)) {
        unroll<Rows * Vectors>([&](auto i) __attribute__((always_inline)) {
            sums_of_set[i / Vectors][i % Vectors] = ops::template load<int32>(bias + i % Vectors * ops::lanes);
        });
    };
    unroll<sets>([&](auto set) __attribute__((always_inline)) {
        unroll<Rows * Vectors>([&](auto i) __attribute__((always_inline)) {
            if constexpr (own_sums) ops::clear(tile[set][i / Vectors][i % Vectors]);
            else if constexpr (set != 0) tile[set][i / Vectors][i % Vectors] = int32{};
        });
    });
    if constexpr (!own_sums) load_bias(tile[0]);
    [[maybe_unused]] std::int16_t* widened = runs.widened;
    const auto multiply = [&](std::ptrdiff_t k, auto set) __attribute__((always_inline)) {
        if constexpr (own_sums) {
            ops::multiply_step(tile[set], rows, k, panel);
            panel += ops::vectors * step;
            return;
        } else {
            weights w[Vectors];
            unroll<Vectors>([&](auto v) __attribute__((always_inline)) {
                w[v] = Format::template load<ops>(panel + v * step);
                if constexpr (std::is_same_v<Format, widening_pairs>) ops::store(widened + v * step, w[v]);
            });
            if constexpr (std::is_same_v<Format, widening_pairs>) widened += ops::vectors * step;
            unroll<Rows>([&](auto row) __attribute__((always_inline)) {
                const auto a = ops::broadcast(rows[row] + k);
                unroll<Vectors>([&](auto v) __attribute__((always_inline)) {
                    Format::template dot<ops>(tile[set][row][v], a, w[v]);
                });
                if constexpr (Vectors == 1) ops::keep(tile[set][row][0]);
                else if constexpr (Rows > 2) ops::fence(tile[set][row]);
            });
            panel += ops::vectors * step;
        }
    };
    constexpr std::integral_constant<int, 0> first;
    constexpr std::integral_constant<int, sets - 1> last;
    for (int kernel_row = 0; kernel_row != runs.kernel_rows; ++kernel_row) {
        std::ptrdiff_t begin = kernel_row * runs.row_advance;
        for (int segment = 0; segment != runs.segments; ++segment, begin += runs.segment_advance) {
            const std::ptrdiff_t end = begin + runs.length;
            std::ptrdiff_t k = begin;
            if constexpr (has_blocks<ops, Format, Rows, Vectors>) {
                constexpr std::ptrdiff_t length = ops::template block_length<typename Format::activation>;
                const auto multiply_block = [&](auto set) __attribute__((always_inline)) {
                    ops::multiply_block(tile[set], rows, k, panel);
                    k += length;
                    panel += length * (ops::vectors * ops::lanes);
                };
                while (sets > 1 && end - k >= 2 * length) {
                    multiply_block(first);
                    multiply_block(last);
                }
                while (end - k >= length) multiply_block(first);
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
            for (; k < end; k += Format::depth) multiply(k, first);
            if constexpr (Format::depth == 2) panel += runs.skipped_pairs * (ops::vectors * step);
            if constexpr (std::is_same_v<Format, widening_pairs>) widened += runs.skipped_pairs * (ops::vectors * step);
        }
    }
    if constexpr (std::is_same_v<Format, byte_quads>) {
        panel = runs.residual_weights;
        for (const quad_place *place = runs.residual_places, *end = place + runs.residuals; place != end; ++place) {
            multiply(
                place->kernel_row * runs.row_advance + place->kernel_column * runs.segment_advance + place->element,
                first);
        }
    }
    int32 total[Rows][Vectors];
    if constexpr (own_sums) {
        load_bias(total);
        unroll<sets>([&](auto set) __attribute__((always_inline)) { ops::add_blocks(total, tile[set]); });
    }
    unroll<Rows>([&](auto row) __attribute__((always_inline)) {
        unroll<Vectors>([&](auto v) __attribute__((always_inline)) {
            if constexpr (!own_sums) total[row][v] = tile[0][row][v];
            if constexpr (!own_sums) {
                unroll<sets - 1>([&](auto set) __attribute__((always_inline)) {
                    ops::add(total[row][v], tile[set + 1][row][v]);
                });
            }
            ops::store(sums + (row * ops::vectors + v) * ops::lanes, total[row][v]);
        });
        unroll<ops::vectors - Vectors>([&](auto v) __attribute__((always_inline)) {
            ops::store(sums + (row * ops::vectors + Vectors + v) * ops::lanes, int32{});
        });
    });
}

/// The same with int16 sums of a window in registers and int32 sums in memory, there being too few registers for both.
template <class Arch, int Rows>
[[gnu::noinline]] void multiply_tile_windowed(const std::uint8_t* band, const std::int32_t* offsets,
                                              const window_runs& runs, const std::int8_t* panel,
                                              const std::int32_t* bias, std::int32_t* sums) noexcept {
    using ops = operations<Arch>;
    using int32 = typename ops::int32;
    constexpr int step = ops::lanes * 4;

    const std::uint8_t* rows[Rows];
    unroll<Rows>([&](auto row) __attribute__((always_inline)) {
        rows[row] = band + offsets[row];
        unroll<ops::vectors>([&](auto v) __attribute__((always_inline)) {
            ops::store(sums + (row * ops::vectors + v) * ops::lanes, ops::template load<int32>(bias + v * ops::lanes));
        });
    });
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
                    unroll<ops::vectors>([&](auto v) __attribute__((always_inline)) {
                        w[v] = ops::template load<typename ops::int8>(panel + v * step);
                    });
                    unroll<Rows>([&](auto row) __attribute__((always_inline)) {
                        const auto a = ops::broadcast(rows[row] + at);
                        unroll<ops::vectors>([&](auto v) __attribute__((always_inline)) {
                            if constexpr (first) tile[row][v] = ops::pair_sums(a, w[v]);
                            else ops::add_pair_sums(tile[row][v], a, w[v]);
                        });
                        if constexpr (Rows > 2) ops::fence(tile[row]);
                    });
                    panel += ops::vectors * step;
                };
                multiply(k, std::true_type{});
                for (k += 4; k < stop; k += 4) multiply(k, std::false_type{});
                ops::memory_fence();
                unroll<Rows>([&](auto row) __attribute__((always_inline)) {
                    unroll<ops::vectors>([&](auto v) __attribute__((always_inline)) {
                        std::int32_t* place = sums + (row * ops::vectors + v) * ops::lanes;
                        int32 sum = ops::template load<int32>(place);
                        ops::add_widened(sum, tile[row][v]);
                        ops::store(place, sum);
                    });
                });
            }
        }
    }
}

/// The tile of nibble_quads: sums = bias + 16 * (the row at offsets[0]) * panel + (the row at offsets[1]) * panel. All
/// products lie in one run.
template <class Arch>
[[gnu::noinline]] void multiply_nibbles(const std::uint8_t* band, const std::int32_t* offsets, const window_runs& runs,
                                        const std::int8_t* panel, const std::int32_t* bias,
                                        std::int32_t* sums) noexcept {
    using ops = operations<Arch>;
    constexpr int step = ops::lanes * 4;

    typename ops::int32 tile[2][ops::vectors];  // of the higher halves, and of the lower
    unroll<ops::vectors>([&](auto v) __attribute__((always_inline)) {
        tile[0][v] = typename ops::int32{};
        tile[1][v] = ops::template load<typename ops::int32>(bias + v * ops::lanes);
    });
    const std::uint8_t* high = band + offsets[0];
    const std::ptrdiff_t low = offsets[1] - offsets[0];
    const auto multiply = [&](auto quads) __attribute__((always_inline)) {
        typename ops::int16 pairs[2][ops::vectors];
        unroll<quads>([&](auto quad) __attribute__((always_inline)) {
            typename ops::int8 w[ops::vectors];
            unroll<ops::vectors>([&](auto v) __attribute__((always_inline)) {
                w[v] = ops::template load<typename ops::int8>(panel + (quad * ops::vectors + v) * step);
                ops::keep(w[v]);
            });
            unroll<2>([&](auto half) __attribute__((always_inline)) {
                const auto a = ops::broadcast(high + half * low + 4 * quad);
                unroll<ops::vectors>([&](auto v) __attribute__((always_inline)) {
                    if constexpr (quad == 0) pairs[half][v] = ops::pair_sums(a, w[v]);
                    else ops::add_pair_sums(pairs[half][v], a, w[v]);
                });
                ops::fence(pairs[half]);
            });
        });
        unroll<2 * ops::vectors>([&](auto i) __attribute__((always_inline)) {
            constexpr int half = i / ops::vectors, v = i % ops::vectors;
            ops::add_widened(tile[half][v], pairs[half][v]);
        });
        panel += quads * ops::vectors * step;
        high += 4 * quads;
    };
    constexpr std::integral_constant<int, nibble_quads::window> window;
    constexpr std::integral_constant<int, 1> one;
    int left = runs.length / 4;
    for (; left >= window; left -= window) multiply(window);
    for (; left > 0; --left) multiply(one);
    unroll<ops::vectors>([&](auto v) __attribute__((always_inline)) {
        unroll<4>([&](auto) __attribute__((always_inline)) { ops::add(tile[0][v], tile[0][v]); });  // times 16
        ops::add(tile[1][v], tile[0][v]);
        ops::store(sums + v * ops::lanes, tile[1][v]);
    });
}

/// multiply_tile for 1, 2, ... tile_rows rows.
template <class Arch, class Format>
inline constexpr auto tile_kernels = []<int... Row>(std::integer_sequence<int, Row...>) {
    if constexpr (std::is_same_v<Format, windowed_quads>) return std::array{&multiply_tile_windowed<Arch, Row + 1>...};
    else if constexpr (std::is_same_v<Format, nibble_quads>) return std::array{&multiply_nibbles<Arch>};
    else if constexpr (std::is_same_v<Format, widening_pairs>) {
        constexpr auto whole = &multiply_tile<Arch, Format, operations<Arch>::tile_rows>;
        std::array<std::remove_const_t<decltype(whole)>, sizeof...(Row)> kernels{};
        kernels.back() = whole;
        return kernels;
    } else return std::array{&multiply_tile<Arch, Format, Row + 1>...};
}
(std::make_integer_sequence<int, operations<Arch>::tile_rows>{});

/// Rows of the next tile: full ones, and the rest in two of nearly equal height, because a tile of one row is slow.
template <class Arch> constexpr int next_tile_rows(int rows_left) {
    constexpr int most = operations<Arch>::tile_rows;
    return rows_left >= 2 * most ? most : rows_left > most ? (rows_left + 1) / 2 : rows_left;
}

/// Whether a panel with channels in the first half of its vectors alone is multiplied with those, twice as many rows a tile.
template <class Arch, class Format>
inline constexpr bool has_narrow_tiles = operations<Arch>::has_batches&& operations<Arch>::vectors % 2 == 0 &&
                                         (std::is_same_v<Format, byte_quads> || std::is_same_v<Format, widened_pairs> ||
                                          std::is_same_v<Format, word_pairs>);

/// All rows of a band times one panel. Row r begins at band[offsets[r]]; its results go to y + r * y_pitch.
template <class Arch, class Format, class Out, class Epilogue>
void multiply_panel(const typename Format::activation* band, const std::int32_t* offsets, int rows,
                    const window_runs& runs, const typename Format::weight* panel, const std::int32_t* bias,
                    int first_channel, int channels, const Epilogue& epilogue, Out* y,
                    std::ptrdiff_t y_pitch) noexcept {
    constexpr int tiles = 4;  // that are finished together: a call of the epilogue has its own cost
    alignas(64) std::int32_t sums[tiles * operations<Arch>::tile_rows * panel_width<Arch>];
    for (int row = 0; row != rows;) {
        const int first = row;
        for (int tile = 0; tile != tiles && row != rows; ++tile) {
            std::int32_t* to = sums + (row - first) * panel_width<Arch>;
            if constexpr (has_narrow_tiles<Arch, Format>) {
                constexpr int twice = 2 * operations<Arch>::tile_rows;
                if (channels <= panel_width<Arch> / 2 && rows - row >= twice && tile + 1 != tiles) {
                    multiply_tile<Arch, Format, twice, operations<Arch>::vectors / 2>(band, offsets + row, runs, panel,
                                                                                      bias, to);
                    row += twice;
                    ++tile;
                    continue;
                }
            }
            const int count = next_tile_rows<Arch>(rows - row);
            tile_kernels<Arch, Format>[static_cast<std::size_t>(count - 1)](band, offsets + row, runs, panel, bias, to);
            row += count;
        }
        finish_rows<Arch>(epilogue, sums, row - first, first_channel, channels, y + first * y_pitch, y_pitch);
    }
}

}  // namespace kernel
}  // namespace v0
}  // namespace zp
