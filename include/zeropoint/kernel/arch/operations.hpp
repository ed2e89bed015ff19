// SPDX-License-Identifier: BSD-3-Clause
// Which primitives an architecture takes: the one place where architectures and kernels meet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <zeropoint/kernel/arch/contract.hpp>
#include <zeropoint/kernel/arch/portable.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#if XSIMD_WITH_SSE2
#include <zeropoint/kernel/arch/sse.hpp>
#endif
#if XSIMD_WITH_AVX2
#include <zeropoint/kernel/arch/avx2.hpp>
#endif
#if XSIMD_WITH_AVXVNNI
#include <zeropoint/kernel/arch/avx_vnni.hpp>
#endif
#if XSIMD_WITH_AVX512BW
#include <zeropoint/kernel/arch/avx512bw.hpp>
#endif
#if XSIMD_WITH_AVX512VNNI_AVX512BW || XSIMD_WITH_AVX512VNNI_AVX512VBMI2
#include <zeropoint/kernel/arch/avx512_vnni.hpp>
#endif
#if XSIMD_WITH_AVX512VNNI_AVX512VBMI2 && defined(__AMX_TILE__) && defined(__AMX_INT8__)
#include <zeropoint/kernel/arch/avx512_amx.hpp>
#endif
#if defined(XSIMD_WITH_EMULATED) && XSIMD_WITH_EMULATED
#include <zeropoint/kernel/arch/emulated.hpp>
#endif
#if XSIMD_WITH_NEON
#include <zeropoint/kernel/arch/neon_bytes.hpp>
#endif
#if XSIMD_WITH_NEON64 && defined(__ARM_FEATURE_DOTPROD)
#include <zeropoint/kernel/arch/neon64_dotprod.hpp>
#endif
#if XSIMD_WITH_I8MM_NEON64
#include <zeropoint/kernel/arch/neon64_i8mm.hpp>
#endif
#if XSIMD_WITH_SVE
#include <zeropoint/kernel/arch/sve.hpp>
#endif
#if XSIMD_WITH_SVE && defined(__ARM_FEATURE_SVE_MATMUL_INT8)
#include <zeropoint/kernel/arch/sve_i8mm.hpp>
#endif
#if XSIMD_WITH_RVV
#include <zeropoint/kernel/arch/rvv.hpp>
#endif
#if XSIMD_WITH_VSX
#include <zeropoint/kernel/arch/vsx.hpp>
#endif
#if XSIMD_WITH_VXE
#include <zeropoint/kernel/arch/vxe.hpp>
#endif
#if XSIMD_WITH_WASM
#include <zeropoint/kernel/arch/wasm.hpp>
#endif

namespace zp::inline v0::kernel {

/// The table, by overload on the tag: derived tags take the row of their nearest base. xsimd's avx and avx512f derive
/// from nothing below them, so they have rows of their own; before avx512bw there are no 512-bit vectors of bytes.
default_portable_operations operations_row(...);
#if XSIMD_WITH_SSE2
sse2_operations operations_row(const xsimd::sse2&);
#endif
#if XSIMD_WITH_SSSE3
ssse3_operations operations_row(const xsimd::ssse3&);
#endif
#if XSIMD_WITH_AVX
ssse3_operations operations_row(const xsimd::avx&);
#endif
#if XSIMD_WITH_AVX2
avx2_operations operations_row(const xsimd::avx2&);
avx2_operations operations_row(const xsimd::avx512f&);
#endif
#if XSIMD_WITH_AVXVNNI
avx_vnni_operations operations_row(const xsimd::avxvnni&);
#endif
#if XSIMD_WITH_AVX512BW
avx512bw_operations operations_row(const xsimd::avx512bw&);
#endif
#if XSIMD_WITH_AVX512VNNI_AVX512BW
cascade_lake_operations operations_row(const xsimd::avx512vnni<xsimd::avx512bw>&);
#endif
#if XSIMD_WITH_AVX512VNNI_AVX512VBMI2
avx512_vnni_operations operations_row(const xsimd::avx512vnni<xsimd::avx512vbmi2>&);
#endif
#if XSIMD_WITH_AVX512VNNI_AVX512VBMI2 && defined(__AMX_TILE__) && defined(__AMX_INT8__)
avx512_amx_operations operations_row(const avx512_amx&);
#endif
#if XSIMD_WITH_NEON64
neon64_operations operations_row(const xsimd::neon&);
#elif XSIMD_WITH_NEON
neon_operations operations_row(const xsimd::neon&);
#endif
#if XSIMD_WITH_NEON64 && defined(__ARM_FEATURE_DOTPROD)
neon64_dotprod_operations operations_row(const neon64_dotprod&);
#endif
#if XSIMD_WITH_I8MM_NEON64
neon64_i8mm_operations operations_row(const xsimd::i8mm<xsimd::neon64>&);
#endif
#if XSIMD_WITH_SVE
sve_operations<XSIMD_SVE_BITS> operations_row(const xsimd::sve&);
#if defined(__ARM_FEATURE_SVE_MATMUL_INT8)
sve_i8mm_operations<XSIMD_SVE_BITS> operations_row(const sve_i8mm<XSIMD_SVE_BITS>&);
#endif
#endif
#if XSIMD_WITH_RVV
rvv_operations operations_row(const xsimd::rvv&);
#endif
#if XSIMD_WITH_VSX
vsx_operations operations_row(const xsimd::vsx&);
#endif
#if XSIMD_WITH_VXE
vxe_operations operations_row(const xsimd::vxe&);
#endif
#if XSIMD_WITH_WASM
wasm_operations operations_row(const xsimd::wasm&);
#ifdef __wasm_relaxed_simd__
wasm_relaxed_operations operations_row(const wasm_relaxed&);
#endif
#endif
#if defined(XSIMD_WITH_EMULATED) && XSIMD_WITH_EMULATED
template <std::size_t Bits> emulated_operations<Bits> operations_row(const xsimd::emulated<Bits>&);
#endif

/// The primitives of an architecture tag. A tag of one's own gets others by specializing this.
template <class Arch> struct operations_of {
    using type = decltype(operations_row(std::declval<const Arch&>()));
#if !XSIMD_WITH_AVX2
    static_assert(
        !std::is_base_of_v<xsimd::avx2, Arch> && !std::is_base_of_v<xsimd::avx512f, Arch>,
        "operations_of<Arch>: this translation unit is compiled without AVX2; add -mavx2 or take another architecture");
#endif
};
/// The same where they keep the contract. Others are told so once: loops go on with plain ones, and say nothing more.
template <class Arch> struct checked_operations {
    using own = typename operations_of<Arch>::type;
    static_assert(sizeof(contract_check<own>) != 0);
    using type = std::conditional_t<contract_rules<own>::all, own, default_portable_operations>;
};
template <class Arch> using operations = typename checked_operations<Arch>::type;

/// Channels of one packed panel.
template <class Arch> inline constexpr int panel_width = operations<Arch>::vectors* operations<Arch>::lanes;

/// Whether an architecture multiplies bytes, and whether only those of panels that were checked.
template <class Arch> inline constexpr bool has_quads = operations<Arch>::quads != quad_products::none;
template <class Arch> inline constexpr bool quads_saturate = operations<Arch>::quads == quad_products::saturating_pairs;

/// Whether panels of quads hold them by twos, the eight weights of a channel side by side.
template <class Arch>
inline constexpr bool has_octets = [] {
    if constexpr (requires { operations<Arch>::octets; }) return operations<Arch>::octets;
    else return false;
}();

/// Whether whole tiles are multiplied by instructions of their own. Panels of quads then hold weights 128 higher, which is their
/// sign bit flipped.
template <class Arch> inline constexpr bool has_whole_tiles = requires { operations<Arch>::whole_tile_rows; };
template <class Arch> inline constexpr std::uint8_t quad_flip = has_whole_tiles<Arch> ? 128 : 0;

/// Up to so many units a float step of a recurrent layer takes narrower vectors.
template <class Arch>
inline constexpr int narrow_step_units = [] {
    if constexpr (requires { operations<Arch>::narrow_step_units; }) return operations<Arch>::narrow_step_units;
    else return 0;
}();

/// Whether dot4 multiplies unsigned codes up to `highest`.
template <class Arch> constexpr bool quads_hold(std::int32_t highest) {
    return has_quads<Arch> && (operations<Arch>::quads != quad_products::seven_bits || highest < 128);
}

// The table alone: who computes by a row asks for its contract.
template <class Operations, class... Arch>
inline constexpr bool all_take = (std::is_same_v<typename operations_of<Arch>::type, Operations> && ...);

static_assert(all_take<default_portable_operations, portable>);
#if XSIMD_WITH_SSE2
static_assert(all_take<sse2_operations, xsimd::sse2, xsimd::sse3>);
#endif
#if XSIMD_WITH_SSSE3
static_assert(all_take<ssse3_operations, xsimd::ssse3, xsimd::sse4_1, xsimd::sse4_2>);
#endif
#if XSIMD_WITH_AVX
static_assert(all_take<ssse3_operations, xsimd::avx, xsimd::fma3<xsimd::avx>>);
#endif
#if XSIMD_WITH_AVX2
static_assert(all_take<avx2_operations, xsimd::avx2, xsimd::fma3<xsimd::avx2>, xsimd::avx512f, xsimd::avx512cd,
                       xsimd::avx512dq, xsimd::avx512er, xsimd::avx512pf>);
#endif
#if XSIMD_WITH_AVXVNNI
static_assert(all_take<avx_vnni_operations, xsimd::avxvnni>);
#endif
#if XSIMD_WITH_AVX512BW
static_assert(all_take<avx512bw_operations, xsimd::avx512bw, xsimd::avx512ifma, xsimd::avx512vbmi, xsimd::avx512vbmi2>);
#endif
#if XSIMD_WITH_AVX512VNNI_AVX512BW
static_assert(all_take<cascade_lake_operations, xsimd::avx512vnni<xsimd::avx512bw>>);
#endif
#if XSIMD_WITH_AVX512VNNI_AVX512VBMI2
static_assert(all_take<avx512_vnni_operations, xsimd::avx512vnni<xsimd::avx512vbmi2>>);
#endif
#if XSIMD_WITH_AVX512VNNI_AVX512VBMI2 && defined(__AMX_TILE__) && defined(__AMX_INT8__)
static_assert(all_take<avx512_amx_operations, avx512_amx>);
#endif
#if XSIMD_WITH_NEON64
static_assert(all_take<neon64_operations, xsimd::neon, xsimd::neon64>);
#elif XSIMD_WITH_NEON
static_assert(all_take<neon_operations, xsimd::neon>);
#endif
#if XSIMD_WITH_NEON64 && defined(__ARM_FEATURE_DOTPROD)
static_assert(all_take<neon64_dotprod_operations, neon64_dotprod>);
#endif
#if XSIMD_WITH_I8MM_NEON64
static_assert(all_take<neon64_i8mm_operations, xsimd::i8mm<xsimd::neon64>>);
#endif
#if XSIMD_WITH_SVE
static_assert(all_take<sve_operations<XSIMD_SVE_BITS>, xsimd::sve>);
#if defined(__ARM_FEATURE_SVE_MATMUL_INT8)
static_assert(all_take<sve_i8mm_operations<XSIMD_SVE_BITS>, sve_i8mm<XSIMD_SVE_BITS>>);
#endif
#endif
#if XSIMD_WITH_RVV
static_assert(all_take<rvv_operations, xsimd::rvv>);
#endif
#if XSIMD_WITH_VSX
static_assert(all_take<vsx_operations, xsimd::vsx>);
#endif
#if XSIMD_WITH_VXE
static_assert(all_take<vxe_operations, xsimd::vxe>);
#endif
#if XSIMD_WITH_WASM
static_assert(all_take<wasm_operations, xsimd::wasm>);
#ifdef __wasm_relaxed_simd__
static_assert(all_take<wasm_relaxed_operations, wasm_relaxed>);
#endif
#endif
#if defined(XSIMD_WITH_EMULATED) && XSIMD_WITH_EMULATED
static_assert(all_take<emulated_operations<256>, xsimd::emulated<256>>);
#endif

}  // namespace zp::inline v0::kernel
