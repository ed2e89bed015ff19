// SPDX-License-Identifier: BSD-3-Clause
// A float product that compilers do not fuse with the sum behind it.
#pragma once

#include <type_traits>

#include <zeropoint/kernel/machine/architecture.hpp>

// GCC contracts products and sums by default, those of vectors too, and Clang does where it is told to: a * b + c is then
// rounded once, on machines that can. Where the bits of a sum are promised, its product goes through rounded(), behind
// which a compiler knows nothing of where the value came from.

namespace zp::inline v0::kernel {

#if defined(__SSE2__)
#define ZEROPOINT_FLOAT_REGISTER "+v"
#elif defined(__aarch64__) && !defined(__ARM_FEATURE_SVE)
#define ZEROPOINT_FLOAT_REGISTER "+w"
#endif

/// To the compiler, `value` is read and written here.
template <class Register> [[gnu::always_inline]] inline void hide_origin(Register& value) noexcept {
#if defined(ZEROPOINT_FLOAT_REGISTER)
    if constexpr (!std::is_class_v<Register>) {
        asm("" : ZEROPOINT_FLOAT_REGISTER(value));
        return;
    }
#elif defined(__arm__) && defined(__ARM_FP) && __ARM_FP & 4
    if constexpr (std::is_same_v<Register, float>) {
        asm("" : "+t"(value));
        return;
    }
#endif
    asm("" : "+m"(value));
}

/// `value`, a float or a vector of them, rounded before anything is added to it. No instruction where it can stay in its
/// register, which it can on x86-64 and AArch64; a store and a load elsewhere.
template <class T> [[gnu::always_inline]] inline T rounded(T value) noexcept {
    if constexpr (std::is_class_v<T>) hide_origin(value.data);
    else hide_origin(value);
    return value;
}

#undef ZEROPOINT_FLOAT_REGISTER

}  // namespace zp::inline v0::kernel
