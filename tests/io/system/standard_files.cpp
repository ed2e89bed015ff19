// SPDX-License-Identifier: BSD-3-Clause
// What a system does with files beside what the C library alone does, which no system here is left to.
#include <doctest/doctest.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <zeropoint/io/system/standard_files.hpp>
#include <zeropoint/io/system_files.hpp>

namespace {

namespace fs = std::filesystem;

/// The functions of each, as objects.
struct [[maybe_unused]] standard {
    static constexpr auto open = zp::standard_files::open, create = zp::standard_files::create;
    static constexpr auto position = zp::standard_files::position;
    static constexpr auto seek = zp::standard_files::seek;
    static constexpr auto replace = zp::standard_files::replace;
    static constexpr auto remove = zp::standard_files::remove;
    static constexpr auto map = zp::standard_files::map;
    static constexpr auto unmap = zp::standard_files::unmap;
};
struct own {
    static constexpr auto open = zp::system_files::open, create = zp::system_files::create;
    static constexpr auto position = zp::system_files::position;
    static constexpr auto seek = zp::system_files::seek;
    static constexpr auto replace = zp::system_files::replace;
    static constexpr auto remove = zp::system_files::remove;
    static constexpr auto map = zp::system_files::map;
    static constexpr auto unmap = zp::system_files::unmap;
};

}  // namespace

#if defined(_WIN32)  // whose C library has no streams of files that must be new
#define ZEROPOINT_SYSTEMS own
#else
#define ZEROPOINT_SYSTEMS own, standard
#endif
TEST_CASE_TEMPLATE("system files: made, mapped and replaced", System, ZEROPOINT_SYSTEMS) {
    const std::string path = (fs::temp_directory_path() / "zeropoint_system_files").string();
    const std::string other = path + ".other";
    fs::remove(path);
    fs::remove(other);
    std::span<const std::byte> bytes;
    CHECK_FALSE(System::map(path, bytes));
    CHECK(errno == ENOENT);
    CHECK(System::open(path) == nullptr);
    for (const std::size_t size : {0u, 1u, 70'000u}) {
        std::vector<std::byte> written(size);
        for (std::size_t i = 0; i != size; ++i) written[i] = static_cast<std::byte>(i * 7 + 1);
        std::FILE* const stream = System::create(other);
        REQUIRE(stream != nullptr);
        CHECK(std::fwrite(written.data(), 1, size, stream) == size);
        CHECK(System::position(stream) == static_cast<std::int64_t>(size));
        CHECK(System::seek(stream, 0, SEEK_SET));
        CHECK(System::position(stream) == 0);
        CHECK_FALSE(System::seek(stream, -1, SEEK_SET));
        std::fclose(stream);
        errno = 0;
        CHECK(System::create(other) == nullptr);
        CHECK(errno == EEXIST);
        REQUIRE(System::replace(other, path));
        CHECK_FALSE(System::replace(other, path));  // there is none
        REQUIRE(System::map(path, bytes));
        CHECK(std::ranges::equal(bytes, written));
        System::unmap(bytes);
    }
    errno = 0;
    CHECK_FALSE(System::map(fs::temp_directory_path().string(), bytes));
    CHECK(errno != 0);
    CHECK(bytes.empty());
    System::remove(path);
    CHECK(System::open(path) == nullptr);
}

TEST_CASE("system files: what stands at a path, and where links lead") {
    const fs::path folder = fs::temp_directory_path() / "zeropoint_system_status";
    fs::remove_all(folder);
    fs::create_directories(folder);
    const std::string path = (folder / "file").string();
    CHECK(zp::system_files::status_of(path).kind == zp::file_kind::nothing);
    std::fclose(zp::system_files::create(path));
    CHECK(zp::system_files::status_of(path).kind == zp::file_kind::regular);
    CHECK(zp::system_files::status_of(path).path == path);
    CHECK(zp::system_files::status_of(folder.string()).kind == zp::file_kind::directory);
#if defined(__unix__) || defined(__APPLE__)
    const fs::path link = folder / "link";
    fs::create_symlink(path, link);
    CHECK(zp::system_files::status_of(link.string()).kind == zp::file_kind::regular);
    CHECK(zp::system_files::status_of(link.string()).path == fs::canonical(path).string());
    fs::remove(path);
    CHECK(zp::system_files::status_of(link.string()).kind == zp::file_kind::dangling_link);
    CHECK(zp::system_files::status_of("/dev/null").kind == zp::file_kind::device);
#endif
    fs::remove_all(folder);
}
