// SPDX-License-Identifier: BSD-3-Clause
// The code of docs/models.md.
#include <filesystem>
#include <string>

#include <doctest/doctest.h>

// [network]
#include <zeropoint/models/mobilenet_v2.hpp>
#include <zeropoint/zeropoint.hpp>

struct imagenet_classifier : zp::models::mobilenet_v2<> {};                              // 224x224x3, 1000 classes
struct flower_classifier : zp::models::mobilenet_v2<zp::input<96, 128, 3>, 102, 50> {};  // of your own, half as wide
// [/network]

TEST_CASE("docs/models.md: a network of the library loads a state dict") {
    const std::string path = (std::filesystem::temp_directory_path() / "zeropoint_flowers.safetensors").string();
    zp::save(zp::float_model<flower_classifier>(), path);
    // [load]
    const auto trained = zp::load<flower_classifier>(path);
    // [/load]
    CHECK(trained.output_shape == zp::shape{1, 1, 102});
    CHECK(zp::float_model<imagenet_classifier>::input_shape == zp::shape{224, 224, 3});
    std::filesystem::remove(path);
}
