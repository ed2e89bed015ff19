// SPDX-License-Identifier: BSD-3-Clause
// Files as Windows has them. Paths in UTF-8 become those of 16 bits here.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

#include <fcntl.h>
#include <io.h>
#include <sys/stat.h>

#include <zeropoint/io/system/file_status.hpp>

// Of <windows.h>, whose macros nobody wants who includes this: as it declares them.
extern "C" {
__declspec(dllimport) int __stdcall MoveFileExW(const wchar_t*, const wchar_t*, unsigned long);
__declspec(dllimport) int __stdcall MultiByteToWideChar(unsigned, unsigned long, const char*, int, wchar_t*, int);
__declspec(dllimport) unsigned long __stdcall GetFileAttributesW(const wchar_t*);
__declspec(dllimport) unsigned long __stdcall GetLastError(void);
__declspec(dllimport) void* __stdcall CreateFileMappingW(void*, struct _SECURITY_ATTRIBUTES*, unsigned long,
                                                         unsigned long, unsigned long, const wchar_t*);
__declspec(dllimport) void* __stdcall MapViewOfFile(
    void*, unsigned long, unsigned long, unsigned long,
    std::conditional_t<sizeof(void*) == 8, unsigned long long, unsigned long>);
__declspec(dllimport) int __stdcall UnmapViewOfFile(const void*);
__declspec(dllimport) int __stdcall CloseHandle(void*);
}

namespace zp::inline v0::windows_files {

[[gnu::cold]] inline std::wstring wide(const std::string& path) {
    constexpr unsigned utf8 = 65001;
    constexpr unsigned long refuse_invalid = 8;
    const int size = static_cast<int>(path.size());
    std::wstring text(
        static_cast<std::size_t>(MultiByteToWideChar(utf8, refuse_invalid, path.data(), size, nullptr, 0)), L' ');
    MultiByteToWideChar(utf8, refuse_invalid, path.data(), size, text.data(), static_cast<int>(text.size()));
    return text;  // empty where path is no UTF-8: no file has such a name
}
/// False, with errno as the system's last error means it.
[[gnu::cold]] inline bool failed() {
    errno = std::system_category().default_error_condition(static_cast<int>(GetLastError())).value();
    return false;
}

[[gnu::cold]] inline std::FILE* open(const std::string& path) { return ::_wfopen(wide(path).c_str(), L"rbN"); }
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
[[gnu::cold]] inline bool replace(const std::string& from, const std::string& to) {
    constexpr unsigned long over_existing = 1, written_through = 8;
    return MoveFileExW(wide(from).c_str(), wide(to).c_str(), over_existing | written_through) != 0 || failed();
}

[[gnu::cold]] inline file_status status_of(const std::string& path) {
    constexpr unsigned long nothing = 0xFFFFFFFF, directory = 0x10;
    const unsigned long attributes = GetFileAttributesW(wide(path).c_str());
    if (attributes == nothing) return {};
    return {(attributes & directory) != 0 ? file_kind::directory : file_kind::regular, path};
}
[[gnu::cold]] inline bool set_mode(std::FILE*, unsigned) { return true; }  // files have the rights of their folder

[[gnu::cold]] inline bool map(const std::string& path, std::span<const std::byte>& bytes) {
    constexpr unsigned long read_only_page = 2, read_view = 4;
    bytes = {};
    const int descriptor = ::_wopen(wide(path).c_str(), _O_RDONLY | _O_BINARY | _O_NOINHERIT);
    if (descriptor < 0) return false;
    const std::int64_t size = ::_filelengthi64(descriptor);
    bool is_mapped = std::in_range<std::size_t>(size);
    if (!is_mapped && size >= 0) errno = EFBIG;
    if (is_mapped && size != 0) {
        void* const file = reinterpret_cast<void*>(::_get_osfhandle(descriptor));
        void* const mapping = CreateFileMappingW(file, nullptr, read_only_page, 0, 0, nullptr);
        const void* const view = mapping == nullptr ? nullptr : MapViewOfFile(mapping, read_view, 0, 0, 0);
        is_mapped = view != nullptr || failed();
        if (mapping != nullptr) CloseHandle(mapping);  // the view keeps it
        if (is_mapped) bytes = {static_cast<const std::byte*>(view), static_cast<std::size_t>(size)};
    }
    const int reason = errno;
    ::_close(descriptor);
    errno = reason;
    return is_mapped;
}
[[gnu::cold]] inline void unmap(std::span<const std::byte> bytes) noexcept {
    if (!bytes.empty()) UnmapViewOfFile(bytes.data());
}

}  // namespace zp::inline v0::windows_files
