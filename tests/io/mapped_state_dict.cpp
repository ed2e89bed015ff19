// SPDX-License-Identifier: BSD-3-Clause
// State dicts in one mapped file and in several that an index lists, as save_pretrained writes them.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <zeropoint/io/mapped_state_dict.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/operators/linear.hpp>

#include "../support/errors.hpp"
#include "../support/made_up.hpp"

namespace {

struct net : zp::model<zp::input<1, 1, 5>, zp::linear<"a", 4>, zp::linear<"b", 3>> {};

/// A folder of this test alone, gone when it is.
struct temporary_folder {
    std::filesystem::path path = std::filesystem::temp_directory_path() / "zeropoint_mapped_state_dict";
    temporary_folder() { std::filesystem::create_directories(path); }
    ~temporary_folder() { std::filesystem::remove_all(path); }
    std::string operator/(const std::string& name) const { return (path / name).string(); }
};
void write_text(const std::string& path, const std::string& text) {
    zp::write_whole_file(path, std::as_bytes(std::span(text)));
}
/// The tensors of `from` whose names begin so.
void write_part(const zp::safetensors_file& from, const std::string& prefix, const std::string& path) {
    zp::safetensors_writer part;
    part.metadata("format", "pt");
    for (const zp::file_tensor& tensor : from.tensors())
        if (tensor.name.starts_with(prefix)) part.add(tensor.name, tensor.dtype, tensor.shape, tensor.bytes);
    part.write(path);
}

}  // namespace

TEST_CASE("mapped_state_dict: one file, and several that an index lists") {
    const temporary_folder folder;
    const auto model = made_up::network<net>();
    const auto bytes = zp::to_bytes(model);
    const auto whole = zp::safetensors_file::parse(bytes, "whole");
    whole.expect("a.weight");
    zp::save(model, folder / "model.safetensors");
    CHECK(zp::to_bytes(zp::load<net>(zp::mapped_state_dict(folder / "model.safetensors"))) == bytes);

    write_part(whole, "a", folder / "model-1.safetensors");
    write_part(whole, "b", folder / "model-2.safetensors");
    const std::string index = folder / "model.safetensors.index.json";
    write_text(index, R"({"metadata": {"total_size": 1.5e2, "of": ["a", {}]}, "weight_map": {
        "b.weight": "model-2.safetensors", "a.weight": "model-1.safetensors", "a.bias": "model-1.safetensors",
        "b.bias": "model-2.safetensors"}})");
    {
        zp::mapped_state_dict opened(index);
        const zp::mapped_state_dict dict = std::move(opened);  // what is mapped stays where it is
        CHECK(dict.file().tensors().size() == 4);
        CHECK(dict.file().source_name() == index);
        CHECK(dict.file().expect_metadata("format") == "pt");
        CHECK(zp::to_bytes(zp::load<net>(dict)) == bytes);
    }
    CHECK(zp_test::error_of([&] { zp::load<net>(index); }).ends_with("zp::mapped_state_dict (docs/decoders.md)"));

    write_part(whole, "", folder / "model-2.safetensors");
    CHECK(zp_test::error_of([&] { zp::mapped_state_dict{index}; }) ==
          index + ": tensor \"a.bias\": expected one tensor of that name in all files, found two");
    std::filesystem::remove(folder / "model-2.safetensors");
    CHECK(zp_test::error_of([&] {
              zp::mapped_state_dict{index};
          }).starts_with((folder / "model-2.safetensors") + ": cannot map the file: "));
    write_text(index, R"({"weight_map": {"a.weight": "model-1.safetensors"}})");
    CHECK(zp_test::error_of([&] {
              zp::load<net>(zp::mapped_state_dict(index));
          }).starts_with(index + ": expected a tensor \"b.weight\", found none"));
}

TEST_CASE("mapped_state_dict: an index that is none") {
    const temporary_folder folder;
    const std::string index = folder / "index.json";
    const auto error_of = [&](const std::string& text) {
        write_text(index, text);
        const std::string error = zp_test::error_of([&] { zp::mapped_state_dict{index}; });
        REQUIRE(error.starts_with(index + ": "));
        return error.substr(index.size() + 2);
    };
    CHECK(error_of("{}") == "expected an index with a \"weight_map\" of names and files, found none");
    CHECK(error_of(R"({"weight_map": {}})") == "expected an index that lists files, found none");
    CHECK(error_of(R"({"weight_map": {"a": 1}})") ==
          "expected the name of a file in quotes at byte 21 of the file, found \"1\"");
    CHECK(error_of(R"({"weight_map": {"a": "../b"}})") ==
          "expected a file in the folder of the index, found \"../b\" (before byte 27 of the file)");
    CHECK(error_of("{\"weight_map\": {\"a\": \"\xff\"}}") == "expected UTF-8");
}
