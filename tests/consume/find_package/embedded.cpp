// SPDX-License-Identifier: BSD-3-Clause
// A program that holds its own source: what zeropoint_embed() put into it is what lies on the disk.
#include <cstdint>
#include <cstdio>

#include <embedded.hpp>  // by zeropoint_embed(), which names it after the file

int main() {
    static_assert(decltype(embedded())::extent == embedded_bytes && embedded_bytes > 500);
    if (reinterpret_cast<std::uintptr_t>(embedded().data()) % 64 != 0) return std::puts("not at a 64-byte boundary"), 1;
    std::FILE* file = std::fopen(EMBEDDED_FILE, "rb");
    if (file == nullptr) return std::puts("no file"), 1;
    for (const std::byte byte : embedded())
        if (std::fgetc(file) != std::to_integer<int>(byte)) return std::puts("another byte"), 1;
    return std::fgetc(file) == EOF ? 0 : (std::puts("more bytes on the disk"), 1);
}
