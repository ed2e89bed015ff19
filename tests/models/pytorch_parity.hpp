// SPDX-License-Identifier: BSD-3-Clause
// A network's parameters, statistics and logits beside those that PyTorch's module of the same name has.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "../support/extent.hpp"
#include "../support/golden_file.hpp"
#include "state_dict.hpp"

namespace networks {

/// The largest difference, as a share of the largest expected magnitude.
inline double relative_difference(const std::vector<float>& found, const std::vector<float>& expected) {
    REQUIRE(found.size() == expected.size());
    double largest = 0, difference = 0;
    for (std::size_t i = 0; i != found.size(); ++i) {
        REQUIRE(std::isfinite(found[i]));
        largest = std::max(largest, std::abs(double{expected[i]}));
        difference = std::max(difference, std::abs(double{found[i]} - double{expected[i]}));
    }
    return difference / largest;
}

template <class Net> void compare_with_pytorch(const std::string& name) {
    if (zp_test::fewer_problems > 1) return;  // minutes in an emulator
    CAPTURE(name);
    const auto golden = zp::safetensors_file::read(zp_test::golden_path("networks"));
    for (const char* part : {"/statistics", "/logits"}) zp_test::tensors_read()["networks"].insert(name + part);
    const seeded_network<Net> seeded(name);
    CHECK(std::to_string(seeded.found.trained) == golden.expect_metadata(name + ".parameters"));
    CHECK(std::to_string(seeded.found.hash) == golden.expect_metadata(name + ".state_dict"));

    // The averages over a batch norm's channels: one mistake in one layer shows here first.
    const std::vector<float> statistics = golden.floats(golden.expect(name + "/statistics"));
    REQUIRE(seeded.statistics.size() == statistics.size());
    for (std::size_t i = 0; i != statistics.size(); i += 2) {
        CAPTURE(i / 2);
        const double variance = double{statistics[i + 1]};
        CHECK(std::abs(double{seeded.statistics[i]} - double{statistics[i]}) < 1e-3 * std::sqrt(variance));
        CHECK(std::abs(double{seeded.statistics[i + 1]} - variance) < 1e-3 * variance);
    }

    const zp::file_tensor& logits = golden.expect(name + "/logits");
    const auto inputs = images<Net>(name, static_cast<int>(logits.shape[0]));
    const auto memory = std::make_unique<typename zp::float_model<Net>::workspace>();
    std::vector<float> found;
    for (const std::vector<float>& image : inputs) {
        std::vector<float> y(static_cast<std::size_t>(zp::float_model<Net>::output_shape.size()));
        seeded.model(image, y, *memory);
        found.insert(found.end(), y.begin(), y.end());
    }
    const double difference = relative_difference(found, golden.floats(logits));
    MESSAGE(name << ": logits within " << difference << " of PyTorch's");
    CHECK(difference < 1e-3);
}

}  // namespace networks
