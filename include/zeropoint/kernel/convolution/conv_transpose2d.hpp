// SPDX-License-Identifier: BSD-3-Clause
// Quantized transposed 2-D convolution: the tiles and epilogues of ordinary convolutions, once for each phase or for all together.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>
#include <vector>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/convolution/conv2d_kernels.hpp>
#include <zeropoint/kernel/epilogue/apply_epilogue.hpp>
#include <zeropoint/kernel/geometry/conv_transpose2d.hpp>

// Packed: bias, one int32 an output channel, at a 64-byte boundary | phase 0 as a convolution | phase 1 | ...
//
// Phases whose outputs are the bias have nothing packed. Where windows lie side by side, all phases are packed as one convolution.

namespace zp::inline v0::kernel {

/// An epilogue for the outputs of a phase, or of all at once, which lie apart. To the kernel that makes them they are `channels` apart, from
/// `output` on, and a row of `width` pixels is followed by the next.
template <class Epilogue, class Out> struct interleaved_outputs {
    const Epilogue& epilogue;  ///< for the places where outputs really are
    Out* output;               ///< the first code of the whole output
    Out* first;                ///< where the first output of the phase is
    int channels, width;
    std::ptrdiff_t pixel_pitch, row_pitch;  ///< between outputs of the phase
    /// Where `channels` are those of several taps (joined_taps()): channels of one, taps of a row, from a row of them to the next, and
    /// the multipliers of all, or null. Else the first is `channels`.
    int tap_channels, row_taps = 1;
    std::ptrdiff_t tap_pitch = 0;
    const float* multipliers = nullptr;

    /// Sums to their place in the output, as finish_rows() says.
    template <class Arch>
    void finish_tile(const std::int32_t* sums, int rows, int first_channel, int count, Out* y,
                     std::ptrdiff_t) const noexcept {
        place<Arch>(sums, rows, y, [&](const std::int32_t* from, int next, Out* to) {
            if (takes_tile<Arch>()) finish_by_tile<Arch>(from, next, first_channel, count, to);
            else
                for_each_tap<Arch>(from, next, first_channel, count, to,
                                   [&](const std::int32_t* part, int part_rows, int channel, int size, Out* at) {
                                       finish_rows<Arch>(epilogue, part, part_rows, channel, size, at, pixel_pitch);
                                   });
        });
    }
    /// The same for those of 16-bit codes (epilogue/requantize_int16.hpp).
    template <class Arch>
    void finish_int64_tile(const std::int64_t* sums, int rows, int first_channel, int count, Out* y,
                           std::ptrdiff_t) const noexcept {
        place<Arch>(sums, rows, y, [&](const std::int64_t* from, int next, Out* to) {
            for_each_tap<Arch>(from, next, first_channel, count, to,
                               [&](const std::int64_t* part, int part_rows, int channel, int size, Out* at) {
                                   epilogue.template finish_int64_tile<Arch>(part, part_rows, channel, size, at,
                                                                             pixel_pitch);
                               });
        });
    }

private:
    static constexpr int block = 8;

    /// Calls finish(sums, rows, place of the first channel) for rows of pixels that lie `pixel_pitch` apart.
    template <class Arch, class Sum, class Finish>
    void place(const Sum* sums, int rows, Out* y, const Finish& finish) const noexcept {
        const auto pixel = static_cast<int>((y - output) / channels);
        int column = pixel % width;
        Out* row = first + pixel / width * row_pitch;
        for (int next; rows != 0; rows -= next, sums += next * panel_width<Arch>, column = 0, row += row_pitch) {
            next = std::min(rows, width - column);
            finish(sums, next, row + column * pixel_pitch);
        }
    }
    /// Calls finish(sums, rows, first channel, count, place) for the channels of each tap among those of a tile, with sums at the begin of rows.
    template <class Arch, class Sum, class Finish>
    void for_each_tap(const Sum* sums, int rows, int first_channel, int count, Out* to,
                      const Finish& finish) const noexcept {
        constexpr int panel = panel_width<Arch>;
        for (int begin = 0, size; begin != count; begin += size) {
            const int tap = (first_channel + begin) / tap_channels, channel = (first_channel + begin) % tap_channels;
            size = std::min(tap_channels - channel, count - begin);
            Out* at = to + tap / row_taps * tap_pitch + tap % row_taps * tap_channels + channel;
            if (begin == 0) {
                finish(sums, rows, channel, size, at);
                continue;
            }
            alignas(64) Sum part[block * panel] = {};  // behind the channels are numbers, which come to nothing
            for (int row = 0; row < rows; row += block) {
                const int next = std::min(block, rows - row);
                for (int i = 0; i != next; ++i) std::copy_n(sums + (row + i) * panel + begin, size, part + i * panel);
                finish(part, next, channel, size, at + row * pixel_pitch);
            }
        }
    }
    /// Whether taps that share a panel become codes together: by an epilogue of multipliers alone.
    template <class Arch> bool takes_tile() const noexcept {
        if constexpr (std::is_same_v<Epilogue, nearest_even> && sizeof(Out) == 1)
            return multipliers != nullptr && tap_channels % panel_width<Arch> != 0;
        else return false;
    }
    template <class Arch>
    void finish_by_tile(const std::int32_t* sums, int rows, int first_channel, int count, Out* to) const noexcept {
        if constexpr (std::is_same_v<Epilogue, nearest_even> && sizeof(Out) == 1) {
            constexpr int panel = panel_width<Arch>;
            const nearest_even all{multipliers, epilogue.codes};
            const int run = row_taps * tap_channels;  // codes that lie side by side
            Out tile[4 * block * panel];
            for (int next; rows > 0; rows -= next, sums += next * panel, to += next * pixel_pitch) {
                next = std::min(rows, 4 * block);
                finish_rows<Arch>(all, sums, next, first_channel, count, tile, panel);
                for (int begin = 0, size; begin != count; begin += size) {
                    const int channel = first_channel + begin;
                    size = std::min(run - channel % run, count - begin);
                    copy_rows<Arch>(tile + begin, panel, next, static_cast<std::size_t>(size),
                                    to + channel / run * tap_pitch + channel % run, pixel_pitch);
                }
            }
        }
    }
};

/// The algorithms that phases are computed by, whose paddings may be negative.
constexpr bool computes_phases(conv2d_algorithm algorithm) {
    return algorithm == conv2d_algorithm::implicit_gemm || algorithm == conv2d_algorithm::depthwise;
}

/// Whether an algorithm can compute a transposed convolution.
constexpr bool supports(const conv_transpose2d_geometry& g, conv2d_algorithm algorithm) {
    const conv2d_geometry window{.in = g.in, .out = g.out, .groups = g.groups};  // only channels and groups matter
    return computes_phases(algorithm) && supports(window, algorithm);
}
/// The same over codes of 16 bits.
constexpr bool supports_int16(const conv_transpose2d_geometry& g, conv2d_algorithm algorithm) {
    const bool fits = algorithm != conv2d_algorithm::depthwise || g.taps() * g.group_in() <= most_int16_products;
    return supports(g, algorithm) && fits;
}

/// A transposed convolution by one algorithm for its phases: implicit_gemm, or depthwise where that supports the groups.
template <class Arch, conv2d_algorithm Algorithm> struct conv_transpose2d_kernels {
    static_assert(computes_phases(Algorithm),
                  "conv_transpose2d_kernels<Arch, Algorithm>: phases are computed by implicit_gemm or depthwise");
    using kernels = conv2d_kernels<Arch, Algorithm>;

    static constexpr std::size_t bias_bytes(const conv_transpose2d_geometry& g) {
        return align_up(static_cast<std::size_t>(g.out.channels) * sizeof(std::int32_t));
    }
    /// Whether all phases are computed as one convolution.
    static constexpr bool joins(const conv_transpose2d_geometry& g) {
        return Algorithm == conv2d_algorithm::implicit_gemm && has_joined_taps(g);
    }
    static constexpr std::size_t packed_bytes(const conv_transpose2d_geometry& g, bool affine_weights) {
        std::size_t bytes = bias_bytes(g);
        if (joins(g)) return bytes + kernels::packed_bytes(joined_taps(g), affine_weights);
        for_each_phase(g, [&](const transposed_phase& phase) {
            if (phase.has_taps()) bytes += kernels::packed_bytes(phase.window, affine_weights);
        });
        return bytes;
    }
    static constexpr std::size_t scratch_bytes(const conv_transpose2d_geometry& g) {
        if (joins(g)) return kernels::scratch_bytes(joined_taps(g));
        std::size_t bytes = 0;
        for_each_phase(g, [&](const transposed_phase& phase) {
            if (phase.has_taps() && phase.has_outputs()) bytes = std::max(bytes, kernels::scratch_bytes(phase.window));
        });
        return bytes;
    }

    template <class Weight>
    static void pack(const conv_transpose2d_geometry& g, const conv2d_weights<Weight>& weights, activation_codes codes,
                     std::byte* packed) {
        auto* bias = reinterpret_cast<std::int32_t*>(packed);
        std::fill_n(packed, bias_bytes(g), std::byte{0});
        if (weights.bias != nullptr) std::copy_n(weights.bias, g.out.channels, bias);
        packed += bias_bytes(g);
        std::vector<Weight> filters;
        if (joins(g)) {
            for_each_joined_filter(g, [&](std::ptrdiff_t from) {
                filters.insert(filters.end(), weights.values + from, weights.values + from + g.in.channels);
            });
            const auto zero_points = for_all_taps(g, weights.zero_points), biases = for_all_taps(g, weights.bias);
            const auto int64_biases = for_all_taps(g, weights.int64_bias);
            const auto given = [](const auto& values) { return values.empty() ? nullptr : values.data(); };
            kernels::pack(
                joined_taps(g),
                conv2d_weights<Weight>{filters.data(), given(zero_points), given(biases), given(int64_biases)}, codes,
                packed);
            return;
        }
        for_each_phase(g, [&](const transposed_phase& phase) {
            if (!phase.has_taps()) return;
            filters.clear();
            for_each_tap(g, phase, [&](std::ptrdiff_t from) {
                filters.insert(filters.end(), weights.values + from, weights.values + from + g.group_in());
            });
            kernels::pack(phase.window,
                          conv2d_weights<Weight>{filters.data(), weights.zero_points, weights.bias, weights.int64_bias},
                          codes, packed);
            packed += kernels::packed_bytes(phase.window, weights.affine());
        });
    }
    /// The exact inverse of pack, given the same zero points and codes. `affine` as conv2d_weights::affine says.
    template <class Weight>
    static void unpack(const conv_transpose2d_geometry& g, const std::int32_t* zero_points, bool affine,
                       activation_codes codes, const std::byte* packed, Weight* values, std::int32_t* bias) {
        std::copy_n(reinterpret_cast<const std::int32_t*>(packed), g.out.channels, bias);
        packed += bias_bytes(g);
        std::vector<Weight> filters;
        if (joins(g)) {
            const conv2d_geometry window = joined_taps(g);
            filters.resize(static_cast<std::size_t>(window.out.channels) * static_cast<std::size_t>(g.in.channels));
            std::vector<std::int32_t> biases(static_cast<std::size_t>(window.out.channels));
            const auto all = for_all_taps(g, zero_points);
            kernels::unpack(window, all.empty() ? nullptr : all.data(), codes, packed, filters.data(), biases.data());
            const Weight* next = filters.data();
            for_each_joined_filter(g, [&](std::ptrdiff_t to) {
                std::copy_n(next, g.in.channels, values + to);
                next += g.in.channels;
            });
            return;
        }
        std::vector<std::int32_t> same_bias(static_cast<std::size_t>(g.out.channels));
        for_each_phase(g, [&](const transposed_phase& phase) {
            if (!phase.has_taps()) return;
            filters.resize(static_cast<std::size_t>(g.out.channels) * static_cast<std::size_t>(phase.window.depth()));
            kernels::unpack(phase.window, zero_points, codes, packed, filters.data(), same_bias.data());
            const Weight* next = filters.data();
            for_each_tap(g, phase, [&](std::ptrdiff_t to) {
                std::copy_n(next, g.group_in(), values + to);
                next += g.group_in();
            });
            packed += kernels::packed_bytes(phase.window, affine);
        });
    }

    template <class In, class Out, class Epilogue>
    static void run(const conv_transpose2d_geometry& g, const In* x, activation_codes codes, bool affine_weights,
                    const std::byte* packed, const Epilogue& epilogue, Out* y, std::byte* scratch) noexcept {
        const auto* bias = reinterpret_cast<const std::int32_t*>(packed);
        packed += bias_bytes(g);
        const std::ptrdiff_t pixel = g.out.channels, row = pixel * g.out.width;
        const std::ptrdiff_t pixel_pitch = g.stride_width * pixel, row_pitch = g.stride_height * row;
        if (joins(g)) {
            const conv2d_geometry window = joined_taps(g);
            float multipliers[most_joined_channels];
            const bool has_multipliers = repeat_multipliers(g, epilogue, multipliers);
            const interleaved_outputs<Epilogue, Out> places{epilogue,
                                                            y,
                                                            y,
                                                            window.out.channels,
                                                            g.in.width,
                                                            pixel_pitch,
                                                            row_pitch,
                                                            g.out.channels,
                                                            g.kernel_width,
                                                            row,
                                                            has_multipliers ? multipliers : nullptr};
            kernels::run(window, x, codes, packed, places, y, scratch);
            return;
        }
        for_each_phase(g, [&](const transposed_phase& phase) {
            const interleaved_outputs<Epilogue, Out> places{epilogue,
                                                            y,
                                                            y + phase.row * row + phase.column * pixel,
                                                            g.out.channels,
                                                            phase.window.out.width,
                                                            pixel_pitch,
                                                            row_pitch,
                                                            g.out.channels};
            if (!phase.has_taps()) {
                if (phase.has_outputs()) fill<In>(places, phase.window.out.pixels(), bias);
                return;
            }
            if (phase.has_outputs()) kernels::run(phase.window, x, codes, packed, places, y, scratch);
            packed += kernels::packed_bytes(phase.window, affine_weights);
        });
    }

    /// The panels of all phases.
    static conv2d_description describe(const conv_transpose2d_geometry& g, bool affine_weights,
                                       const std::byte* packed) {
        conv2d_description description{Algorithm, operations<Arch>::name, {}, 0};
        packed += bias_bytes(g);
        if (joins(g)) return kernels::describe(joined_taps(g), packed);
        for_each_phase(g, [&](const transposed_phase& phase) {
            if (!phase.has_taps()) return;
            const conv2d_description one = kernels::describe(phase.window, packed);
            for (std::size_t kind = 0; kind != std::size(one.panels); ++kind)
                description.panels[kind] += one.panels[kind];
            packed += kernels::packed_bytes(phase.window, affine_weights);
        });
        return description;
    }

private:
    /// Channels of all taps whose multipliers a call lays out, on the stack.
    static constexpr int most_joined_channels = 16 * panel_width<Arch>;

    /// Those of nearest_even, once for each tap. Whether it has done so.
    template <class Epilogue>
    static bool repeat_multipliers([[maybe_unused]] const conv_transpose2d_geometry& g,
                                   [[maybe_unused]] const Epilogue& epilogue, [[maybe_unused]] float* to) noexcept {
        if constexpr (std::is_same_v<Epilogue, nearest_even>) {
            if (g.taps() * g.out.channels > most_joined_channels) return false;
            for (int tap = 0; tap != g.taps(); ++tap)
                std::copy_n(epilogue.multiplier, g.out.channels, to + tap * g.out.channels);
            return true;
        } else return false;
    }
    /// Numbers of channels, once for each tap; none of none.
    template <class T> static std::vector<T> for_all_taps(const conv_transpose2d_geometry& g, const T* of_channels) {
        std::vector<T> all;
        if (of_channels == nullptr) return all;
        for (int tap = 0; tap != g.taps(); ++tap) all.insert(all.end(), of_channels, of_channels + g.out.channels);
        return all;
    }
    /// Calls visit(index of the first input channel in the whole filters) for the filters of joined_taps(), in order.
    template <class Visit> static void for_each_joined_filter(const conv_transpose2d_geometry& g, Visit visit) {
        for (int tap = 0; tap != g.taps(); ++tap)
            for (int channel = 0; channel != g.out.channels; ++channel)
                visit((std::ptrdiff_t{channel} * g.taps() + tap) * g.in.channels);
    }
    /// Calls visit(index of the first input channel in the whole filters) for each filter and tap of a phase, in order.
    template <class Visit>
    static void for_each_tap(const conv_transpose2d_geometry& g, const transposed_phase& phase, Visit visit) {
        for (int channel = 0; channel != g.out.channels; ++channel)
            for (int tap = 0; tap != phase.window.taps(); ++tap)
                visit((std::ptrdiff_t{channel} * g.taps() + phase.tap(g, tap)) * g.group_in());
    }
    /// Outputs that no input reaches.
    template <class In, class Epilogue, class Out>
    [[gnu::noinline]] static void fill(const interleaved_outputs<Epilogue, Out>& places, int pixels,
                                       [[maybe_unused]] const std::int32_t* bias) noexcept {
        constexpr int width = panel_width<Arch>, block = 8;
        alignas(64) std::int32_t sums[block * width] = {};
        for (int channel = 0; channel < places.channels; channel += width) {
            const int count = std::min(width, places.channels - channel);
            if constexpr (sizeof(In) == 2) {  // the epilogue has the biases
                static constexpr std::int64_t zero[width] = {};
                for (int pixel = 0; pixel < pixels; ++pixel)
                    places.template finish_int64_tile<Arch>(
                        zero, 1, channel, count, places.output + std::ptrdiff_t{pixel} * places.channels + channel, 0);
                continue;
            }
            for (int row = 0; row != block; ++row) std::copy_n(bias + channel, count, sums + row * width);
            for (int pixel = 0; pixel < pixels; pixel += block)
                finish_rows<Arch>(places, sums, std::min(block, pixels - pixel), channel, count,
                                  places.output + std::ptrdiff_t{pixel} * places.channels + channel, 0);
        }
    }
};

/// What computes the phases: depthwise for narrow groups, as for an ordinary convolution.
template <class Arch> constexpr conv2d_algorithm choose_conv_transpose2d_algorithm(const conv_transpose2d_geometry& g) {
    const conv2d_geometry window{.in = g.in, .out = g.out, .groups = g.groups};
    return choose_conv2d_algorithm<Arch>(window) == conv2d_algorithm::depthwise ? conv2d_algorithm::depthwise
                                                                                : conv2d_algorithm::implicit_gemm;
}

/// visit(conv_transpose2d_kernels<Arch, A>()) for the algorithm A that `algorithm` is, which supports the geometry.
template <class Arch, class Visit>
constexpr decltype(auto) with_conv_transpose2d_kernels(conv2d_algorithm algorithm, Visit&& visit) {
    if (algorithm == conv2d_algorithm::depthwise)
        return visit(conv_transpose2d_kernels<Arch, conv2d_algorithm::depthwise>());
    return visit(conv_transpose2d_kernels<Arch, conv2d_algorithm::implicit_gemm>());
}
/// The same for the algorithm that was chosen.
template <class Arch, class Visit>
constexpr decltype(auto) with_conv_transpose2d_kernels(const conv_transpose2d_geometry& g, Visit&& visit) {
    return with_conv_transpose2d_kernels<Arch>(choose_conv_transpose2d_algorithm<Arch>(g), visit);
}

/// The cost of an algorithm that supports the geometry: as many convolutions as there are phases.
template <class Arch>
constexpr conv2d_cost cost_of_conv_transpose2d(const conv_transpose2d_geometry& g, conv2d_algorithm algorithm,
                                               bool affine_weights) {
    conv2d_cost cost;
    if (algorithm == conv2d_algorithm::implicit_gemm && has_joined_taps(g))
        cost.nanoseconds = cost_of_conv2d<Arch>(joined_taps(g), algorithm, affine_weights).nanoseconds;
    else
        for_each_phase(g, [&](const transposed_phase& phase) {
            if (phase.has_taps() && phase.has_outputs())
                cost.nanoseconds += cost_of_conv2d<Arch>(phase.window, algorithm, affine_weights).nanoseconds;
        });
    cost.packed_bytes = with_conv_transpose2d_kernels<Arch>(
        algorithm, [&](auto kernels) { return kernels.packed_bytes(g, affine_weights); });
    return cost;
}

}  // namespace zp::inline v0::kernel
