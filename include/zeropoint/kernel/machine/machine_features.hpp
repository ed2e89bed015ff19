// SPDX-License-Identifier: BSD-3-Clause
// Whether this machine has an architecture: xsimd asks the processor, and here stands what xsimd does not ask.
#pragma once

#include <cstddef>
#include <type_traits>

#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/machine/tile_permission.hpp>

#if XSIMD_TARGET_ARM64 && XSIMD_HAVE_LINUX_GETAUXVAL
#include <sys/auxv.h>
#elif XSIMD_TARGET_ARM64 && defined(__APPLE__)
#include <sys/sysctl.h>
#endif

namespace zp::inline v0 {
namespace detail {

/// Extensions of AArch64 with products of bytes.
enum class arm_extension { dotprod, i8mm, sve_i8mm };

/// What Linux or macOS says that the processor has; elsewhere `compiled_for`, which is what the program takes for granted.
inline bool arm_machine_has(arm_extension wanted, [[maybe_unused]] bool compiled_for) noexcept {
#if !XSIMD_TARGET_ARM64
    static_cast<void>(wanted);
    return false;
#elif XSIMD_HAVE_LINUX_GETAUXVAL
    // asm/hwcap.h: HWCAP_ASIMDDP, HWCAP2_I8MM, HWCAP2_SVEI8MM. Older headers have not the last two.
    if (wanted == arm_extension::dotprod) return (getauxval(AT_HWCAP) >> 20 & 1) != 0;
    return (getauxval(AT_HWCAP2) >> (wanted == arm_extension::i8mm ? 13 : 9) & 1) != 0;
#elif defined(__APPLE__)
    if (wanted == arm_extension::sve_i8mm) return false;
    int has = 0;
    std::size_t size = sizeof has;
    const bool is_dotprod = wanted == arm_extension::dotprod;
    const char* name = is_dotprod ? "hw.optional.arm.FEAT_DotProd" : "hw.optional.arm.FEAT_I8MM";
    return sysctlbyname(name, &has, &size, nullptr, 0) == 0 && has != 0;
#else
    static_cast<void>(wanted);
    return compiled_for;
#endif
}

/// Bits of the machine's SVE vectors, 0 where it has none; elsewhere than on Linux and macOS `compiled_for`.
inline std::size_t sve_bits([[maybe_unused]] std::size_t compiled_for) noexcept {
#if XSIMD_TARGET_ARM64 && !XSIMD_HAVE_LINUX_GETAUXVAL && !defined(__APPLE__)
    return compiled_for;
#else
    return 8 * xsimd::cpu_features().sve_size_bytes();
#endif
}

/// As machine_has(), of one architecture.
template <class Arch> struct machine_feature {
    static bool is_there() noexcept { return xsimd::available_architectures().has(Arch()); }
};
template <class Arch> inline constexpr bool is_compiled_for = std::is_same_v<Arch, default_architecture>;

template <> struct machine_feature<portable> {
    static bool is_there() noexcept { return true; }
};
#if defined(__x86_64__) || defined(_M_X64)
template <> struct machine_feature<xsimd::sse2> {  // which every x86-64 has: no question is linked
    static bool is_there() noexcept { return true; }
};
#endif
#if defined(XSIMD_WITH_EMULATED) && XSIMD_WITH_EMULATED
template <std::size_t Bits> struct machine_feature<xsimd::emulated<Bits>> {
    static bool is_there() noexcept { return true; }
};
#endif
/// Asks the operating system for the tile registers as well: where it refuses them, the machine has them not, but what is
/// compiled for them runs by AVX-512 alone.
template <> struct machine_feature<avx512_amx> {
    static bool is_there() noexcept { return is_enough() && may_use_tiles(); }
    static bool is_enough() noexcept { return machine_feature<xsimd::avx512vnni<xsimd::avx512vbmi2>>::is_there(); }
};
template <> struct machine_feature<neon64_dotprod> {
    static bool is_there() noexcept { return arm_machine_has(arm_extension::dotprod, is_compiled_for<neon64_dotprod>); }
};
/// Every processor with i8mm has dotprod, and both may be used by what is compiled for it.
template <> struct machine_feature<xsimd::i8mm<xsimd::neon64>> {
    static bool is_there() noexcept {
        constexpr bool compiled_for = is_compiled_for<xsimd::i8mm<xsimd::neon64>>;
        return arm_machine_has(arm_extension::dotprod, compiled_for) &&
               arm_machine_has(arm_extension::i8mm, compiled_for);
    }
};
/// Code for vectors of fixed length runs on that length alone.
template <std::size_t Bits> struct machine_feature<xsimd::detail::sve<Bits>> {
    static bool is_there() noexcept { return sve_bits(is_compiled_for<xsimd::detail::sve<Bits>> ? Bits : 0) == Bits; }
};
template <std::size_t Bits> struct machine_feature<sve_i8mm<Bits>> {
    static bool is_there() noexcept {
        constexpr bool compiled_for = is_compiled_for<sve_i8mm<Bits>>;
        return sve_bits(compiled_for ? Bits : 0) == Bits && arm_machine_has(arm_extension::i8mm, compiled_for) &&
               arm_machine_has(arm_extension::sve_i8mm, compiled_for);
    }
};
/// xsimd takes longer vectors for good enough, but they are as long as the compiler was told: -mrvv-vector-bits.
template <std::size_t Bits> struct machine_feature<xsimd::detail::rvv<Bits>> {
    static bool is_there() noexcept { return 8 * xsimd::cpu_features().rvv_size_bytes() == Bits; }
};
/// An engine without relaxed SIMD refuses to load a module that has it: who can ask has it.
template <> struct machine_feature<wasm_relaxed> {
    static bool is_there() noexcept { return is_compiled_for<wasm_relaxed>; }
};

}  // namespace detail

/// Whether this machine has all that what is compiled for `Arch` makes use of.
template <class Arch> bool machine_has() noexcept { return detail::machine_feature<Arch>::is_there(); }
/// Whether this machine runs what is compiled for `Arch`, be it without a part that kernels can do without: AMX's tiles.
template <class Arch> bool machine_runs() noexcept {
    if constexpr (requires { detail::machine_feature<Arch>::is_enough(); })
        return detail::machine_feature<Arch>::is_enough();
    else return machine_has<Arch>();
}

}  // namespace zp::inline v0
