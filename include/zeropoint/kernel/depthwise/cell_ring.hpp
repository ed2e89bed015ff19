// SPDX-License-Identifier: BSD-3-Clause
// The input of a depthwise or narrow grouped convolution as cells: a ring of staged rows.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/arch/operations.hpp>
#include <zeropoint/kernel/depthwise/column_quads.hpp>
#include <zeropoint/kernel/depthwise/packed_cells.hpp>
#include <zeropoint/kernel/gemm/bands.hpp>
#include <zeropoint/kernel/gemm/pack_panels.hpp>
#include <zeropoint/kernel/geometry/conv2d.hpp>
#include <zeropoint/kernel/vector/unroll.hpp>

// A ring holds as many staged rows as a window covers. Each row of the input is staged once for a block of panels, and
// read kernel_height times:
//
//     row r, at r % ring_rows     | panel: cells of column 0, 1, ... | next panel | ...
//
// Codes are staged unsigned, as bytes or widened to int16. Padding holds their zero point.

namespace zp::inline v0::kernel {

/// Sixteen staged bytes: byte i is from[base + index[i]], or zero where index[i] is `zero`.
struct gather_unit {
    static constexpr std::uint8_t zero = 255;
    std::int32_t base;
    std::uint8_t index[16];
};

/// What follows from a geometry alone: extents of the ring, and the parts of scratch.
template <class Arch> struct depthwise_plan {
    static constexpr int width = panel_width<Arch>;
    /// Outputs computed at once: as many accumulators.
    static constexpr int tile_outputs = 8;
    /// Bytes that the ring should stay within: a part of the second-level cache. Staging fewer panels at a time would
    /// read parts of the cache lines of the input, several times.
    static constexpr std::ptrdiff_t ring_bytes = 72 * 1024;
    /// Bytes behind a row of codes that vector loads may touch.
    static constexpr std::ptrdiff_t slack = 64;
    /// Of the cells of one panel.
    static constexpr int panel_units = (width + 3) / 4;

    cell_grid grid;
    int panels, ring_rows, block_panels;
    int units;
    int channels;  ///< of a row that cells are staged from: of the output where a cell holds columns
    std::ptrdiff_t column_bytes, panel_pitch, row_pitch;
    std::size_t offsets_begin, rows_begin, units_begin, border_begin, source_begin, scratch_bytes;

    constexpr explicit depthwise_plan(const conv2d_geometry& g)
        : grid(g),
          panels((g.out.channels + width - 1) / width),
          ring_rows(g.window_height()),
          channels(grid.of_columns ? g.out.channels : g.in.channels) {
        column_bytes = std::ptrdiff_t{grid.planes(g, 2)} * width * 4;
        panel_pitch = grid.columns(g) * column_bytes;
        const std::ptrdiff_t fitting = ring_bytes / (ring_rows * panel_pitch);
        block_panels = static_cast<int>(std::min<std::ptrdiff_t>(std::max<std::ptrdiff_t>(fitting, 1), panels));
        // A unit of gather is 16 bytes, which may be more than the last cell.
        row_pitch = static_cast<std::ptrdiff_t>(bytes(block_panels * panel_pitch + (width % 4 == 0 ? 0 : 16)));
        // A tile reads the cells of all its outputs, needed or not.
        offsets_begin = bytes(ring_rows * row_pitch + tile_outputs * grid.group_step * column_bytes);
        rows_begin = offsets_begin + bytes(std::ptrdiff_t{g.kernel_height} * grid.row_cells(g, 2) * 4);
        units_begin = rows_begin + bytes(std::ptrdiff_t{ring_rows} * 4);
        units = grid.of_columns ? (g.group_out() == 1 ? 0 : (channels + 15) / 16) : block_panels * panel_units;
        border_begin = units_begin + bytes(units * static_cast<std::ptrdiff_t>(sizeof(gather_unit)));
        source_begin = border_begin + bytes(channels + slack);
        scratch_bytes = source_begin + bytes(std::ptrdiff_t{g.in.width} * channels + slack);
        if constexpr (has_column_quads<Arch>)
            if (suits_column_quads(g)) scratch_bytes = std::max(scratch_bytes, column_plan(g).scratch_bytes);
    }

private:
    static constexpr std::size_t bytes(std::ptrdiff_t count) { return align_up(static_cast<std::size_t>(count)); }
};

/// Interleaves the cells of `columns` columns of `panels` panels. Those of the first column and panel have their slots at
/// from[slot], the next column `from_step` further; they go to `to`, the next panel `panel_pitch` further.
template <class Arch, int Slots>
[[gnu::noinline]] void interleave_cells(const std::uint8_t* const (&from)[Slots], std::ptrdiff_t from_step, int columns,
                                        int panels, std::uint8_t flip, std::byte* to,
                                        std::ptrdiff_t panel_pitch) noexcept {
    constexpr int width = panel_width<Arch>;
    const std::uint8_t* rows[Slots];
    unroll<Slots>([&](auto slot) __attribute__((always_inline)) { rows[slot] = from[slot]; });
    for (int column = 0; column != columns; ++column, to += width * 4) {
        const std::ptrdiff_t first = column * from_step;
        std::byte* cell = to;
        for (std::ptrdiff_t at = first; at != first + panels * width; at += width, cell += panel_pitch)
            operations<Arch>::interleave(rows, at, flip, cell);
    }
}

/// The ring of one call, over codes in bytes, or over those of 16 bits, whose cells are words as they are.
template <class Arch, class Code = std::uint8_t> class depthwise_ring {
public:
    static constexpr int width = panel_width<Arch>;

    static constexpr bool is_int16 = sizeof(Code) == 2;

    depthwise_ring(const conv2d_geometry& g, const Code* x, activation_codes codes, std::byte* scratch) noexcept
        : g_(g), plan_(g), x_(x), flip_(static_cast<std::uint8_t>(unsigned_shift(codes))), scratch_(scratch) {
        if constexpr (is_int16) return;
        std::memset(at<std::uint8_t>(plan_.border_begin), codes.zero_point,
                    static_cast<std::size_t>(plan_.channels + plan_.slack));
        if (!plan_.grid.of_columns) return;
        auto* unit = at<gather_unit>(plan_.units_begin);
        for (int i = 0; i != plan_.units; ++i, ++unit) {
            unit->base = 16 * i / g.group_out();
            for (int byte = 0; byte != 16; ++byte)
                unit->index[byte] = static_cast<std::uint8_t>((16 * i + byte) / g.group_out() - unit->base);
        }
    }
    const depthwise_plan<Arch>& plan() const noexcept { return plan_; }

    /// From now on the ring is for panels [first, first + panels), of cells of so many products.
    void begin_block(int first, int panels, int slots) noexcept {
        first_ = first;
        panels_ = panels;
        slots_ = slots;
        cell_bytes_ = plan_.grid.planes(g_, slots) * width * 4;
        std::fill_n(at<std::int32_t>(plan_.rows_begin), plan_.ring_rows, -1);
        if (!is_int16 && !plan_.grid.of_columns) slots == 4 ? list_units<4>() : list_units<2>();
    }
    /// Stages what the windows of an output row reach and no earlier row did, and lists their cells.
    void move_to(int output_row) noexcept {
        auto* rows = at<std::int32_t>(plan_.rows_begin);
        auto* offset = at<std::int32_t>(plan_.offsets_begin);
        const int count = plan_.grid.row_cells(g_, slots_);
        for (int ky = 0; ky != g_.kernel_height; ++ky) {
            const int row = output_row * g_.stride_height + ky * g_.dilation_height;
            const int place = row % plan_.ring_rows;
            std::byte* to = scratch_ + place * plan_.row_pitch;
            if (rows[place] != row) stage(row - g_.padding_top, to);
            rows[place] = row;
            for (int i = 0; i != count; ++i)
                *offset++ = static_cast<std::int32_t>(to - scratch_) + plan_.grid.position(g_, slots_, i) * width * 4;
        }
    }
    /// Where the cells of a window lie, relative to the cells of its panel and its first column.
    const std::int32_t* offsets() const noexcept {
        return reinterpret_cast<const std::int32_t*>(scratch_ + plan_.offsets_begin);
    }
    int window_cells() const noexcept { return g_.kernel_height * plan_.grid.row_cells(g_, slots_); }
    std::ptrdiff_t group_bytes() const noexcept { return plan_.grid.group_step * cell_bytes_; }
    const std::byte* cells(int panel) const noexcept { return scratch_ + (panel - first_) * plan_.panel_pitch; }

private:
    /// Of the bits of each code: cell_shift() of both kinds of cell is one of 128, 0 and -128.
    template <int Slots> std::uint8_t flip_of() const noexcept {
        constexpr bool is_signed = Slots == 4 && operations<Arch>::quads == quad_products::exact_signed;
        return is_signed ? static_cast<std::uint8_t>(flip_ ^ 128) : flip_;
    }
    template <class T> T* at(std::size_t place) noexcept { return reinterpret_cast<T*>(scratch_ + place); }

    [[gnu::noinline]] void stage(int y, std::byte* to) noexcept {
        if constexpr (is_int16) return stage_words(y, reinterpret_cast<std::int16_t*>(to));
        else return stage_bytes(y, to);
    }
    /// Cells of two words, padding being zeros.
    void stage_words(int y, std::int16_t* to) noexcept {
        const bool inside = y >= 0 && y < g_.in.height;
        const std::int16_t* row = inside ? x_ + std::ptrdiff_t{y} * g_.in.width * g_.in.channels : nullptr;
        const int columns = plan_.grid.columns(g_), planes = plan_.grid.planes(g_, 2);
        const auto pixel = [&](int x) {
            return row == nullptr || x < 0 || x >= g_.in.width ? nullptr : row + std::ptrdiff_t{x} * g_.in.channels;
        };
        for (int panel = 0; panel != panels_; ++panel) {
            const int first = (first_ + panel) * width, channels = std::min(width, g_.out.channels - first);
            std::int16_t* cell = to + panel * plan_.panel_pitch / 2;
            for (int column = 0; column != columns; ++column) {
                const int x = column * plan_.grid.column_step - g_.padding_left;
                if (plan_.grid.of_columns) {
                    put_columns(pixel(x), pixel(x + g_.dilation_width), first, channels, cell);
                    cell += 2 * width;
                    continue;
                }
                for (int plane = 0; plane != planes; ++plane, cell += 2 * width)
                    put_plane(pixel(x), 2 * plane, first, channels, cell);
            }
        }
    }
    /// One cell of each of `channels` outputs from `first` on: the inputs at two columns.
    void put_columns(const std::int16_t* left, const std::int16_t* right, int first, int channels,
                     std::int16_t* cell) const noexcept {
        static constexpr std::int16_t zeros[width] = {};
        const int outputs = g_.group_out();
        if (outputs != 1) {
            for (int c = 0; c != channels; ++c) {
                const int source = (first + c) / outputs;
                cell[2 * c] = left == nullptr ? std::int16_t{0} : left[source];
                cell[2 * c + 1] = right == nullptr ? std::int16_t{0} : right[source];
            }
            return;
        }
        left = left == nullptr ? zeros : left + first;
        right = right == nullptr ? zeros : right + first;
        if (channels == width) interleave_words<width>(left, right, cell);
        else
            for (int c = 0; c != channels; ++c) cell[2 * c] = left[c], cell[2 * c + 1] = right[c];
    }
    template <int Count>
    static void interleave_words(const std::int16_t* a, const std::int16_t* b, std::int16_t* to) noexcept {
        if constexpr (requires { operations<Arch>::interleave_words(a, b, to); })
            operations<Arch>::interleave_words(a, b, to);
        else
            for (int i = 0; i != Count; ++i) to[2 * i] = a[i], to[2 * i + 1] = b[i];
    }
    /// The same where a group has several inputs: two of them, from the `offset`-th on, at one column.
    void put_plane(const std::int16_t* pixel, int offset, int first, int channels, std::int16_t* cell) const noexcept {
        const bool whole = offset + 1 < g_.group_in();
        for (int c = 0; c != channels; ++c) {
            const int source = (first + c) / g_.group_out() * g_.group_in() + offset;
            cell[2 * c] = pixel == nullptr ? std::int16_t{0} : pixel[source];
            cell[2 * c + 1] = pixel == nullptr || !whole ? std::int16_t{0} : pixel[source + 1];
        }
    }
    void stage_bytes(int y, std::byte* to) noexcept {
        const std::uint8_t* row = source_row(y);
        if (plan_.grid.of_columns) slots_ == 4 ? stage_columns<4>(row, to) : stage_columns<2>(row, to);
        else slots_ == 4 ? stage_channels<4>(row, to) : stage_channels<2>(row, to);
    }
    /// The row that cells are made from, with `slack` readable bytes behind it, or null outside the input. It is a copy
    /// at the end of the input, and where channels are multiplied.
    const std::uint8_t* source_row(int y) noexcept {
        if (y < 0 || y >= g_.in.height) return nullptr;
        const std::ptrdiff_t count = std::ptrdiff_t{g_.in.width} * g_.in.channels;
        const std::uint8_t* from = x_ + y * count;
        const bool at_end = (g_.in.height - 1 - y) * count < plan_.slack;
        auto* to = at<std::uint8_t>(plan_.source_begin);
        if (plan_.grid.of_columns && g_.group_out() != 1) {
            multiply_channels(from, at_end, to);
            return to;
        }
        if (!at_end) return from;
        std::memcpy(to, from, static_cast<std::size_t>(count));
        return to;
    }
    /// Repeats every channel of a row for its outputs.
    void multiply_channels(const std::uint8_t* from, bool at_end, std::uint8_t* to) noexcept {
        const std::ptrdiff_t count = std::ptrdiff_t{g_.in.width} * g_.in.channels;
        const gather_unit* units = at<gather_unit>(plan_.units_begin);
        for (std::ptrdiff_t pixel = 0; pixel != count; pixel += g_.in.channels, to += plan_.channels) {
            for (int i = 0; i != plan_.units; ++i) {
                const std::ptrdiff_t begin = pixel + units[i].base;
                std::uint8_t last[16] = {};
                const bool beyond = at_end && begin + 16 > count;
                if (beyond) std::memcpy(last, from + begin, static_cast<std::size_t>(count - begin));
                operations<Arch>::gather(beyond ? last : from + begin, units[i].index, 0,
                                         reinterpret_cast<std::byte*>(to + 16 * i));
            }
        }
    }
    template <int Slots> void stage_columns(const std::uint8_t* row, std::byte* to) noexcept {
        const int columns = plan_.grid.columns(g_), step = plan_.grid.column_step;
        const std::ptrdiff_t pitch = plan_.channels;
        const std::uint8_t* border = at<std::uint8_t>(plan_.border_begin);
        const auto stage = [&](int column, int count, auto pixel) {
            const std::uint8_t* from[Slots];
            unroll<Slots>([&](auto slot) __attribute__((always_inline)) {
                constexpr int order = Slots == 4 ? slot % 2 * 2 + slot / 2 : int{slot};
                from[slot] = pixel(column * step + order * g_.dilation_width - g_.padding_left) + first_ * width;
            });
            interleave_cells<Arch, Slots>(from, step * pitch, count, panels_, flip_of<Slots>(), to + column * width * 4,
                                          plan_.panel_pitch);
        };
        const auto near_border = [&](int column) {
            stage(column, 1,
                  [&](int x) { return row == nullptr || x < 0 || x >= g_.in.width ? border : row + x * pitch; });
        };
        // Columns [left, right) have all their pixels inside the row.
        const int reach = g_.in.width + g_.padding_left - (Slots - 1) * g_.dilation_width;
        const int left = std::clamp((g_.padding_left + step - 1) / step, 0, columns);
        const int right =
            std::max(row == nullptr || reach <= 0 ? left : std::min((reach - 1) / step + 1, columns), left);
        for (int column = 0; column != left; ++column) near_border(column);
        if (left != right) stage(left, right - left, [&](int x) { return row + x * pitch; });
        for (int column = right; column != columns; ++column) near_border(column);
    }
    template <int Slots> void list_units() noexcept {
        const auto group_begin = [&](int channel) {
            return std::min(channel, g_.out.channels - 1) / g_.group_out() * g_.group_in();
        };
        constexpr int bytes = 4 / Slots, lowest = std::endian::native == std::endian::little ? 0 : bytes - 1;
        for (int i = 0; i != panels_ * plan_.panel_units; ++i) {
            gather_unit& unit = at<gather_unit>(plan_.units_begin)[i];
            const int first = (first_ + i / plan_.panel_units) * width + i % plan_.panel_units * 4;
            unit.base = group_begin(first);
            for (int byte = 0; byte != 16; ++byte) {
                const int source = group_begin(first + byte / 4) - unit.base + byte % 4 * Slots / 4;
                unit.index[byte] = byte % bytes != lowest ? gather_unit::zero : static_cast<std::uint8_t>(source);
            }
        }
    }
    template <int Slots> void stage_channels(const std::uint8_t* row, std::byte* to) noexcept {
        const int columns = plan_.grid.columns(g_), planes = plan_.grid.planes(g_, Slots);
        const auto* border = at<std::uint8_t>(plan_.border_begin);
        const std::uint32_t flip = (Slots == 4 ? 0x01010101u : 0x00010001u) * flip_of<Slots>();
        for (int panel = 0; panel != panels_; ++panel) {
            const gather_unit* units = at<gather_unit>(plan_.units_begin) + panel * plan_.panel_units;
            std::byte* cell = to + panel * plan_.panel_pitch;
            for (int column = 0; column != columns; ++column) {
                const int x = column * plan_.grid.column_step - g_.padding_left;
                const std::uint8_t* from =
                    row == nullptr || x < 0 || x >= g_.in.width ? border : row + x * std::ptrdiff_t{plan_.channels};
                for (int plane = 0; plane != planes; ++plane, from += Slots, cell += width * 4) {
                    unroll<depthwise_plan<Arch>::panel_units>([&](auto i) __attribute__((always_inline)) {
                        operations<Arch>::gather(from + units[i].base, units[i].index, flip, cell + 16 * i);
                    });
                }
            }
        }
    }

    const conv2d_geometry& g_;
    depthwise_plan<Arch> plan_;
    const Code* x_;
    std::uint8_t flip_;
    std::byte* scratch_;
    int first_ = 0, panels_ = 0, slots_ = 2, cell_bytes_ = 0;
};

}  // namespace zp::inline v0::kernel
