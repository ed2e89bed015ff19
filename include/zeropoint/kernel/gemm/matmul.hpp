// SPDX-License-Identifier: BSD-3-Clause
// Matrix products of two 8-bit activations: the second is packed as weights are, but when the program runs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/arch/operations.hpp>
#include <zeropoint/kernel/epilogue/apply_epilogue.hpp>
#include <zeropoint/kernel/epilogue/requantize.hpp>
#include <zeropoint/kernel/gemm/bands.hpp>
#include <zeropoint/kernel/gemm/gemm.hpp>
#include <zeropoint/kernel/gemm/pack_matmul.hpp>
#include <zeropoint/kernel/gemm/pack_panels.hpp>
#include <zeropoint/kernel/gemm/two_panels.hpp>
#include <zeropoint/kernel/geometry/matmul.hpp>

// Where bytes are multiplied exactly, whatever they are (VNNI, Arm's dot products), both operands are: a' and b' are codes
// with their sign bit flipped where an instruction wants the other sign, and
//
//     sum (a - za) (b - zb) = sum a' b' - za' sum b' - zb' (sum a' - depth za')
//
// of which the second part is the bias of a column, and the third a number for each row, absent where zb' is 0.
// Elsewhere both operands become differences from their zero points, in [-255, 255], multiplied by pairs as int16.

namespace zp::inline v0::kernel {

/// The largest depth of a product of two activations: 255 * 255 * depth is an int32.
inline constexpr int largest_matmul_depth = 0x7fffffff / (255 * 255);

/// y = rne(clamp(float(sum) * multiplier, min - z, max - z)) + z: nearest_even with one multiplier, which is float(double(
/// a_scale) * b_scale / y_scale).
struct nearest_even_per_tensor {
    float multiplier = 0;
    output_codes codes{};

    constexpr std::int32_t operator()(std::int32_t sum, int) const {
        const float real = static_cast<float>(sum) * multiplier;
        return round_half_even(std::clamp(real, codes.lower(), codes.upper())) + codes.zero_point;
    }
    template <class Operations> [[gnu::always_inline]] auto vector(int, int) const {
        using real = typename Operations::real;
        const real scale(multiplier), upper(codes.upper());
        return [=](const typename Operations::int32& sums) __attribute__((always_inline)) {
            return round_below(xsimd::to_float(sums) * scale, upper);
        };
    }
};

/// Whether products of any bytes are exact, so that panels of quads need no check.
template <class Arch> constexpr bool multiplies_any_bytes() {
    using ops = operations<Arch>;
    if constexpr (requires(const std::int8_t* panel) { ops::takes_quads(panel, 0); }) return false;
    else return ops::quads == quad_products::exact || ops::quads == quad_products::exact_signed;
}
template <class Arch> using matmul_format = std::conditional_t<multiplies_any_bytes<Arch>(), byte_quads, word_pairs>;
/// The same, for tiles where an architecture has them.
template <class Arch>
using whole_matmul_format = std::conditional_t<multiplies_any_bytes<Arch>(), quads_of<Arch>, word_pairs>;

/// What follows from a geometry alone: the layouts of staged rows and of panels, and the parts of scratch.
template <class Arch> struct matmul_plan {
    using format = whole_matmul_format<Arch>;
    using value = typename format::activation;
    static constexpr int width = panel_width<Arch>;
    static constexpr std::ptrdiff_t size = sizeof(value);

    int length;                ///< the depth, made even or a multiple of 4
    int panels, band_rows;     ///< of b; rows of a that are staged at a time
    std::ptrdiff_t row_pitch;  ///< from a staged row of a to the next, in values
    std::size_t panel_bytes;   ///< of one panel
    std::size_t bias_begin, terms_begin, offsets_begin, panels_begin, rows_begin, scratch_bytes;

    constexpr explicit matmul_plan(const matmul_geometry& g)
        : length((g.depth + format::depth - 1) / format::depth * format::depth),
          panels((g.columns + width - 1) / width) {
        row_pitch = spread_pitch(length, size);
        const std::ptrdiff_t fitting = band_bytes / (row_pitch * size);
        band_rows = static_cast<int>(std::clamp<std::ptrdiff_t>(fitting, std::min(band_pixels, g.rows), g.rows));
        const auto lanes = static_cast<std::size_t>(width), rows = static_cast<std::size_t>(band_rows);
        panel_bytes = align_up(static_cast<std::size_t>(length * size) * lanes);
        bias_begin = align_up(static_cast<std::size_t>((band_rows * row_pitch + band_slack) * size));
        terms_begin = bias_begin + align_up(static_cast<std::size_t>(panels) * lanes * sizeof(std::int32_t));
        offsets_begin = terms_begin + align_up(rows * sizeof(std::int32_t));
        panels_begin = offsets_begin + align_up((has_whole_tiles<Arch> ? 2 : 1) * rows * sizeof(std::int32_t));
        rows_begin = panels_begin + static_cast<std::size_t>(panels) * panel_bytes;
        scratch_bytes = rows_begin + (g.transposed ? panel_bytes : 0);
        if constexpr (has_whole_tiles<Arch>) scratch_bytes += operations<Arch>::tile_slack;
    }
};

/// An epilogue for sums that lack a number a row: that of row 0 lies at `terms`, where row 0 of the output begins at `output`.
template <class Epilogue, class Out> struct with_row_terms {
    const Epilogue& epilogue;
    const std::int32_t* terms;
    const Out* output;
    std::ptrdiff_t pitch;

    /// Sums to their place in the output, as finish_rows() says.
    template <class Arch>
    void finish_tile(const std::int32_t* sums, int rows, int first_channel, int channels, Out* y,
                     std::ptrdiff_t y_pitch) const noexcept {
        constexpr int width = panel_width<Arch>, block = 8;
        alignas(64) std::int32_t complete[block * width];
        const std::int32_t* term = terms + (y - output) / pitch;
        for (int first = 0; first < rows; first += block, sums += block * width, term += block) {
            const int count = std::min(block, rows - first);
            for (int row = 0; row != count; ++row)
                for (int c = 0; c != width; ++c)
                    complete[row * width + c] = add_product_wrapping(sums[row * width + c], 1, term[row]);
            finish_rows<Arch>(epilogue, complete, count, first_channel, channels, y + first * y_pitch, y_pitch);
        }
    }
};

/// y = epilogue(sum (a - a_zero_point) * (b - b_zero_point)), as reference::matmul says, for codes of 8 bits of either
/// storage, whole ranges. The depth is at most largest_matmul_depth. Nothing beyond the rows of a, b and y is touched;
/// `scratch` has matmul_plan<Arch>::scratch_bytes bytes, 64-byte aligned. An epilogue knows columns by their number in one
/// matrix.
template <class Arch, class A, class B, class Out, class Epilogue>
void matmul(const matmul_geometry& g, const A* a, std::int32_t a_zero_point, const B* b, std::int32_t b_zero_point,
            const Epilogue& epilogue, Out* y, std::byte* scratch) noexcept {
    static_assert(sizeof(A) == 1 && sizeof(B) == 1,
                  "matmul<Arch, A, B>: both operands must be std::uint8_t or std::int8_t, the storage of 8-bit codes");
    using plan_type = matmul_plan<Arch>;
    using format = typename plan_type::format;
    using value = typename plan_type::value;
    using weight = typename format::weight;
    constexpr bool quads = !std::is_same_v<format, word_pairs>;
    constexpr bool signed_a = operations<Arch>::quads == quad_products::exact_signed;
    constexpr int width = panel_width<Arch>;
    [[maybe_unused]] const flipped_codes left(a_zero_point, signed_a, A{}), right(b_zero_point, true, B{});
    const plan_type plan(g);
    const auto at = [&]<class T>(std::size_t place, T*) { return reinterpret_cast<T*>(scratch + place); };
    auto* band = at(0, static_cast<value*>(nullptr));
    auto* bias = at(plan.bias_begin, static_cast<std::int32_t*>(nullptr));
    [[maybe_unused]] auto* terms = at(plan.terms_begin, static_cast<std::int32_t*>(nullptr));
    auto* offsets = at(plan.offsets_begin, static_cast<std::int32_t*>(nullptr));
    auto* rows_of_panel = at(plan.rows_begin, static_cast<value*>(nullptr));
    const auto panel = [&](int index) {
        return at(plan.panels_begin + static_cast<std::size_t>(index) * plan.panel_bytes, static_cast<value*>(nullptr));
    };
    const auto pack = [&](int index) {
        const int column = index * width, count = std::min(width, g.columns - column);
        const std::ptrdiff_t pitch = g.b.row_pitch;
        std::int32_t* sums = bias + column;
        if constexpr (quads) {
            if (g.transposed)
                pack_row_quads<Arch>(b + column * pitch, pitch, g.depth, count, right.flip, rows_of_panel, panel(index),
                                     sums);
            else pack_column_quads<Arch>(b + column, pitch, g.depth, count, right.flip, panel(index), sums);
            for (int c = 0; c != width; ++c) sums[c] = add_product_wrapping(0, -left.zero_point, sums[c]);
        } else {
            std::fill_n(sums, width, 0);
            if (g.transposed)
                pack_rows<Arch>(b + column * pitch, pitch, g.depth, count, b_zero_point, rows_of_panel, panel(index));
            else pack_columns<Arch>(b + column, pitch, g.depth, count, b_zero_point, panel(index));
        }
    };
    const auto stage = [&](const A* from, std::ptrdiff_t row) {
        value* to = band + row * plan.row_pitch;
        if constexpr (quads) {
            using summed = std::conditional_t<signed_a, std::int8_t, std::uint8_t>;
            const std::int32_t sum = flip_row<summed>(from, g.depth, left.flip, plan.length, to);
            terms[row] = add_product_wrapping(0, -right.zero_point, sum - g.depth * left.zero_point);
            if constexpr (has_whole_tiles<Arch>) offsets[plan.band_rows + row] = sum;
        } else {
            operations<Arch>::widen(from, g.depth, a_zero_point, to);
            if (plan.length != g.depth) to[g.depth] = 0;
        }
    };

    for (int row = 0; row != plan.band_rows; ++row) offsets[row] = static_cast<std::int32_t>(row * plan.row_pitch);
    window_runs runs;
    runs.length = plan.length;
    runs.panel_pitch =
        static_cast<std::ptrdiff_t>(plan.panel_bytes);  // of bytes, which alone are multiplied by two panels
    [[maybe_unused]] const auto session = [&] {
        if constexpr (has_whole_tiles<Arch>)
            return typename operations<Arch>::tile_session(plan.band_rows, runs.length, 1);
        else return 0;
    }();
    if constexpr (has_whole_tiles<Arch>) runs.row_sums = session.usable() ? plan.band_rows : 0;
    for (int batch = 0; batch != g.batches; ++batch, a += g.a.batch_pitch, b += g.b.batch_pitch, y += g.y.batch_pitch) {
        if (batch == 0 || g.b.batch_pitch != 0)
            for (int index = 0; index != plan.panels; ++index) pack(index);
        for (int first = 0; first < g.rows; first += plan.band_rows) {
            const int rows = std::min(plan.band_rows, g.rows - first);
            for (int row = 0; row != rows; ++row) stage(a + (first + row) * g.a.row_pitch, row);
            Out* to = y + first * g.y.row_pitch;
            const auto multiply = [&](const auto& finish) {
                for (int index = 0; index != plan.panels; ++index) {
                    const int column = index * width, columns = g.columns - column;
                    const auto* weights = reinterpret_cast<const weight*>(panel(index));
                    if constexpr (most_paired_rows<Arch, format> != 0) {
                        if (takes_two_panels<Arch, format>(rows, columns)) {
                            multiply_two_panels<Arch, format>(band, offsets, rows, runs, weights, bias + column, column,
                                                              std::min(2 * width, columns), finish, to + column,
                                                              g.y.row_pitch);
                            ++index;
                            continue;
                        }
                    }
                    multiply_panel<Arch, format>(band, offsets, rows, runs, weights, bias + column, column,
                                                 std::min(width, columns), finish, to + column, g.y.row_pitch);
                }
            };
            if constexpr (quads) {
                if (right.zero_point != 0) {
                    const std::ptrdiff_t pitch = std::max<std::ptrdiff_t>(g.y.row_pitch, g.columns);
                    multiply(with_row_terms<Epilogue, Out>{epilogue, terms, to, pitch});
                    continue;
                }
            }
            multiply(epilogue);
        }
    }
}

}  // namespace zp::inline v0::kernel
