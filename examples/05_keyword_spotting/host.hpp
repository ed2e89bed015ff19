// SPDX-License-Identifier: BSD-3-Clause
// What board/board.hpp is for the machine that builds: text goes to stdout, and nothing is measured.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace board {

inline void print(const char* text) { std::fputs(text, stdout); }
inline void start_clock() {}
inline std::uint32_t ticks() { return 0; }
inline void paint_stack() {}
inline std::size_t used_stack() { return 0; }

}  // namespace board
