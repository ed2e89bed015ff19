// SPDX-License-Identifier: BSD-3-Clause
// A file as bytes in memory that the system reads when they are used, and may forget again: for files of gigabytes.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#if defined(__unix__) || defined(__APPLE__)
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/core/error.hpp>
#include <zeropoint/io/text.hpp>
#include <zeropoint/io/whole_file.hpp>

namespace zp {
inline namespace v0 {

/// The bytes of a file, which are only read; they begin at a page, so that a packed image runs from them. Raises file_error, with the
/// system's reason, if it cannot be opened. Systems without mappings read it.
///
///     const zp::mapped_file file("decoder.safetensors");
///     const auto model = zp::load<network>(file.bytes(), "decoder.safetensors");  // no copy of the file
///
/// Who shortens a file that is mapped stops the program at the next byte that is read behind its end (SIGBUS): replace files as zp::save
/// does, whole.
class mapped_file {
public:
    [[gnu::cold]] explicit mapped_file(const std::string& path) {
#if defined(__unix__) || defined(__APPLE__)
        const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        if (descriptor < 0) fail(path);
        struct stat status;
        void* mapped = nullptr;
        bool is_mapped = ::fstat(descriptor, &status) == 0;
        if (is_mapped && !S_ISREG(status.st_mode)) errno = EINVAL, is_mapped = false;
        if (is_mapped && status.st_size != 0) {
            size_ = static_cast<std::size_t>(status.st_size);
            mapped = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
            is_mapped = mapped != MAP_FAILED;
        }
        const int reason = errno;
        ::close(descriptor);
        errno = reason;
        if (!is_mapped) fail(path);
        data_ = static_cast<const std::byte*>(mapped);
#else
        const auto all = read_whole_file(path);
        buffer_ = aligned_buffer(all.size());
        if (!all.empty()) std::memcpy(buffer_.data(), all.data(), all.size());
        data_ = buffer_.data();
        size_ = all.size();
#endif
    }
    mapped_file(mapped_file&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)),
          size_(std::exchange(other.size_, 0)),
          buffer_(std::move(other.buffer_)) {}
    mapped_file& operator=(mapped_file&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(buffer_, other.buffer_);
        return *this;
    }
    ~mapped_file() {
#if defined(__unix__) || defined(__APPLE__)
        if (size_ != 0) ::munmap(const_cast<std::byte*>(data_), size_);
#endif
    }

    /// All of the file, as long as this object is there.
    std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }

private:
    [[noreturn, gnu::cold]] static void fail(const std::string& path) {
        raise<file_error>(joined({path, ": cannot map the file: ", std::strerror(errno)}));
    }

    const std::byte* data_ = nullptr;
    std::size_t size_ = 0;
    aligned_buffer buffer_;  // where there are no mappings
};

}  // namespace v0
}  // namespace zp
