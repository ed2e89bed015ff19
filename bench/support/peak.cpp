// SPDX-License-Identifier: BSD-3-Clause
// The loops behind measure_peak.
#include "peak.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <type_traits>

#include <zeropoint/kernel/arch/operations.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/vector/code_lanes.hpp>
#include <zeropoint/kernel/vector/unroll.hpp>

namespace bench {
namespace {

using architecture = zp::default_architecture;
using primitives = zp::kernel::operations<architecture>;
/// A row less than a tile has, so that no compiler needs memory for a constant.
constexpr int rows = primitives::tile_rows - 1, accumulators = rows * primitives::vectors;

/// Makes the compiler take a value for an unknown one: it would else compute a constant product once, or not at all.
template <class T> [[gnu::always_inline]] inline void renew(T& value) {
#if defined(__x86_64__) || defined(__i386__)
    if constexpr (requires { value.data; }) asm volatile("" : "+v"(value.data));
    else asm volatile("" : "+m"(value));
#else
    asm volatile("" : "+m"(value));
#endif
}

alignas(64) constexpr std::int8_t weights[256] = {};
alignas(64) constexpr std::uint8_t bytes[64] = {};
alignas(64) constexpr std::int16_t words[64] = {};
alignas(64) constexpr std::int32_t zeros[16] = {};

/// One tile of the matrix product without its loads: rows x vectors accumulators, the weights of one step, one row's
/// broadcast.
template <class Activations, class Weights, class Dot>
void multiply_in_registers(int steps, Activations row, std::array<Weights, primitives::vectors> panel, Dot dot) {
    primitives::int32 sums[rows][primitives::vectors];
    zp::kernel::unroll<accumulators>([&](auto i) __attribute__((always_inline)) {
        sums[i / primitives::vectors][i % primitives::vectors] = primitives::template load<primitives::int32>(zeros);
    });
    for (Weights& vector : panel) renew(vector);
    for (int step = 0; step != steps; ++step) {
        zp::kernel::unroll<rows>([&](auto r) __attribute__((always_inline)) {
            zp::kernel::unroll<primitives::vectors>([&](auto v) __attribute__((always_inline)) {
                dot(sums[r][v], row, panel[v]);
            });
            primitives::fence(sums[r]);
            renew(row);
        });
    }
    std::int32_t unused[primitives::lanes];
    zp::kernel::unroll<accumulators>([&](auto i) __attribute__((always_inline)) {
        primitives::store(unused, sums[i / primitives::vectors][i % primitives::vectors]);
        asm volatile("" : : "r"(unused) : "memory");
    });
}

void dot2_steps(int steps) {
    const auto load = [](int v) { return primitives::load_widened(weights + 2 * primitives::lanes * v); };
    std::array<decltype(load(0)), primitives::vectors> panel;
    for (int v = 0; v != primitives::vectors; ++v) panel[static_cast<std::size_t>(v)] = load(v);
    multiply_in_registers(
        steps, primitives::broadcast(words), panel,
        [](auto& sum, const auto& a, const auto& b) __attribute__((always_inline)) { primitives::dot2(sum, a, b); });
}

void dot4_steps([[maybe_unused]] int steps) {
    if constexpr (zp::kernel::has_quads<architecture>) {
        std::array<primitives::int8, primitives::vectors> panel;
        for (int v = 0; v != primitives::vectors; ++v)
            panel[static_cast<std::size_t>(v)] =
                primitives::template load<primitives::int8>(weights + 4 * primitives::lanes * v);
        multiply_in_registers(
            steps, primitives::broadcast(bytes), panel, [
            ](auto& sum, const auto& a, const auto& b) __attribute__((always_inline)) { primitives::dot4(sum, a, b); });
    }
}

constexpr int window = 8, windows = 5;  // quads before a widening; independent sums of both widths in registers

template <class Operations> void windowed_steps([[maybe_unused]] int steps) {
    if constexpr (zp::kernel::quads_saturate<architecture>) {
        auto row = Operations::broadcast(bytes);
        auto panel = Operations::template load<typename Operations::int8>(weights);
        renew(panel);
        typename Operations::int32 sums[windows];
        zp::kernel::unroll<windows>([&](auto i) __attribute__((always_inline)) {
            sums[i] = Operations::template load<typename Operations::int32>(zeros);
        });
        for (int step = 0; step != steps; ++step) {
            typename Operations::int16 pairs[windows];
            zp::kernel::unroll<windows>([&](auto i) __attribute__((always_inline)) {
                pairs[i] = Operations::template load<typename Operations::int16>(words);
            });
            zp::kernel::unroll<window * windows>([&](auto i) __attribute__((always_inline)) {
                Operations::add_pair_sums(pairs[i % windows], row, panel);
                renew(pairs[i % windows]);
                renew(row);
            });
            zp::kernel::unroll<windows>([&](auto i) __attribute__((always_inline)) {
                Operations::add_widened(sums[i], pairs[i]);
            });
        }
        zp::kernel::unroll<windows>([&](auto i) __attribute__((always_inline)) { renew(sums[i]); });
    }
}

/// Enough independent sums to hide the latency of a multiply-add.
constexpr int float_sums = 10;
void fma_steps(int steps) {
    using floats = std::conditional_t<zp::has_vectors<architecture>, xsimd::batch<float, architecture>, float>;
    std::array<floats, float_sums> sums;
    sums.fill(floats(0.0f));
    floats a(0.5f), b(0.25f);
    for (int step = 0; step != steps; ++step) {
        renew(a);
        zp::kernel::unroll<float_sums>([&](auto i) __attribute__((always_inline)) {
            if constexpr (zp::has_vectors<architecture>) sums[i] = xsimd::fma(a, b, sums[i]);
            else sums[i] += a * b;
            renew(sums[i]);
        });
    }
}

/// 8 KiB to 8 KiB: half of any first-level cache.
constexpr int copied_bytes = 8192;
void copy_steps(int steps) {
    alignas(64) static std::byte from[copied_bytes], to[copied_bytes];
    for (int step = 0; step != steps; ++step) {
        if constexpr (zp::has_vectors<architecture>) {
            using values = xsimd::batch<std::int8_t, architecture>;
            constexpr int size = static_cast<int>(values::size), vectors = 4;
            for (int i = 0; i != copied_bytes; i += vectors * size) {
                zp::kernel::unroll<vectors>([&](auto v) __attribute__((always_inline)) {
                    const int at = i + v * size;
                    values::load_aligned(reinterpret_cast<const std::int8_t*>(from + at))
                        .store_aligned(reinterpret_cast<std::int8_t*>(to + at));
                });
            }
        } else {
            std::memcpy(to, from, copied_bytes);
        }
        asm volatile("" : : "r"(from), "r"(to) : "memory");
    }
}

struct loop {
    const char* name;
    void (*run)(int steps);
    double operations;  // of a step
};
const loop& loop_of(peak kind) {
    constexpr double lanes = primitives::lanes, floats = zp::kernel::vector_size<float, architecture>;
    static constexpr loop loops[] = {
        {"dot2", dot2_steps, 2.0 * 2 * accumulators * lanes},
        {"dot4", dot4_steps, 2.0 * 4 * accumulators * lanes},
        {"windowed", windowed_steps<primitives>, 2.0 * 4 * window * windows * lanes},
        {"float_fma", fma_steps, 2.0 * float_sums * floats},
        {"copy", copy_steps, 2.0 * copied_bytes},
    };
    // What an architecture does not have, it does in the next slower way.
    if (kind == peak::windowed && !zp::kernel::quads_saturate<architecture>) kind = peak::dot4;
    if (kind == peak::dot4 && !zp::kernel::has_quads<architecture>) kind = peak::dot2;
    return loops[static_cast<int>(kind)];
}

double seconds(const loop& measured, int steps) {
    using clock = std::chrono::steady_clock;
    const auto start = clock::now();
    measured.run(steps);
    return std::chrono::duration<double>(clock::now() - start).count();
}

/// Steps that fill a burst, found once: doubled until the burst is long enough for the clock.
int steps_of(const loop& measured) {
    int steps = 64;
    while (seconds(measured, steps) < 50e-6) steps *= 2;
    return steps;
}

}  // namespace

const char* name_of(peak kind) { return loop_of(kind).name; }

double measure_peak(peak kind) {
    static std::array<int, std::size(all_peaks)> steps{};
    const loop& measured = loop_of(kind);
    int& count = steps[static_cast<std::size_t>(kind)];
    if (count == 0) count = steps_of(measured);
    return measured.operations * count / seconds(measured, count) * 1e-9;
}

}  // namespace bench
