// SPDX-License-Identifier: BSD-3-Clause
// The architecture a kernel is compiled for, as a type. Everything whose code or layout depends on it takes it as a
// template parameter: translation units with different -m flags then never share an instantiation by accident.
#pragma once

#include <type_traits>

// GCC 12 takes the undefined operands of its own AVX-512 intrinsics for mistakes (bug 105593): quiet for that header alone.
#if defined(__AVX512F__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
#endif

#include <zeropoint/kernel/machine/own_tags.hpp>
#include <zeropoint/kernel/machine/vectors.hpp>

namespace zp::inline v0 {

/// Plain C++, one value at a time: works everywhere, and is what every other architecture is tested against.
struct portable {
    /// "portable".
    static constexpr const char* name() { return "portable"; }
};

/// portable, of filters whose panels are all quads of bytes, over activations that are stored as Code: int8 weights without zero
/// points. The layouts are portable's; what else panels may be is not compiled, and has no scratch.
template <class Code> struct portable_quads : portable {};

/// Whether xsimd has vectors for this architecture.
template <class Arch> inline constexpr bool has_vectors = !std::is_base_of_v<portable, Arch>;
/// Whether panels are known to be quads of bytes, and whether these are read as they are stored.
template <class Arch> inline constexpr bool has_only_quads = false;
template <class Code> inline constexpr bool has_only_quads<portable_quads<Code>> = true;
template <class Arch>
inline constexpr bool has_only_unsigned_quads = std::is_same_v<Arch, portable_quads<unsigned char>>;

/// The name of an architecture: xsimd's, and the bits of its vectors where xsimd has one name for several.
template <class Arch> struct architecture_name { static constexpr const char* value = Arch::name(); };
template <> struct architecture_name<xsimd::detail::sve<128>> { static constexpr const char* value = "arm64+sve128"; };
template <> struct architecture_name<xsimd::detail::sve<256>> { static constexpr const char* value = "arm64+sve256"; };
template <> struct architecture_name<xsimd::detail::sve<512>> { static constexpr const char* value = "arm64+sve512"; };
template <> struct architecture_name<xsimd::detail::rvv<128>> { static constexpr const char* value = "riscv+rvv128"; };
template <> struct architecture_name<xsimd::detail::rvv<256>> { static constexpr const char* value = "riscv+rvv256"; };
template <> struct architecture_name<xsimd::detail::rvv<512>> { static constexpr const char* value = "riscv+rvv512"; };
/// As files, tables and messages have it: "fma3<avx2>", "portable".
template <class Arch> constexpr const char* name_of() noexcept { return architecture_name<Arch>::value; }

/// What the compiler flags of this translation unit allow: the default of every entry point.
using default_architecture =
    std::conditional_t<xsimd::default_arch::supported(), refined_architecture<xsimd::default_arch>::type, portable>;

}  // namespace zp::inline v0
