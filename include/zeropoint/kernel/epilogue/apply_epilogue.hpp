// SPDX-License-Identifier: BSD-3-Clause
// The end of every integer kernel: a tile of int32 sums through an epilogue to its place in the output.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <zeropoint/kernel/arch/operations.hpp>
#include <zeropoint/kernel/epilogue/lookup_table.hpp>
#include <zeropoint/kernel/epilogue/requantize.hpp>
#include <zeropoint/kernel/vector/unroll.hpp>

namespace zp::inline v0::kernel {

/// Copies `size` bytes of each row, at most those of a panel's sums, by two moves that overlap: a memcpy of unknown length
/// is a call. Pitches are in bytes.
template <class Arch>
[[gnu::noinline]] void copy_rows(const void* from, std::ptrdiff_t from_pitch, int rows, std::size_t size, void* to,
                                 std::ptrdiff_t to_pitch) noexcept {
    const auto* source = static_cast<const std::byte*>(from);
    auto* target = static_cast<std::byte*>(to);
    const auto copy = [=](auto width) __attribute__((always_inline)) {
        for (int row = 0; row != rows; ++row) {
            const std::byte* row_source = source + row * from_pitch;
            std::byte *row_target = target + row * to_pitch, first[width], last[width];
            std::memcpy(first, row_source, width);
            std::memcpy(last, row_source + size - width, width);
            std::memcpy(row_target, first, width);
            std::memcpy(row_target + size - width, last, width);
        }
    };
    constexpr std::size_t largest = panel_width<Arch> * sizeof(std::int32_t);
    static_assert(largest <= 256, "copy_rows: two moves of at most 128 bytes");
    if (largest > 128 && size >= 128) copy(std::integral_constant<std::size_t, std::min<std::size_t>(largest, 128)>{});
    else if (largest > 64 && size >= 64)
        copy(std::integral_constant<std::size_t, std::min<std::size_t>(largest, 64)>{});
    else if (size >= 32) copy(std::integral_constant<std::size_t, 32>{});
    else if (size >= 16) copy(std::integral_constant<std::size_t, 16>{});
    else if (size >= 8) copy(std::integral_constant<std::size_t, 8>{});
    else if (size >= 4) copy(std::integral_constant<std::size_t, 4>{});
    else if (size >= 2) copy(std::integral_constant<std::size_t, 2>{});
    else if (size == 1) copy(std::integral_constant<std::size_t, 1>{});
}

/// The clamp to codes, in bytes. Signed codes are clamped as unsigned ones, 128 higher.
template <class Operations, class Out> struct code_clamp {
    using bytes = typename Operations::uint8;
    static constexpr int bias = std::is_signed_v<Out> ? 128 : 0;
    typename Operations::int16 offset;
    bytes low, high;

    [[gnu::always_inline]] explicit code_clamp(const output_codes& codes)
        : offset(static_cast<std::int16_t>(codes.zero_point + bias)),
          low(static_cast<std::uint8_t>(codes.min + bias)),
          high(static_cast<std::uint8_t>(codes.max + bias)) {}

    /// The codes of four vectors of differences from the zero point. `Whole` where all codes of a byte are in range.
    template <bool Whole = false>
    [[gnu::always_inline]] bytes operator()(const typename Operations::int32 (&differences)[4]) const {
        return clamped<Whole>(Operations::pack(differences, offset));
    }
    /// The same, of the first two vectors to one place, of the others to another.
    template <bool Whole = false>
    [[gnu::always_inline]] void store_pairs(const typename Operations::int32 (&differences)[4], Out* first,
                                            Out* second) const {
        Operations::store_pairs(first, second, clamped<Whole>(Operations::pack_pairs(differences, offset)));
    }

    /// All codes of a byte, of vectors in the order of quads of rows (depthwise/column_quads.hpp).
    [[gnu::always_inline]] bytes in_quarters(const typename Operations::int32 (&differences)[4]) const {
        return clamped<true>(Operations::pack_in_quarters(differences, offset));
    }

private:
    template <bool Whole> [[gnu::always_inline]] bytes clamped(bytes codes) const {
        if constexpr (!Whole) codes = xsimd::min(xsimd::max(codes, low), high);
        if constexpr (bias != 0) return codes ^ bytes(bias);
        else return codes;
    }
};

/// In place of the clamp: differences become places in a table of 1024 fine codes, and these its entries.
template <class Arch, class Out> struct fine_look_up {
    using ops = operations<Arch>;
    using int32 = typename ops::int32;
    const std::uint8_t* table;
    int32 low, high, zero;

    [[gnu::always_inline]] explicit fine_look_up(const output_codes& codes)
        : table(codes.table),
          low(codes.min - codes.zero_point),
          high(codes.max - codes.zero_point),
          zero(codes.zero_point) {}

    template <bool Whole = false>
    [[gnu::always_inline]] typename ops::uint8 operator()(const int32 (&differences)[4]) const {
        int32 places[4];
        unroll<4>([&](auto i) __attribute__((always_inline)) {
            places[i] = xsimd::min(xsimd::max(differences[i], low), high) + zero;
        });
        return look_up_fine<Arch>(table, places);
    }
    template <bool Whole = false>
    [[gnu::always_inline]] void store_pairs(const int32 (&differences)[4], Out* first, Out* second) const {
        ops::store_halves(first, second, operator()(differences));
    }
};
/// Whole rows of a panel, of whose channels `channels` from `first_channel` on exist. Rows of `y` lie `y_pitch` apart. Clamp makes
/// codes of differences; no table of 256 entries yet.
template <class Arch, class Clamp, class Out, class Epilogue>
[[gnu::noinline]] void finish_whole_rows(const Epilogue& epilogue, const std::int32_t* sums, int rows,
                                         int first_channel, int channels, Out* y, std::ptrdiff_t y_pitch) noexcept {
    using ops = operations<Arch>;
    using int32 = typename ops::int32;
    static_assert(ops::vectors == 2 || ops::vectors == 4, "finish_whole_rows: rows are two or four vectors wide");
    constexpr int lanes = ops::lanes, width = ops::vectors * lanes;
    if constexpr (sizeof(Out) == 1) {
        const Clamp clamp(epilogue.codes);
        const auto finish_one_vector = [&](const auto& requantize, const std::int32_t* from,
                                           [[maybe_unused]] const Out* to) __attribute__((always_inline)) {
            const int32 sum = ops::template load<int32>(from);
            if constexpr (adds_residual<Epilogue>) return requantize(sum, ops::load_lanes(epilogue.residual_at(to)));
            else return requantize(sum);
        };
        const auto finish = [&](auto whole, const auto& left, const auto& right, const auto&... more)
            __attribute__((always_inline)) {
            if constexpr (sizeof...(more) != 0) {
                for (; rows > 0; --rows, sums += width, y += y_pitch) {
                    int v = 1;
                    const int32 row[4] = {finish_one_vector(left, sums, y),
                                          finish_one_vector(right, sums + lanes, y + lanes),
                                          (++v, finish_one_vector(more, sums + v * lanes, y + v * lanes))...};
                    ops::store(reinterpret_cast<std::uint8_t*>(y), clamp.template operator()<whole>(row));
                }
            } else {
                for (; rows > 0; rows -= 2, sums += 2 * width, y += 2 * y_pitch) {
                    const std::int32_t* next_sums = rows > 1 ? sums + width : sums;  // a last row alone is done twice
                    Out* next_y = rows > 1 ? y + y_pitch : y;
                    const int32 pair[4] = {finish_one_vector(left, sums, y),
                                           finish_one_vector(right, sums + lanes, y + lanes),
                                           finish_one_vector(left, next_sums, next_y),
                                           finish_one_vector(right, next_sums + lanes, next_y + lanes)};
                    clamp.template store_pairs<whole>(pair, y, next_y);
                }
            }
        };
        if constexpr (requires { epilogue.template shrinks<ops>(0, 0); }) {
            bool shrinks = epilogue.codes.max - epilogue.codes.min == 255;
            unroll<ops::vectors>([&](auto v) __attribute__((always_inline)) {
                shrinks = shrinks && epilogue.template shrinks<ops>(first_channel + v * lanes, channels - v * lanes);
            });
            if (shrinks) {
                const auto part = [&](int v) __attribute__((always_inline)) {
                    return epilogue.template shrinking_vector<ops>(first_channel + v * lanes, channels - v * lanes);
                };
                if constexpr (ops::vectors == 2) finish(std::true_type{}, part(0), part(1));
                else finish(std::true_type{}, part(0), part(1), part(2), part(3));
                return;
            }
        }
        const auto part = [&](int v) __attribute__((always_inline)) {
            return epilogue.template vector<ops>(first_channel + v * lanes, channels - v * lanes);
        };
        if constexpr (ops::vectors == 2) finish(std::false_type{}, part(0), part(1));
        else finish(std::false_type{}, part(0), part(1), part(2), part(3));
    } else {
        unroll<ops::vectors / 2>([&](auto half) __attribute__((always_inline)) {
            constexpr int first = 2 * half * lanes;
            const auto left = epilogue.template vector<ops>(first_channel + first, channels - first);
            const auto right = epilogue.template vector<ops>(first_channel + first + lanes, channels - first - lanes);
            const std::int32_t* from = sums + first;
            Out* to = y + first;
            for (int row = 0; row != rows; ++row, from += width, to += y_pitch) {
                ops::store(to, left(ops::template load<int32>(from)));
                ops::store(to + lanes, right(ops::template load<int32>(from + lanes)));
            }
        });
    }
}

/// Four rows or more of a panel whose channels all lie in the first of its vectors, as codes of `lanes` a row. No
/// table of 256 entries yet.
template <class Arch, class Clamp, class Out, class Epilogue>
[[gnu::noinline]] void finish_narrow_rows(const Epilogue& epilogue, const std::int32_t* sums, int rows,
                                          int first_channel, int channels, Out* tile) noexcept {
    using ops = operations<Arch>;
    using int32 = typename ops::int32;
    constexpr int lanes = ops::lanes, width = panel_width<Arch>;
    const auto requantize = epilogue.template vector<ops>(first_channel, channels);
    const Clamp clamp(epilogue.codes);
    for (int next = 0; next < rows; next += 4) {
        const std::ptrdiff_t row = std::min(next, rows - 4);  // the last four may overlap those before
        int32 four[4];
        unroll<4>([&](auto i) __attribute__((always_inline)) {
            four[i] = requantize(ops::template load<int32>(sums + (row + i) * width));
        });
        clamp.store_pairs(four, tile + row * lanes, tile + (row + 2) * lanes);
    }
}

/// Whether finish_narrow_rows can be taken for what becomes of sums.
template <class Out, class Epilogue>
inline constexpr bool has_narrow_rows = sizeof(Out) == 1 && !adds_residual<Epilogue>;

/// Rows of a panel, as finish_rows() takes them, through a table of fine codes (see output_codes), whose entries are read one by one.
template <class Arch, class Out, class Epilogue>
[[gnu::noinline]] void finish_fine_rows(const Epilogue& epilogue, const std::int32_t* sums, int rows, int first_channel,
                                        int channels, Out* y, std::ptrdiff_t y_pitch) noexcept {
    using ops = operations<Arch>;
    using int32 = typename ops::int32;
    using residual_code = residual_of<Epilogue, Out>;
    constexpr int lanes = ops::lanes, width = panel_width<Arch>, block = 8;
    const output_codes codes = epilogue.codes;
    const int32 low(codes.min - codes.zero_point), high(codes.max - codes.zero_point);
    alignas(64) std::int32_t places[block * width];  // counted from the entry of real zero
    for (; rows > 0; rows -= block, sums += block * width, y += block * y_pitch) {
        const int count = std::min(rows, block);
        [[maybe_unused]] residual_code residual[adds_residual<Epilogue> ? block * width : 1] = {};
        if constexpr (adds_residual<Epilogue>)
            copy_rows<Arch>(epilogue.residual_at(y), y_pitch, count, static_cast<std::size_t>(channels), residual,
                            width);
        for (int v = 0; v * lanes < channels; ++v) {
            const auto requantize = epilogue.template vector<ops>(first_channel + v * lanes, channels - v * lanes);
            for (int row = 0; row != count; ++row) {
                const int at = row * width + v * lanes;
                const int32 sum = ops::template load<int32>(sums + at);
                const auto difference = [&]() __attribute__((always_inline)) {
                    if constexpr (adds_residual<Epilogue>) return requantize(sum, ops::load_lanes(residual + at));
                    else return requantize(sum);
                }
                ();
                ops::store(places + at, xsimd::min(xsimd::max(difference, low), high));
            }
        }
        for (int row = 0; row != count; ++row)
            look_up_places(codes.table + codes.zero_point, places + row * width, channels, y + row * y_pitch);
    }
}

/// Whether an epilogue does what finish_rows() does by itself: one whose numbers differ from row to row.
template <class Arch, class Out, class Epilogue>
inline constexpr bool finishes_tiles = requires(const Epilogue& epilogue, const std::int32_t* sums, Out* y) {
    epilogue.template finish_tile<Arch>(sums, 0, 0, 0, y, std::ptrdiff_t{});
};

/// What finish_rows() does by vectors, with a Clamp. table: of 256 entries, or null.
template <class Arch, class Clamp, class Out, class Epilogue>
[[gnu::always_inline]] inline void finish_rows_of_vectors(const Epilogue& epilogue, const std::int32_t* sums, int rows,
                                                          int first_channel, int channels,
                                                          [[maybe_unused]] const std::uint8_t* table, Out* y,
                                                          std::ptrdiff_t y_pitch) noexcept {
    using ops = operations<Arch>;
    constexpr int width = panel_width<Arch>;
    if (channels == width && table == nullptr) {
        finish_whole_rows<Arch, Clamp>(epilogue, sums, rows, first_channel, channels, y, y_pitch);
        return;
    }
    // Rows that are not whole, or go through a table, are made in a tile of their own.
    const std::size_t row_bytes = static_cast<std::size_t>(channels) * sizeof(Out);
    if constexpr (has_narrow_rows<Out, Epilogue>) {
        if (channels <= ops::lanes && rows >= 4) {
            constexpr int block = 32;
            Out tile[block * ops::lanes];
            for (int count; rows > 0; rows -= count, sums += count * width, y += count * y_pitch) {
                count = rows <= block ? rows : std::min(block, rows - 4);  // never leaves one to three
                finish_narrow_rows<Arch, Clamp>(epilogue, sums, count, first_channel, channels, tile);
                auto* codes = reinterpret_cast<std::uint8_t*>(tile);
                if (table != nullptr)
                    lookup_table<Arch>(codes, static_cast<std::size_t>(count) * ops::lanes, table, codes);
                copy_rows<Arch>(tile, ops::lanes, count, row_bytes, y, y_pitch);
            }
            return;
        }
    }
    constexpr int block = 8;
    constexpr std::ptrdiff_t size = sizeof(Out);
    Out tile[block * width];
    for (int row = 0; row < rows; row += block, sums += block * width, y += block * y_pitch) {
        const int count = std::min(block, rows - row);
        if constexpr (adds_residual<Epilogue>) {
            typename Epilogue::residual_type residual[block * width] = {};
            copy_rows<Arch>(epilogue.residual_at(y), y_pitch, count, row_bytes, residual, width);
            Epilogue local = epilogue;
            local.residual = residual;
            local.output = tile;
            finish_whole_rows<Arch, Clamp>(local, sums, count, first_channel, channels, tile, width);
        } else {
            finish_whole_rows<Arch, Clamp>(epilogue, sums, count, first_channel, channels, tile, width);
        }
        if constexpr (sizeof(Out) == 1) {
            auto* codes = reinterpret_cast<std::uint8_t*>(tile);
            if (table != nullptr) lookup_table<Arch>(codes, static_cast<std::size_t>(count) * width, table, codes);
        }
        copy_rows<Arch>(tile, width * size, count, row_bytes, y, y_pitch * size);
    }
}

/// What finish_rows() does, in the function that calls this.
template <class Arch, class Out, class Epilogue>
[[gnu::always_inline]] inline void finish_rows_here(const Epilogue& epilogue, const std::int32_t* sums, int rows,
                                                    int first_channel, int channels, Out* y,
                                                    std::ptrdiff_t y_pitch) noexcept {
    using ops = operations<Arch>;
    [[maybe_unused]] constexpr int width = panel_width<Arch>;
    if constexpr (finishes_tiles<Arch, Out, Epilogue>) {
        epilogue.template finish_tile<Arch>(sums, rows, first_channel, channels, y, y_pitch);
    } else if constexpr (!ops::has_batches) {
        if constexpr (requires { epilogue.scalar(); }) {
            if (table_of(epilogue) == nullptr) {
                const auto finish = epilogue.scalar();
                for (int row = 0; row != rows; ++row, y += y_pitch)
                    for (int c = 0; c != channels; ++c)
                        y[c] = static_cast<Out>(finish(sums[row * width + c], first_channel + c));
                return;
            }
        }
        for (int row = 0; row != rows; ++row, y += y_pitch) {
            for (int c = 0; c != channels; ++c)
                y[c] = finish_one(epilogue, sums[row * width + c], first_channel + c, y + c);
        }
    } else {
        if constexpr (sizeof(Out) == 1) {
            if (has_fine_table(epilogue)) {
                if constexpr (looks_up_fine<Arch>)
                    if (epilogue.codes.max == 1023) {  // a table of no fewer entries
                        finish_rows_of_vectors<Arch, fine_look_up<Arch, Out>>(epilogue, sums, rows, first_channel,
                                                                              channels, nullptr, y, y_pitch);
                        return;
                    }
                finish_fine_rows<Arch>(epilogue, sums, rows, first_channel, channels, y, y_pitch);
                return;
            }
        }
        if constexpr (sizeof(Out) == 1)
            finish_rows_of_vectors<Arch, code_clamp<ops, Out>>(epilogue, sums, rows, first_channel, channels,
                                                               table_of(epilogue), y, y_pitch);
        else finish_rows_of_vectors<Arch, void>(epilogue, sums, rows, first_channel, channels, nullptr, y, y_pitch);
    }
}

/// y[row * y_pitch + channel] = epilogue(sums[row][channel]) for a tile, its channels being [first_channel,
/// first_channel + channels) of the layer. Reads and writes nothing else of the output and of a residual.
template <class Arch, class Out, class Epilogue>
[[gnu::noinline]] void finish_rows(const Epilogue& epilogue, const std::int32_t* sums, int rows, int first_channel,
                                   int channels, Out* y, std::ptrdiff_t y_pitch) noexcept {
    finish_rows_here<Arch>(epilogue, sums, rows, first_channel, channels, y, y_pitch);
}

/// Any epilogue, behind a pointer to its finish_rows(): what takes one is compiled once a network, not once an epilogue.
/// A call finishes so many sums that the pointer costs nothing.
template <class Arch, class Out> class any_epilogue {
public:
    template <class Epilogue>
    any_epilogue(const Epilogue& epilogue) noexcept : epilogue_(&epilogue), finish_(&finish<Epilogue>) {
        if constexpr (std::is_same_v<Epilogue, nearest_even>) nearest_ = &epilogue;
    }
    /// The epilogue, where it is the one that most layers have, else null.
    const nearest_even* nearest() const noexcept { return nearest_; }

    void operator()(const std::int32_t* sums, int rows, int first_channel, int channels, Out* y,
                    std::ptrdiff_t y_pitch) const noexcept {
        finish_(epilogue_, sums, rows, first_channel, channels, y, y_pitch);
    }

private:
    template <class Epilogue>
    static void finish(const void* epilogue, const std::int32_t* sums, int rows, int first_channel, int channels,
                       Out* y, std::ptrdiff_t y_pitch) noexcept;

    const void* epilogue_;
    const nearest_even* nearest_ = nullptr;
    void (*finish_)(const void*, const std::int32_t*, int, int, int, Out*, std::ptrdiff_t) noexcept;
};
/// Whether an architecture stores parts of a vector of codes: rows of a panel with channels in its first vector alone.
template <class Arch>
inline constexpr bool stores_parts_of_rows = requires(std::uint8_t* codes, const typename operations<Arch>::uint8& v) {
    operations<Arch>::store_first_of_quarters(codes, std::ptrdiff_t{1}, v, 1);
};
/// The epilogue, where whole rows of a panel, or such parts of them, become all codes of a byte by multipliers below 1, and by no table; else null.
template <class Arch, class Epilogue>
const nearest_even* shrinking_epilogue(const Epilogue& epilogue, int first_channel, int channels) noexcept {
    using ops = operations<Arch>;
    const nearest_even* nearest = nullptr;
    if constexpr (std::is_same_v<Epilogue, nearest_even>) nearest = &epilogue;
    else if constexpr (requires { epilogue.nearest(); }) nearest = epilogue.nearest();
    if (nearest == nullptr ||
        (channels != panel_width<Arch> && !(stores_parts_of_rows<Arch> && channels <= ops::lanes)) ||
        table_of(*nearest) != nullptr || nearest->codes.max - nearest->codes.min != 255)
        return nullptr;
    for (int v = 0; v != ops::vectors; ++v)
        if (!nearest->template shrinks<ops>(first_channel + v * ops::lanes, channels - v * ops::lanes)) return nullptr;
    return nearest;
}
// Outside of its class, where it is not inline: only such a function can be compiled elsewhere.
template <class Arch, class Out>
template <class Epilogue>
void any_epilogue<Arch, Out>::finish(const void* epilogue, const std::int32_t* sums, int rows, int first_channel,
                                     int channels, Out* y, std::ptrdiff_t y_pitch) noexcept {
    finish_rows_here<Arch>(*static_cast<const Epilogue*>(epilogue), sums, rows, first_channel, channels, y, y_pitch);
}
template <class Arch, class Out>
void finish_rows(const any_epilogue<Arch, Out>& epilogue, const std::int32_t* sums, int rows, int first_channel,
                 int channels, Out* y, std::ptrdiff_t y_pitch) noexcept {
    epilogue(sums, rows, first_channel, channels, y, y_pitch);
}

}  // namespace zp::inline v0::kernel
