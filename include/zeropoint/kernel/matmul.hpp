// Matrix products of two 8-bit activations: the second is packed as weights are, but when the program runs.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/dispatch.hpp>
#include <zeropoint/kernel/gemm.hpp>
#include <zeropoint/kernel/layout.hpp>
#include <zeropoint/kernel/matmul_geometry.hpp>
#include <zeropoint/kernel/requantize.hpp>
#include <zeropoint/kernel/staging.hpp>

// Both operands become differences from their zero points, in [-255, 255], and are multiplied by pairs as int16 (word_pairs
// in gemm.hpp). So sums are exact for all codes and zero points of both, and nothing has to be corrected behind them.

namespace zp {
inline namespace v0 {
namespace kernel {

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

/// y = float(sum) * multiplier, which is a_scale * b_scale: a product whose result leaves the integers.
struct dequantize_per_tensor {
    float multiplier = 0;

    constexpr float operator()(std::int32_t sum, int) const { return static_cast<float>(sum) * multiplier; }
    template <class Operations> [[gnu::always_inline]] auto vector(int, int) const {
        const typename Operations::real scale(multiplier);
        return [=](const typename Operations::int32& sums) __attribute__((always_inline)) {
            return xsimd::to_float(sums) * scale;
        };
    }
};

/// What follows from a geometry alone: the layouts of staged rows and of panels, and the parts of scratch.
template <class Arch> struct matmul_plan {
    static constexpr int width = panel_width<Arch>;

    int length;               ///< the depth, made even
    int panels, band_rows;    ///< of b; rows of a that are staged at a time
    std::ptrdiff_t pitch;     ///< from a staged row of a to the next, in values
    std::size_t panel_bytes;  ///< of one panel: [length / 2][channel][2] int16
    std::size_t bias_begin, offsets_begin, panels_begin, rows_begin, scratch_bytes;

    constexpr explicit matmul_plan(const matmul_geometry& g)
        : length((g.depth + 1) / 2 * 2), panels((g.columns + width - 1) / width) {
        // Rows of a tile at a multiple of 1024 bytes would share the sets of the first-level cache.
        pitch = length + (length % 512 == 0 ? 32 : 0);
        const std::ptrdiff_t fitting = band_bytes / (pitch * 2);
        band_rows = static_cast<int>(std::clamp<std::ptrdiff_t>(fitting, std::min(band_pixels, g.rows), g.rows));
        panel_bytes = align_up(static_cast<std::size_t>(length) * static_cast<std::size_t>(width) * 2);
        bias_begin = align_up(static_cast<std::size_t>(band_rows * pitch + band_slack) * 2);
        offsets_begin = bias_begin + align_up(static_cast<std::size_t>(width) * sizeof(std::int32_t));
        panels_begin = offsets_begin + align_up(static_cast<std::size_t>(band_rows) * sizeof(std::int32_t));
        rows_begin = panels_begin + static_cast<std::size_t>(panels) * panel_bytes;
        scratch_bytes = rows_begin + (g.transposed ? panel_bytes : 0);
    }
};

/// Packs `count` columns of b[depth][columns] from `from` on as one panel.
template <class Arch, class B>
[[gnu::noinline]] void pack_columns(const B* from, std::ptrdiff_t row_pitch, int depth, int count,
                                    std::int32_t zero_point, std::int16_t* panel) noexcept {
    using ops = operations<Arch>;
    constexpr int width = panel_width<Arch>;
    for (int k = 0; k < depth; k += 2, from += 2 * row_pitch, panel += 2 * width) {
        const B* next = k + 1 != depth ? from + row_pitch : nullptr;
        int column = 0;
        if constexpr (ops::has_batches) {
            using int32 = typename ops::int32;
            const int32 offset(zero_point), mask(0xffff);
            for (; column + ops::lanes <= count; column += ops::lanes) {
                const int32 first = ops::load_lanes(from + column) - offset;
                const int32 second = next != nullptr ? ops::load_lanes(next + column) - offset : int32(0);
                const int32 pairs = std::endian::native == std::endian::little ? (first & mask) | (second << 16)
                                                                               : (second & mask) | (first << 16);
                ops::store(panel + 2 * column, xsimd::bitwise_cast<std::int16_t>(pairs));
            }
        }
        for (; column != count; ++column) {
            panel[2 * column] = static_cast<std::int16_t>(from[column] - zero_point);
            panel[2 * column + 1] =
                next == nullptr ? std::int16_t{0} : static_cast<std::int16_t>(next[column] - zero_point);
        }
        std::fill(panel + 2 * count, panel + 2 * width, std::int16_t{0});
    }
}

/// Packs `count` rows of b[columns][depth] from `from` on as one panel; `rows` is room for one. A pair of a row is moved
/// as one 32-bit value.
template <class Arch, class B>
[[gnu::noinline]] void pack_rows(const B* from, std::ptrdiff_t row_pitch, int depth, int count, std::int32_t zero_point,
                                 std::int16_t* rows, std::int16_t* panel) noexcept {
    using transposing = std::conditional_t<operations<Arch>::has_batches, Arch, portable>;
    constexpr int width = panel_width<Arch>;
    const std::ptrdiff_t length = (depth + 1) / 2 * 2;
    for (int row = 0; row != count; ++row) {
        operations<Arch>::widen(from + row * row_pitch, depth, zero_point, rows + row * length);
        if (length != depth) rows[row * length + depth] = 0;
    }
    std::fill(rows + count * length, rows + width * length, std::int16_t{0});
    transpose_matrix<std::int32_t, transposing>(reinterpret_cast<const std::int32_t*>(rows), std::size_t{width},
                                                static_cast<std::size_t>(length / 2),
                                                reinterpret_cast<std::int32_t*>(panel));
}

/// y = epilogue(sum (a - a_zero_point) * (b - b_zero_point)), as reference::matmul says, for codes of 8 bits of either
/// storage, whole ranges. The depth is at most largest_matmul_depth. Nothing beyond the rows of a, b and y is touched;
/// `scratch` has matmul_plan<Arch>::scratch_bytes bytes, 64-byte aligned. An epilogue knows columns by their number in one
/// matrix.
template <class Arch, class A, class B, class Out, class Epilogue>
void matmul(const matmul_geometry& g, const A* a, std::int32_t a_zero_point, const B* b, std::int32_t b_zero_point,
            const Epilogue& epilogue, Out* y, std::byte* scratch) noexcept {
    static_assert(sizeof(A) == 1 && sizeof(B) == 1,
                  "matmul<Arch, A, B>: both operands must be std::uint8_t or std::int8_t, the storage of 8-bit codes");
    constexpr int width = panel_width<Arch>;
    const matmul_plan<Arch> plan(g);
    auto* band = reinterpret_cast<std::int16_t*>(scratch);
    auto* bias = reinterpret_cast<std::int32_t*>(scratch + plan.bias_begin);
    auto* offsets = reinterpret_cast<std::int32_t*>(scratch + plan.offsets_begin);
    const auto panel = [&](int index) {
        const std::size_t begin = plan.panels_begin + static_cast<std::size_t>(index) * plan.panel_bytes;
        return reinterpret_cast<std::int16_t*>(scratch + begin);
    };
    std::fill_n(bias, width, 0);
    for (int row = 0; row != plan.band_rows; ++row) offsets[row] = static_cast<std::int32_t>(row * plan.pitch);
    window_runs runs;
    runs.length = plan.length;
    for (int batch = 0; batch != g.batches; ++batch, a += g.a.batch_pitch, b += g.b.batch_pitch, y += g.y.batch_pitch) {
        for (int index = 0; index != plan.panels && (batch == 0 || g.b.batch_pitch != 0); ++index) {
            const int column = index * width, count = std::min(width, g.columns - column);
            if (g.transposed)
                pack_rows<Arch>(b + column * g.b.row_pitch, g.b.row_pitch, g.depth, count, b_zero_point,
                                reinterpret_cast<std::int16_t*>(scratch + plan.rows_begin), panel(index));
            else pack_columns<Arch>(b + column, g.b.row_pitch, g.depth, count, b_zero_point, panel(index));
        }
        for (int first = 0; first < g.rows; first += plan.band_rows) {
            const int rows = std::min(plan.band_rows, g.rows - first);
            for (int row = 0; row != rows; ++row) {
                std::int16_t* to = band + row * plan.pitch;
                operations<Arch>::widen(a + (first + row) * g.a.row_pitch, g.depth, a_zero_point, to);
                if (plan.length != g.depth) to[g.depth] = 0;
            }
            for (int index = 0; index != plan.panels; ++index) {
                const int column = index * width, count = std::min(width, g.columns - column);
                multiply_panel<Arch, word_pairs>(band, offsets, rows, runs, panel(index), bias, column, count, epilogue,
                                                 y + first * g.y.row_pitch + column, g.y.row_pitch);
            }
        }
    }
}

}  // namespace kernel
}  // namespace v0
}  // namespace zp
