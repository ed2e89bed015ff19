// SPDX-License-Identifier: BSD-3-Clause
// A file as bytes in memory that the system reads when they are used, and may forget again: for files of gigabytes.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include <zeropoint/core/error.hpp>
#include <zeropoint/io/system_files.hpp>
#include <zeropoint/io/text.hpp>

namespace zp::inline v0 {

/// The bytes of a file, which are only read; they begin at a page, so that a packed image runs from them. Raises file_error, with the
/// system's reason, if it cannot be opened. Systems without mappings read it.
///
///     const zp::mapped_file file("decoder.safetensors");
///     const auto model = zp::load<network>(file.bytes(), "decoder.safetensors");  // no copy of the file
///
/// Who shortens a file that is mapped stops the program at the next byte that is read behind its end (SIGBUS): replace files as zp::save
/// does, whole. Windows replaces none that is mapped: save() says so.
class mapped_file {
public:
    [[gnu::cold]] explicit mapped_file(const std::string& path) {
        if (!system_files::map(path, bytes_))
            raise<file_error>(joined({path, ": cannot map the file: ", std::strerror(errno)}));
    }
    mapped_file(mapped_file&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
    mapped_file& operator=(mapped_file&& other) noexcept {
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~mapped_file() { system_files::unmap(bytes_); }

    /// All of the file, as long as this object is there.
    std::span<const std::byte> bytes() const noexcept { return bytes_; }

private:
    std::span<const std::byte> bytes_;
};

}  // namespace zp::inline v0
