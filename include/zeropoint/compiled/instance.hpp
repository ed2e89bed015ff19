// SPDX-License-Identifier: BSD-3-Clause
// How the lists of this folder are read: by programs as what zeropoint::compiled has, by its own sources as what to compile.
#pragma once

#include <zeropoint/kernel/machine/architecture.hpp>

// A source of the library defines it as `template` before it includes its list.
#if !defined(ZEROPOINT_INSTANCE)
#define ZEROPOINT_INSTANCE extern template
#endif

namespace zp::inline v0::detail {

/// Where a linker misses this name, zeropoint::compiled was compiled for another architecture than the program's flags allow.
template <class Arch> struct compiled_library_for { static const char* const architecture; };

#if defined(ZEROPOINT_COMPILED)
extern template struct compiled_library_for<default_architecture>;
namespace {  // retained, or a linker that drops what nobody calls would not look for the name
[[gnu::used, gnu::retain]] const char* const* const needed_library =
    &compiled_library_for<default_architecture>::architecture;
}
#endif

}  // namespace zp::inline v0::detail
