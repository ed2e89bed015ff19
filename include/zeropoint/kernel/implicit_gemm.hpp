// Convolution as a matrix product whose left side is read through windows of a padded copy of the input.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/gemm.hpp>
#include <zeropoint/kernel/geometry.hpp>
#include <zeropoint/kernel/pack.hpp>
#include <zeropoint/kernel/staging.hpp>

namespace zp {
inline namespace v0 {
namespace kernel {

/// What follows from a geometry alone: the layouts of bands, and where in scratch the windows are listed.
struct implicit_gemm_plan {
    band_layout words, bytes;
    int band_rows;              ///< output rows of a band; the last may have fewer
    std::size_t offsets_begin;  ///< of the window offset of each output pixel of a band
    std::size_t scratch_bytes;

    constexpr explicit implicit_gemm_plan(const conv2d_geometry& g)
        : words(staged_layout(g, sizeof(std::int16_t))),
          bytes(staged_layout(g, sizeof(std::uint8_t))),
          band_rows(band_output_rows(g, words)),
          offsets_begin(band_scratch_bytes(g, words, band_rows)),
          scratch_bytes(offsets_begin + align_up(static_cast<std::size_t>(band_rows) *
                                                 static_cast<std::size_t>(g.out.width) * sizeof(std::int32_t))) {}
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

/// Whether byte_quads can read the input where it is: unsigned, no padding, no run whose last quad reaches past its
/// end.
constexpr bool reads_in_place(const conv2d_geometry& g, activation_codes codes) {
    return unsigned_shift(codes) == 0 && !g.has_padding() && runs_of(g).length % 4 == 0;
}

/// The arguments of one convolution.
template <class Arch, class In, class Out, class Epilogue> struct implicit_gemm_call {
    const conv2d_geometry& geometry;
    const implicit_gemm_plan& plan;
    const In* x;
    activation_codes codes;
    const packed_panels<Arch>& panels;
    const Epilogue& epilogue;
    Out* y;
    std::byte* scratch;
};

/// Output rows [first, first + count), of the channels whose panels take `Activation` operands. Bands do not depend on
/// one another, nor do the panels of one: both can be given to several threads, each with scratch of its own.
template <class Activation, class Arch, class In, class Out, class Epilogue>
[[gnu::noinline]] void convolve_band(const implicit_gemm_call<Arch, In, Out, Epilogue>& call, int first,
                                     int count) noexcept {
    const conv2d_geometry& g = call.geometry;
    constexpr bool bytes = std::is_same_v<Activation, std::uint8_t>;

    band_layout layout = bytes ? call.plan.bytes : call.plan.words;
    auto* staged = reinterpret_cast<Activation*>(call.scratch);
    const Activation* band = staged;
    if (bytes && reads_in_place(g, call.codes)) {
        layout = input_layout(g);
        band =
            reinterpret_cast<const Activation*>(call.x + std::ptrdiff_t{first} * layout.row_stride * layout.row_pitch);
    } else {
        stage_band<Arch>(g, layout, first, count, call.x, call.codes, staged);
    }
    auto* offsets = reinterpret_cast<std::int32_t*>(call.scratch + call.plan.offsets_begin);
    list_windows<Arch>(g, layout, count, offsets);

    const window_runs runs = runs_in(g, layout);
    const int rows = count * g.out.width;
    Out* y = call.y + std::ptrdiff_t{first} * g.out.width * g.out.channels;
    call.panels.layout.for_each_panel(g, [&](typename panel_layout<Arch>::panel_position panel) {
        const auto multiply = [&](auto format) {
            using format_type = decltype(format);
            const auto* weights = call.panels.template weights<typename format_type::weight>(panel.index);
            multiply_panel<Arch, format_type>(band + panel.group * g.group_in(), offsets, rows, runs, weights,
                                              call.panels.bias(panel.index), panel.first_channel, panel.channels,
                                              call.epilogue, y + panel.first_channel, g.out.channels);
        };
        const panel_kernel kernel = call.panels.kernel(panel.index);
        if constexpr (bytes) {
            if (operations<Arch>::has_dot4 && kernel == panel_kernel::byte_quads) multiply(byte_quads{});
        } else {
            if (kernel == panel_kernel::widened_pairs) multiply(widened_pairs{});
            if (kernel == panel_kernel::word_pairs) multiply(word_pairs{});
        }
    });
}

/// The whole convolution, band by band. `scratch` has implicit_gemm_plan::scratch_bytes bytes.
template <class Arch, class In, class Out, class Epilogue>
[[gnu::noinline]] void implicit_gemm(const conv2d_geometry& g, const In* x, activation_codes codes,
                                     const std::byte* packed, const Epilogue& epilogue, Out* y,
                                     std::byte* scratch) noexcept {
    const implicit_gemm_plan plan(g);
    const packed_panels<Arch> panels(g, packed);
    const implicit_gemm_call<Arch, In, Out, Epilogue> call{g, plan, x, codes, panels, epilogue, y, scratch};
    bool quads = false, others = false;
    for (int panel = 0; panel != panels.layout.panels; ++panel) {
        (panels.kernel(panel) == panel_kernel::byte_quads ? quads : others) = true;
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
