// SPDX-License-Identifier: BSD-3-Clause
// The tile kernels of the architecture that this file is compiled for, and what stands beside them, for audit.py to read their
// instructions.
#include <zeropoint/kernel/depthwise/cell_ring.hpp>
#include <zeropoint/kernel/epilogue/lookup_table.hpp>
#include <zeropoint/kernel/gemm/gemm.hpp>
#include <zeropoint/kernel/gemm/two_panels.hpp>
#include <zeropoint/kernel/winograd/winograd_transform.hpp>

namespace zp::inline v0::kernel {

using audited = default_architecture;
template <class Format>
using tile_function = void (*)(const typename Format::activation*, const std::int32_t*, const window_runs&,
                               const typename Format::weight*, const std::int32_t*, std::int32_t*) noexcept;

/// A whole tile, where the architecture multiplies panels of that kind.
template <class Format, bool Exists = true> constexpr tile_function<Format> whole_tile() {
    if constexpr (Exists) return &multiply_tile<audited, Format, operations<audited>::tile_rows>;
    else return nullptr;
}
/// Two by two tiles in registers of their own, where it has such.
template <class Arch> constexpr auto whole_tiles() {
    if constexpr (has_whole_tiles<Arch>)
        return &operations<Arch>::template multiply_tiles_in_place<2, 2, window_runs,
                                                                   typename operations<Arch>::nothing_ahead>;
    else return static_cast<void (*)()>(nullptr);
}
/// The tallest tile of two panels, where it multiplies any number of rows by such.
template <class Arch> constexpr auto paired_tile() {
    if constexpr (constexpr int rows = paired_rows<operations<Arch>, byte_quads>; rows != 0)
        return &multiply_paired_tile<Arch, byte_quads, rows>;
    else return static_cast<void (*)()>(nullptr);
}
extern const tile_function<word_pairs> audited_words;
extern const tile_function<widened_pairs> audited_widened;
extern const tile_function<quads_of<audited>> audited_quads;
extern const tile_function<signed_quads> audited_flipped;
extern const decltype(whole_tiles<audited>()) audited_tiles;
const tile_function<word_pairs> audited_words = whole_tile<word_pairs>();
const tile_function<widened_pairs> audited_widened = whole_tile<widened_pairs>();
const tile_function<quads_of<audited>> audited_quads = whole_tile<quads_of<audited>, has_quads<audited>>();
const tile_function<signed_quads> audited_flipped = whole_tile<signed_quads, quads_saturate<audited>>();
const decltype(whole_tiles<audited>()) audited_tiles = whole_tiles<audited>();
extern const decltype(paired_tile<audited>()) audited_pair;
const decltype(paired_tile<audited>()) audited_pair = paired_tile<audited>();

template void interleave_cells<audited, 4>(const std::uint8_t* const (&)[4], std::ptrdiff_t, int, int, std::uint8_t,
                                           std::byte*, std::ptrdiff_t) noexcept;
template void interleave_cells<audited, 2>(const std::uint8_t* const (&)[2], std::ptrdiff_t, int, int, std::uint8_t,
                                           std::byte*, std::ptrdiff_t) noexcept;
template void transform_input_tile<audited, winograd_4x4>(const std::int16_t* const*, std::ptrdiff_t, std::ptrdiff_t,
                                                          std::int16_t*, std::ptrdiff_t) noexcept;
template void transform_output_tile<audited, winograd_4x4>(const std::int32_t*, std::ptrdiff_t, const std::int32_t*,
                                                           std::int32_t*, std::ptrdiff_t) noexcept;
template void lookup_table<audited, std::uint8_t, std::uint8_t>(const std::uint8_t*, std::size_t, const std::uint8_t*,
                                                                std::uint8_t*) noexcept;
template <class Arch, bool = operations<Arch>::has_batches> struct audited_epilogue {};
template <class Arch> struct audited_epilogue<Arch, true> {
    static void finish(const nearest_even& epilogue, const std::int32_t* sums, int rows, std::uint8_t* y) {
        constexpr int width = panel_width<Arch>;
        finish_whole_rows<Arch, code_clamp<operations<Arch>, std::uint8_t>>(epilogue, sums, rows, 0, width, y, width);
        if constexpr (looks_up_fine<Arch>)
            finish_whole_rows<Arch, fine_look_up<Arch, std::uint8_t>>(epilogue, sums, rows, 0, width, y, width);
    }
};
template struct audited_epilogue<audited>;

}  // namespace zp::inline v0::kernel
