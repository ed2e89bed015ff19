// SPDX-License-Identifier: BSD-3-Clause
// Files as the C library alone has them: no links, no modes, nothing brought to a device, and mappings that are copies.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <new>
#include <span>
#include <string>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/io/system/file_status.hpp>

namespace zp::inline v0::standard_files {

[[gnu::cold]] inline std::FILE* open(const std::string& path) { return std::fopen(path.c_str(), "rb"); }
[[gnu::cold]] inline std::FILE* create(const std::string& path) { return std::fopen(path.c_str(), "wbx"); }
[[gnu::cold]] inline std::int64_t position(std::FILE* stream) { return std::ftell(stream); }
[[gnu::cold]] inline bool seek(std::FILE* stream, std::int64_t offset, int origin) {
    return std::fseek(stream, static_cast<long>(offset), origin) == 0;
}

[[gnu::cold]] inline bool flush_to_device(std::FILE*) { return true; }
[[gnu::cold]] inline void flush_folder(const std::string&) noexcept {}

[[gnu::cold]] inline void remove(const std::string& path) { std::remove(path.c_str()); }
[[gnu::cold]] inline bool replace(const std::string& from, const std::string& to) {
    return std::rename(from.c_str(), to.c_str()) == 0;
}

[[gnu::cold]] inline file_status status_of(const std::string&) { return {}; }
[[gnu::cold]] inline bool set_mode(std::FILE*, unsigned) { return true; }

[[gnu::cold]] inline void unmap(std::span<const std::byte> bytes) noexcept {
    if (!bytes.empty())
        // without the size, which Clang takes from version 19 on
        ::operator delete (const_cast<std::byte*>(bytes.data()), std::align_val_t{buffer_alignment});
}
[[gnu::cold]] inline bool map(const std::string& path, std::span<const std::byte>& bytes) {
    bytes = {};
    std::FILE* const stream = open(path);
    if (stream == nullptr) return false;
    const std::int64_t end = seek(stream, 0, SEEK_END) ? position(stream) : -1;
    bool is_read = end >= 0 && seek(stream, 0, SEEK_SET);
    if (is_read && end != 0) {
        const auto size = static_cast<std::size_t>(end);
        auto* const copy =
            static_cast<std::byte*>(::operator new (size, std::align_val_t{buffer_alignment}, std::nothrow));
        is_read = copy != nullptr;
        if (!is_read) errno = ENOMEM;
        if (is_read) {
            bytes = {copy, size};
            is_read = std::fread(copy, 1, size, stream) == size;
        }
    }
    const int reason = errno;
    std::fclose(stream);
    if (!is_read) {
        unmap(bytes);
        bytes = {};
        errno = reason;
    }
    return is_read;
}

}  // namespace zp::inline v0::standard_files
