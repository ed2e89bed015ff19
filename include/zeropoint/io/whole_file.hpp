// Files as one block of bytes: read whole, and replaced whole or not at all.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <zeropoint/core/error.hpp>
#include <zeropoint/io/text.hpp>

namespace zp {
inline namespace v0 {

/// An open C stream. The C library does here what <filesystem> and <fstream> would, at a tenth of their compile time.
class file_stream {
public:
    file_stream(const std::string& path, const char* mode) : stream_(std::fopen(path.c_str(), mode)) {}
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
        const long here = std::ftell(stream_);
        if (here < 0 || std::fseek(stream_, 0, SEEK_END) != 0) return 0;
        const long end = std::ftell(stream_);
        if (std::fseek(stream_, here, SEEK_SET) != 0 || end < here) return 0;
        return static_cast<std::size_t>(end - here);
    }
    /// False if what was written could not be handed to the system.
    bool close() {
        std::FILE* stream = stream_;
        stream_ = nullptr;
        return stream == nullptr || std::fclose(stream) == 0;
    }

private:
    std::FILE* stream_;
};

/// All bytes of a file (or a pipe). Raises file_error, with the system's reason, if it cannot be opened or read.
[[gnu::cold]] inline std::vector<std::byte> read_whole_file(const std::string& path) {
    file_stream stream(path, "rb");
    if (!stream.is_open()) raise<file_error>(joined({path, ": cannot open the file: ", std::strerror(errno)}));
    // A first small read fails on a directory, whose size would be nonsense; then one allocation takes the rest.
    std::vector<std::byte> bytes(4096);
    std::size_t size = stream.read(bytes.data(), bytes.size());
    if (size == bytes.size()) bytes.resize(size + stream.remaining() + 1);
    while (true) {
        size += stream.read(bytes.data() + size, bytes.size() - size);
        if (size != bytes.size() || stream.failed()) break;
        bytes.resize(2 * size);
    }
    if (stream.failed()) raise<file_error>(joined({path, ": cannot read the file: ", std::strerror(errno)}));
    bytes.resize(size);
    return bytes;
}

/// Replaces the file at `path` by `bytes`. They are written beside it under a name of their own ("<path>.tmp0") and
/// then renamed, so that a reader, or a crash of this program, meets the old file or the new one. Raises file_error.
[[gnu::cold]] inline void write_whole_file(const std::string& path, std::span<const std::byte> bytes) {
    constexpr int attempts = 100;  // names taken by other writers, or left by one that was killed
    for (int attempt = 0; attempt != attempts; ++attempt) {
        const std::string temporary = path + ".tmp" + std::to_string(attempt);
        file_stream stream(temporary, "wbx");
        if (!stream.is_open()) {
            if (errno == EEXIST) continue;
            raise<file_error>(joined({path, ": cannot create ", temporary, " beside it: ", std::strerror(errno)}));
        }
        const bool written = stream.write(bytes) == bytes.size();
        const bool flushed = stream.close() && written;
#if defined(_WIN32)
        if (flushed) std::remove(path.c_str());  // rename does not replace there
#endif
        if (flushed && std::rename(temporary.c_str(), path.c_str()) == 0) return;
        const std::string reason = std::strerror(errno);
        std::remove(temporary.c_str());
        raise<file_error>(joined({path, ": cannot write ", decimal(bytes.size()), " bytes: ", reason}));
    }
    raise<file_error>(joined({path, ": expected a free name from ", path, ".tmp0 on, found ", std::to_string(attempts),
                              " files left by interrupted writers: remove them"}));
}

}  // namespace v0
}  // namespace zp
