// SPDX-License-Identifier: BSD-3-Clause
// What systems do differently with files: POSIX, Windows, and what knows the C library alone.
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <string>

#if defined(__unix__) || defined(__APPLE__)
#include <fcntl.h>
#include <unistd.h>
#elif defined(_WIN32)
#include <fcntl.h>
#include <io.h>
#include <sys/stat.h>
#include <system_error>

// Of <windows.h>, whose macros nobody wants who includes this: as it declares them.
extern "C" {
__declspec(dllimport) int __stdcall MoveFileExW(const wchar_t*, const wchar_t*, unsigned long);
__declspec(dllimport) int __stdcall MultiByteToWideChar(unsigned, unsigned long, const char*, int, wchar_t*, int);
__declspec(dllimport) unsigned long __stdcall GetFileAttributesW(const wchar_t*);
__declspec(dllimport) unsigned long __stdcall GetLastError(void);
}
#endif

namespace zp {
inline namespace v0 {

/// Paths are UTF-8 on every system. What fails leaves its reason in errno.
namespace system_files {
#if defined(_WIN32)

[[gnu::cold]] inline std::wstring wide(const std::string& path) {
    constexpr unsigned utf8 = 65001;
    constexpr unsigned long refuse_invalid = 8;
    const int size = static_cast<int>(path.size());
    std::wstring text(
        static_cast<std::size_t>(MultiByteToWideChar(utf8, refuse_invalid, path.data(), size, nullptr, 0)), L' ');
    MultiByteToWideChar(utf8, refuse_invalid, path.data(), size, text.data(), static_cast<int>(text.size()));
    return text;  // empty where path is no UTF-8: no file has such a name
}
/// For reading. No program that this one starts inherits it.
[[gnu::cold]] inline std::FILE* open(const std::string& path) { return ::_wfopen(wide(path).c_str(), L"rbN"); }
/// For writing; errno is EEXIST where something stands there.
[[gnu::cold]] inline std::FILE* create(const std::string& path) {
    const int descriptor =
        ::_wopen(wide(path).c_str(), _O_WRONLY | _O_CREAT | _O_EXCL | _O_BINARY | _O_NOINHERIT, _S_IREAD | _S_IWRITE);
    return descriptor < 0 ? nullptr : ::_fdopen(descriptor, "wb");
}
[[gnu::cold]] inline std::int64_t position(std::FILE* stream) { return ::_ftelli64(stream); }
[[gnu::cold]] inline bool seek(std::FILE* stream, std::int64_t offset, int origin) {
    return ::_fseeki64(stream, offset, origin) == 0;
}
[[gnu::cold]] inline bool flush_to_device(std::FILE* stream) { return ::_commit(::_fileno(stream)) == 0; }
[[gnu::cold]] inline void flush_folder(const std::string&) noexcept {}  // replace() writes through
[[gnu::cold]] inline void remove(const std::string& path) { ::_wremove(wide(path).c_str()); }
/// Renames, over a file that may be there: it is the old one or the new one for everybody.
[[gnu::cold]] inline bool replace(const std::string& from, const std::string& to) {
    constexpr unsigned long over_existing = 1, written_through = 8;
    if (MoveFileExW(wide(from).c_str(), wide(to).c_str(), over_existing | written_through) != 0) return true;
    errno = std::system_category().default_error_condition(static_cast<int>(GetLastError())).value();
    return false;
}
[[gnu::cold]] inline bool is_folder(const std::string& path) {
    constexpr unsigned long nothing = 0xFFFFFFFF, directory = 0x10;
    const unsigned long attributes = GetFileAttributesW(wide(path).c_str());
    return attributes != nothing && (attributes & directory) != 0;
}
#else

[[gnu::cold]] inline std::FILE* open(const std::string& path) {
#if defined(__unix__) || defined(__APPLE__)
    return std::fopen(path.c_str(), "rbe");
#else
    return std::fopen(path.c_str(), "rb");
#endif
}
[[gnu::cold]] inline std::FILE* create(const std::string& path) {
#if defined(__unix__) || defined(__APPLE__)
    return std::fopen(path.c_str(), "wbxe");
#else
    return std::fopen(path.c_str(), "wbx");
#endif
}
[[gnu::cold]] inline std::int64_t position(std::FILE* stream) { return std::ftell(stream); }
[[gnu::cold]] inline bool seek(std::FILE* stream, std::int64_t offset, int origin) {
    return std::fseek(stream, static_cast<long>(offset), origin) == 0;
}
/// True also where the system cannot be asked to.
[[gnu::cold]] inline bool flush_to_device([[maybe_unused]] std::FILE* stream) {
#if defined(__unix__) || defined(__APPLE__)
    if (::fsync(::fileno(stream)) != 0) return errno == EINVAL || errno == ENOTSUP;
#endif
    return true;
}
/// So that a new name in it outlasts a loss of power, where systems have that.
[[gnu::cold]] inline void flush_folder([[maybe_unused]] const std::string& folder) noexcept {
#if defined(__unix__) || defined(__APPLE__)
    const int descriptor = ::open(folder.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return;
    ::fsync(descriptor);
    ::close(descriptor);
#endif
}
[[gnu::cold]] inline void remove(const std::string& path) { std::remove(path.c_str()); }
[[gnu::cold]] inline bool replace(const std::string& from, const std::string& to) {
    return std::rename(from.c_str(), to.c_str()) == 0;
}
#endif
}  // namespace system_files

}  // namespace v0
}  // namespace zp
