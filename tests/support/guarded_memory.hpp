// Memory whose neighbours fault: a buffer that touches an unreadable page at its first or its last byte.
#pragma once

#include <cstddef>
#include <cstdlib>

#include <sys/mman.h>
#include <unistd.h>

namespace zp_test {

/// Which end of a buffer touches the unreadable page.
enum class guard { before, behind };

/// Room for one buffer at a time, between two unreadable pages: `place` gives a buffer of exactly `size` bytes, and a
/// read or a write one byte beyond its guarded end stops the program. Buffers need sizes that are multiples of their
/// alignment.
class guarded_memory {
public:
    explicit guarded_memory(std::size_t capacity) {
        const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        room_ = (capacity + page - 1) / page * page;
        mapped_ = room_ + 2 * page;
        void* const memory = mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) std::abort();
        begin_ = static_cast<std::byte*>(memory) + page;
        if (mprotect(begin_, room_, PROT_READ | PROT_WRITE) != 0) std::abort();
    }
    ~guarded_memory() { munmap(begin_ - (mapped_ - room_) / 2, mapped_); }
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
