// SPDX-License-Identifier: BSD-3-Clause
// A second translation unit with everything in it, linked into every test: a non-inline function would clash here.
#include <zeropoint/layer/static_layers.hpp>
#include <zeropoint/layer/quantized_embedding.hpp>
#include <zeropoint/layer/quantized_matmul.hpp>
#include <zeropoint/layer/recurrent.hpp>
#include <zeropoint/layer/transformer_encoder.hpp>
#include <zeropoint/layer/runtime_dynamic_linear.hpp>
#include <zeropoint/operators.hpp>
#include <zeropoint/workflow/calibrate_sequences.hpp>
#include <zeropoint/workflow/stateful.hpp>
#include <zeropoint/workflow/streaming.hpp>
#include <zeropoint/zeropoint.hpp>

// Where a program has no AVX-512, none of them reads GCC's functions of it: docs/decisions/0062-intrinsics-below-avx-512.md. The names
// are guards of <avx512fintrin.h> and of <immintrin.h>, which gives these functions to whoever includes it behind them.
#if defined(__GNUC__) && __GNUC__ <= 16 && !defined(__clang__) && defined(__SSE2__) && !defined(__AVX512F__) && \
    !defined(__FMA4__) && !defined(_WIN32)
#if defined(_AVX512FINTRIN_H_INCLUDED) || defined(_IMMINTRIN_H_INCLUDED)
#error \
    "<immintrin.h> is included, or its guard left behind: include <zeropoint/kernel/machine/vectors.hpp> in its place"
#endif
#include <immintrin.h>
[[maybe_unused, gnu::target("avx512f")]] static __m512i sums_of_sixteen(__m512i a, __m512i b) {
    return _mm512_add_epi32(a, b);
}
#endif
