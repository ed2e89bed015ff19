// SPDX-License-Identifier: BSD-3-Clause
// Matrix products of small fixed extents: what linear layers of small networks run, straight-line code without a plan.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/arch/operations.hpp>
#include <zeropoint/kernel/epilogue/apply_epilogue.hpp>
#include <zeropoint/kernel/epilogue/lookup_table.hpp>
#include <zeropoint/kernel/epilogue/near_table.hpp>
#include <zeropoint/kernel/epilogue/requantize.hpp>
#include <zeropoint/kernel/gemm/bands.hpp>
#include <zeropoint/kernel/gemm/gemm.hpp>
#include <zeropoint/kernel/gemm/implicit_gemm.hpp>
#include <zeropoint/kernel/gemm/pack_panels.hpp>
#include <zeropoint/kernel/geometry/conv2d.hpp>
#include <zeropoint/kernel/vector/unroll.hpp>

// Implicit GEMM plans bands, lists windows and reads extents at run time, which costs more than a small product itself.
// Here all extents are constants. Weights are packed as pack_panels.hpp packs them, so that this is another way to run
// `implicit_gemm`, not another algorithm.
//
// One or two rows: the panels' sums stay in registers until they are codes. More rows: tile by tile as in gemm.hpp.
//
// What 32 products of one row cost, and 64 x 64 of them where two multiplications start in a cycle of 4.3 GHz:
//
//   word_pairs      2 x (load and multiply, add)              4 instructions    42 ns
//   signed_quads    load and flip, multiply, multiply, add    4, staging more
//   byte_quads      load and multiply, multiply, add          3, where exact    36 ns
//
// With one row each weight is widened for one product only, so that words are worth their bytes: small layers of one
// row are packed as word_pairs, unless their dtypes say that byte_quads is exact.

// The most weights of a product that models have code of its own for; of larger ones a plan of 40 ns is not worth the code's bytes,
// and their words would fill the second-level cache. 0: none has, and a model compiles faster to the same integers, which
// implicit_gemm computes. All of a program must be compiled with one value.
#if !defined(ZEROPOINT_MOST_GENERATED_WEIGHTS)
#define ZEROPOINT_MOST_GENERATED_WEIGHTS 32768
#endif

namespace zp::inline v0::kernel {

/// A product of rows x depth activations and depth x channels weights.
struct linear_extents {
    int rows = 0, depth = 0, channels = 0;

    /// Whether code is generated for these extents.
    constexpr bool are_small() const {
        return rows > 0 && rows <= 16 && depth * channels <= ZEROPOINT_MOST_GENERATED_WEIGHTS;
    }
    /// Whether weights are multiplied faster as words than widened: with two rows, two share a widened weight.
    constexpr bool prefer_words() const { return rows == 1; }
};

/// The same product as a convolution.
constexpr conv2d_geometry geometry_of(const linear_extents& extents) {
    return {.in = {extents.rows, 1, extents.depth}, .out = {extents.rows, 1, extents.channels}};
}

/// The extents of a convolution that is a matrix product of its pixels, or of its only window, a row that is all of the input: a
/// step of a streamed conv1d. Both are packed alike. rows = 0 for all others.
constexpr linear_extents linear_extents_of(const conv2d_geometry& g) {
    if (g.groups != 1 || g.has_padding()) return {};
    if (g.taps() == 1 && g.in.pixels() == g.out.pixels()) return {g.in.pixels(), g.in.channels, g.out.channels};
    const bool is_row = g.kernel_height == 1 && g.dilation_width == 1 && g.out.pixels() == 1 &&
                        g.in.pixels() == g.kernel_width && g.padding_top == 0 && g.padding_left == 0;
    return is_row ? linear_extents{1, g.depth(), g.out.channels} : linear_extents{};
}

/// Whether all weights in [low, high] are multiplied as byte_quads, whatever they are.
template <class Arch> constexpr bool always_byte_quads(activation_codes codes, std::int32_t low, std::int32_t high) {
    const std::int32_t shift = unsigned_shift(codes), least = codes.min + shift, most = codes.max + shift;
    if (!quads_hold<Arch>(most)) return false;
    return !quads_saturate<Arch> ||
           (pair_fits_int16(least, most, low, low) && pair_fits_int16(least, most, high, high));
}

/// One product. `Words` says that all panels are word_pairs; else none is. `FineTable` says that epilogues have a
/// fine_table; else none has.
template <class Arch, int Rows, int Depth, int Channels, bool Words, bool FineTable = false> class small_linear {
    using ops = operations<Arch>;
    using int32 = typename ops::int32;
    static constexpr conv2d_geometry geometry = geometry_of({Rows, Depth, Channels});
    static constexpr panel_layout<Arch> layout{geometry, Words};
    static constexpr int width = panel_width<Arch>, panels = layout.panels;
    static constexpr int pitch = layout.runs.depth();  // Depth, padded
    static constexpr int last_channels = Channels - (panels - 1) * width;
    /// How panels that could saturate are multiplied.
    using any_weights =
        std::conditional_t<quads_saturate<Arch> && !prefers_pairs(geometry), signed_quads, widened_pairs>;
    /// From a row of activations to the next. Of signed_quads, a row is magnitudes, flips and the sum of flipped ones.
    template <class Format>
    static constexpr int row_pitch =
        std::is_same_v<Format, signed_quads> ? 2 * pitch + int{sizeof(std::int32_t)} : pitch;
    static_assert(std::size_t{Rows} * pitch * sizeof(std::int16_t) <= implicit_gemm_plan<Arch>(geometry).scratch_bytes);
    static_assert(std::size_t{Rows} * row_pitch<any_weights> + 31 <= implicit_gemm_plan<Arch>(geometry).scratch_bytes);

    /// Sums that are in flight together: as many as hide an addition's latency, as few as leave registers for operands.
    static constexpr int register_sums = 8;
    /// The same of several sets of them, which hide a product's latency: of 32 registers 16.
    static constexpr int sums_of_sets = ops::lanes == 16 ? 16 : register_sums;
    static constexpr bool in_registers = ops::has_batches && Rows <= 2;
    static constexpr bool is_little = std::endian::native == std::endian::little;
    /// Whether sums become codes without lying in memory between, and go through a table only when all of them have. Octets
    /// are the tile kernel's; an architecture that has them multiplies nothing else but words.
    template <class Format, class Epilogue>
    static constexpr bool keeps_sums =
        in_registers && !adds_residual<Epilogue> && !(has_octets<Arch> && std::is_same_v<Format, byte_quads>);
    /// Whether panels of quads are never of several kinds, and an architecture multiplies two at once (two_panels.hpp).
    static constexpr bool has_only_one_kind =
        ops::quads == quad_products::exact && rows_of_two_panels<Arch, byte_quads> != 0;
    /// Panels that share a broadcast activation. Where kinds differ from panel to panel, each panel is on its own.
    static constexpr int panels_at_once =
        in_registers && (Words || has_only_one_kind) ? register_sums / (Rows * ops::vectors) : 1;

public:
    /// Whether codes of epilogues with a fine table have a near one too.
    static constexpr bool takes_near_table = FineTable && in_registers && has_near_tables<Arch> &&
                                             !looks_up_vectors<Arch, (Channels + ops::lanes - 1) / ops::lanes>;

    /// Whether run() can multiply these panels: other kinds than its own are left to implicit_gemm().
    static bool supports([[maybe_unused]] const std::byte* packed) noexcept {
        bool all = true;
        if constexpr (!Words)
            for (int i = 0; i != panels; ++i) {
                const bool is_quads = is<byte_quads>(packed, i);
                all = all && (is_quads || is<any_weights>(packed, i)) &&
                      (!has_only_one_kind || is_quads == is<byte_quads>(packed, 0));
            }
        return all;
    }

    /// y = epilogue(bias + x * w), as conv2d() computes it from the same arguments.
    template <class In, class Out, class Epilogue>
    [[gnu::always_inline]] static void run(const In* x, activation_codes codes, const std::byte* packed,
                                           const Epilogue& epilogue, Out* y, std::byte* scratch) noexcept {
        const Epilogue own = epilogue;  // which no store to y can change
        if constexpr (Words) {
            multiply_all<word_pairs>(x, codes, packed, own, y, scratch);
        } else {
            if constexpr (has_quads<Arch>) multiply_each<quads_of<Arch>>(x, codes, packed, own, y, scratch);
            multiply_each<any_weights>(x, codes, packed, own, y, scratch);
        }
        if constexpr (keeps_sums<std::conditional_t<Words, word_pairs, byte_quads>, Epilogue> && sizeof(Out) == 1 &&
                      !FineTable)
            if (table_of(own) != nullptr)
                lookup_table<Arch>(reinterpret_cast<std::uint8_t*>(y), std::size_t{Rows} * Channels, table_of(own),
                                   reinterpret_cast<std::uint8_t*>(y));
    }

private:
    /// Whether a panel is multiplied as `Format`: where windows of quads fit 16 bits, so does each quad.
    template <class Format> static bool is(const std::byte* packed, int panel) {
        const auto kernel = static_cast<panel_kernel>(packed[panel]);
        if constexpr (std::is_same_v<Format, widened_pairs>) return kernel == panel_kernel::widened_pairs;
        else if constexpr (std::is_same_v<Format, signed_quads>) return kernel == panel_kernel::signed_quads;
        else return kernel == panel_kernel::byte_quads || kernel == panel_kernel::windowed_quads;
    }

    /// Rows of activations as a panel's kind takes them, in place where they are so already.
    template <class Format, class In>
    [[gnu::always_inline]] static const typename Format::activation* stage(const In* x, activation_codes codes,
                                                                           std::byte* scratch) noexcept {
        using activation = typename Format::activation;
        auto* staged = reinterpret_cast<activation*>(scratch);
        if constexpr (std::is_same_v<Format, signed_quads>) {
            std::int32_t sums[Rows] = {};
            for (int i = 0; i != Rows; ++i) {
                std::uint8_t* row = staged + i * row_pitch<Format>;
                stage_pixels<Arch>(x + i * Depth, Depth, codes, signed_bytes{row, pitch});
                for (int k = Depth; k != pitch; ++k) row[k] = row[pitch + k] = 0;
            }
            ops::sum_flipped(staged, pitch, pitch, row_pitch<Format>, Rows, sums);
            for (int i = 0; i != Rows; ++i)
                std::memcpy(staged + i * row_pitch<Format> + 2 * pitch, &sums[i], sizeof sums[i]);
            return staged;
        }
        if constexpr (sizeof(In) == sizeof(activation) && Depth == pitch) {
            // Codes that need no shift are read where they are, which an unsigned type says when compiled.
            constexpr bool always = std::is_unsigned_v<In> && ops::quads != quad_products::exact_signed;
            if (always || staged_shift<Arch>(codes) == 0) return reinterpret_cast<const activation*>(x);
        }
        if constexpr (Rows == 1 && sizeof(In) == 1 && pitch * sizeof(activation) <= 8 && is_little) {
            // One store: what reads four bytes of several waits until all are in the cache. Those behind the last meet zeros.
            const std::int32_t added = sizeof(activation) == 1 ? staged_shift<Arch>(codes) : -codes.zero_point;
            std::uint64_t all = 0;
            repeat<Depth>([&](int i) __attribute__((always_inline)) {
                all |= std::uint64_t{static_cast<std::make_unsigned_t<activation>>(x[i] + added)}
                       << 8 * int{sizeof(activation)} * i;
            });
            std::memcpy(staged, &all, pitch * sizeof(activation));
            return staged;
        }
        constexpr int run = Depth == pitch ? Rows * Depth : Depth;
        for (int i = 0; i != Rows * Depth / run; ++i) {
            stage_pixels<Arch>(x + i * run, run, codes, staged + i * pitch);
            for (int k = Depth; k != pitch; ++k) staged[i * pitch + k] = 0;
        }
        return staged;
    }

    /// Panels that are all of one kind, several at once.
    template <class Format, class In, class Out, class Epilogue>
    [[gnu::always_inline]] static void multiply_all(const In* x, activation_codes codes, const std::byte* packed,
                                                    const Epilogue& epilogue, Out* y, std::byte* scratch) noexcept {
        const auto* staged = stage<Format>(x, codes, scratch);
        ops::memory_fence();  // or g++ broadcasts what it has in registers, by two instructions each
        constexpr int together = keeps_sums<Format, Epilogue> ? panels_at_once : 1;
        constexpr int passes = (panels - 1) / together, done = passes * together;
        for (int pass = 0; pass != passes; ++pass)
            multiply_panels<Format, together, width>(staged, packed, pass * together, epilogue, y);
        multiply_panels<Format, panels - done, last_channels>(staged, packed, done, epilogue, y);
    }

    /// All panels of one kind.
    template <class Format, class In, class Out, class Epilogue>
    [[gnu::always_inline]] static void multiply_each(const In* x, activation_codes codes, const std::byte* packed,
                                                     const Epilogue& epilogue, Out* y, std::byte* scratch) noexcept {
        if constexpr (has_only_one_kind && std::is_same_v<Format, byte_quads>) {
            if (is<Format>(packed, 0)) multiply_all<Format>(x, codes, packed, epilogue, y, scratch);
            return;
        }
        bool any = false;
        for (int panel = 0; panel != panels; ++panel) any = any || is<Format>(packed, panel);
        if (!any) return;
        const auto* staged = stage<Format>(x, codes, scratch);
        for (int panel = 0; panel != panels - 1; ++panel)
            if (is<Format>(packed, panel)) multiply_panels<Format, 1, width>(staged, packed, panel, epilogue, y);
        if (is<Format>(packed, panels - 1))
            multiply_panels<Format, 1, last_channels>(staged, packed, panels - 1, epilogue, y);
    }

    /// All rows times `Panels` panels, of whose last `LastChannels` channels are used.
    template <class Format, int Panels, int LastChannels, class Out, class Epilogue>
    [[gnu::always_inline]] static void multiply_panels(const typename Format::activation* x, const std::byte* packed,
                                                       int panel, const Epilogue& epilogue, Out* y) noexcept {
        const auto* bias = reinterpret_cast<const std::int32_t*>(packed + layout.bias_begin) + panel * width;
        const auto* weights = reinterpret_cast<const typename Format::weight*>(
            packed + layout.panels_begin + static_cast<std::size_t>(panel) * layout.panel_bytes);
        const int channel = panel * width;
        if constexpr (keeps_sums<Format, Epilogue>) {
            int32 sums[Rows][Panels][ops::vectors];
            multiply<Format, (Panels - 1) * width + LastChannels>(x, weights, bias, sums);
            repeat<Rows>([&](int row) __attribute__((always_inline)) {
                finish<(Panels - 1) * width + LastChannels>(epilogue, sums[row], channel, y + row * Channels + channel);
            });
        } else {
            static_assert(Panels == 1);
            constexpr int most = ops::tile_rows, tiles = (Rows + most - 1) / most, high = (Rows + tiles - 1) / tiles,
                          higher_tiles = Rows - tiles * (high - 1);  // the others have one row less
            const auto multiply_rows = [&](auto rows, int row) {
                alignas(64) std::int32_t sums[rows * width];
                if constexpr (has_octets<Arch> && std::is_same_v<Format, byte_quads>) {
                    std::int32_t offsets[rows];
                    for (int i = 0; i != rows; ++i) offsets[i] = i * pitch;
                    multiply_tile<Arch, Format, rows>(x + row * pitch, offsets, {.length = pitch}, weights, bias, sums);
                } else {
                    multiply_tile_of<Format, rows>(x + row * row_pitch<Format>, weights, bias, sums);
                }
                finish_rows<Arch>(epilogue, sums, rows, channel, LastChannels, y + row * Channels + channel, Channels);
            };
            for (int tile = 0; tile != higher_tiles; ++tile)
                multiply_rows(std::integral_constant<int, high>{}, tile * high);
            if constexpr (higher_tiles != tiles)
                for (int tile = higher_tiles; tile != tiles; ++tile)
                    multiply_rows(std::integral_constant<int, high - 1>{}, higher_tiles + tile * (high - 1));
        }
    }

    /// On its own, so that its registers are: beside an epilogue, g++ spills them.
    template <class Format, int TileRows>
    [[gnu::noinline]] static void multiply_tile_of(const typename Format::activation* x,
                                                   const typename Format::weight* weights, const std::int32_t* bias,
                                                   std::int32_t* stored) noexcept {
        int32 sums[TileRows][1][ops::vectors];
        multiply<Format, width>(x, weights, bias, sums);
        repeat<TileRows>([&](int row) __attribute__((always_inline)) {
            repeat<ops::vectors>([&](int v) __attribute__((always_inline)) {
                ops::store(stored + row * width + v * ops::lanes, sums[row][0][v]);
            });
        });
    }

    /// sums = bias + x * w for `Count` channels, those of vectors behind them being zeros. With few sums, steps of the depth take turns
    /// in several sets of them.
    template <class Format, int Count, int TileRows, int Panels>
    [[gnu::always_inline]] static void multiply(const typename Format::activation* x,
                                                const typename Format::weight* weights, const std::int32_t* bias,
                                                int32 (&sums)[TileRows][Panels][ops::vectors]) noexcept {
        constexpr bool flipped = std::is_same_v<Format, signed_quads>;
        constexpr int steps = pitch / Format::depth, vector_weights = ops::lanes * Format::depth;
        constexpr int sets = in_registers ? std::clamp(sums_of_sets / (TileRows * Panels * ops::vectors), 1, 4) : 1;
        constexpr auto panel_pitch = static_cast<std::ptrdiff_t>(layout.panel_bytes / sizeof(typename Format::weight));
        using tile = int32[TileRows][Panels][ops::vectors];
        constexpr int row_vectors = (Count + ops::lanes - 1) / ops::lanes;
        tile set_sums[sets];
        repeat<TileRows * row_vectors>([&](int i) __attribute__((always_inline)) {
            const int row = i / row_vectors, of_row = i % row_vectors, panel = of_row / ops::vectors,
                      v = of_row % ops::vectors;
            set_sums[0][row][panel][v] = ops::template load<int32>(bias + panel * width + v * ops::lanes);
            if constexpr (flipped) {
                std::int32_t sum;
                std::memcpy(&sum, x + row * row_pitch<Format> + 2 * pitch, sizeof sum);
                ops::add(set_sums[0][row][panel][v], sum);
            }
            if constexpr (sets > 1)
                repeat<sets - 1>([&](int set)
                                     __attribute__((always_inline)) { set_sums[set + 1][row][panel][v] = int32(0); });
        });
        const auto step = [&](int k, tile& sums_of_set) __attribute__((always_inline)) {
            decltype(Format::template load<ops>(weights)) w[row_vectors];
            repeat<row_vectors>([&](int i) __attribute__((always_inline)) {
                w[i] = Format::template load<ops>(weights + i / ops::vectors * panel_pitch +
                                                  (k * ops::vectors + i % ops::vectors) * vector_weights);
            });
            repeat<TileRows>([&](int row) __attribute__((always_inline)) {
                const auto* from = x + row * row_pitch<Format> + k * Format::depth;
                const auto a = ops::broadcast(from);
                unroll<row_vectors>([&](auto i) __attribute__((always_inline)) {
                    int32& sum = sums_of_set[row][i / ops::vectors][i % ops::vectors];
                    if constexpr (flipped) Format::template dot<ops>(sum, a, ops::broadcast(from + pitch), w[i]);
                    else Format::template dot<ops>(sum, a, w[i]);
                });
                // Or g++ adds all products at the end, from memory.
                constexpr int whole = row_vectors / ops::vectors;
                repeat<whole>([&](int p) __attribute__((always_inline)) { ops::fence(sums_of_set[row][p]); });
                if constexpr (row_vectors % ops::vectors != 0)
                    repeat<row_vectors % ops::vectors>([&](int v) __attribute__((always_inline)) {
                        ops::keep(sums_of_set[row][whole][v]);
                    });
            });
        };
#pragma GCC unroll 8
        for (int k = 0; k <= steps - sets; k += sets)
            unroll<sets>([&](auto set) __attribute__((always_inline)) { step(k + set, set_sums[set]); });
        for (int k = steps - steps % sets; k != steps; ++k) step(k, set_sums[0]);
        repeat<TileRows * row_vectors>([&](int i) __attribute__((always_inline)) {
            const int row = i / row_vectors, of_row = i % row_vectors, panel = of_row / ops::vectors,
                      v = of_row % ops::vectors;
            sums[row][panel][v] = set_sums[0][row][panel][v];
            if constexpr (sets > 1)
                repeat<sets - 1>([&](int set) __attribute__((always_inline)) {
                    sums[row][panel][v] = sums[row][panel][v] + set_sums[set + 1][row][panel][v];
                });
        });
        if constexpr (row_vectors % ops::vectors != 0)
            repeat<TileRows>([&](int row) __attribute__((always_inline)) {
                for (int v = row_vectors % ops::vectors; v != ops::vectors; ++v) sums[row][Panels - 1][v] = int32(0);
            });
    }

    /// The same through a fine table.
    template <int Count, int Panels, class Out, class Epilogue>
    [[gnu::always_inline]] static void finish_fine(const Epilogue& epilogue, const int32 (&sums)[Panels][ops::vectors],
                                                   int channel, Out* y) noexcept {
        constexpr int lanes = ops::lanes, vectors = (Count + lanes - 1) / lanes;
        const output_codes& codes = epilogue.codes;
        const auto place = [&](auto i) __attribute__((always_inline))->int32 {
            constexpr int first = i * lanes, count = Count - first;
            const int32& sum = sums[i / ops::vectors][i % ops::vectors];
            if constexpr (requires { epilogue.template clamped_vector<ops>(0, 0); }) {
                return epilogue.template clamped_vector<ops>(channel + first, count)(sum);
            } else {
                const int32 low(codes.min - codes.zero_point), high(codes.max - codes.zero_point);
                const int32 difference = epilogue.template vector<ops>(channel + first, count)(sum);
                return xsimd::min(xsimd::max(difference, low), high) + int32(codes.zero_point);
            }
        };
        if constexpr (takes_near_table)
            if (codes.near != nullptr) {
                unroll<vectors>([&](auto i) __attribute__((always_inline)) {
                    constexpr int first = i * lanes, count = std::min(Count - first, lanes);
                    Out last[lanes];
                    ops::store_low_bytes(count == lanes ? y + first : last,
                                         ops::look_up_near(codes.near->rows, place(i)));
                    if constexpr (count != lanes) std::memcpy(y + first, last, std::size_t{count});
                });
                return;
            }
        int32 of_lanes[vectors];
        unroll<vectors>([&](auto i) __attribute__((always_inline)) { of_lanes[i] = place(i); });
        if constexpr (looks_up_vectors<Arch, vectors>)
            if (codes.max == 1023) {
                look_up_vectors<Arch>(codes.table, of_lanes, Count, y);
                return;
            }
        alignas(64) std::int32_t places[vectors * lanes];
        repeat<vectors>([&](int i) __attribute__((always_inline)) { ops::store(places + i * lanes, of_lanes[i]); });
        if constexpr (Count == 16 && requires { ops::look_up_places(codes.table, places, y); }) {
            ops::memory_fence();  // or g++ takes each place from a register, by two instructions
            ops::look_up_places(codes.table, places, y);
        } else {
            look_up_places(codes.table, places, Count, y);
        }
    }

    /// y = epilogue(sums) for `Count` channels from `channel` on.
    template <int Count, int Panels, class Out, class Epilogue>
    [[gnu::always_inline]] static void finish(const Epilogue& epilogue, const int32 (&sums)[Panels][ops::vectors],
                                              int channel, Out* y) noexcept {
        static_assert(ops::vectors == 2 || ops::vectors == 4, "small_linear: rows are two or four vectors wide");
        constexpr int lanes = ops::lanes, whole = Count / width * width;
        const auto requantized = [&](auto panel, auto v) __attribute__((always_inline)) {
            constexpr int first = panel * width + v * lanes;
            return epilogue.template vector<ops>(channel + first, Count - first)(sums[panel][v]);
        };
        if constexpr (FineTable && sizeof(Out) == 1) {
            finish_fine<Count>(epilogue, sums, channel, y);
            return;
        }
        if constexpr (sizeof(Out) == 1 && Count == 1 && requires { epilogue.template clamped_vector<ops>(0, 0); }) {
            alignas(64) std::int32_t codes[lanes];
            ops::store(codes, epilogue.template clamped_vector<ops>(channel, 1)(sums[0][0]));
            *y = static_cast<Out>(codes[0]);
            return;
        }
        alignas(64) Out last[2 * width];  // of a panel that is not whole
        if constexpr (sizeof(Out) != 1 || ops::vectors == 4) {
            unroll<Panels>([&](auto panel) __attribute__((always_inline)) {
                Out* to = panel * width < whole ? y + panel * width : last + whole / width % 2 * width;
                if constexpr (sizeof(Out) == 1) {
                    constexpr std::integral_constant<int, 0> first{};
                    constexpr std::integral_constant<int, 1> second{};
                    constexpr std::integral_constant<int, 2> third{};
                    constexpr std::integral_constant<int, 3> fourth{};
                    const int32 four[] = {requantized(panel, first), requantized(panel, second),
                                          requantized(panel, third), requantized(panel, fourth)};
                    ops::store(reinterpret_cast<std::uint8_t*>(to), code_clamp<ops, Out>(epilogue.codes)(four));
                } else {
                    unroll<ops::vectors>([&](auto v) __attribute__((always_inline)) {
                        ops::store(to + v * lanes, requantized(panel, v));
                    });
                }
            });
        } else {
            constexpr std::integral_constant<int, 0> left{};
            constexpr std::integral_constant<int, 1> right{};
            unroll<(Panels + 1) / 2>([&](auto pair) __attribute__((always_inline)) {
                constexpr std::integral_constant<int, 2 * pair> low{};
                constexpr std::integral_constant<int, std::min(2 * pair + 1, Panels - 1)> high{};
                Out* first = low * width < whole ? y + low * width : last;
                Out* second = high * width < whole ? y + high * width : last + (high - low) * width;
                constexpr auto next = [&] {  // a vector of no channels is the one before
                    if constexpr (Count <= lanes) return left;
                    else return right;
                }();
                const int32 four[] = {requantized(low, left), requantized(low, next), requantized(high, left),
                                      requantized(high, next)};
                code_clamp<ops, Out>(epilogue.codes).store_pairs(four, first, second);
            });
        }
        if constexpr (Count != whole)
            std::memcpy(y + whole, last + whole / width % 2 * width, (Count - whole) * sizeof(Out));
    }
};

}  // namespace zp::inline v0::kernel
