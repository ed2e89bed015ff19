// SPDX-License-Identifier: BSD-3-Clause
// Programs without AVX-512 do not read GCC's functions of it with kernels and xsimd, and have them once they include <immintrin.h> themselves.
#include <doctest/doctest.h>

#include <zeropoint/kernel/arch/operations.hpp>

#if defined(__GNUC__) && __GNUC__ <= 16 && !defined(__clang__) && defined(__SSE2__) && !defined(__AVX512F__) && \
    !defined(__FMA4__) && !defined(_WIN32)
namespace {
// The guard of GCC's <avx512fintrin.h>, and that of <immintrin.h>.
#if defined(_AVX512FINTRIN_H_INCLUDED) || defined(_IMMINTRIN_H_INCLUDED)
constexpr bool has_less = false;
#else
constexpr bool has_less = true;
#endif
}  // namespace

#include <immintrin.h>

namespace {
[[gnu::target("avx512f")]] void add_to_sixteen(int* values, int number) {
    _mm512_storeu_si512(values, _mm512_add_epi32(_mm512_loadu_si512(values), _mm512_set1_epi32(number)));
}
}  // namespace

TEST_CASE("intrinsics: those of AVX-512 come with <immintrin.h>, and not before") {
    CHECK(has_less);
    int values[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    if (!__builtin_cpu_supports("avx512f")) return;
    add_to_sixteen(values, 100);
    for (int i = 0; i != 16; ++i) CHECK(values[i] == 101 + i);
}
#endif
