// SPDX-License-Identifier: BSD-3-Clause
// Memory for parameters and scratch, aligned for every vector width.
#pragma once

#include <cstddef>
#include <cstring>
#include <new>
#include <utility>

namespace zp::inline v0 {

/// In bytes: what kernels may load at once.
inline constexpr std::size_t buffer_alignment = 64;

/// Rounds a byte count up to the alignment of buffers, so that blocks laid one after another stay aligned.
constexpr std::size_t align_up(std::size_t bytes, std::size_t alignment = buffer_alignment) {
    return (bytes + alignment - 1) / alignment * alignment;
}

/// Zero-initialized bytes at a 64-byte boundary. A value: copies copy, moves leave the source empty.
class aligned_buffer {
public:
    /// Empty.
    aligned_buffer() = default;
    explicit aligned_buffer(std::size_t size) : data_(allocate(size)), size_(size) {
        if (size != 0) std::memset(data_, 0, size);
    }
    aligned_buffer(const aligned_buffer& other) : data_(allocate(other.size_)), size_(other.size_) {
        if (size_ != 0) std::memcpy(data_, other.data_, size_);
    }
    aligned_buffer(aligned_buffer&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
    // Two, so that a copy which finds no memory raises std::bad_alloc, and leaves what was there.
    aligned_buffer& operator=(const aligned_buffer& other) {
        if (this != &other) *this = aligned_buffer(other);
        return *this;
    }
    aligned_buffer& operator=(aligned_buffer&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        return *this;
    }
    ~aligned_buffer() {
        if (data_ != nullptr) ::operator delete (data_, std::align_val_t{buffer_alignment});
    }

    /// The first byte, at a multiple of 64; null where it is empty.
    std::byte* data() noexcept { return data_; }
    const std::byte* data() const noexcept { return data_; }
    /// In bytes.
    std::size_t size() const noexcept { return size_; }

private:
    static std::byte* allocate(std::size_t size) {
        if (size == 0) return nullptr;
        return static_cast<std::byte*>(::operator new (size, std::align_val_t{buffer_alignment}));
    }

    std::byte* data_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace zp::inline v0
