// SPDX-License-Identifier: BSD-3-Clause
// The primitives of the integer kernels on xsimd's emulated vectors: the generic ones, without a single instruction.
#pragma once

#include <cstddef>

#include <zeropoint/kernel/arch/vector_operations.hpp>

namespace zp::inline v0::kernel {

/// Vectors of any width on any machine, to test what is written for vectors.
template <std::size_t Bits>
struct emulated_operations : vector_operations<emulated_operations<Bits>, xsimd::emulated<Bits>> {
    static constexpr const char* name = "emulated";
    static constexpr int tile_rows = 4, vectors = 2, paired_rows = 3;
    static constexpr double byte_products = 2, word_products = 2;
    static constexpr bool finishes_in_registers = true;

    using base = vector_operations<emulated_operations, xsimd::emulated<Bits>>;
    using typename base::int16;
    using typename base::int32;
    using typename base::int8;
    using typename base::uint8;

    // The generic ones, compiled once: in every place of a tile they would take a compiler minutes.
    [[gnu::noinline]] static void dot2(int32& sums, const int16& a, const int16& b) { base::dot2(sums, a, b); }
    [[gnu::noinline]] static void dot4(int32& sums, const uint8& a, const int8& b) { base::dot4(sums, a, b); }
    [[gnu::noinline]] static uint8 pack(const int32 (&v)[4], const int16& offset) { return base::pack(v, offset); }
    [[gnu::noinline]] static void multiply_wide(const int32& a, const int32& b, int32& high, int32& low) {
        base::multiply_wide(a, b, high, low);
    }
    [[gnu::noinline]] static int16 multiply_q15(const int16& a, const int16& b) { return base::multiply_q15(a, b); }
    [[gnu::noinline]] static int16 pack_words(const int32& first, const int32& second) {
        return base::pack_words(first, second);
    }
};

}  // namespace zp::inline v0::kernel
