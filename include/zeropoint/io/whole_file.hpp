// SPDX-License-Identifier: BSD-3-Clause
// Files as one block of bytes: read from their beginning, and replaced whole or not at all.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <zeropoint/core/error.hpp>
#include <zeropoint/core/function_ref.hpp>
#include <zeropoint/io/system_files.hpp>
#include <zeropoint/io/text.hpp>

namespace zp::inline v0 {

/// Whether a file is read, or made where nothing stands.
enum class file_access { read, create };

/// An open C stream. The C library does here what <filesystem> and <fstream> would, at a tenth of their compile time. Paths are
/// UTF-8. Programs that this one starts do not inherit it.
class file_stream {
public:
    file_stream(const std::string& path, file_access access)
        : stream_(access == file_access::read ? system_files::open(path) : system_files::create(path)) {}
    file_stream(const file_stream&) = delete;
    file_stream& operator=(const file_stream&) = delete;
    ~file_stream() { close(); }

    bool is_open() const { return stream_ != nullptr; }
    std::size_t read(std::byte* target, std::size_t size) { return std::fread(target, 1, size, stream_); }
    std::size_t write(std::span<const std::byte> bytes) {
        return bytes.empty() ? 0 : std::fwrite(bytes.data(), 1, bytes.size(), stream_);  // which takes no null pointer
    }
    bool failed() const { return std::ferror(stream_) != 0; }
    /// Bytes from the current position to the end where the stream can seek, otherwise 0.
    std::size_t remaining() {
        const std::int64_t here = system_files::position(stream_);
        if (here < 0 || !system_files::seek(stream_, 0, SEEK_END)) return 0;
        const std::int64_t end = system_files::position(stream_);
        if (!system_files::seek(stream_, here, SEEK_SET) || end < here) return 0;
        return static_cast<std::size_t>(end - here);
    }
    /// False if what was written could not be brought to the device, where the system can be asked to.
    bool flush() { return std::fflush(stream_) == 0 && system_files::flush_to_device(stream_); }
    /// False if what was written could not be handed to the system.
    bool close() {
        std::FILE* stream = stream_;
        stream_ = nullptr;
        return stream == nullptr || std::fclose(stream) == 0;
    }
    /// True also where files have no modes.
    bool set_mode(unsigned mode) { return system_files::set_mode(stream_, mode); }

private:
    std::FILE* stream_;
};

/// What bytes come from, in order: a file, a pipe, or memory.
struct byte_source {
    static constexpr std::uint64_t unknown = std::numeric_limits<std::uint64_t>::max();

    function_ref<std::size_t(std::byte* target, std::size_t size)> read;  // fewer than size at the end alone
    std::uint64_t size = unknown;                                         // of all of it, or unknown as a pipe's
    const std::byte* memory = nullptr;  // where all of it lies, if it stays there as long as what is made of it

    /// The next bytes, fewer where they end before. Where the size is not known, no more memory is taken than twice what came.
    template <class = void> std::vector<std::byte> next(std::uint64_t count) const {
        constexpr std::size_t block = 65536;
        std::vector<std::byte> bytes;
        while (bytes.size() != count) {
            const std::size_t have = bytes.size();
            const std::uint64_t rest = count - have;
            const std::uint64_t step = size != unknown ? rest : std::min<std::uint64_t>(rest, std::max(have, block));
            bytes.resize(have + static_cast<std::size_t>(step));
            const std::size_t came = read(bytes.data() + have, static_cast<std::size_t>(step));
            if (came == step) continue;
            bytes.resize(have + came);
            break;
        }
        return bytes;
    }
};

/// Calls `use(source)` with the bytes of a file or a pipe, from the first on; they are read as they are asked for. Raises file_error,
/// with the system's reason, if it cannot be opened or read.
template <class Use> [[gnu::cold]] auto with_file(const std::string& path, Use&& use) {
    file_stream stream(path, file_access::read);
    if (!stream.is_open()) raise<file_error>(joined({path, ": cannot open the file: ", std::strerror(errno)}));
    const auto read = [&](std::byte* target, std::size_t size) {
        const std::size_t count = stream.read(target, size);
        if (stream.failed()) raise<file_error>(joined({path, ": cannot read the file: ", std::strerror(errno)}));
        return count;
    };
    const std::size_t size = stream.remaining();
    return use(byte_source{read, size == 0 ? byte_source::unknown : std::uint64_t{size}});
}

/// All bytes of a file (or a pipe). Raises file_error, with the system's reason, if it cannot be opened or read.
template <class = void> [[gnu::cold]] std::vector<std::byte> read_whole_file(const std::string& path) {
    return with_file(path, [](const byte_source& source) {
        std::vector<std::byte> bytes =
            source.next(1);  // of a directory, whose size would be nonsense, not even that can be read
        if (bytes.empty()) return bytes;
        const std::vector<std::byte> rest =
            source.next(source.size == byte_source::unknown ? source.size : source.size - 1);
        bytes.resize(1 + rest.size());
        if (!rest.empty()) std::memcpy(bytes.data() + 1, rest.data(), rest.size());
        return bytes;
    });
}

/// What a file that is to be written replaces: where it lies, and who may read it.
struct file_to_replace {
    std::string path;
    bool exists = false;
    unsigned mode = 0;  // of one that exists

    /// Follows symbolic links. Raises file_error where something stands there that is no file: a device, a pipe, a directory.
    [[gnu::cold]] static file_to_replace at(const std::string& path) {
        const file_status found = system_files::status_of(path);
        if (found.kind == file_kind::nothing) return {path};
        if (found.kind == file_kind::dangling_link)
            raise<file_error>(joined(
                {path, ": expected a symbolic link to a file, found one that leads nowhere: ", std::strerror(errno)}));
        if (found.kind != file_kind::regular)
            raise<file_error>(
                joined({path, ": expected a file to replace, or nothing, found ",
                        found.kind == file_kind::directory ? "a directory" : "a device, a pipe or a socket",
                        ": write to another path"}));
        return {found.path, true, found.mode};
    }
    std::string folder() const {
        const std::size_t slash = path.rfind('/');
        return slash == std::string::npos ? "." : path.substr(0, slash + 1);
    }
};

/// Replaces the file at `path` by `bytes`. They are written beside it under a name of their own ("<path>.tmp0"), brought to the
/// device and then renamed, so that a reader, a crash of this program or a loss of power meets the old file or the new one.
/// The new one may be read and written by whom the old one could be; a symbolic link stays, and what it leads to is replaced. Raises
/// file_error, also where no file stands at the path: a device or a pipe is never replaced.
template <class = void> [[gnu::cold]] void write_whole_file(const std::string& path, std::span<const std::byte> bytes) {
    constexpr int attempts = 100;  // names taken by other writers, or left by one that was killed
    const file_to_replace old = file_to_replace::at(path);
    const std::string folder = old.folder();  // here, as nothing may fail behind the renaming
    for (int attempt = 0; attempt != attempts; ++attempt) {
        const std::string temporary = old.path + ".tmp" + std::to_string(attempt);
        file_stream stream(temporary, file_access::create);
        if (!stream.is_open()) {
            if (errno == EEXIST) continue;
            raise<file_error>(joined({path, ": cannot create ", temporary, " beside it: ", std::strerror(errno)}));
        }
        const bool is_private = !old.exists || stream.set_mode(old.mode);
        const bool written = is_private && stream.write(bytes) == bytes.size() && stream.flush();
        const bool closed = stream.close() && written;
        if (closed && system_files::replace(temporary, old.path)) return system_files::flush_folder(folder);
        const std::string reason = std::strerror(errno);
        system_files::remove(temporary);
        raise<file_error>(joined({path, ": cannot write ", decimal(bytes.size()), " bytes: ", reason}));
    }
    raise<file_error>(joined({path, ": expected a free name from ", old.path, ".tmp0 on, found ",
                              std::to_string(attempts), " files left by interrupted writers: remove them"}));
}

}  // namespace zp::inline v0
