// SPDX-License-Identifier: BSD-3-Clause
// Files that are mapped: their bytes, networks loaded from them without a copy, and a stream that runs from an image in one.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <zeropoint/io/mapped_file.hpp>
#include <zeropoint/io/model_file.hpp>
#include <zeropoint/io/packed_image_writer.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/operators/lstm.hpp>
#include <zeropoint/workflow/quantize_dynamic.hpp>
#include <zeropoint/workflow/streaming.hpp>

#include "../support/errors.hpp"
#include "../support/made_up.hpp"

namespace {

/// A file of this test alone, gone when it is.
struct temporary {
    std::string path;
    explicit temporary(const char* name)
        : path((std::filesystem::temp_directory_path() / ("zeropoint_mapped_" + std::string(name))).string()) {}
    ~temporary() { std::filesystem::remove(path); }
};

struct net : zp::model<zp::input<1, 5, 40>, zp::gru<"steps", 8>, zp::linear<"wide", 50>, zp::relu, zp::linear<"y", 3>> {
};
using config = zp::dynamic_qconfig<zp::dynamic_group_policy<>, zp::quantize_every_layer>;
using network = zp::dynamically_quantized<net, config>;

}  // namespace

TEST_CASE("mapped_file: the bytes of a file, from a page on") {
    const temporary file("bytes");
    std::vector<std::byte> bytes(10000);
    for (std::size_t i = 0; i != bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7);
    zp::write_whole_file(file.path, bytes);
    zp::mapped_file mapped(file.path);
    CHECK(std::ranges::equal(mapped.bytes(), bytes));
    CHECK(reinterpret_cast<std::uintptr_t>(mapped.bytes().data()) % zp::buffer_alignment == 0);
    zp::mapped_file moved = std::move(mapped);
    CHECK(std::ranges::equal(moved.bytes(), bytes));
    const temporary empty("empty");  // another one: Windows replaces none that is mapped
    zp::write_whole_file(empty.path, {});
    moved = zp::mapped_file(empty.path);
    CHECK(moved.bytes().empty());
    CHECK(zp_test::error_of([&] { zp::mapped_file(file.path + ".none"); }).find("cannot map the file: ") !=
          std::string::npos);
    CHECK(zp_test::error_of([] { zp::mapped_file(std::filesystem::temp_directory_path().string()); }) != "no error");
}

TEST_CASE("mapped_file: networks are loaded from it, and tensors lie in it") {
    const temporary file("model");
    const network model = zp::quantize_dynamic<config>(made_up::network<net>(3));
    zp::save(model, file.path);
    const zp::mapped_file mapped(file.path);
    CHECK(zp::to_bytes(zp::load<network>(mapped.bytes(), file.path)) == zp::to_bytes(model));
    const auto viewed = zp::safetensors_file::view(mapped.bytes(), "view");
    for (const zp::file_tensor& tensor : viewed.tensors()) {
        CHECK(tensor.bytes.data() >= mapped.bytes().data());
        CHECK(tensor.bytes.data() + tensor.bytes.size() <= mapped.bytes().data() + mapped.bytes().size());
    }
    const auto cut = mapped.bytes().first(mapped.bytes().size() - 1);
    CHECK(zp_test::error_of([&] { zp::load<network>(cut, "cut"); }).find("cut") == 0);
}

TEST_CASE("mapped_file: a stream from an image in one has the bits of its own parameters") {
    const temporary file("image");
    const network model = zp::quantize_dynamic<config>(made_up::network<net>(3));
    zp::streaming<network> owning(model);
    zp::save_packed_image(owning.step_network(), file.path);
    const zp::mapped_file mapped(file.path);
    zp::streaming<zp::in_place<network>> placed(mapped.bytes());
    REQUIRE(placed);
    CHECK(placed.step_network().is_intact());
    const auto x = made_up::values(5 * 40, 4);
    for (int pass = 0; pass != 2; ++pass) {
        for (std::size_t step = 0; step != 5; ++step) {
            float y[3], z[3];
            owning(std::span(x).subspan(step * 40).first<40>(), y);
            placed(std::span(x).subspan(step * 40).first<40>(), z);
            CHECK(std::equal(y, y + 3, z));
        }
        owning.reset();
        placed.reset();
    }
    const zp::streaming<zp::in_place<network>> shorter(mapped.bytes().first(100));
    CHECK_FALSE(shorter);
    CHECK(shorter.problem() == zp::image_problem::too_short);
    // Of the whole sequence's network, not of a step's.
    const zp::aligned_buffer other(zp::packed_image(model).size());
    CHECK(zp::streaming<zp::in_place<network>>({other.data(), other.size()}).problem() == zp::image_problem::no_image);
}
