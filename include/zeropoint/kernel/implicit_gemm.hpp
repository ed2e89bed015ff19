// Convolution as a matrix product whose left side is read through windows of a padded copy of the input.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/gemm.hpp>
#include <zeropoint/kernel/geometry.hpp>
#include <zeropoint/kernel/panel_layout.hpp>
#include <zeropoint/kernel/staging.hpp>

namespace zp {
inline namespace v0 {
namespace kernel {

/// Rows of a band for which the first tile of widened_pairs leaves the panel behind as word_pairs, whose tiles are 6 %
/// faster: from there on, that outweighs a panel of twice the size.
inline constexpr int widening_rows = 16;
/// Products for one channel of a band from which that is done: in smaller ones it gains less than a tenth of a
/// microsecond a panel, and would double the working memory of a small model.
inline constexpr int widening_products = 1 << 14;

/// What follows from a geometry alone: the layouts of bands, and what lies in scratch behind them.
template <class Arch> struct implicit_gemm_plan {
    band_layout words, bytes, input;
    int band_rows;               ///< output rows of a band; the last may have fewer
    bool widens;                 ///< whether there is room for a panel of widened weights
    std::size_t shuffled_begin;  ///< of the shuffled copy of a band of bytes
    std::size_t offsets_begin;   ///< of the window offset of each output pixel of a band
    std::size_t operands_begin;  ///< of what some kinds of panel take: their weights widened, or halves of activations
    std::size_t half_bytes;      ///< of the higher or the lower halves
    std::size_t scratch_bytes;

    constexpr explicit implicit_gemm_plan(const conv2d_geometry& g)
        : words(staged_layout(g, sizeof(std::int16_t))),
          bytes(staged_layout(g, sizeof(std::uint8_t))),
          input(input_layout(g)),
          band_rows(band_output_rows(g, words)),
          widens(band_rows * g.out.width >= widening_rows &&
                 std::ptrdiff_t{band_rows} * g.out.width * runs_of(g).depth() >= widening_products),
          shuffled_begin(band_scratch_bytes(g, bytes, band_rows, sizeof(std::uint8_t))),
          offsets_begin(std::max(band_scratch_bytes(g, words, band_rows, sizeof(std::int16_t)), 2 * shuffled_begin)),
          operands_begin(offsets_begin + align_up(static_cast<std::size_t>(band_rows) *
                                                  static_cast<std::size_t>(g.out.width) * sizeof(std::int32_t))),
          half_bytes(align_up(static_cast<std::size_t>(g.in.channels + band_slack))),
          scratch_bytes(operands_begin) {
        if (widens)
            scratch_bytes +=
                align_up(static_cast<std::size_t>(runs_of(g).depth() * panel_width<Arch>) * sizeof(std::int16_t));
        else if (splits_activations(g)) scratch_bytes += 2 * half_bytes;
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

/// Whether byte_quads can read the input where it is: as dot4 takes it, no padding, no run whose last quad reaches past
/// its end.
template <class Arch> constexpr bool reads_in_place(const conv2d_geometry& g, activation_codes codes) {
    return staged_shift<Arch>(codes) == 0 && !g.has_padding() && runs_of(g).length % 4 == 0;
}

/// The halves of unsigned codes.
template <class Arch>
void split_codes(const std::uint8_t* from, std::ptrdiff_t count, std::uint8_t* high, std::uint8_t* low) noexcept {
    std::ptrdiff_t i = 0;
    if constexpr (operations<Arch>::has_batches) {
        using bytes = typename operations<Arch>::uint8;
        constexpr auto size = static_cast<std::ptrdiff_t>(bytes::size);
        for (; i + size <= count; i += size) {
            const bytes codes = bytes::load_unaligned(from + i);
            (codes >> 4).store_unaligned(high + i);
            (codes & bytes(15)).store_unaligned(low + i);
        }
    }
    for (; i < count; ++i) {
        high[i] = static_cast<std::uint8_t>(from[i] >> 4);
        low[i] = static_cast<std::uint8_t>(from[i] & 15);
    }
}

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

/// The shuffled copies of a band of bytes, made when the panels that take them come.
template <class Arch> struct shuffled_bands {
    const conv2d_geometry& geometry;
    const packed_panels<Arch>& panels;
    const band_layout& plain_layout;  ///< of the band as it is, which begins at `plain`
    const std::uint8_t* plain;
    const band_layout& copy_layout;  ///< of the copies, one after the other at `copy`
    std::uint8_t* copy;
    int rows;               ///< output rows of the band
    std::int32_t* offsets;  ///< the windows, listed for `band`

    int shuffle = -1, copied = -1;  ///< the shuffle of `band` (-1 for none), and of what lies at `copy`
    const std::uint8_t* band = plain;

    /// Turns to the band that a panel takes.
    [[gnu::noinline]] void turn_to(int wanted, window_runs& runs) noexcept {
        if (wanted != -1 && wanted != copied) {
            shuffle_band<Arch>(geometry, plain_layout, plain, copy_layout, rows, panels.shuffle(wanted), copy);
            copied = wanted;
        }
        if (!plain_layout.staged && (wanted == -1 || shuffle == -1)) {
            const band_layout& layout = wanted == -1 ? plain_layout : copy_layout;
            list_windows<Arch>(geometry, layout, rows, offsets);
            runs = runs_in(geometry, layout);
        }
        band = wanted == -1 ? plain : copy;
        shuffle = wanted;
    }
};

/// Output rows [first, first + count), of the channels whose panels take `Activation` operands. Bands do not depend on
/// one another, nor do the panels of one: both can be given to several threads, each with scratch of its own.
template <class Activation, class Arch, class In, class Out, class Epilogue>
[[gnu::noinline]] void convolve_band(const implicit_gemm_call<Arch, In, Out, Epilogue>& call, int first,
                                     int count) noexcept {
    using ops = operations<Arch>;
    const conv2d_geometry& g = call.geometry;
    const packed_panels<Arch>& panels = call.panels;
    constexpr bool bytes = std::is_same_v<Activation, std::uint8_t>;

    const bool in_place = bytes && reads_in_place<Arch>(g, call.codes);
    const band_layout& staged = bytes ? call.plan.bytes : call.plan.words;
    const band_layout& layout = in_place ? call.plan.input : staged;
    auto* copy = reinterpret_cast<Activation*>(call.scratch);
    const Activation* band = copy;
    if (in_place) {
        band =
            reinterpret_cast<const Activation*>(call.x + std::ptrdiff_t{first} * layout.row_stride * layout.row_pitch);
    } else {
        stage_band<Arch>(g, staged, first, count, call.x, call.codes, copy);
    }
    auto* offsets = reinterpret_cast<std::int32_t*>(call.scratch + call.plan.offsets_begin);
    list_windows<Arch>(g, layout, count, offsets);

    window_runs runs = runs_in(g, layout);
    const int rows = count * g.out.width;
    Out* y = call.y + std::ptrdiff_t{first} * g.out.width * g.out.channels;
    using panel_position = typename panel_layout<Arch>::panel_position;
    struct row_range {
        int first, count;
    };
    const auto multiply_by = [&](auto format, const Activation* from, const std::int32_t* windows, row_range part,
                                 panel_position panel, const auto* weights) {
        multiply_panel<Arch, decltype(format)>(
            from + panel.group * g.group_in(), windows + part.first, part.count, runs, weights,
            panels.bias(panel.index), panel.first_channel, panel.channels, call.epilogue,
            y + std::ptrdiff_t{part.first} * g.out.channels + panel.first_channel, g.out.channels);
    };
    const auto multiply = [&](auto format, const Activation* from, panel_position panel) {
        using weight = typename decltype(format)::weight;
        multiply_by(format, from, offsets, {0, rows}, panel, panels.template weights<weight>(panel.index));
    };
    if constexpr (!bytes) {
        runs = without_padding_pairs(g, runs);
        panels.layout.for_each_panel(g, [&](auto panel) {
            const panel_kernel kernel = panels.kernel(panel.index);
            if (kernel == panel_kernel::word_pairs) multiply(word_pairs{}, band, panel);
            if (kernel != panel_kernel::widened_pairs) return;
            if (!call.plan.widens || rows < widening_rows) {
                multiply(widened_pairs{}, band, panel);
                return;
            }
            static_assert(ops::tile_rows <= widening_rows);
            auto* widened = reinterpret_cast<std::int16_t*>(call.scratch + call.plan.operands_begin);
            runs.widened = widened;
            multiply_by(widening_pairs{}, band, offsets, {0, ops::tile_rows}, panel,
                        panels.template weights<std::int8_t>(panel.index));
            multiply_by(word_pairs{}, band, offsets, {ops::tile_rows, rows - ops::tile_rows}, panel, widened);
        });
    } else if constexpr (has_quads<Arch> && !quads_saturate<Arch>) {
        panels.layout.for_each_panel(g, [&](auto panel) {
            if (panels.kernel(panel.index) == panel_kernel::byte_quads) multiply(byte_quads{}, band, panel);
        });
    } else if constexpr (quads_saturate<Arch>) {
        auto* shuffled = reinterpret_cast<std::uint8_t*>(call.scratch + call.plan.shuffled_begin);
        shuffled_bands<Arch> bands{g, panels, layout, band, staged, shuffled, count, offsets};
        auto* halves = reinterpret_cast<std::uint8_t*>(call.scratch + call.plan.operands_begin);
        const std::int32_t half_offsets[] = {0, static_cast<std::int32_t>(call.plan.half_bytes)};
        bool split = false;
        panels.layout.for_each_panel(g, [&](auto panel) {
            const panel_kernel kernel = panels.kernel(panel.index);
            if (!takes_bytes(kernel)) return;
            if (kernel == panel_kernel::nibble_quads) {
                if (!split) split_codes<Arch>(band, g.in.channels, halves, halves + half_offsets[1]);
                split = true;
                multiply_by(nibble_quads{}, halves, half_offsets, {0, 1}, panel,
                            panels.template weights<std::int8_t>(panel.index));
                return;
            }
            const panel_details details = panels.details(panel.index);
            const int shuffle = details.shuffled == 0 ? -1 : panels.shuffle_index(panel.index);
            if (shuffle != bands.shuffle) bands.turn_to(shuffle, runs);
            runs.window = details.window;
            runs.residuals = details.residuals;
            runs.residual_places = panels.residual_places(details.first_residual);
            runs.residual_weights = panels.residuals(details.first_residual);
            // Short windows do not pay for a row or two, and byte_quads is exact for what is windowed.
            const bool windowed = kernel == panel_kernel::windowed_quads && (rows > 2 || details.window >= 8);
            if (windowed) multiply(windowed_quads{}, bands.band, panel);
            else multiply(byte_quads{}, bands.band, panel);
        });
    }
}

/// The whole convolution, band by band. `scratch` has implicit_gemm_plan::scratch_bytes bytes.
template <class Arch, class In, class Out, class Epilogue>
[[gnu::noinline]] void implicit_gemm(const conv2d_geometry& g, const In* x, activation_codes codes,
                                     const std::byte* packed, const Epilogue& epilogue, Out* y,
                                     std::byte* scratch) noexcept {
    const implicit_gemm_plan<Arch> plan(g);
    const packed_panels<Arch> panels(g, packed);
    const implicit_gemm_call<Arch, In, Out, Epilogue> call{g, plan, x, codes, panels, epilogue, y, scratch};
    bool quads = false, others = false;
    for (int panel = 0; panel != panels.layout.panels; ++panel) {
        (takes_bytes(panels.kernel(panel)) ? quads : others) = true;
    }
    for (int first = 0; first < g.out.height; first += plan.band_rows) {
        const int count = std::min(plan.band_rows, g.out.height - first);
        if (quads) convolve_band<std::uint8_t>(call, first, count);
        if (others) convolve_band<std::int16_t>(call, first, count);
    }
}

}  // namespace kernel
}  // namespace v0
}  // namespace zp
