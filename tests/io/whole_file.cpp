#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

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
    CHECK_THROWS_WITH_AS(zp::write_whole_file(folder.file("target"), pattern(10)),
                         doctest::Contains("cannot write 10 bytes"), zp::file_error);
    CHECK(folder.count() == 1);
    CHECK_THROWS_AS(zp::write_whole_file(folder.file("no_folder") + "/f", pattern(10)), zp::file_error);
}
