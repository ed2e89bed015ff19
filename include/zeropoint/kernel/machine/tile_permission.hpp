// SPDX-License-Identifier: BSD-3-Clause
// AMX's tile registers: whether the processor has them, and the operating system lets this program use them.
#pragma once

#if defined(__x86_64__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#endif

// A system that knows AMX sets bits 17 and 18 of XCR0, which say that it can save the tiles, 8 KiB a thread. On processors
// with extended feature disable (XFD) the tiles are off nevertheless, and their first instruction ends the program, until
// the process has asked for them: Linux, from 5.16 on, by arch_prctl(ARCH_REQ_XCOMP_PERM, 18). What it grants is for all threads
// of the process and for its children. It refuses where a thread's alternate signal stack is too small for them, or a
// sandbox forbids the call.

namespace zp::inline v0::detail {

/// Whether the tiles of this machine may be used; asks for them where they have to be asked for.
inline bool ask_for_tiles() noexcept {
#if defined(__x86_64__)
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c >> 27 & 1) == 0) return false;           // OSXSAVE
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d >> 24 & 3) != 3) return false;  // AMX-TILE, AMX-INT8
    unsigned low = 0, high = 0;
    asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    if ((low >> 17 & 3) != 3) return false;
    const bool are_off = __get_cpuid_count(13, 1, &a, &b, &c, &d) != 0 && (a >> 4 & 1) != 0;  // XFD
    if (!are_off) return true;
#if defined(__linux__)
    constexpr long request = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM, asm/prctl.h
    return syscall(SYS_arch_prctl, request, tile_data) == 0;
#else
    return false;  // other systems have other calls
#endif
#else
    return false;
#endif
}

/// The same, asked once a process.
inline bool may_use_tiles() noexcept {
    static const bool may = ask_for_tiles();
    return may;
}

}  // namespace zp::inline v0::detail
