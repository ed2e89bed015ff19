// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/io/safetensors.hpp>

#include "damage.hpp"

using doctest::Contains;
using zp::file_dtype;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

zp::safetensors_file reopened(const zp::safetensors_writer& writer) {
    return zp::safetensors_file::parse(writer.bytes(), "f.safetensors");
}

/// A file with the one tensor "w".
template <class T> zp::safetensors_file file_of(const std::vector<T>& values) {
    zp::safetensors_writer writer;
    writer.add("w", {static_cast<std::int64_t>(values.size())}, values);
    return reopened(writer);
}

}  // namespace

static_assert(!std::is_copy_constructible_v<zp::safetensors_file>);  // its tensors would view the bytes of the original
static_assert(std::is_nothrow_move_constructible_v<zp::safetensors_file>);

TEST_CASE("safetensors_file: tensors come in the order of their data and are found by name") {
    const std::string header =
        "{\"z\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]},\"e2\":{\"dtype\":\"F32\",\"shape\":[0,7],"
        "\"data_offsets\":[1,1]},\"e1\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[1,1]},"
        "\"a\":{\"dtype\":\"I8\",\"shape\":[1],\"data_offsets\":[0,1]}}";
    const auto file = zp::safetensors_file::parse(damage::file_with(header, 3), "f.safetensors");
    std::string names;
    for (const auto& tensor : file.tensors()) names += tensor.name + " ";
    CHECK(names == "a e1 e2 z ");
    REQUIRE(file.find("z") == &file.tensors()[3]);
    CHECK(file.find("z")->bytes[1] == std::byte{2});
    CHECK(file.find("z")->size() == 2);
    CHECK(file.find("e2")->size() == 0);
    CHECK(file.find("e2")->shape == zp::file_shape{0, 7});
    CHECK(file.find("") == nullptr);
    CHECK(file.find("zz") == nullptr);
    CHECK(file.metadata().empty());
    CHECK(file.source_name() == "f.safetensors");
}

TEST_CASE("safetensors_file: fields in any order, white space, metadata anywhere") {
    const std::string header =
        "{ \"w\"\t:\r\n{ \"shape\" : [ 1 , 2 ] , \"data_offsets\" : [ 0 , 2 ] , \"dtype\" : \"\\u0055\\u0038\" } , "
        "\"__metadata__\" : { \"k\" : \"v\" , \"\" : \"\" } } \n ";
    const auto file = zp::safetensors_file::parse(damage::file_with(header, 2), "f.safetensors");
    CHECK(file.expect("w", file_dtype::U8, {1, 2}).size() == 2);
    CHECK(file.expect_metadata("k") == "v");
    CHECK(file.expect_metadata("").empty());
    CHECK_THROWS_WITH_AS(file.expect_metadata("version"),
                         "f.safetensors: expected metadata \"version\", found none among 2 keys", zp::file_error);
    CHECK(zp::safetensors_file::parse(damage::file_with("{}"), "f").tensors().empty());
}

TEST_CASE("safetensors_file: tensors stay valid when the file moves") {
    auto file = file_of(std::vector<std::int16_t>{1, -2, 3});
    const zp::file_tensor* tensor = file.find("w");
    const auto moved = std::move(file);
    CHECK(moved.find("w") == tensor);
    CHECK(moved.values<std::int16_t>(*tensor) == std::vector<std::int16_t>{1, -2, 3});
}

TEST_CASE("safetensors_file: expect names the tensor, what was expected and what was found") {
    zp::safetensors_writer writer;
    writer.add("conv1.weight", {2, 1}, std::vector<float>{1, 2});
    writer.add("codes", {3}, std::vector<std::int8_t>{1, 2, 3});
    const auto file = reopened(writer);
    CHECK(&file.expect("conv1.weight", file_dtype::F32, {2, 1}) == file.find("conv1.weight"));
    CHECK_THROWS_WITH_AS(file.expect("conv1.weight", file_dtype::F32, {1, 2}),
                         "f.safetensors: tensor \"conv1.weight\": expected F32 [1, 2], found F32 [2, 1]",
                         zp::file_error);
    CHECK_THROWS_WITH_AS(file.expect("conv1.weight", file_dtype::I32, {2, 1}),
                         "f.safetensors: tensor \"conv1.weight\": expected I32 [2, 1], found F32 [2, 1]",
                         zp::file_error);
    CHECK_THROWS_WITH_AS(file.expect_floating("codes", {3}),
                         "f.safetensors: tensor \"codes\": expected F32, F64, F16 or BF16 [3], found I8 [3]",
                         zp::file_error);
    CHECK_THROWS_WITH_AS(file.finite_floats("conv1.weight", {2}), Contains("expected F32, F64, F16 or BF16 [2], found"),
                         zp::file_error);
}

TEST_CASE("safetensors_file: a missing tensor lists the names that come nearest") {
    zp::safetensors_writer writer;
    const std::vector<float> one{1};
    for (int i = 10; i != 30; ++i) writer.add(zp::joined({"layer", std::to_string(i), ".running_mean"}), {1}, one);
    writer.add("module.conv1.weight", {1}, one);
    writer.add("conv2.weight", {1}, one);
    const auto file = reopened(writer);
    CHECK_THROWS_WITH_AS(file.expect("conv1.weight"),
                         Contains("f.safetensors: expected a tensor \"conv1.weight\", found none; the file has: "
                                  "\"module.conv1.weight\", \"conv2.weight\", \"layer"),
                         zp::file_error);
    CHECK_THROWS_WITH_AS(file.expect("conv1.weight"), Contains(" and 14 more"), zp::file_error);
    CHECK_THROWS_WITH_AS(file.expect(""), Contains("expected a tensor \"\""), zp::file_error);
    CHECK_THROWS_WITH_AS(zp::safetensors_file::parse(damage::file_with("{}"), "f").expect("w"),
                         "f: expected a tensor \"w\", found none; the file has: no tensors", zp::file_error);
}

TEST_CASE("safetensors_file: of a missing tensor the name that was meant") {
    const auto said_of = [](const char* wanted, const char* there) {
        zp::safetensors_writer writer;
        writer.add(there, {1}, std::vector<float>{1});
        const auto file = reopened(writer);
        try {
            file.expect(wanted);
        } catch (const zp::file_error& error) {
            const std::string message = error.what(), listed = zp::joined({"the file has: \"", there, "\""});
            REQUIRE(message.find(listed) != std::string::npos);
            return message.substr(message.find(listed) + listed.size());
        }
        return std::string("no error");
    };
    CHECK(said_of("fc1.weight", "fc.weight") == ": did you mean \"fc.weight\"?");
    CHECK(said_of("fc.weight", "fc1.weight") == ": did you mean \"fc1.weight\"?");
    CHECK(said_of("fc1.weight", "fc1.wieght") == ": did you mean \"fc1.wieght\"?");
    CHECK(said_of("conv1.weight", "conv2.weight") == "");  // another layer's
    CHECK(said_of("fc.weight", "bn.running_mean") == "");
    CHECK(said_of("fc.weight", "module.fc.weight") == "; zp::load_options{.prefix = \"module.\"} takes it off");
}

TEST_CASE("safetensors_file: unexpected tensors are listed") {
    zp::safetensors_writer writer;
    for (const char* name : {"a", "b", "c"}) writer.add(name, {1}, std::vector<float>{1});
    const auto file = reopened(writer);
    file.expect_no_other_than(std::vector<std::string>{"c", "b", "a", "not there"});
    constexpr std::string_view known[] = {"b"};
    CHECK_THROWS_WITH_AS(file.expect_no_other_than(known),
                         "f.safetensors: expected no tensors but the 1 that are needed, found also \"a\", \"c\"",
                         zp::file_error);
    CHECK_THROWS_AS(file.expect_no_other_than(std::vector<std::string>{}), zp::file_error);
}

TEST_CASE("safetensors_file: values need their own type and size") {
    const auto file = file_of(std::vector<std::int32_t>{1, -1, 7});
    const auto& tensor = file.expect("w");
    CHECK(file.values<std::int32_t>(tensor) == std::vector<std::int32_t>{1, -1, 7});
    CHECK_THROWS_WITH_AS(file.values<std::uint32_t>(tensor), Contains("tensor \"w\": expected U32, found I32 [3]"),
                         zp::file_error);
    CHECK_THROWS_WITH_AS(file.values<float>(tensor), Contains("expected F32, found I32 [3]"), zp::file_error);
    std::vector<std::int32_t> target(4);
    CHECK_THROWS_WITH_AS(file.copy_to(tensor, std::span(target)), Contains("expected 4 elements, found I32 [3]"),
                         zp::file_error);
    CHECK_THROWS_AS(file.copy_to(tensor, std::span(target).first(2)), zp::file_error);
    file.copy_to(tensor, std::span(target).first(3));
    CHECK(target == std::vector<std::int32_t>{1, -1, 7, 0});
    std::vector<float> floats(3);
    CHECK_THROWS_WITH_AS(file.copy_floats_to(tensor, floats), Contains("found I32 [3]"), zp::file_error);
}

TEST_CASE("safetensors_file: BOOL is 0 or 1") {
    const std::string header = "{\"m\":{\"dtype\":\"BOOL\",\"shape\":[3],\"data_offsets\":[0,3]}}";
    const auto file = zp::safetensors_file::parse(damage::file_with(header, 3), "f.safetensors");  // 0, 1, 2
    CHECK_THROWS_WITH_AS(file.values<std::uint8_t>(file.expect("m")),
                         "f.safetensors: tensor \"m\": expected 0 or 1 as BOOL, found 2 at flat index 2",
                         zp::file_error);
    CHECK_THROWS_AS(file.values<std::int8_t>(file.expect("m")), zp::file_error);
}

TEST_CASE("safetensors_file: float64 is rounded to the nearest float and must be within its range") {
    constexpr double most = std::numeric_limits<float>::max();
    const auto file = file_of(std::vector<double>{0.1, most, -most, 1e-300, HUGE_VAL, -HUGE_VAL});
    CHECK(file.floats(file.expect("w")) ==
          std::vector<float>{0.1f, static_cast<float>(most), -static_cast<float>(most), 0.0f, infinity, -infinity});
    const auto beyond = file_of(std::vector<double>{1, std::nextafter(most, HUGE_VAL)});
    CHECK_THROWS_WITH_AS(beyond.floats(beyond.expect("w")),
                         Contains("tensor \"w\": expected numbers within the range of float, found 3.402823466385"),
                         zp::file_error);
    const auto below = file_of(std::vector<double>{1, 2, -1e300});
    CHECK_THROWS_WITH_AS(below.floats(below.expect("w")), Contains("at flat index 2"), zp::file_error);
}

TEST_CASE("safetensors_file: NaN and infinity are found wherever they are") {
    for (std::size_t place = 0; place != 5; ++place) {
        std::vector<float> values{0.0f, -0.0f, std::numeric_limits<float>::max(), std::numeric_limits<float>::lowest(),
                                  std::numeric_limits<float>::denorm_min()};
        const auto right = file_of(values);
        CHECK(right.finite_floats("w", {5}) == values);
        const std::string where = zp::joined({" at flat index ", std::to_string(place), " of F32 [5]"});
        for (const auto& [value, name] : {std::pair{not_a_number, "NaN"}, std::pair{-not_a_number, "NaN"},
                                          std::pair{infinity, "infinity"}, std::pair{-infinity, "-infinity"}}) {
            values[place] = value;
            const auto wrong = file_of(values);
            CHECK_THROWS_WITH_AS(
                wrong.finite_floats("w", {5}),
                ("f.safetensors: tensor \"w\": expected finite numbers, found " + (name + where)).c_str(),
                zp::file_error);
            CHECK(wrong.floats(wrong.expect("w")).size() == 5);  // who wants them can have them
        }
    }
    const std::string header = "{\"h\":{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[0,2]}}";
    auto bytes = damage::file_with(header, 2);
    bytes[bytes.size() - 1] = std::byte{0x7c};  // 0x7c00 is infinity, with its last bit set a NaN
    const auto half = zp::safetensors_file::parse(bytes, "f");
    CHECK_THROWS_WITH_AS(half.finite_floats("h", {1}), Contains("found infinity at flat index 0 of F16 [1]"),
                         zp::file_error);
}

TEST_CASE("safetensors_file: missing files, directories and empty files") {
    namespace fs = std::filesystem;
    const fs::path folder = fs::temp_directory_path() / "zeropoint_test_safetensors_reader";
    fs::remove_all(folder);
    fs::create_directories(folder);
    CHECK_THROWS_WITH_AS(zp::safetensors_file::read((folder / "none").string()),
                         Contains("none: cannot open the file: No such file or directory"), zp::file_error);
    CHECK_THROWS_WITH_AS(zp::safetensors_file::read(folder.string()),
                         Contains("zeropoint_test_safetensors_reader: cannot"), zp::file_error);
    zp::write_whole_file((folder / "empty").string(), {});
    CHECK_THROWS_WITH_AS(zp::safetensors_file::read((folder / "empty").string()), Contains("found 0 bytes"),
                         zp::file_error);
    fs::remove_all(folder);
}
