// SPDX-License-Identifier: BSD-3-Clause
// Memory of hundreds of megabytes that is gone through from end to end: on large pages, where the system has them.
#pragma once

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <cstddef>
#include <cstring>
#include <new>
#include <utility>

#include <zeropoint/core/aligned_buffer.hpp>

namespace zp::inline v0 {

/// Zero-initialized bytes as an aligned_buffer has them, at the boundary of a large page if there are several of these: prefetching ends at
/// the end of a page, and there are 512 times fewer ends. Moves leave the source empty.
class large_buffer {
public:
    explicit large_buffer(std::size_t size) : size_(size) {
        if (size == 0) return;
        data_ = static_cast<std::byte*>(::operator new(size, alignment()));
#if defined(__linux__) && defined(MADV_HUGEPAGE)
        if (has_large_pages())
            static_cast<void>(::madvise(data_, size, MADV_HUGEPAGE));  // a wish: no matter if refused
#endif
        std::memset(data_, 0, size);
    }
    large_buffer(large_buffer&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
    large_buffer& operator=(large_buffer&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        return *this;
    }
    ~large_buffer() {
        if (data_ != nullptr) ::operator delete(data_, alignment());
    }

    /// The first byte; null where it is empty.
    std::byte* data() noexcept { return data_; }
    const std::byte* data() const noexcept { return data_; }
    /// In bytes.
    std::size_t size() const noexcept { return size_; }

private:
    static constexpr std::size_t large_page = std::size_t{1} << 21;
    bool has_large_pages() const { return size_ >= 4 * large_page; }
    std::align_val_t alignment() const { return std::align_val_t{has_large_pages() ? large_page : buffer_alignment}; }

    std::byte* data_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace zp::inline v0
