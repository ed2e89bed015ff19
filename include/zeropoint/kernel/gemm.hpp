// The one loop nest of the integer kernels: rows of activations times a panel of weights, by tiles, into an epilogue.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include <zeropoint/kernel/dispatch.hpp>
#include <zeropoint/kernel/requantize.hpp>
#include <zeropoint/kernel/unroll.hpp>

//   for each tile of rows:                      multiply_panel
//       sums = bias                                 multiply_tile: int32 registers
//       for each run of the depth:
//           for each quad (pair) of the run:
//               load the panel's weights
//               for each row: broadcast its quad, dot, add
//       store sums                                  one tile, in the first-level cache
//       y = epilogue(sums)                      finish_rows
//
// The tile kernel knows activation and weight types only, the epilogue output types only: their product is never
// compiled.

namespace zp {
inline namespace v0 {
namespace kernel {

/// Where the products of one row lie, relative to its window's first element: kernel_rows x segments runs of `length`
/// elements, length a multiple of 4.
struct window_runs {
    int kernel_rows = 1, segments = 1, length = 4;
    std::ptrdiff_t row_advance = 0, segment_advance = 0;
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

/// One tile: sums[row][channel] = bias[channel] + the products of `Rows` rows with one panel, modulo 2^32.
template <class Arch, class Format, int Rows>
[[gnu::noinline]] void multiply_tile(const typename Format::activation* band, const std::int32_t* offsets,
                                     const window_runs& runs, const typename Format::weight* panel,
                                     const std::int32_t* bias, std::int32_t* sums) noexcept {
    using ops = operations<Arch>;
    using int32 = typename ops::int32;
    constexpr int step = ops::lanes * Format::depth;
    using weights = decltype(Format::template load<ops>(panel));

    int32 tile[Rows][ops::vectors];
    const typename Format::activation* rows[Rows];
    unroll<Rows>([&](auto row) __attribute__((always_inline)) {
        rows[row] = band + offsets[row];
        unroll<ops::vectors>([&](auto v) __attribute__((always_inline)) {
            tile[row][v] = ops::template load<int32>(bias + v * ops::lanes);
        });
    });
    for (int kernel_row = 0; kernel_row != runs.kernel_rows; ++kernel_row) {
        std::ptrdiff_t begin = kernel_row * runs.row_advance;
        for (int segment = 0; segment != runs.segments; ++segment, begin += runs.segment_advance) {
            const std::ptrdiff_t end = begin + runs.length;
            const auto multiply = [&](std::ptrdiff_t k) __attribute__((always_inline)) {
                weights w[ops::vectors];
                unroll<ops::vectors>([&](auto v) __attribute__((always_inline)) {
                    w[v] = Format::template load<ops>(panel + v * step);
                });
                unroll<Rows>([&](auto row) __attribute__((always_inline)) {
                    const auto a = ops::broadcast(rows[row] + k);
                    unroll<ops::vectors>([&](auto v) __attribute__((always_inline)) {
                        Format::template dot<ops>(tile[row][v], a, w[v]);
                    });
                    if constexpr (Rows > 2) ops::fence(tile[row]);
                });
                panel += ops::vectors * step;
            };
            if constexpr (Rows <= 2) {  // too little work a step to hide the loop
#pragma GCC unroll 4
                for (std::ptrdiff_t k = begin; k < end; k += Format::depth) multiply(k);
            } else {
                for (std::ptrdiff_t k = begin; k < end; k += Format::depth) multiply(k);
            }
        }
    }
    unroll<Rows>([&](auto row) __attribute__((always_inline)) {
        unroll<ops::vectors>([&](auto v) __attribute__((always_inline)) {
            ops::store(sums + (row * ops::vectors + v) * ops::lanes, tile[row][v]);
        });
    });
}

/// multiply_tile for 1, 2, ... tile_rows rows.
template <class Arch, class Format>
inline constexpr auto tile_kernels = []<int... Row>(std::integer_sequence<int, Row...>) {
    return std::array{&multiply_tile<Arch, Format, Row + 1>...};
}
(std::make_integer_sequence<int, operations<Arch>::tile_rows>{});

/// Rows of the next tile: full ones, and the rest in two of nearly equal height, because a tile of one row is slow.
template <class Arch> constexpr int next_tile_rows(int rows_left) {
    constexpr int most = operations<Arch>::tile_rows;
    return rows_left >= 2 * most ? most : rows_left > most ? (rows_left + 1) / 2 : rows_left;
}

/// y[row * y_pitch + channel] = epilogue(sums[row][channel]) for a tile, its channels being [first_channel,
/// first_channel + channels) of the layer. Writes nothing else.
template <class Arch, class Out, class Epilogue>
[[gnu::noinline]] void finish_rows(const Epilogue& epilogue, const std::int32_t* sums, int rows, int first_channel,
                                   int channels, Out* y, std::ptrdiff_t y_pitch) noexcept {
    using ops = operations<Arch>;
    constexpr int width = panel_width<Arch>;
    if constexpr (ops::has_batches) {
        typename Epilogue::template copies<width> room;
        const Epilogue panel = epilogue.template panel<width>(first_channel, channels, room);
        for (int row = 0; row != rows; ++row) {
            const auto finish = [&](auto v) __attribute__((always_inline)) {
                return panel.vector(
                    ops::template load<typename ops::int32>(sums + (row * ops::vectors + v) * ops::lanes),
                    v * ops::lanes);
            };
            static_assert(ops::vectors == 2, "finish_rows: store_row takes the two vectors of a row");
            const auto first = finish(std::integral_constant<int, 0>{}),
                       second = finish(std::integral_constant<int, 1>{});
            if (channels == width) {
                ops::store_row(y + row * y_pitch, first, second);
            } else {
                Out whole[width];
                ops::store_row(whole, first, second);
                std::memcpy(y + row * y_pitch, whole, static_cast<std::size_t>(channels) * sizeof(Out));
            }
        }
    } else {
        for (int row = 0; row != rows; ++row) {
            for (int c = 0; c != channels; ++c) {
                y[row * y_pitch + c] = static_cast<Out>(epilogue(sums[row * width + c], first_channel + c));
            }
        }
    }
    if constexpr (sizeof(Out) == 1) {
        const std::uint8_t* table = table_of(epilogue);
        if (table == nullptr) return;
        for (int row = 0; row != rows; ++row) {
            for (int c = 0; c != channels; ++c) {
                Out& code = y[row * y_pitch + c];
                code = static_cast<Out>(table[static_cast<std::uint8_t>(code)]);
            }
        }
    }
}

/// All rows of a band times one panel. Row r begins at band[offsets[r]]; its results go to y + r * y_pitch.
template <class Arch, class Format, class Out, class Epilogue>
void multiply_panel(const typename Format::activation* band, const std::int32_t* offsets, int rows,
                    const window_runs& runs, const typename Format::weight* panel, const std::int32_t* bias,
                    int first_channel, int channels, const Epilogue& epilogue, Out* y,
                    std::ptrdiff_t y_pitch) noexcept {
    alignas(64) std::int32_t sums[operations<Arch>::tile_rows * panel_width<Arch>];
    for (int row = 0; row != rows;) {
        const int count = next_tile_rows<Arch>(rows - row);
        tile_kernels<Arch, Format>[static_cast<std::size_t>(count - 1)](band, offsets + row, runs, panel, bias, sums);
        finish_rows<Arch>(epilogue, sums, count, first_channel, channels, y + row * y_pitch, y_pitch);
        row += count;
    }
}

}  // namespace kernel
}  // namespace v0
}  // namespace zp
