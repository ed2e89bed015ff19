// SPDX-License-Identifier: BSD-3-Clause
// Products of whole tiles on machines that hold tiles in registers, as AMX does: 16 or 32 rows times a panel of 32 channels.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <zeropoint/kernel/vector/unroll.hpp>

// A tile register holds 16 rows of 64 bytes. One instruction multiplies a tile of activations, 16 rows x 64 bytes of the
// depth, with one of weights, 16 quads of the depth x 16 channels x 4 bytes, into 16 x 16 int32 sums. A panel of quads of
// 32 channels, [depth / 4][channel][4], is two such tiles side by side every 64 products, where it lies.
//
//                  low_weights      high_weights
//   first_rows     sums 0           sums 1          four sums hide the latency of a product, 52 cycles, behind
//   second_rows    sums 2           sums 3          the 16 that each takes
//
// Both operands are unsigned: weights are stored 128 higher (offset_quads in gemm/gemm.hpp), and
//
//     sum x w = sum x (w + 128) - 128 sum x
//
// modulo 2^32, of which the second part is one number a row, listed before (window_runs::row_sums), and where sums begin.
//
// All registers have the same shape always. Rows at equal distances are loaded where they lie, if runs of the depth are
// multiples of 64. Others are copied, 64 bytes of each row, the rest of a run in front of zeros, a step before they are
// multiplied: a tile that is loaded behind the stores of its own rows waits for them, 144 cycles a step for 78. The weights
// that come next are loaded beside the rest of a run, and behind the last panel there is room to (tile_slack).

namespace zp::inline v0::kernel {

/// What the registers are used for, behind those of sums.
enum tile_register : int { first_sums = 0, first_rows = 4, second_rows, low_weights, high_weights, tile_registers };

/// The shapes of all registers, as ldtilecfg reads them.
struct alignas(64) tile_shapes {
    std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
    std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(tile_shapes) == 64);

/// The part of an architecture's primitives that multiplies whole tiles (arch/contract.hpp). `Tiles` has the instructions:
///
///   may_be_used()                     whether the machine lets this program use them; asked for each session
///   configure(shapes), release()      begin and end
///   load<Register, Offset>(from, pitch)  rows that lie `pitch` bytes apart, `Offset` bytes behind `from`
///   store<Register, Offset>(to, pitch)
///   copy(from, to), copy(from, count, to)  64 bytes to a multiple of 64, the second `count` of them and zeros
///   multiply<Sums, Rows, Weights>()   sums[m][n] += rows[m][4 k + i] * weights[k][4 n + i], over k and i, of unsigned
///                                     bytes, modulo 2^32
template <class Tiles> struct tile_products {
    static constexpr int whole_tile_rows = 16, most_whole_rows = 32, whole_tile_width = 32;
    /// Bytes behind the last panel that are read beside the rest of a run.
    static constexpr std::ptrdiff_t tile_slack = 16 * 4 * whole_tile_width;

    /// Whether tiles are faster than dot products of 64 bytes, for so many rows of so many runs of so many bytes: in cycles as an
    /// Emerald Rapids takes them. Dot products of two vectors are one a row and quad. Loads and products of tiles are 78 for each
    /// 64 bytes of a run or less, 155 for sums on their way in and out and about 100 around that. Of 16 rows alone they are half,
    /// but weights that are used for one tile come from the second-level cache, 95 a step.
    static constexpr bool whole_tiles_pay(int rows, int run_length, int runs) {
        if (rows < fewest_whole_rows) return false;
        const std::ptrdiff_t quads = std::ptrdiff_t{run_length} / 4 * runs, steps = steps_of(run_length, runs);
        return rows > whole_tile_rows ? most_whole_rows * quads > 78 * steps + 255 : rows * quads > 95 * steps + 128;
    }
    /// Products of 64 bytes that the depth takes.
    static constexpr std::ptrdiff_t steps_of(int run_length, int runs) {
        return (std::ptrdiff_t{run_length} + 63) / 64 * runs;
    }
    /// Rows that are left and for which a tile, the others of which are not used, beats dot products: 4 rows of 64 bytes
    /// are 64 dot products, a tile of 16 rows takes 45 cycles a step.
    static constexpr int fewest_whole_rows = 4;

    /// Tile registers in use by this thread.
    class tile_session {
    public:
        /// For rows of so many runs of so many bytes. Where tiles do not pay, or are refused, it is not usable.
        tile_session(int rows, int run_length, int runs) noexcept
            : usable_(whole_tiles_pay(rows, run_length, runs) && Tiles::may_be_used()) {
            static constexpr tile_shapes shapes;
            if (usable_) Tiles::configure(shapes);
        }
        tile_session(const tile_session&) = delete;
        tile_session& operator=(const tile_session&) = delete;
        ~tile_session() {
            if (usable_) Tiles::release();
        }
        bool usable() const noexcept { return usable_; }

    private:
        bool usable_;
    };

    /// sums[row][channel] = bias[channel] - 128 * the row's sum + the products of rows with a panel, of all 32 channels or the
    /// first 16 where no more are asked for. Gives how many rows: of `rows`, at least fewest_whole_rows, the first 32 or 16 or all
    /// there are; `sums` has room for 32. The weights of `ahead`, which come next, are fetched beside. A session is open. `Runs`
    /// is window_runs.
    template <class Runs>
    static int multiply_whole_tiles(const std::uint8_t* band, const std::int32_t* offsets, int rows, const Runs& runs,
                                    const std::int8_t* panel, const std::int32_t* bias, int channels,
                                    std::span<const std::byte> ahead, std::int32_t* sums) noexcept {
        const bool narrow = channels <= whole_tile_width / 2;
        const weights_ahead fetched(ahead, steps_of(runs.length, runs.kernel_rows * runs.segments));
        if (rows <= whole_tile_rows) {
            if (narrow) multiply_tiles<1, 1>(band, offsets, rows, runs, panel, bias, fetched, sums);
            else multiply_tiles<1, 2>(band, offsets, rows, runs, panel, bias, fetched, sums);
            return rows;
        }
        if (narrow) multiply_tiles<2, 1>(band, offsets, rows, runs, panel, bias, fetched, sums);
        else multiply_tiles<2, 2>(band, offsets, rows, runs, panel, bias, fetched, sums);
        return std::min(rows, most_whole_rows);
    }

    /// Weights to fetch, as many with each step: all at once would be waited for.
    class weights_ahead {
    public:
        weights_ahead(std::span<const std::byte> ahead, std::ptrdiff_t steps) noexcept
            : next_(ahead.data()),
              lines_(static_cast<int>((static_cast<std::ptrdiff_t>(ahead.size()) + 64 * steps - 1) / (64 * steps))) {}
        bool are_none() const noexcept { return lines_ == 0; }
        [[gnu::always_inline]] void fetch() noexcept {
            for (int line = 0; line != lines_; ++line, next_ += 64) __builtin_prefetch(next_, 0, 2);
        }

    private:
        const std::byte* next_;
        int lines_;  ///< of a step
    };
    struct nothing_ahead {
        static void fetch() noexcept {}
    };

    /// Adds the products of `Heights` tiles of rows that lie `pitch` apart, in runs of multiples of 64, with the first `Widths`
    /// halves of a panel to the registers of sums.
    template <int Heights, int Widths, class Runs, class Ahead>
    [[gnu::noinline]] static void multiply_tiles_in_place(const std::uint8_t* band, const std::int32_t* offsets,
                                                          std::ptrdiff_t pitch, const Runs& runs,
                                                          const std::int8_t* panel, Ahead ahead) noexcept {
        for (int kernel_row = 0; kernel_row != runs.kernel_rows; ++kernel_row) {
            const std::uint8_t* from = band + kernel_row * runs.row_advance;
            for (int segment = 0; segment != runs.segments; ++segment, from += runs.segment_advance) {
                const std::uint8_t *first = from + offsets[0], *second = from + offsets[Heights * 16 - 16];
                for (const std::uint8_t* end = first + runs.length; first != end;
                     first += 64, second += 64, panel += 16 * panel_step) {
                    Tiles::template load<first_rows, 0>(first, pitch);
                    if constexpr (Heights == 2) Tiles::template load<second_rows, 0>(second, pitch);
                    multiply<Heights, Widths>(panel);
                    ahead.fetch();
                }
            }
        }
    }

    /// The same of any rows and runs, by copies.
    template <int Heights, int Widths, class Runs, class Ahead>
    [[gnu::noinline]] static void multiply_tile_copies(const std::uint8_t* band, const std::int32_t* offsets,
                                                       const Runs& runs, const std::int8_t* panel,
                                                       Ahead ahead) noexcept {
        alignas(64) std::uint8_t copies[2][Heights * 16 * 64];
        const auto copy = [&](const std::uint8_t* from, int count, std::uint8_t* to) {
            if (count == 64) {
#pragma GCC unroll 8
                for (int row = 0; row != Heights * 16; ++row) Tiles::copy(from + offsets[row], to + row * 64);
            } else {
#pragma GCC unroll 8
                for (int row = 0; row != Heights * 16; ++row) Tiles::copy(from + offsets[row], count, to + row * 64);
            }
        };
        const std::uint8_t *kernel_row = band, *segment = band, *from = band;
        int rows_left = runs.kernel_rows, segments_left = runs.segments, left = runs.length, turn = 0;
        copy(from, std::min(left, 64), copies[turn]);
        for (;;) {
            const int count = std::min(left, 64);
            left -= count;
            from += count;
            if (left == 0) {  // the next run
                left = runs.length;
                if (--segments_left != 0) {
                    from = segment += runs.segment_advance;
                } else {
                    segments_left = runs.segments;
                    --rows_left;
                    from = segment = kernel_row += runs.row_advance;
                }
            }
            if (rows_left != 0) copy(from, std::min(left, 64), copies[1 - turn]);
            Tiles::template load<first_rows, 0>(copies[turn], 64);
            if constexpr (Heights == 2) Tiles::template load<second_rows, 16 * 64>(copies[turn], 64);
            multiply<Heights, Widths>(panel);
            ahead.fetch();
            if (rows_left == 0) return;
            panel += count / 4 * panel_step;
            turn = 1 - turn;
        }
    }

private:
    static constexpr std::ptrdiff_t panel_step = 4 * whole_tile_width;  ///< bytes of a panel from a quad to the next
    static constexpr std::ptrdiff_t sum_pitch = whole_tile_width * sizeof(std::int32_t);

    /// Of the first `rows` rows, at most Heights * 16; the others are the last again.
    template <int Heights, int Widths, class Runs>
    static void multiply_tiles(const std::uint8_t* band, const std::int32_t* offsets, int rows, const Runs& runs,
                               const std::int8_t* panel, const std::int32_t* bias, const weights_ahead& ahead,
                               std::int32_t* sums) noexcept {
        constexpr int all = Heights * 16;
        std::int32_t places[2 * all];  // and sums of rows
        int row_sums = runs.row_sums;
        const bool whole = rows >= all;
        if (!whole) {
            for (int row = 0; row != all; ++row) {
                places[row] = offsets[std::min(row, rows - 1)];
                places[all + row] = offsets[std::min(row, rows - 1) + row_sums];
            }
            offsets = places;
            row_sums = all;
        }
        for (int row = 0; row != all; ++row) {
            const std::uint32_t excess = static_cast<std::uint32_t>(offsets[row + row_sums]) * 128u;
            for (int c = 0; c != whole_tile_width; ++c)
                sums[row * whole_tile_width + c] =
                    static_cast<std::int32_t>(static_cast<std::uint32_t>(bias[c]) - excess);
        }
        for_each_sum<Heights, Widths>([&](auto sum, auto place) __attribute__((always_inline)) {
            Tiles::template load<sum, place>(sums, sum_pitch);
        });
        const std::int32_t pitch = offsets[1] - offsets[0];
        const bool in_place = whole && runs.length % 64 == 0 && are_equally_far<Heights>(offsets, pitch);
        const auto multiply_with = [&](auto fetched) {
            if (in_place) multiply_tiles_in_place<Heights, Widths>(band, offsets, pitch, runs, panel, fetched);
            else multiply_tile_copies<Heights, Widths>(band, offsets, runs, panel, fetched);
        };
        if (ahead.are_none()) multiply_with(nothing_ahead());
        else multiply_with(ahead);
        for_each_sum<Heights, Widths>([&](auto sum, auto place) __attribute__((always_inline)) {
            Tiles::template store<sum, place>(sums, sum_pitch);
        });
    }

    /// Whether the rows of each tile lie `pitch` apart.
    template <int Heights> static bool are_equally_far(const std::int32_t* offsets, std::int32_t pitch) noexcept {
        std::int32_t differences = 0;
        for (int row = 0; row != Heights * 16; ++row)
            differences |= offsets[row] ^ (offsets[row / 16 * 16] + row % 16 * pitch);
        return differences == 0;
    }

    /// The rows in their registers times the next 64 of the depth.
    template <int Heights, int Widths> [[gnu::always_inline]] static void multiply(const std::int8_t* panel) noexcept {
        Tiles::template load<low_weights, 0>(panel, panel_step);
        if constexpr (Widths == 2) Tiles::template load<high_weights, 64>(panel, panel_step);
        for_each_sum<Heights, Widths>([&](auto sum, auto) __attribute__((always_inline)) {
            Tiles::template multiply<sum, first_rows + sum / 2, low_weights + sum % 2>();
        });
    }

    /// Calls visit(register, bytes from the first sum) with constants, for the sums of `Heights` x `Widths` tiles.
    template <int Heights, int Widths, class Visit>
    [[gnu::always_inline]] static void for_each_sum(Visit visit) noexcept {
        unroll<Heights * Widths>([&](auto i) __attribute__((always_inline)) {
            constexpr int row = i / Widths, column = i % Widths;
            visit(std::integral_constant<int, first_sums + 2 * row + column>{},
                  std::integral_constant<int, row * 16 * static_cast<int>(sum_pitch) + column * 64>{});
        });
    }
};

}  // namespace zp::inline v0::kernel
