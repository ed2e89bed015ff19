// SPDX-License-Identifier: BSD-3-Clause
// Tile registers as plain loops, and an architecture that multiplies by them: what AMX does, on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <zeropoint/kernel/arch/operations.hpp>
#include <zeropoint/kernel/arch/tile_products.hpp>

namespace zp_test {

/// Eight registers, and what was done with them. What a processor would end the program for is counted.
struct tile_machine {
    struct tile {
        int rows = 0, row_bytes = 0;  // 0: no shape
        std::uint8_t bytes[16][64] = {};
    };
    bool is_refused = false, is_configured = false;
    tile tiles[8];
    int faults = 0, sessions = 0, products = 0;
};

/// The instructions that tile_products is written in.
struct tile_model {
    static inline tile_machine now;

    static bool may_be_used() { return !now.is_refused; }
    static void configure(const zp::kernel::tile_shapes& shapes) {
        check(!now.is_configured && !now.is_refused && shapes.palette == 1 && shapes.start_row == 0);
        for (std::size_t i = 0; i != 8; ++i) {
            check(shapes.rows[i] <= 16 && shapes.row_bytes[i] <= 64 &&
                  (shapes.rows[i] == 0) == (shapes.row_bytes[i] == 0));
            now.tiles[i] = {shapes.rows[i], shapes.row_bytes[i], {}};
        }
        now.is_configured = true;
        ++now.sessions;
    }
    static void release() {
        check(now.is_configured);
        now.is_configured = false;
        for (tile_machine::tile& each : now.tiles) each = {};
    }
    template <int Register, int Offset> static void load(const void* from, std::ptrdiff_t pitch) {
        tile_machine::tile& to = usable<Register>();
        std::memset(to.bytes, 0, sizeof to.bytes);
        for (int row = 0; row != to.rows; ++row)
            std::memcpy(to.bytes[row], static_cast<const std::byte*>(from) + Offset + row * pitch,
                        static_cast<std::size_t>(to.row_bytes));
    }
    template <int Register, int Offset> static void store(void* to, std::ptrdiff_t pitch) {
        const tile_machine::tile& from = usable<Register>();
        for (int row = 0; row != from.rows; ++row)
            std::memcpy(static_cast<std::byte*>(to) + Offset + row * pitch, from.bytes[row],
                        static_cast<std::size_t>(from.row_bytes));
    }
    static void copy(const std::uint8_t* from, std::uint8_t* to) { std::memcpy(to, from, 64); }
    static void copy(const std::uint8_t* from, int count, std::uint8_t* to) {
        std::memset(to, 0, 64);
        std::memcpy(to, from, static_cast<std::size_t>(count));
    }
    template <int Sums, int Rows, int Weights> static void multiply() {
        tile_machine::tile& sums = usable<Sums>();
        const tile_machine::tile &rows = usable<Rows>(), &weights = usable<Weights>();
        check(sums.rows == rows.rows && sums.row_bytes == weights.row_bytes && rows.row_bytes == 4 * weights.rows);
        ++now.products;
        for (int m = 0; m != sums.rows; ++m)
            for (int n = 0; n != sums.row_bytes / 4; ++n) {
                std::uint32_t sum;
                std::memcpy(&sum, sums.bytes[m] + 4 * n, sizeof sum);
                for (int k = 0; k != rows.row_bytes; ++k)
                    sum += std::uint32_t{rows.bytes[m][k]} * weights.bytes[k / 4][4 * n + k % 4];
                std::memcpy(sums.bytes[m] + 4 * n, &sum, sizeof sum);
            }
    }

private:
    static void check(bool is_right) { now.faults += is_right ? 0 : 1; }
    template <int Register> static tile_machine::tile& usable() {
        tile_machine::tile& found = now.tiles[Register];
        check(now.is_configured && found.rows != 0);
        return found;
    }
};

/// Where panels of 32 channels are whole vectors, primitives on vectors; else plain ones.
#if XSIMD_WITH_FMA3_AVX2
struct tile_architecture : xsimd::fma3<xsimd::avx2> {};
#else
struct tile_architecture {};
#endif

}  // namespace zp_test

#if XSIMD_WITH_FMA3_AVX2
namespace xsimd::types {
XSIMD_DECLARE_SIMD_REGISTER_ALIAS(::zp_test::tile_architecture, fma3<avx2>);
}
#endif

namespace zp::kernel {
#if XSIMD_WITH_FMA3_AVX2
struct tile_model_base : vector_operations<tile_model_base, xsimd::fma3<xsimd::avx2>> {
    static constexpr const char* name = "tile model";
    static constexpr int tile_rows = 3, vectors = 4;
    static constexpr double byte_products = 100, word_products = 10;
    static int8 flip_signs(const int8& x) { return x ^ int8(std::int8_t{-128}); }
};
#else
struct tile_model_base : portable_operations<3, 16, 2> {
    static int8 flip_signs(int8 x) {
        for (std::int8_t& value : x.value) value = static_cast<std::int8_t>(value ^ 0x80);
        return x;
    }
};
#endif
struct tile_model_operations : tile_model_base, tile_products<zp_test::tile_model> {
    static void sum_bytes(const std::uint8_t* bytes, std::ptrdiff_t count, std::ptrdiff_t step, std::ptrdiff_t windows,
                          std::int32_t* sums) {
        for (std::ptrdiff_t window = 0; window != windows; ++window, bytes += step)
            for (std::ptrdiff_t i = 0; i != count; ++i) sums[window] += bytes[i];
    }
};
template <> struct operations_of<zp_test::tile_architecture> { using type = tile_model_operations; };
}  // namespace zp::kernel
