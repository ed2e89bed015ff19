// SPDX-License-Identifier: BSD-3-Clause
// Convolution as a matrix product whose left side is read through windows of a padded copy of the input.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/gemm/bands.hpp>
#include <zeropoint/kernel/gemm/gemm.hpp>
#include <zeropoint/kernel/gemm/narrow_rows.hpp>
#include <zeropoint/kernel/gemm/panel_layout.hpp>
#include <zeropoint/kernel/gemm/products_int16.hpp>
#include <zeropoint/kernel/gemm/two_panels.hpp>
#include <zeropoint/kernel/geometry/conv2d.hpp>

namespace zp::inline v0::kernel {

/// Whether quads find all that they multiply in the input: no padding, no run whose last quad reaches past its end.
constexpr bool stays_in_place(const conv2d_geometry& g) { return !g.has_padding() && runs_of(g).length % 4 == 0; }

/// What follows from a geometry alone: the layouts of bands, and what lies in scratch behind them.
template <class Arch> struct implicit_gemm_plan {
    band_layout words, bytes, input;
    int band_rows;              ///< output rows of a staged band; the last may have fewer
    int rows_in_place;          ///< the same where bytes are read from the input itself
    std::size_t flips_begin;    ///< of the flips of a band of magnitudes
    std::size_t offsets_begin;  ///< of each output pixel: its window, and what is flipped in it
    std::size_t scratch_bytes;

    constexpr explicit implicit_gemm_plan(const conv2d_geometry& g)
        : implicit_gemm_plan(g, band_output_rows(g, staged_layout(g, widest), most_bytes),
                             band_output_rows(g, input_layout(g), most_bytes, sizeof(std::uint8_t))) {}
    /// With the scratch that this many output rows or fewer need.
    static constexpr implicit_gemm_plan of_most_rows(const conv2d_geometry& g) {
        return {g, most_band_rows(g, staged_layout(g, widest), most_bytes),
                most_band_rows(g, input_layout(g), most_bytes, sizeof(std::uint8_t))};
    }

private:
    static constexpr std::ptrdiff_t most_bytes = band_bytes_of<Arch>();
    /// Bytes of a staged code.
    static constexpr int widest = has_only_quads<Arch> ? sizeof(std::uint8_t) : sizeof(std::int16_t);

    /// Of bands: of magnitudes, and of whatever takes most.
    static constexpr std::size_t bytes_of_flips(const conv2d_geometry& g, const band_layout& layout, int rows) {
        const bool stages_nothing = has_only_unsigned_quads<Arch> && stays_in_place(g);
        return stages_nothing ? 0 : band_scratch_bytes(g, layout, rows, sizeof(std::uint8_t));
    }
    constexpr std::size_t bytes_of_bands(const conv2d_geometry& g) const {
        if (has_only_quads<Arch>) return flips_begin;
        return std::max(band_scratch_bytes(g, words, band_rows, sizeof(std::int16_t)), 2 * flips_begin);
    }
    constexpr implicit_gemm_plan(const conv2d_geometry& g, int rows_of_band, int rows_of_input)
        : words(staged_layout(g, widest)),
          bytes(staged_layout(g, sizeof(std::uint8_t))),
          input(input_layout(g)),
          band_rows(rows_of_band),
          rows_in_place(rows_of_input),
          flips_begin(bytes_of_flips(g, bytes, band_rows)),
          offsets_begin(bytes_of_bands(g)),
          scratch_bytes(offsets_begin + align_up(sums(g) * sizeof(std::int32_t))) {}

    /// Numbers from offsets_begin on: one for each output pixel, and where sums of rows are listed another and one for each run.
    constexpr std::size_t sums(const conv2d_geometry& g) const {
        const auto with_sums = [&](const band_layout& layout, int rows) { return 2 * rows + layout.rows(g, rows); };
        constexpr bool of_copies = quads_saturate<Arch> || has_whole_tiles<Arch>;
        const std::ptrdiff_t lists = of_copies ? with_sums(bytes, band_rows) : band_rows;
        const std::ptrdiff_t in_place = has_whole_tiles<Arch> ? with_sums(input, rows_in_place) : rows_in_place;
        return static_cast<std::size_t>(std::max(lists, in_place) * g.out.width);
    }
};

/// The runs of runs_of() as they lie in a band. Where the band has a gap behind each pixel, the taps of a kernel row
/// are read one by one; their length is then a multiple of 4, so that the packed order is the same.
constexpr window_runs runs_in(const conv2d_geometry& g, const band_layout& layout) {
    const depth_runs packed = runs_of(g);
    const bool merged = packed.count == g.kernel_height && layout.pixel_pitch == g.in.channels;
    window_runs runs;
    runs.kernel_rows = g.kernel_height;
    runs.segments = merged ? 1 : g.kernel_width;
    runs.length = merged ? packed.padded_length() : (g.group_in() + 3) / 4 * 4;
    runs.row_advance = g.dilation_height * layout.row_pitch;
    runs.segment_advance = g.dilation_width * layout.pixel_pitch;
    return runs;
}

/// The same for panels of pairs: a run whose last quad is half padding ends before that half.
constexpr window_runs without_padding_pairs(const conv2d_geometry& g, window_runs runs) {
    runs.skipped_pairs = (runs_of(g).length - 1) % 4 < 2 ? 1 : 0;
    runs.length -= 2 * runs.skipped_pairs;
    return runs;
}

/// Whether byte_quads can read the input where it is, as dot4 takes it.
template <class Arch> constexpr bool reads_in_place(const conv2d_geometry& g, activation_codes codes) {
    return (has_only_unsigned_quads<Arch> || staged_shift<Arch>(codes) == 0) && stays_in_place(g);
}

/// The same for pairs of words, which are 16-bit codes as they are.
constexpr bool reads_words_in_place(const conv2d_geometry& g) { return !g.has_padding() && runs_of(g).length % 2 == 0; }

/// Lists the sums of the bytes under each output pixel, of centered codes those of the magnitudes that are flipped, in the order
/// of list_windows. `run_sums` has room for a number for each row of the band and output column.
template <class Arch, panel_activations Activations>
[[gnu::noinline]] void list_row_sums(const conv2d_geometry& g, const band_layout& layout, const window_runs& runs,
                                     const std::uint8_t* band, int output_rows, std::int32_t* run_sums,
                                     std::int32_t* sums) noexcept {
    const int width = g.out.width;
    const std::ptrdiff_t rows = layout.rows(g, output_rows), step = layout.column_stride * layout.pixel_pitch;
    const bool pixels_only = g.taps() == 1 && width * step == layout.row_pitch;  // then rows continue one another
    const bool are_copies = Activations == panel_activations::centered_codes;    // of rows that windows begin in
    const bool are_all = g.kernel_height == 1 && (are_copies || layout.row_stride == 1);
    if (are_all) run_sums = sums;
    std::fill_n(run_sums, rows * width, 0);
    for (std::ptrdiff_t row = 0; row < rows; row += pixels_only ? rows : 1) {
        const std::uint8_t* from = band + row * layout.row_pitch;
        for (int segment = 0; segment != runs.segments; ++segment, from += runs.segment_advance) {
            if constexpr (Activations == panel_activations::centered_codes)
                operations<Arch>::sum_flipped(from, runs.flips, runs.length, step, pixels_only ? rows * width : width,
                                              run_sums + row * width);
            else
                operations<Arch>::sum_bytes(from, runs.length, step, pixels_only ? rows * width : width,
                                            run_sums + row * width);
        }
    }
    if (are_all) return;
    for (int row = 0; row != output_rows; ++row, sums += width) {
        const std::int32_t* from = run_sums + std::ptrdiff_t{row} * layout.row_stride * width;
        std::copy_n(from, width, sums);
        for (int kernel_row = 1; kernel_row != g.kernel_height; ++kernel_row) {
            from += g.dilation_height * width;
            for (int column = 0; column != width; ++column) sums[column] += from[column];
        }
    }
}

/// Whether tiles also fetch what lies behind the last panel of a layer: in a network's parameters, those of the next one.
template <class Arch> inline constexpr bool fetches_behind = requires { operations<Arch>::fetching_steps; };

/// The arguments of one convolution.
template <class Arch, class In, class Out, class Epilogue> struct implicit_gemm_call {
    const conv2d_geometry& geometry;
    const implicit_gemm_plan<Arch>& plan;
    const In* x;
    activation_codes codes;
    const packed_panels<Arch>& panels;
    const Epilogue& epilogue;
    Out* y;
    std::byte* scratch;
};

/// Output rows [first, first + count), of the channels whose panels take `Activations`. Bands do not depend on one
/// another, nor do the panels of one: both can be given to several threads, each with scratch of its own.
template <panel_activations Activations, class Arch, class In, class Out, class Epilogue>
[[gnu::noinline]] void convolve_band(const implicit_gemm_call<Arch, In, Out, Epilogue>& call, int first,
                                     int count) noexcept {
    const conv2d_geometry& g = call.geometry;
    const packed_panels<Arch>& panels = call.panels;
    constexpr bool words = Activations == panel_activations::differences,
                   centered = Activations == panel_activations::centered_codes;
    using Staged = std::conditional_t<words, std::int16_t, std::uint8_t>;

    constexpr bool is_int16 = sizeof(In) == 2;
    static_assert(words || !is_int16, "convolve_band: codes of 16 bits are multiplied in pairs");
    const bool in_place =
        is_int16 ? reads_words_in_place(g) : !words && !centered && reads_in_place<Arch>(g, call.codes);
    const band_layout& staged = words ? call.plan.words : call.plan.bytes;
    const band_layout& layout = in_place ? call.plan.input : staged;
    auto* copy = reinterpret_cast<Staged*>(call.scratch);
    const Staged* band = copy;
    [[maybe_unused]] const auto flips = static_cast<std::ptrdiff_t>(call.plan.flips_begin);
    if constexpr (centered) {
        // Quads may reach into the gap behind a pixel or behind the band, where weights are zero, or -1 if flipped.
        const std::ptrdiff_t size = layout.rows(g, count) * layout.row_pitch;
        const std::ptrdiff_t first_gap = layout.pixel_pitch == g.in.channels ? size : 0;
        std::memset(copy + first_gap, 0, static_cast<std::size_t>(size - first_gap + 4));
        stage_band<Arch>(g, staged, first, count, call.x, call.codes, signed_bytes{copy, flips});
    } else if (in_place) {
        const std::ptrdiff_t row = std::ptrdiff_t{first} * layout.row_stride - g.padding_top;
        band = reinterpret_cast<const Staged*>(call.x + row * layout.row_pitch - g.padding_left * layout.pixel_pitch);
    } else {
        stage_band<Arch>(g, staged, first, count, call.x, call.codes, copy);
    }
    auto* offsets = reinterpret_cast<std::int32_t*>(call.scratch + call.plan.offsets_begin);
    list_windows<Arch>(g, layout, count, offsets);

    window_runs runs = runs_in(g, layout);
    const int rows = count * g.out.width, last_panel = g.panels.end_of(panels.layout.panels) - 1;
    Out* y = call.y + std::ptrdiff_t{first} * g.out.width * g.out.channels;
    // In a network the weights are in no cache when a layer begins: those of the next panels come while several rows
    // are multiplied with these, and behind the last what lies there, which are those of the next layer.
    const auto fetch_behind = [&](int index, int count_of_panels) {
        const int next = index + count_of_panels;
        const bool is_end = next > last_panel && (!fetches_behind<Arch> || last_panel + 1 != panels.layout.panels);
        const int fetched = is_end ? 0 : next > last_panel ? 1 : std::min(count_of_panels, last_panel + 1 - next);
        runs.ahead = panels.template weights<std::byte>(next);
        runs.ahead_bytes =
            rows > operations<Arch>::tile_rows ? fetched * static_cast<std::ptrdiff_t>(panels.layout.panel_bytes) : 0;
    };
    const auto multiply = [&](auto format, const auto* from, auto panel) {
        fetch_behind(panel.index, 1);
        using weight = typename decltype(format)::weight;
        if constexpr (is_int16) {
            if (panels.window(panel.index) == 0) {
                multiply_panel_in_parts<Arch, decltype(format)>(from + panel.group * g.group_in(), offsets, rows, runs,
                                                                panels.template weights<weight>(panel.index),
                                                                panel.first_channel, panel.channels, call.epilogue,
                                                                y + panel.first_channel, g.out.channels);
                return;
            }
        }
        multiply_panel<Arch, decltype(format)>(from + panel.group * g.group_in(), offsets, rows, runs,
                                               panels.template weights<weight>(panel.index), panels.bias(panel.index),
                                               panel.first_channel, panel.channels, call.epilogue,
                                               y + panel.first_channel, g.out.channels);
    };
    [[maybe_unused]] const auto multiply_two = [&](auto format, const std::uint8_t* from, auto panel, int channels) {
        multiply_two_panels<Arch, decltype(format)>(
            from, offsets, rows, runs, panels.template weights<std::int8_t>(panel.index), panels.bias(panel.index),
            panel.first_channel, std::min(channels, 2 * panel_width<Arch>), call.epilogue, y + panel.first_channel,
            g.out.channels);
    };
    if constexpr (words) {
        runs = without_padding_pairs(g, runs);
        panels.layout.for_each_panel(g, [&](auto panel) {
            const panel_kernel kernel = panels.kernel(panel.index);
            if (kernel == panel_kernel::word_pairs) multiply(word_pairs{}, band, panel);
            if (kernel != panel_kernel::widened_pairs) return;
            if constexpr (!is_int16)
                if (panel.channels == g.out.channels &&
                    multiplied_narrow_rows<Arch>(band, offsets, g.out.width, rows, runs,
                                                 panels.template weights<std::int8_t>(panel.index),
                                                 panels.bias(panel.index), g.out.channels, call.epilogue, y))
                    return;
            multiply(widened_pairs{}, band, panel);
        });
    } else if constexpr (centered) {
        runs.flips = flips;
        runs.row_sums = rows;
        std::int32_t *sums = offsets + rows, *run_sums = sums + rows;
        runs.panel_pitch = static_cast<std::ptrdiff_t>(panels.layout.panel_bytes);
        int group = -1;  // that the flipped sums are listed for
        int next = 0;    // panel that is not multiplied yet
        const auto is_signed = [&](int index) { return panels.kernel(index) == panel_kernel::signed_quads; };
        panels.layout.for_each_panel(g, [&](auto panel) {
            if (panel.index < next || !is_signed(panel.index)) return;
            const std::uint8_t* from = band + panel.group * g.group_in();
            if (panel.group != group) list_row_sums<Arch, Activations>(g, layout, runs, from, count, run_sums, sums);
            group = panel.group;
            const int channels = (group + 1) * g.group_out() - panel.first_channel;  // from the panel on
            if (takes_two_panels<Arch, signed_quads>(rows, channels) && panel.index != last_panel &&
                is_signed(panel.index + 1)) {
                multiply_two(signed_quads{}, from, panel, channels);
                next = panel.index + 2;
            } else {
                multiply(signed_quads{}, band, panel);
            }
        });
    } else if constexpr (has_whole_tiles<Arch>) {
        const typename operations<Arch>::tile_session session(rows, runs.length, runs.kernel_rows * runs.segments);
        std::int32_t *sums = offsets + rows, *run_sums = sums + rows;
        runs.row_sums = session.usable() ? rows : 0;
        int group = -1;  // that the sums are listed for
        panels.layout.for_each_panel(g, [&](auto panel) {
            if (panels.kernel(panel.index) != panel_kernel::byte_quads) return;
            const std::uint8_t* from = band + panel.group * g.group_in();
            if (session.usable() && panel.group != group)
                list_row_sums<Arch, Activations>(g, layout, runs, from, count, run_sums, sums);
            group = panel.group;
            multiply(offset_quads{}, band, panel);
        });
    } else if constexpr (has_quads<Arch> && !quads_saturate<Arch>) {
        [[maybe_unused]] int next = 0;  // panel that is not multiplied yet
        const auto are_quads = [&](int index) { return panels.kernel(index) == panel_kernel::byte_quads; };
        panels.layout.for_each_panel(g, [&](auto panel) {
            if (!are_quads(panel.index)) return;
            if constexpr (most_paired_rows<Arch, byte_quads> != 0) {
                if (panel.index < next) return;
                const int channels = (panel.group + 1) * g.group_out() - panel.first_channel;  // from the panel on
                if (takes_two_panels<Arch, byte_quads>(rows, channels) && panel.index != last_panel &&
                    are_quads(panel.index + 1)) {
                    runs.panel_pitch = static_cast<std::ptrdiff_t>(panels.layout.panel_bytes);
                    fetch_behind(panel.index, 2);
                    multiply_two(byte_quads{}, band + panel.group * g.group_in(), panel, channels);
                    next = panel.index + 2;
                    return;
                }
            }
            multiply(byte_quads{}, band, panel);
        });
    } else if constexpr (quads_saturate<Arch>) {
        panels.layout.for_each_panel(g, [&](auto panel) {
            const panel_kernel kernel = panels.kernel(panel.index);
            if (activations_of(kernel) != Activations) return;
            runs.window = panels.window(panel.index);
            // Short windows do not pay for a row or two, and byte_quads is exact for what is windowed.
            const bool windowed = kernel == panel_kernel::windowed_quads && (rows > 2 || runs.window >= 8);
            if (windowed) multiply(windowed_quads{}, band, panel);
            else multiply(byte_quads{}, band, panel);
        });
    }
}

/// All bands, one after another.
template <class Arch, class In, class Out, class Epilogue>
[[gnu::noinline]] void convolve_bands(const conv2d_geometry& g, const In* x, activation_codes codes,
                                      const std::byte* packed, const Epilogue& epilogue, Out* y,
                                      std::byte* scratch) noexcept {
    const implicit_gemm_plan<Arch> plan(g);
    const packed_panels<Arch> panels(g, packed);
    const implicit_gemm_call<Arch, In, Out, Epilogue> call{g, plan, x, codes, panels, epilogue, y, scratch};
    bool taken[3] = {};
    for (int panel = g.panels.begin; panel != g.panels.end_of(panels.layout.panels); ++panel)
        taken[static_cast<int>(activations_of(panels.kernel(panel)))] = true;
    int band_rows = plan.band_rows;
    if (sizeof(In) == 1 && reads_in_place<Arch>(g, codes) &&
        !taken[static_cast<int>(panel_activations::centered_codes)] &&
        !taken[static_cast<int>(panel_activations::differences)])
        band_rows = plan.rows_in_place;
    const auto convolve = [&](auto activations, int first) {
        const int count = std::min(band_rows, g.out.height - first);
        if (taken[static_cast<int>(activations())]) convolve_band<activations()>(call, first, count);
    };
    for (int first = 0; first < g.out.height; first += band_rows) {
        using kind = panel_activations;
        if constexpr (sizeof(In) == 1) {
            convolve(std::integral_constant<kind, kind::unsigned_codes>{}, first);
            if constexpr (quads_saturate<Arch>) convolve(std::integral_constant<kind, kind::centered_codes>{}, first);
        }
        if constexpr (!has_only_quads<Arch>) convolve(std::integral_constant<kind, kind::differences>{}, first);
    }
}

/// The whole convolution. `scratch` has implicit_gemm_plan::scratch_bytes bytes.
template <class Arch, class In, class Out, class Epilogue>
void implicit_gemm(const conv2d_geometry& g, const In* x, activation_codes codes, const std::byte* packed,
                   const Epilogue& epilogue, Out* y, std::byte* scratch) noexcept {
    if constexpr (sizeof(In) == 1)
        convolve_bands<Arch>(g, x, codes, packed, any_epilogue<Arch, Out>(epilogue), y, scratch);
    else convolve_bands<Arch>(g, x, codes, packed, epilogue, y, scratch);  // which finishes sums of int64 as well
}

}  // namespace zp::inline v0::kernel
