// SPDX-License-Identifier: BSD-3-Clause
// Memory whose neighbours fault: a buffer that touches an unreadable page at its first or its last byte.
#pragma once

#include <cstddef>
#include <cstdlib>

#if defined(_WIN32)
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>
#undef near  // macros for compilers of the eighties; names of tests
#undef far
#undef small
#else
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace zp_test {

/// Pages of the system that nobody may read, until some are opened.
struct closed_pages {
    static std::size_t size() {
#if defined(_WIN32)
        SYSTEM_INFO system;
        GetSystemInfo(&system);
        return system.dwPageSize;
#else
        return static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
#endif
    }
    static std::byte* map(std::size_t bytes) {
#if defined(_WIN32)
        void* const memory = VirtualAlloc(nullptr, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_NOACCESS);
        if (memory == nullptr) std::abort();
#else
        void* const memory = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) std::abort();
#endif
        return static_cast<std::byte*>(memory);
    }
    static void open(std::byte* begin, std::size_t bytes) {
#if defined(_WIN32)
        DWORD before = 0;
        if (VirtualProtect(begin, bytes, PAGE_READWRITE, &before) == 0) std::abort();
#else
        if (mprotect(begin, bytes, PROT_READ | PROT_WRITE) != 0) std::abort();
#endif
    }
    static void unmap(std::byte* memory, [[maybe_unused]] std::size_t bytes) {
#if defined(_WIN32)
        VirtualFree(memory, 0, MEM_RELEASE);
#else
        munmap(memory, bytes);
#endif
    }
};

/// Which end of a buffer touches the unreadable page.
enum class guard { before, behind };

/// Room for one buffer at a time, between two unreadable pages: `place` gives a buffer of exactly `size` bytes, and a
/// read or a write one byte beyond its guarded end stops the program. Buffers need sizes that are multiples of their
/// alignment.
class guarded_memory {
public:
    explicit guarded_memory(std::size_t capacity) {
        const std::size_t page = closed_pages::size();
        room_ = (capacity + page - 1) / page * page;
        mapped_ = room_ + 2 * page;
        begin_ = closed_pages::map(mapped_) + page;
        closed_pages::open(begin_, room_);
    }
    ~guarded_memory() { closed_pages::unmap(begin_ - (mapped_ - room_) / 2, mapped_); }
    guarded_memory(const guarded_memory&) = delete;
    guarded_memory& operator=(const guarded_memory&) = delete;

    /// A buffer of `size` bytes; nullptr where it has no room.
    std::byte* place(std::size_t size, guard end) const {
        if (size > room_) return nullptr;
        return end == guard::before ? begin_ : begin_ + (room_ - size);
    }

private:
    std::byte* begin_ = nullptr;
    std::size_t room_ = 0, mapped_ = 0;
};

}  // namespace zp_test
