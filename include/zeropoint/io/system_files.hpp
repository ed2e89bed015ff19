// SPDX-License-Identifier: BSD-3-Clause
// What systems do differently with files, under one name: POSIX, Windows, and what knows the C library alone.
#pragma once

#if defined(__unix__) || defined(__APPLE__)
#include <zeropoint/io/system/posix_files.hpp>
#elif defined(_WIN32)
#include <zeropoint/io/system/windows_files.hpp>
#else
#include <zeropoint/io/system/standard_files.hpp>
#endif

namespace zp::inline v0 {

/// Each has the same functions. Paths are UTF-8 on every system, and what fails leaves its reason in errno.
///
///     open(path), create(path)      a stream that no program which this one starts inherits: for reading, and for writing
///                                   where nothing stands yet, else errno is EEXIST
///     position, seek(stream)        of 64 bits where systems have that
///     flush_to_device(stream)       true also where the system cannot be asked to
///     flush_folder(path)            so that a new name in it outlasts a loss of power
///     remove(path)
///     replace(from, to)             renames, over a file that may be there: it is the old one or the new one for everybody
///     status_of(path), set_mode(stream, mode)
///     map(path, bytes), unmap(bytes)    a regular file as memory that is only read, from a page on
#if defined(__unix__) || defined(__APPLE__)
namespace system_files = posix_files;
#elif defined(_WIN32)
namespace system_files = windows_files;
#else
namespace system_files = standard_files;
#endif

}  // namespace zp::inline v0
