// SPDX-License-Identifier: BSD-3-Clause
// Files as POSIX has them.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zeropoint/io/system/file_status.hpp>

namespace zp::inline v0::posix_files {

[[gnu::cold]] inline std::FILE* open(const std::string& path) { return std::fopen(path.c_str(), "rbe"); }
[[gnu::cold]] inline std::FILE* create(const std::string& path) { return std::fopen(path.c_str(), "wbxe"); }
[[gnu::cold]] inline std::int64_t position(std::FILE* stream) { return std::ftell(stream); }
[[gnu::cold]] inline bool seek(std::FILE* stream, std::int64_t offset, int origin) {
    return std::fseek(stream, static_cast<long>(offset), origin) == 0;
}

[[gnu::cold]] inline bool flush_to_device(std::FILE* stream) {
    return ::fsync(::fileno(stream)) == 0 || errno == EINVAL || errno == ENOTSUP;  // of what cannot be asked to
}
[[gnu::cold]] inline void flush_folder(const std::string& folder) noexcept {
    const int descriptor = ::open(folder.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return;
    ::fsync(descriptor);
    ::close(descriptor);
}

[[gnu::cold]] inline void remove(const std::string& path) { std::remove(path.c_str()); }
[[gnu::cold]] inline bool replace(const std::string& from, const std::string& to) {
    return std::rename(from.c_str(), to.c_str()) == 0;
}

[[gnu::cold]] inline file_status status_of(const std::string& path) {
    struct stat found;
    if (::lstat(path.c_str(), &found) != 0) return {};  // or what cannot be written to: that will be told then
    file_status status{file_kind::device, path};
    if (S_ISLNK(found.st_mode)) {
        struct allocated {
            char* path;
            ~allocated() { std::free(path); }
        } const target{::realpath(path.c_str(), nullptr)};
        if (target.path == nullptr || ::stat(target.path, &found) != 0) return {file_kind::dangling_link, path};
        status.path = target.path;
    }
    if (S_ISREG(found.st_mode)) status.kind = file_kind::regular;
    if (S_ISDIR(found.st_mode)) status.kind = file_kind::directory;
    status.mode = found.st_mode & 07777;
    return status;
}
[[gnu::cold]] inline bool set_mode(std::FILE* stream, unsigned mode) {
    return ::fchmod(::fileno(stream), static_cast<mode_t>(mode)) == 0;
}

inline bool fits_memory(off_t size) { return size >= 0 && static_cast<off_t>(static_cast<std::size_t>(size)) == size; }
[[gnu::cold]] inline bool map(const std::string& path, std::span<const std::byte>& bytes) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return false;
    struct stat found;
    bool is_mapped = ::fstat(descriptor, &found) == 0;
    if (is_mapped && !S_ISREG(found.st_mode)) errno = EINVAL, is_mapped = false;
    if (is_mapped && !fits_memory(found.st_size)) errno = EFBIG, is_mapped = false;
    bytes = {};
    if (is_mapped && found.st_size != 0) {
        const auto size = static_cast<std::size_t>(found.st_size);
        void* const mapped = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        is_mapped = mapped != MAP_FAILED;
        if (is_mapped) bytes = {static_cast<const std::byte*>(mapped), size};
    }
    const int reason = errno;
    ::close(descriptor);
    errno = reason;
    return is_mapped;
}
[[gnu::cold]] inline void unmap(std::span<const std::byte> bytes) noexcept {
    if (!bytes.empty()) ::munmap(const_cast<std::byte*>(bytes.data()), bytes.size());
}

}  // namespace zp::inline v0::posix_files
