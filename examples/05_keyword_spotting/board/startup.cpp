// SPDX-License-Identifier: BSD-3-Clause
// What runs before main() on a Cortex-M: the vector table, memory as C++ expects it, the floating-point unit.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "board.hpp"

extern "C" {
extern std::uint32_t stack_top[], data_begin[], data_end[], data_in_flash[], bss_begin[], bss_end[];
int run_program() asm("main");  // no C++ program may call its main()
[[noreturn]] void reset();
[[noreturn]] void fault();
}

/// Stack pointer, reset, and the 14 exceptions of the architecture: none is expected, each ends the program.
extern "C" [[gnu::section(".vectors"), gnu::used]] const std::uintptr_t vectors[16] = {
    reinterpret_cast<std::uintptr_t>(stack_top), reinterpret_cast<std::uintptr_t>(&reset),
    reinterpret_cast<std::uintptr_t>(&fault),    reinterpret_cast<std::uintptr_t>(&fault),
    reinterpret_cast<std::uintptr_t>(&fault),    reinterpret_cast<std::uintptr_t>(&fault),
    reinterpret_cast<std::uintptr_t>(&fault),    reinterpret_cast<std::uintptr_t>(&fault),
};

void reset() {
    auto& coprocessors = *reinterpret_cast<volatile std::uint32_t*>(0xe000ed88);
    coprocessors = coprocessors | 0xf << 20;  // CP10 and CP11: floats, and Helium where there is one
    asm volatile("dsb\n\tisb" ::: "memory");
    std::memcpy(data_begin, data_in_flash,
                static_cast<std::size_t>(reinterpret_cast<char*>(data_end) - reinterpret_cast<char*>(data_begin)));
    std::memset(bss_begin, 0,
                static_cast<std::size_t>(reinterpret_cast<char*>(bss_end) - reinterpret_cast<char*>(bss_begin)));
    board::end(run_program());
}

void fault() { board::end(70); }
