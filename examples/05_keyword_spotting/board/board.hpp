// SPDX-License-Identifier: BSD-3-Clause
// The board for the program: text out, the end, and a clock. By semihosting, which debuggers and qemu answer.
#pragma once

#include <cstddef>
#include <cstdint>

namespace board {

inline std::uintptr_t call_host(std::uintptr_t operation, const void* argument) {
    register std::uintptr_t r0 asm("r0") = operation;
    register const void* r1 asm("r1") = argument;
    asm volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

inline void print(const char* text) { call_host(0x04, text); }  // SYS_WRITE0

[[noreturn]] inline void end(int status) {
    const std::uintptr_t reason_and_status[] = {0x20026,
                                                static_cast<std::uintptr_t>(status)};  // ADP_Stopped_ApplicationExit
    call_host(0x20, reason_and_status);                                                // SYS_EXIT_EXTENDED
    for (;;) {}
}

// SysTick counts down from 2^24 with the processor's clock.
inline volatile std::uint32_t* systick() { return reinterpret_cast<volatile std::uint32_t*>(0xe000e010); }

inline void start_clock() {
    systick()[1] = 0xffffff;
    systick()[2] = 0;
    systick()[0] = 5;  // on, from the processor's clock, no interrupt
}
/// Ticks since start_clock(), below 2^24.
inline std::uint32_t ticks() { return 0xffffff - systick()[2]; }

/// Fills the stack below the caller with a pattern, and how many bytes of it were used since.
inline constexpr std::size_t measured_stack = 16 * 1024;
inline void paint_stack() {
    std::uintptr_t here;
    asm volatile("mov %0, sp" : "=r"(here));
    auto* top = reinterpret_cast<volatile std::uint32_t*>(here);
    for (std::size_t word = 1; word != measured_stack / 4; ++word) *(top - word) = 0xdeadbeef;
}
inline std::size_t used_stack() {
    std::uintptr_t here;
    asm volatile("mov %0, sp" : "=r"(here));
    const auto* top = reinterpret_cast<volatile std::uint32_t*>(here);
    std::size_t words = measured_stack / 4 - 1;
    while (words != 0 && *(top - words) == 0xdeadbeef) --words;
    return 4 * words;
}

}  // namespace board
