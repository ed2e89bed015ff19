// The one loop nest of the integer kernels: rows of activations times a panel of weights, by tiles, into an epilogue.
#pragma once

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
//       store sums                                  one tile, in the first-level cache
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
/// elements, length a multiple of 4. Panels of quads have two more numbers, which differ from panel to panel.
struct window_runs {
    int kernel_rows = 1, segments = 1, length = 4;
    std::ptrdiff_t row_advance = 0, segment_advance = 0;
    int window = 1;     ///< windowed_quads: quads summed in 16 bits
    int residuals = 0;  ///< byte_quads: further quads, whose places and weights follow
    const quad_place* residual_places = nullptr;
    const std::int8_t* residual_weights = nullptr;
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

    constexpr int sets = Rows == 1 ? 2 : 1;  // of sums: one row waits for its additions otherwise
    const typename Format::activation* rows[Rows];
    unroll<Rows>([&](auto row) __attribute__((always_inline)) { rows[row] = band + offsets[row]; });
    int32 tile[sets][Rows][ops::vectors];
    unroll<Rows>([&](auto row) __attribute__((always_inline)) {
        unroll<ops::vectors>([&](auto v) __attribute__((always_inline)) {
            tile[0][row][v] = ops::template load<int32>(bias + v * ops::lanes);
            if constexpr (sets == 2) tile[1][row][v] = int32{};
        });
    });
    const auto multiply = [&](std::ptrdiff_t k, auto set) __attribute__((always_inline)) {
        weights w[ops::vectors];
        unroll<ops::vectors>([&](auto v) __attribute__((always_inline)) {
            w[v] = Format::template load<ops>(panel + v * step);
        });
        unroll<Rows>([&](auto row) __attribute__((always_inline)) {
            const auto a = ops::broadcast(rows[row] + k);
            unroll<ops::vectors>([&](auto v) __attribute__((always_inline)) {
                Format::template dot<ops>(tile[set][row][v], a, w[v]);
            });
            if constexpr (Rows > 2) ops::fence(tile[set][row]);
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
    unroll<Rows>([&](auto row) __attribute__((always_inline)) {
        unroll<ops::vectors>([&](auto v) __attribute__((always_inline)) {
            if constexpr (sets == 2) ops::add(tile[0][row][v], tile[1][row][v]);
            ops::store(sums + (row * ops::vectors + v) * ops::lanes, tile[0][row][v]);
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
                const auto multiply = [&](auto first) __attribute__((always_inline)) {
                    typename ops::int8 w[ops::vectors];
                    unroll<ops::vectors>([&](auto v) __attribute__((always_inline)) {
                        w[v] = ops::template load<typename ops::int8>(panel + v * step);
                    });
                    unroll<Rows>([&](auto row) __attribute__((always_inline)) {
                        const auto a = ops::broadcast(rows[row] + k);
                        unroll<ops::vectors>([&](auto v) __attribute__((always_inline)) {
                            if constexpr (first) tile[row][v] = ops::pair_sums(a, w[v]);
                            else ops::add_pair_sums(tile[row][v], a, w[v]);
                        });
                        if constexpr (Rows > 2) ops::fence(tile[row]);
                    });
                    panel += ops::vectors * step;
                    k += 4;
                };
                multiply(std::true_type{});
                while (k < stop) multiply(std::false_type{});
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
