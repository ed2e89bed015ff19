// SPDX-License-Identifier: BSD-3-Clause
// Every operator new and delete of a test program: counted, and failing when a test asks for it. Included by one file of a program.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <new>

namespace zp_test {

inline std::atomic<long> allocations = 0;                                 // so far
inline std::atomic<long> alive = 0;                                       // not yet released
inline std::atomic<long> until_fault = std::numeric_limits<long>::max();  // that succeed before one fails

inline constexpr std::size_t any_alignment = alignof(std::max_align_t);

/// Null where there is no memory.
inline void* allocate(std::size_t size, std::size_t alignment) noexcept {
    ++allocations;
    if (until_fault-- <= 0) return nullptr;
    size += size == 0;
    void* memory = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    alive += memory != nullptr;
    return memory;
}
inline void* allocate_or_throw(std::size_t size, std::size_t alignment) {
    void* memory = allocate(size, alignment);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}
inline void release(void* memory) noexcept {
    alive -= memory != nullptr;
    std::free(memory);
}

}  // namespace zp_test

// For the whole test program; every form is here, because a sanitizer's own forms would not match our delete.
[[gnu::noinline]] void* operator new(std::size_t size) {
    return zp_test::allocate_or_throw(size, zp_test::any_alignment);
}
[[gnu::noinline]] void* operator new[](std::size_t size) {
    return zp_test::allocate_or_throw(size, zp_test::any_alignment);
}
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment) {
    return zp_test::allocate_or_throw(size, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void* operator new[](std::size_t size, std::align_val_t alignment) {
    return zp_test::allocate_or_throw(size, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    return zp_test::allocate(size, zp_test::any_alignment);
}
[[gnu::noinline]] void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
    return zp_test::allocate(size, zp_test::any_alignment);
}
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
    return zp_test::allocate(size, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void* operator new[](std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
    return zp_test::allocate(size, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { zp_test::release(memory); }
[[gnu::noinline]] void operator delete[](void* memory) noexcept { zp_test::release(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { zp_test::release(memory); }
[[gnu::noinline]] void operator delete[](void* memory, std::size_t) noexcept { zp_test::release(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { zp_test::release(memory); }
[[gnu::noinline]] void operator delete[](void* memory, std::align_val_t) noexcept { zp_test::release(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
    zp_test::release(memory);
}
[[gnu::noinline]] void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
    zp_test::release(memory);
}
[[gnu::noinline]] void operator delete(void* memory, const std::nothrow_t&) noexcept { zp_test::release(memory); }
[[gnu::noinline]] void operator delete[](void* memory, const std::nothrow_t&) noexcept { zp_test::release(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
    zp_test::release(memory);
}
[[gnu::noinline]] void operator delete[](void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
    zp_test::release(memory);
}
