// SPDX-License-Identifier: BSD-3-Clause
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <sys/stat.h>
#endif

#include <doctest/doctest.h>

#include <zeropoint/io/whole_file.hpp>

namespace fs = std::filesystem;

namespace {

/// A new, empty folder, gone at the end of the scope.
struct temporary_folder {
    fs::path path;
    explicit temporary_folder(const std::string& name) : path(fs::temp_directory_path() / ("zeropoint_test_" + name)) {
        fs::remove_all(path);
        fs::create_directories(path);
    }
    temporary_folder(const temporary_folder&) = delete;
    temporary_folder& operator=(const temporary_folder&) = delete;
    ~temporary_folder() { fs::remove_all(path); }

    std::string file(const std::string& name) const { return (path / name).string(); }
    std::size_t count() const {
        std::size_t files = 0;
        for ([[maybe_unused]] const auto& entry : fs::directory_iterator(path)) ++files;
        return files;
    }
};

std::vector<std::byte> pattern(std::size_t size) {
    std::vector<std::byte> bytes(size);
    for (std::size_t i = 0; i != size; ++i) bytes[i] = static_cast<std::byte>((i * 7 + (i >> 8)) & 0xff);
    return bytes;
}

}  // namespace

TEST_CASE("whole files: what is written is read, at sizes around the first block") {
    const temporary_folder folder("whole_file");
    for (const std::size_t size : {0u, 1u, 4095u, 4096u, 4097u, 8191u, 8192u, 8193u, 300'000u}) {
        zp::write_whole_file(folder.file("f"), pattern(size));
        CHECK(zp::read_whole_file(folder.file("f")) == pattern(size));
    }
    CHECK(folder.count() == 1);  // nothing temporary is left
}

TEST_CASE("whole files: paths are UTF-8 on every system, and what is there is replaced") {
    const temporary_folder folder("whole_file_utf8");
    const std::u8string name = u8"größe \u91CF \U0001F50A.bin";
    const fs::path path = folder.path / name;
    const std::u8string text = path.u8string();
    const std::string utf8(text.begin(), text.end());
    for (const std::size_t size : {10u, 70'000u, 3u}) {
        zp::write_whole_file(utf8, pattern(size));
        CHECK(fs::exists(path));
        CHECK(folder.count() == 1);
        CHECK(zp::read_whole_file(utf8) == pattern(size));
    }
}

TEST_CASE("whole files: a folder is not replaced by a file") {
    const temporary_folder folder("whole_file_folder");
    fs::create_directories(folder.path / "there");
    CHECK_THROWS_WITH_AS(zp::write_whole_file(folder.file("there"), pattern(3)), doctest::Contains("found a directory"),
                         zp::file_error);
    CHECK(fs::is_directory(folder.path / "there"));
    CHECK(folder.count() == 1);
}

TEST_CASE("whole files: names that other writers hold or left are not touched") {
    const temporary_folder folder("whole_file_taken");
    std::ofstream(folder.file("f.tmp0")) << "another writer's";
    zp::write_whole_file(folder.file("f"), pattern(10));
    CHECK(zp::read_whole_file(folder.file("f")) == pattern(10));
    CHECK(zp::read_whole_file(folder.file("f.tmp0")).size() == 16);
    CHECK(folder.count() == 2);
    for (int i = 1; i != 100; ++i) std::ofstream(folder.file("f.tmp" + std::to_string(i))) << i;
    CHECK_THROWS_WITH_AS(zp::write_whole_file(folder.file("f"), pattern(20)),
                         doctest::Contains("found 100 files left by interrupted writers: remove them"), zp::file_error);
    CHECK(zp::read_whole_file(folder.file("f")) == pattern(10));
}

TEST_CASE("whole files: a failed write leaves nothing behind") {
    const temporary_folder folder("whole_file_failed");
    fs::create_directories(folder.file("target") + "/not_empty");
    CHECK_THROWS_WITH_AS(zp::write_whole_file(folder.file("target"), pattern(10)), doctest::Contains("target: "),
                         zp::file_error);
    CHECK(folder.count() == 1);
    CHECK_THROWS_AS(zp::read_whole_file(folder.file("target")), zp::file_error);
    CHECK_THROWS_AS(zp::write_whole_file(folder.file("no_folder") + "/f", pattern(10)), zp::file_error);
}

#if defined(__linux__)
namespace {
fs::perms mode_of(const std::string& path) { return fs::status(path).permissions(); }
}  // namespace

TEST_CASE("whole files: the new file may be read by whom the old one could be") {
    const temporary_folder folder("whole_file_mode");
    zp::write_whole_file(folder.file("f"), pattern(10));
    const fs::perms usual = mode_of(folder.file("f"));
    for (const auto mode : {fs::perms{0600}, fs::perms{0640}, fs::perms{0755}}) {
        fs::permissions(folder.file("f"), mode);
        zp::write_whole_file(folder.file("f"), pattern(20));
        CHECK(mode_of(folder.file("f")) == mode);
    }
    zp::write_whole_file(folder.file("another"), pattern(10));
    CHECK(mode_of(folder.file("another")) == usual);
}

TEST_CASE("whole files: a symbolic link stays, and what it leads to is replaced") {
    const temporary_folder folder("whole_file_link");
    fs::create_directories(folder.file("there"));
    zp::write_whole_file(folder.file("there") + "/f", pattern(10));
    fs::create_symlink("there/f", folder.file("link"));
    zp::write_whole_file(folder.file("link"), pattern(20));
    CHECK(fs::is_symlink(folder.file("link")));
    CHECK(zp::read_whole_file(folder.file("there") + "/f") == pattern(20));
    fs::create_symlink("nowhere", folder.file("dangling"));
    CHECK_THROWS_WITH_AS(zp::write_whole_file(folder.file("dangling"), pattern(20)),
                         doctest::Contains("one that leads nowhere"), zp::file_error);
    CHECK(folder.count() == 3);
}

TEST_CASE("whole files: what is no file is not replaced") {
    const temporary_folder folder("whole_file_pipe");
    const std::string pipe = folder.file("pipe");
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    CHECK_THROWS_WITH_AS(
        zp::write_whole_file(pipe, pattern(10)),
        doctest::Contains("expected a file to replace, or nothing, found a device, a pipe or a socket"),
        zp::file_error);
    CHECK(fs::status(pipe).type() == fs::file_type::fifo);
    fs::create_directories(folder.file("folder"));
    CHECK_THROWS_WITH_AS(zp::write_whole_file(folder.file("folder"), pattern(10)),
                         doctest::Contains("found a directory"), zp::file_error);
    CHECK(folder.count() == 2);
}

TEST_CASE("whole files: a pipe is read to its end, whose place nobody knows before") {
    const temporary_folder folder("whole_file_from_pipe");
    const std::string pipe = folder.file("pipe");
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    std::thread writer([&] {
        std::ofstream to(pipe, std::ios::binary);
        const auto bytes = pattern(300'000);
        to.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    });
    CHECK(zp::read_whole_file(pipe) == pattern(300'000));
    writer.join();
}

TEST_CASE("whole files: programs that are started do not inherit an open file") {
    const temporary_folder folder("whole_file_inherited");
    zp::write_whole_file(folder.file("f"), pattern(10));
    const zp::file_stream stream(folder.file("f"), zp::file_access::read);
    int found = 0;
    for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
        std::error_code gone;
        if (fs::read_symlink(entry.path(), gone) != fs::path(folder.file("f"))) continue;
        ++found;
        std::ifstream info("/proc/self/fdinfo/" + entry.path().filename().string());
        std::string word;
        while (info >> word && word != "flags:") {}
        info >> word;
        CHECK((std::stoul(word, nullptr, 8) & 02000000u) != 0);  // O_CLOEXEC
    }
    CHECK(found == 1);
}
#endif
