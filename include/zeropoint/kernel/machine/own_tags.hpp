// SPDX-License-Identifier: BSD-3-Clause
// Tags of instruction sets that xsimd has none for: without them one type would mean two things.
#pragma once

#include <cstddef>
#include <type_traits>

#include <zeropoint/kernel/machine/vectors.hpp>

namespace zp::inline v0 {

/// The architecture itself, unless a tag below says more than the one that xsimd has chosen.
template <class Arch> struct refined_architecture { using type = Arch; };

/// 64-bit NEON with dot products of signed bytes (sdot), from Armv8.4 on.
struct neon64_dotprod : xsimd::neon64 {
    /// For people.
    static constexpr const char* name() noexcept { return "dotprod+arm64+neon"; }
};

/// SVE vectors of so many bits with products of matrices of bytes (usmmla).
template <std::size_t Bits> struct sve_i8mm : xsimd::detail::sve<Bits> {
    /// For people.
    static constexpr const char* name() noexcept {
        return Bits == 128   ? "i8mm+arm64+sve128"
               : Bits == 256 ? "i8mm+arm64+sve256"
               : Bits == 512 ? "i8mm+arm64+sve512"
                             : "i8mm+arm64+sve";
    }
};

/// 128-bit vectors with the dot products of relaxed SIMD. Its batches are those of xsimd::wasm.
struct wasm_relaxed : xsimd::wasm {
    /// For people.
    static constexpr const char* name() noexcept { return "relaxed+wasm"; }
};

/// AVX-512 with VNNI and VBMI2, and tile registers that multiply bytes (AMX-INT8). Its batches are those of xsimd's
/// avx512vnni<avx512vbmi2>.
struct avx512_amx : xsimd::avx512vnni<xsimd::avx512vbmi2> {
    /// For people.
    static constexpr const char* name() noexcept { return "amx+avx512vnni+avx512vbmi2"; }
};

#if XSIMD_WITH_AVX512VNNI_AVX512VBMI2 && defined(__AMX_TILE__) && defined(__AMX_INT8__)
template <> struct refined_architecture<xsimd::avx512vnni<xsimd::avx512vbmi2>> { using type = avx512_amx; };
#endif
#if XSIMD_WITH_NEON64 && defined(__ARM_FEATURE_DOTPROD)
template <> struct refined_architecture<xsimd::neon64> { using type = neon64_dotprod; };
#endif
#if XSIMD_WITH_SVE && defined(__ARM_FEATURE_SVE_MATMUL_INT8)
template <> struct refined_architecture<xsimd::sve> { using type = sve_i8mm<XSIMD_SVE_BITS>; };
#endif
#ifdef __wasm_relaxed_simd__
template <> struct refined_architecture<xsimd::wasm> { using type = wasm_relaxed; };
#endif

}  // namespace zp::inline v0

/// Their batches are those of the architectures that they derive from.
namespace xsimd::types {
#if XSIMD_WITH_AVX512VNNI_AVX512VBMI2
XSIMD_DECLARE_SIMD_REGISTER_ALIAS(::zp::avx512_amx, avx512vnni<avx512vbmi2>);
template <class T> struct get_bool_simd_register<T, ::zp::avx512_amx> { using type = simd_avx512_bool_register<T>; };
#endif
#if XSIMD_WITH_NEON64
XSIMD_DECLARE_SIMD_REGISTER_ALIAS(::zp::neon64_dotprod, neon64);
template <class T>
struct get_bool_simd_register<T, ::zp::neon64_dotprod> : detail::neon_bool_simd_register<T, ::zp::neon64_dotprod> {};
#endif
#if XSIMD_WITH_SVE
XSIMD_DECLARE_SIMD_REGISTER_ALIAS(::zp::sve_i8mm<XSIMD_SVE_BITS>, sve);
template <class T> struct get_bool_simd_register<T, ::zp::sve_i8mm<XSIMD_SVE_BITS>> {
    using type = detail::sve_bool_simd_register;
};
#endif
#if XSIMD_WITH_WASM
XSIMD_DECLARE_SIMD_REGISTER_ALIAS(::zp::wasm_relaxed, wasm);
#endif
}  // namespace xsimd::types
