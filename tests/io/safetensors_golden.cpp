// SPDX-License-Identifier: BSD-3-Clause
// The file that the reference implementation wrote: read to the same values, and written again to the same bytes.
// scripts/golden/safetensors_fixture.py
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/io/safetensors.hpp>

namespace {

const std::string path = ZEROPOINT_SOURCE_DIR "/tests/golden/safetensors_fixture.safetensors";

template <class T> void check_limits(const zp::safetensors_file& file, const char* name) {
    const auto& tensor = file.expect(name, zp::file_dtype_of<T>, {4});
    CHECK(file.values<T>(tensor) == std::vector<T>{std::numeric_limits<T>::min(), 0, 1, std::numeric_limits<T>::max()});
}

void check_floats(const std::vector<float>& read, const std::vector<double>& right) {
    REQUIRE(read.size() == right.size());
    for (std::size_t i = 0; i != right.size(); ++i) {
        CHECK(double{read[i]} == right[i]);
        CHECK(std::signbit(read[i]) == std::signbit(right[i]));
    }
}

}  // namespace

TEST_CASE("golden safetensors: every dtype has the values that PyTorch saved") {
    const auto file = zp::safetensors_file::read(path);
    CHECK(file.tensors().size() == 21);

    const auto weight = file.finite_floats("conv1.weight", {2, 1, 3, 3});
    for (std::size_t i = 0; i != 18; ++i) CHECK(weight[i] == static_cast<float>(i) / 4 - 2);
    CHECK(file.values<std::int64_t>(file.expect("bn1.num_batches_tracked", zp::file_dtype::I64, {})) ==
          std::vector<std::int64_t>{1437});
    check_limits<std::int8_t>(file, "i8");
    check_limits<std::int16_t>(file, "i16");
    check_limits<std::int32_t>(file, "i32");
    check_limits<std::int64_t>(file, "i64");
    check_limits<std::uint8_t>(file, "u8");
    check_limits<std::uint16_t>(file, "u16");
    check_limits<std::uint32_t>(file, "u32");
    check_limits<std::uint64_t>(file, "u64");
    CHECK(file.values<std::uint8_t>(file.expect("bool", zp::file_dtype::BOOL, {1, 3})) ==
          std::vector<std::uint8_t>{1, 0, 1});
    CHECK(file.finite_floats("empty", {0, 3}).empty());

    const std::vector<double> reals{0.0, -0.0, 1.0, -2.5, 0.333251953125, 65504.0, 0x1p-24, -0x1p-14};
    check_floats(file.finite_floats("f64", {8}), reals);
    check_floats(file.finite_floats("f16", {8}), reals);  // all of them are half-precision numbers
    // bfloat16 has 8 bits: 0.33325... rounds to 171/512, 65504 to 65536.
    check_floats(file.finite_floats("bf16", {8}), {0.0, -0.0, 1.0, -2.5, 171.0 / 512, 65536.0, 0x1p-24, -0x1p-14});
}

TEST_CASE("golden safetensors: names and metadata beyond ASCII") {
    const auto file = zp::safetensors_file::read(path);
    CHECK(file.finite_floats("gr\u00f6\u00dfe.\u91cd\u307f.\U0001f522", {1}) == std::vector<float>{1.5f});
    CHECK(file.finite_floats("quote \" backslash \\ solidus / newline \n bell \a delete \x7f", {1}) ==
          std::vector<float>{2.5f});
    CHECK(file.finite_floats("", {1}) == std::vector<float>{3.5f});
    CHECK(file.metadata() ==
          zp::file_metadata{{"format", "pt"}, {"Gr\u00f6\u00dfe", "tab \t, \"quotes\" and \x1f"}, {"empty", ""}});
}

TEST_CASE("golden safetensors: dtypes without a C++ type are listed, and only reading their values is an error") {
    const auto file = zp::safetensors_file::read(path);
    const auto& float8 = file.expect("unread.f8_e4m3", zp::file_dtype::F8_E4M3, {2});
    CHECK(float8.bytes[0] == std::byte{0x38});
    CHECK(file.expect("unread.f8_e5m2").size() == 3);
    CHECK(file.expect("unread.c64").bytes.size() == sizeof(std::complex<float>));
    CHECK_THROWS_WITH_AS(file.values<std::uint8_t>(float8),
                         doctest::Contains("tensor \"unread.f8_e4m3\": expected U8, found F8_E4M3 [2]"),
                         zp::file_error);
    CHECK_THROWS_WITH_AS(file.floats(float8), doctest::Contains("expected F32, F64, F16 or BF16, found F8_E4M3 [2]"),
                         zp::file_error);
}

TEST_CASE("golden safetensors: the writer makes the same bytes") {
    const auto file = zp::safetensors_file::read(path);
    zp::safetensors_writer writer;
    for (const zp::file_tensor& tensor : file.tensors())
        writer.add(tensor.name, tensor.dtype, tensor.shape, tensor.bytes);
    for (const auto& [key, value] : file.metadata()) writer.metadata(key, value);
    CHECK(writer.bytes() == zp::read_whole_file(path));
}
