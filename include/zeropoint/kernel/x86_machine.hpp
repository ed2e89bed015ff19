// What an x86 processor has, asked without a vector instruction: xsimd clears an object for the answers first, and where
// that is compiled for AVX, with AVX.
#pragma once

#include <zeropoint/kernel/architecture.hpp>

#if XSIMD_TARGET_X86 && defined(__GNUC__)
#include <cpuid.h>

namespace zp {
inline namespace v0 {
namespace detail {

/// Of a tag that is not here, its nearest base. These builtins ask for the operating system's consent too.
inline bool x86_has(const xsimd::sse2&) noexcept { return __builtin_cpu_supports("sse2"); }
inline bool x86_has(const xsimd::sse3&) noexcept { return __builtin_cpu_supports("sse3"); }
inline bool x86_has(const xsimd::ssse3&) noexcept { return __builtin_cpu_supports("ssse3"); }
inline bool x86_has(const xsimd::sse4_1&) noexcept { return __builtin_cpu_supports("sse4.1"); }
inline bool x86_has(const xsimd::sse4_2&) noexcept { return __builtin_cpu_supports("sse4.2"); }
inline bool x86_has(const xsimd::avx&) noexcept { return __builtin_cpu_supports("avx"); }
inline bool x86_has(const xsimd::avx2&) noexcept { return __builtin_cpu_supports("avx2"); }
inline bool x86_has_fma() noexcept { return __builtin_cpu_supports("fma"); }
inline bool x86_has(const xsimd::fma3<xsimd::sse4_2>&) noexcept { return x86_has(xsimd::sse4_2()) && x86_has_fma(); }
inline bool x86_has(const xsimd::fma3<xsimd::avx>&) noexcept { return x86_has(xsimd::avx()) && x86_has_fma(); }
inline bool x86_has(const xsimd::fma3<xsimd::avx2>&) noexcept { return x86_has(xsimd::avx2()) && x86_has_fma(); }
/// Clang 14 has no name for it: cpuid, leaf 7.1, bit 4 of eax.
inline bool x86_has(const xsimd::avxvnni&) noexcept {
    unsigned eax = 0, ebx, ecx, edx;
    return x86_has(xsimd::fma3<xsimd::avx2>()) && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0 &&
           (eax >> 4 & 1) != 0;
}
inline bool x86_has(const xsimd::avx512f&) noexcept { return __builtin_cpu_supports("avx512f"); }
inline bool x86_has(const xsimd::avx512cd&) noexcept { return __builtin_cpu_supports("avx512cd"); }
inline bool x86_has(const xsimd::avx512dq&) noexcept { return __builtin_cpu_supports("avx512dq"); }
/// With it come AVX-512's CD, DQ and VL, which compilers are told to use as well.
inline bool x86_has(const xsimd::avx512bw&) noexcept {
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && x86_has(xsimd::avx512cd()) &&
           x86_has(xsimd::avx512dq());
}
inline bool x86_has(const xsimd::avx512ifma&) noexcept {
    return x86_has(xsimd::avx512bw()) && __builtin_cpu_supports("avx512ifma");
}
inline bool x86_has(const xsimd::avx512vbmi&) noexcept {
    return x86_has(xsimd::avx512ifma()) && __builtin_cpu_supports("avx512vbmi");
}
inline bool x86_has(const xsimd::avx512vbmi2&) noexcept {
    return x86_has(xsimd::avx512vbmi()) && __builtin_cpu_supports("avx512vbmi2");
}
inline bool x86_has(const xsimd::avx512vnni<xsimd::avx512bw>&) noexcept {
    return x86_has(xsimd::avx512bw()) && __builtin_cpu_supports("avx512vnni");
}
inline bool x86_has(const xsimd::avx512vnni<xsimd::avx512vbmi2>&) noexcept {
    return x86_has(xsimd::avx512vbmi2()) && __builtin_cpu_supports("avx512vnni");
}
/// Gone from processors and from compilers: xsimd's answer.
void x86_has(const xsimd::fma4&) = delete;
void x86_has(const xsimd::avx512er&) = delete;

}  // namespace detail
}  // namespace v0
}  // namespace zp
#endif
