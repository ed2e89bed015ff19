// SPDX-License-Identifier: BSD-3-Clause
// Products of whole tiles on machines that hold tiles in registers, as AMX does: 16 or 32 rows times a panel of 32 channels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

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
// All registers have the same shape always. Where a run of the depth is no multiple of 64, its rest is copied in front of
// zeros; the weights that come next are loaded beside, and behind the last panel there is room to (tile_slack).

namespace zp {
inline namespace v0 {
namespace kernel {

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
///   multiply<Sums, Rows, Weights>()   sums[m][n] += rows[m][4 k + i] * weights[k][4 n + i], over k and i, of unsigned
///                                     bytes, modulo 2^32
template <class Tiles> struct tile_products {
    static constexpr int whole_tile_rows = 16, most_whole_rows = 32, whole_tile_width = 32;
    /// Bytes behind the last panel that are read beside the rest of a run.
    static constexpr std::ptrdiff_t tile_slack = 16 * 4 * whole_tile_width;

    /// Whether tiles are faster than dot products of 64 bytes, for so many runs of so many bytes. In cycles, counted and not
    /// measured: two vectors of sums are 16 rows x 2 / 2 dot products a quad; tiles are two products of 16 cycles for each 64
    /// bytes of a run or less, and about 100 for sums on their way in and out.
    static constexpr bool whole_tiles_pay(int run_length, int runs) {
        const std::ptrdiff_t quads = std::ptrdiff_t{run_length} / 4 * runs,
                             steps = (std::ptrdiff_t{run_length} + 63) / 64 * runs;
        return 16 * quads > 32 * steps + 100;
    }

    /// Tile registers in use by this thread.
    class tile_session {
    public:
        /// For rows of so many runs of so many bytes. Where tiles do not pay, or are refused, it is not usable.
        tile_session(int rows, int run_length, int runs) noexcept
            : usable_(rows >= whole_tile_rows && whole_tiles_pay(run_length, runs) && Tiles::may_be_used()) {
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
    /// first 16 where no more are asked for. Gives how many rows: of `rows`, at least 16, the first 32 or 16. A session is
    /// open. `Runs` is window_runs.
    template <class Runs>
    static int multiply_whole_tiles(const std::uint8_t* band, const std::int32_t* offsets, int rows, const Runs& runs,
                                    const std::int8_t* panel, const std::int32_t* bias, int channels,
                                    std::int32_t* sums) noexcept {
        const bool narrow = channels <= whole_tile_width / 2;
        if (rows < most_whole_rows) {
            if (narrow) multiply_tiles<1, 1>(band, offsets, runs, panel, bias, sums);
            else multiply_tiles<1, 2>(band, offsets, runs, panel, bias, sums);
            return whole_tile_rows;
        }
        if (narrow) multiply_tiles<2, 1>(band, offsets, runs, panel, bias, sums);
        else multiply_tiles<2, 2>(band, offsets, runs, panel, bias, sums);
        return most_whole_rows;
    }

    /// Adds the products of `Heights` tiles of rows with the first `Widths` halves of a panel to the registers of sums. Rows of
    /// a tile lie `pitch` apart, or where they do not, not `Equal`, are brought together.
    template <int Heights, int Widths, bool Equal, class Runs>
    [[gnu::noinline]] static void multiply_tile_runs(const std::uint8_t* band, const std::int32_t* offsets,
                                                     std::ptrdiff_t pitch, const Runs& runs,
                                                     const std::int8_t* panel) noexcept {
        constexpr int rows = Heights * 16;
        alignas(64) std::uint8_t together[Equal ? 1 : rows * 64];
        alignas(64) std::uint8_t rest[rows * 64];
        const int last = runs.length % 64, whole = runs.length - last;
        if (last != 0) std::memset(rest, 0, sizeof rest);
        for (int kernel_row = 0; kernel_row != runs.kernel_rows; ++kernel_row) {
            std::ptrdiff_t begin = kernel_row * runs.row_advance;
            for (int segment = 0; segment != runs.segments; ++segment, begin += runs.segment_advance) {
                const std::uint8_t* from = band + begin;
                const std::uint8_t* const end = from + whole;
                if constexpr (Equal) {
                    const std::uint8_t *first = from + offsets[0], *second = from + offsets[rows - 16];
                    for (const std::uint8_t* stop = first + whole; first != stop;
                         first += 64, second += 64, panel += 16 * panel_step) {
                        Tiles::template load<first_rows, 0>(first, pitch);
                        if constexpr (Heights == 2) Tiles::template load<second_rows, 0>(second, pitch);
                        multiply<Heights, Widths>(panel);
                    }
                    from = end;
                } else {
                    for (; from != end; from += 64, panel += 16 * panel_step) {
                        for (int row = 0; row != rows; ++row) std::memcpy(together + row * 64, from + offsets[row], 64);
                        load_copies<Heights>(together);
                        multiply<Heights, Widths>(panel);
                    }
                }
                if (last == 0) continue;
                for (int row = 0; row != rows; ++row)
                    std::memcpy(rest + row * 64, from + offsets[row], static_cast<std::size_t>(last));
                load_copies<Heights>(rest);
                multiply<Heights, Widths>(panel);
                panel += last / 4 * panel_step;
            }
        }
    }

private:
    static constexpr std::ptrdiff_t panel_step = 4 * whole_tile_width;  ///< bytes of a panel from a quad to the next
    static constexpr std::ptrdiff_t sum_pitch = whole_tile_width * sizeof(std::int32_t);

    template <int Heights, int Widths, class Runs>
    static void multiply_tiles(const std::uint8_t* band, const std::int32_t* offsets, const Runs& runs,
                               const std::int8_t* panel, const std::int32_t* bias, std::int32_t* sums) noexcept {
        bool equal = true;
        const std::ptrdiff_t pitch = offsets[1] - offsets[0];
        for (int row = 0; row != Heights * 16; ++row) {
            equal = equal && offsets[row] == offsets[row / 16 * 16] + row % 16 * pitch;
            const std::uint32_t excess = static_cast<std::uint32_t>(offsets[row + runs.row_sums]) * 128u;
            for (int c = 0; c != whole_tile_width; ++c)
                sums[row * whole_tile_width + c] =
                    static_cast<std::int32_t>(static_cast<std::uint32_t>(bias[c]) - excess);
        }
        for_each_sum<Heights, Widths>([&](auto sum, auto place) __attribute__((always_inline)) {
            Tiles::template load<sum, place>(sums, sum_pitch);
        });
        if (equal) multiply_tile_runs<Heights, Widths, true>(band, offsets, pitch, runs, panel);
        else multiply_tile_runs<Heights, Widths, false>(band, offsets, pitch, runs, panel);
        for_each_sum<Heights, Widths>([&](auto sum, auto place) __attribute__((always_inline)) {
            Tiles::template store<sum, place>(sums, sum_pitch);
        });
    }

    template <int Heights> [[gnu::always_inline]] static void load_copies(const std::uint8_t* rows) noexcept {
        Tiles::template load<first_rows, 0>(rows, 64);
        if constexpr (Heights == 2) Tiles::template load<second_rows, 16 * 64>(rows, 64);
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

}  // namespace kernel
}  // namespace v0
}  // namespace zp
