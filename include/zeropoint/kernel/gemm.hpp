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

/// Where the products of one row lie, relative to its window's first element: kernel_rows x segments runs of `length`
/// elements, length a multiple of 4; of 2 where panels of pairs skip half a quad of padding. Some kinds of panel have
/// numbers of their own.
struct window_runs {
    int kernel_rows = 1, segments = 1, length = 4;
    std::ptrdiff_t row_advance = 0, segment_advance = 0;
    int skipped_pairs = 0;             ///< pairs of weights behind each run that are padding
    int window = 1;                    ///< windowed_quads: quads summed in 16 bits
    int flipped_sums = 0;              ///< signed_quads: from a row's offset to the sum of its flipped magnitudes
    std::ptrdiff_t flips = 0;          ///< signed_quads: from a magnitude to its flip
    std::ptrdiff_t panel_pitch = 0;    ///< signed_quads: from the weights of a panel to those of the next
    const std::byte* ahead = nullptr;  ///< weights that come next, for the second-level cache
    std::ptrdiff_t ahead_bytes = 0;
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
/// Activations a in [-128, 127] as magnitudes and flips. Where a is negative, all bits of the weight are flipped:
///
///     |a| * (w ^ 0xff) = |a| * (-w - 1) = a * w - |a|
///
/// so that sums lack the magnitudes that were flipped, which is one number a row whatever the weights are.
struct signed_quads {
    using activation = std::uint8_t;
    using weight = std::int8_t;
    static constexpr int depth = 4;
    template <class Operations> [[gnu::always_inline]] static auto load(const weight* panel) { return panel; }
    template <class Operations, class Activations, class Weights>
    [[gnu::always_inline]] static void dot(typename Operations::int32& sums, Activations magnitudes, Activations flips,
                                           Weights w) {
        Operations::dot4_flipped(sums, magnitudes, flips, w);
    }
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

/// One tile: sums[row][channel] = bias[channel] + the products of `Rows` rows with one panel, modulo 2^32. If only the first
/// of two vectors of the panel is multiplied, the sums of the other are 0. More vectors are those of the next panel.
template <class Arch, class Format, int Rows, int Vectors = operations<Arch>::vectors>
[[gnu::noinline]] void multiply_tile(const typename Format::activation* band, const std::int32_t* offsets,
                                     const window_runs& runs, const typename Format::weight* panel,
                                     const std::int32_t* bias, std::int32_t* sums) noexcept {
    using ops = operations<Arch>;
    using int32 = typename ops::int32;
    constexpr int step = ops::lanes * Format::depth;
    constexpr bool flipped = std::is_same_v<Format, signed_quads>;
    // A narrow tile has twice as many rows: if each loaded the weights, loads would take longer than products.
    constexpr bool narrow = Vectors < ops::vectors;
    using loaded = std::conditional_t<flipped && narrow, byte_quads, Format>;
    using weights = decltype(loaded::template load<ops>(panel));

    constexpr int sets = Rows == 1 ? 2 : 1;  // of sums: one row waits for its additions otherwise
    const typename Format::activation* rows[Rows];
    unroll<Rows>([&](auto row) __attribute__((always_inline)) { rows[row] = band + offsets[row]; });
    int32 tile[sets][Rows][Vectors];
    unroll<Rows>([&](auto row) __attribute__((always_inline)) {
        unroll<Vectors>([&](auto v) __attribute__((always_inline)) {
            tile[0][row][v] = ops::template load<int32>(bias + v * ops::lanes);
            if constexpr (flipped) ops::add(tile[0][row][v], offsets[row + runs.flipped_sums]);
            if constexpr (sets == 2) tile[1][row][v] = int32{};
        });
    });
    const auto multiply = [&](std::ptrdiff_t k, auto set) __attribute__((always_inline)) {
        weights w[Vectors];
        unroll<Vectors>([&](auto v) __attribute__((always_inline)) {
            w[v] = loaded::template load<ops>(panel + v / ops::vectors * runs.panel_pitch + v % ops::vectors * step);
        });
        [[maybe_unused]] const std::ptrdiff_t flips = k + runs.flips;
        unroll<Rows>([&](auto row) __attribute__((always_inline)) {
            const auto a = ops::broadcast(rows[row] + k);
            unroll<Vectors>([&](auto v) __attribute__((always_inline)) {
                if constexpr (flipped)
                    Format::template dot<ops>(tile[set][row][v], a, ops::broadcast(rows[row] + flips), w[v]);
                else Format::template dot<ops>(tile[set][row][v], a, w[v]);
            });
            if constexpr (Vectors == 1) ops::keep(tile[set][row][0]);
            else if constexpr (Rows > 2) ops::fence(tile[set][row]);
        });
        panel += ops::vectors * step;
    };
    constexpr std::integral_constant<int, 0> first;
    constexpr std::integral_constant<int, sets - 1> last;
    for (int kernel_row = 0; kernel_row != runs.kernel_rows; ++kernel_row) {
        std::ptrdiff_t begin = kernel_row * runs.row_advance;
        for (int segment = 0; segment != runs.segments; ++segment, begin += runs.segment_advance) {
            const std::ptrdiff_t end = begin + runs.length;
            std::ptrdiff_t k = begin;
            if constexpr (Rows <= 2) {  // too little work a step to hide the loop
#pragma GCC unroll 2
                for (; k + 2 * Format::depth <= end; k += 2 * Format::depth) {
                    multiply(k, first);
                    multiply(k + Format::depth, last);
                }
            }
            for (; k < end; k += Format::depth) multiply(k, first);
            if constexpr (Format::depth == 2) panel += runs.skipped_pairs * (ops::vectors * step);
        }
    }
    unroll<Rows>([&](auto row) __attribute__((always_inline)) {
        unroll<Vectors>([&](auto v) __attribute__((always_inline)) {
            if constexpr (sets == 2) ops::add(tile[0][row][v], tile[1][row][v]);
            ops::store(sums + (row * ops::vectors + v) * ops::lanes, tile[0][row][v]);
        });
        if constexpr (narrow) ops::store(sums + (row * ops::vectors + 1) * ops::lanes, int32{});
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

/// multiply_tile for 1, 2, ... tile_rows rows.
template <class Arch, class Format>
inline constexpr auto tile_kernels = []<int... Row>(std::integer_sequence<int, Row...>) {
    if constexpr (std::is_same_v<Format, windowed_quads>) return std::array{&multiply_tile_windowed<Arch, Row + 1>...};
    else return std::array{&multiply_tile<Arch, Format, Row + 1>...};
}
(std::make_integer_sequence<int, operations<Arch>::tile_rows>{});

/// Rows of the next tile: full ones, and the rest in two of nearly equal height, because a tile of one row is slow.
template <class Arch> constexpr int next_tile_rows(int rows_left) {
    constexpr int most = operations<Arch>::tile_rows;
    return rows_left >= 2 * most ? most : rows_left > most ? (rows_left + 1) / 2 : rows_left;
}

/// Whether a panel with channels in the first of two vectors alone is multiplied with that one, twice as many rows a tile.
template <class Arch, class Format>
inline constexpr bool has_narrow_tiles =
    operations<Arch>::has_batches&& operations<Arch>::vectors == 2 && !std::is_same_v<Format, windowed_quads>;

/// All rows of a band times one panel. Row r begins at band[offsets[r]]; its results go to y + r * y_pitch.
template <class Arch, class Format, class Out, class Epilogue>
void multiply_panel(const typename Format::activation* band, const std::int32_t* offsets, int rows,
                    const window_runs& runs, const typename Format::weight* panel, const std::int32_t* bias,
                    int first_channel, int channels, const Epilogue& epilogue, Out* y,
                    std::ptrdiff_t y_pitch) noexcept {
    constexpr int tiles = 4;  // that are finished together: a call of the epilogue has its own cost
    alignas(64) std::int32_t sums[tiles * operations<Arch>::tile_rows * panel_width<Arch>];
    const std::ptrdiff_t ahead_step = runs.ahead_bytes / (rows / operations<Arch>::tile_rows + 1) + 64;
    std::ptrdiff_t ahead = 0, ahead_end = 0;
    for (int row = 0; row != rows;) {
        const int first = row;
        for (int tile = 0; tile != tiles && row != rows; ++tile) {
            std::int32_t* to = sums + (row - first) * panel_width<Arch>;
            if constexpr (has_narrow_tiles<Arch, Format>) {
                constexpr int twice = 2 * operations<Arch>::tile_rows;
                if (channels <= operations<Arch>::lanes && rows - row >= twice && tile + 1 != tiles) {
                    multiply_tile<Arch, Format, twice, 1>(band, offsets + row, runs, panel, bias, to);
                    row += twice;
                    ++tile;
                    continue;
                }
            }
            ahead_end = std::min(ahead_end + ahead_step, runs.ahead_bytes);
            for (; ahead < ahead_end; ahead += 64) __builtin_prefetch(runs.ahead + ahead, 0, 2);
            const int count = next_tile_rows<Arch>(rows - row);
            tile_kernels<Arch, Format>[static_cast<std::size_t>(count - 1)](band, offsets + row, runs, panel, bias, to);
            row += count;
        }
        finish_rows<Arch>(epilogue, sums, row - first, first_channel, channels, y + first * y_pitch, y_pitch);
    }
}

/// One row times two panels, `channels` counting those of both. They share what is loaded of the row, which would be as much
/// as the weights of one.
template <class Arch, class Out, class Epilogue>
void multiply_two_panels(const std::uint8_t* band, const std::int32_t* offsets, const window_runs& runs,
                         const std::int8_t* panels, const std::int32_t* bias, int first_channel, int channels,
                         const Epilogue& epilogue, Out* y) noexcept {
    constexpr int width = panel_width<Arch>;
    alignas(64) std::int32_t sums[2 * width];
    multiply_tile<Arch, signed_quads, 1, 2 * operations<Arch>::vectors>(band, offsets, runs, panels, bias, sums);
    finish_rows<Arch>(epilogue, sums, 1, first_channel, width, y, 0);
    finish_rows<Arch>(epilogue, sums + width, 1, first_channel + width, channels - width, y + width, 0);
}

}  // namespace kernel
}  // namespace v0
}  // namespace zp
