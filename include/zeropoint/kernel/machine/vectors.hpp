// SPDX-License-Identifier: BSD-3-Clause
// xsimd. On a target without vectors, which microcontrollers are, only what of it is left there: its tags and its functions of
// single numbers. The rest would ask for an operating system (posix_memalign) and for seconds of the compiler.
#pragma once

#include <cstddef>

#include <xsimd/config/xsimd_config.hpp>

#if !defined(XSIMD_NO_SUPPORTED_ARCHITECTURE)
#include <xsimd/xsimd.hpp>
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
