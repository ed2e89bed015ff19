// SPDX-License-Identifier: BSD-3-Clause
// What the compiler's flags let a translation unit use, asked of this machine without using it.
#pragma once

#include <cstdio>
#include <cstdlib>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
// The compiler is to put none of what is asked for into the question: with -mavx2 it copies strings by AVX.
#define ZEROPOINT_NO_VECTORS [[gnu::noinline, gnu::target("general-regs-only")]]
#else
#define ZEROPOINT_NO_VECTORS
#if defined(__linux__)
#include <sys/auxv.h>
#endif
#endif

namespace zp::inline v0::detail {

/// The newest extension of x86, or the vectors of SVE or RISC-V, that this translation unit is compiled for and this
/// machine has not; null if there is none. `Arch` is default_architecture, which differs where flags do.
template <class Arch> ZEROPOINT_NO_VECTORS const char* lacking_extension() noexcept {
#if defined(__AVXVNNI__)  // which Clang 14's built-in function does not know
    unsigned a = 0, b, c, d;
    __cpuid_count(7, 1, a, b, c, d);
    if ((a >> 4 & 1) == 0) return "avxvnni";
#endif
#if defined(__AVX512VNNI__)
    if (!__builtin_cpu_supports("avx512vnni")) return "avx512vnni";
#endif
#if defined(__AVX512VBMI2__)
    if (!__builtin_cpu_supports("avx512vbmi2")) return "avx512vbmi2";
#endif
#if defined(__AVX512VBMI__)
    if (!__builtin_cpu_supports("avx512vbmi")) return "avx512vbmi";
#endif
#if defined(__AVX512IFMA__)
    if (!__builtin_cpu_supports("avx512ifma")) return "avx512ifma";
#endif
#if defined(__AVX512VL__)
    if (!__builtin_cpu_supports("avx512vl")) return "avx512vl";
#endif
#if defined(__AVX512BW__)
    if (!__builtin_cpu_supports("avx512bw")) return "avx512bw";
#endif
#if defined(__AVX512DQ__)
    if (!__builtin_cpu_supports("avx512dq")) return "avx512dq";
#endif
#if defined(__AVX512CD__)
    if (!__builtin_cpu_supports("avx512cd")) return "avx512cd";
#endif
#if defined(__AVX512F__)
    if (!__builtin_cpu_supports("avx512f")) return "avx512f";
#endif
#if defined(__AVX2__)
    if (!__builtin_cpu_supports("avx2")) return "avx2";
#endif
#if defined(__BMI2__)
    if (!__builtin_cpu_supports("bmi2")) return "bmi2";
#endif
#if defined(__BMI__)
    if (!__builtin_cpu_supports("bmi")) return "bmi";
#endif
#if defined(__FMA__)
    if (!__builtin_cpu_supports("fma")) return "fma";
#endif
#if defined(__AVX__)
    if (!__builtin_cpu_supports("avx")) return "avx";
#endif
#if defined(__POPCNT__)
    if (!__builtin_cpu_supports("popcnt")) return "popcnt";
#endif
#if defined(__SSE4_2__)
    if (!__builtin_cpu_supports("sse4.2")) return "sse4.2";
#endif
#if defined(__SSE4_1__)
    if (!__builtin_cpu_supports("sse4.1")) return "sse4.1";
#endif
#if defined(__SSSE3__)
    if (!__builtin_cpu_supports("ssse3")) return "ssse3";
#endif
#if defined(__SSE3__)
    if (!__builtin_cpu_supports("sse3")) return "sse3";
#endif
#if defined(__linux__) && defined(__ARM_FEATURE_SVE)
    if ((getauxval(AT_HWCAP) >> 22 & 1) == 0) return "sve";
#endif
#if defined(__linux__) && defined(__riscv_vector)
    if ((getauxval(AT_HWCAP) >> ('v' - 'a') & 1) == 0) return "v";
#endif
    return nullptr;
}

/// Ends the program, with a message on stderr, where this machine lacks what this translation unit is compiled for. No
/// exception: those who catch it may be compiled for the same, and GCC begins cleaning up with vzeroupper.
template <class Arch> ZEROPOINT_NO_VECTORS void require_extensions() noexcept {
    const char* lacking = lacking_extension<Arch>();
    if (lacking == nullptr) return;
    std::fprintf(stderr,
                 "zeropoint: expected a machine with %s, which this program was compiled for (%s), but this one has it "
                 "not: compile without the flags for it, or for several architectures at once with "
                 "zeropoint_compile_for()\n",
                 lacking, Arch::name());
    std::abort();
}

}  // namespace zp::inline v0::detail

#undef ZEROPOINT_NO_VECTORS
