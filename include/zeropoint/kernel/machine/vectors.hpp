// SPDX-License-Identifier: BSD-3-Clause
// xsimd. On a target without vectors, which microcontrollers are, only what of it is left there: its tags and its functions of
// single numbers. The rest would ask for an operating system (posix_memalign) and for seconds of the compiler.
#pragma once

#include <cstddef>

#include <xsimd/config/xsimd_config.hpp>

#if !defined(XSIMD_NO_SUPPORTED_ARCHITECTURE)
// GCC's <immintrin.h> declares thousands of functions of AVX-512 to programs without it too: a third of what xsimd costs to compile, and
// of what it keeps in memory. So here are its parts below AVX-512. By this macro they know that they are included as they should be, and
// xsimd's files that they have <immintrin.h>; taken back, it lets those who include that header themselves have the rest of it. Up to the
// newest GCC that was tried: docs/decisions/0062-intrinsics-below-avx-512.md.
#if defined(__GNUC__) && __GNUC__ <= 16 && !defined(__clang__) && !defined(__EDG__) && defined(__SSE2__) && \
    !defined(__AVX512F__) && !defined(__FMA4__) && !defined(_WIN32) && !defined(_IMMINTRIN_H_INCLUDED)
#define ZEROPOINT_PART_OF_INTRINSICS
#define _IMMINTRIN_H_INCLUDED
// clang-format off: each needs those before it
#include <x86gprintrin.h>
#include <mmintrin.h>
#include <xmmintrin.h>
#include <emmintrin.h>
#include <pmmintrin.h>
#include <tmmintrin.h>
#include <smmintrin.h>
#include <wmmintrin.h>
#include <avxintrin.h>
#include <avxvnniintrin.h>
#include <avx2intrin.h>
#include <f16cintrin.h>
#include <fmaintrin.h>
// clang-format on
#endif
#include <xsimd/xsimd.hpp>
#if defined(ZEROPOINT_PART_OF_INTRINSICS)
#undef ZEROPOINT_PART_OF_INTRINSICS
#undef _IMMINTRIN_H_INCLUDED
#endif
#else
#include <xsimd/arch/xsimd_scalar.hpp>
#include <xsimd/config/xsimd_arch.hpp>
#include <xsimd/types/xsimd_batch_fwd.hpp>

/// Kernels name these functions of vectors in branches that no instantiation takes there; C++ wants them declared.
namespace xsimd {
template <class... T> void reduce_add(const T&...);
template <class... T> void reduce_max(const T&...);
template <class... T> void reduce_min(const T&...);
template <class... T> void swizzle(const T&...);
template <class... T> void to_float(const T&...);
template <class... T> void to_int(const T&...);
template <class... T> void transpose(const T&...);
template <class... T> void widen(const T&...);
template <class... T> void zip_hi(const T&...);
template <class... T> void zip_lo(const T&...);
template <std::size_t N, class T> void slide_right(const T&);
template <class T, class Generator, class Arch> void make_batch_constant();
template <class T, class Generator, class Arch> void make_batch_bool_constant();
}  // namespace xsimd
#endif
