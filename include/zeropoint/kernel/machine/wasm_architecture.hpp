// The tag of WebAssembly with relaxed SIMD, for which xsimd has none: without it one type would mean two things.
#pragma once

#include <xsimd/xsimd.hpp>

#include <zeropoint/kernel/machine/refined_architecture.hpp>

namespace zp {
inline namespace v0 {

/// 128-bit vectors with the dot products of relaxed SIMD. Its batches are those of xsimd::wasm.
struct wasm_relaxed : xsimd::wasm {
    static constexpr const char* name() noexcept { return "relaxed+wasm"; }
};

#ifdef __wasm_relaxed_simd__
template <> struct refined_architecture<xsimd::wasm> { using type = wasm_relaxed; };
#endif

}  // namespace v0
}  // namespace zp

#if XSIMD_WITH_WASM
namespace xsimd::types {
XSIMD_DECLARE_SIMD_REGISTER_ALIAS(::zp::wasm_relaxed, wasm);
}
#endif
