// SPDX-License-Identifier: BSD-3-Clause
// The demo's float network against the logits that PyTorch computes from the same state dict and images
// (scripts/golden/digits_logits.py).
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include <doctest/doctest.h>

#include <zeropoint/io/model_file.hpp>
#include <zeropoint/workflow/fuse.hpp>

#include "../../examples/01_digits/digits_cnn.hpp"

namespace {

constexpr const char* data = ZEROPOINT_SOURCE_DIR "/examples/01_digits/data/";

}  // namespace

TEST_CASE("float logits of the digits network, unfused and fused, are PyTorch's within 1e-4") {
    const auto file = zp::safetensors_file::read(std::string(data) + "digits.safetensors");
    const auto images = file.values<std::uint8_t>(file.expect("images"));
    const auto labels = file.values<std::uint8_t>(file.expect("labels"));
    const auto is_test = file.values<std::uint8_t>(file.expect("is_test"));
    const auto golden = zp::safetensors_file::read(ZEROPOINT_SOURCE_DIR "/tests/golden/digits_logits.safetensors");
    const auto expected = golden.floats(golden.expect("logits"));

    const auto trained = zp::load<digits_cnn>(std::string(data) + "digits_cnn.safetensors");
    const auto fused = zp::fuse(trained);
    std::size_t count = 0, right = 0;
    float worst = 0;
    for (std::size_t i = 0; i != labels.size(); ++i) {
        if (is_test[i] == 0) continue;
        std::array<float, 64> x;
        for (std::size_t k = 0; k != x.size(); ++k) x[k] = static_cast<float>(images[i * x.size() + k]) / 16;
        std::array<float, 10> y, z;
        trained(x, y);
        fused(x, z);
        for (std::size_t k = 0; k != y.size(); ++k) {
            const float logit = expected[count * y.size() + k];
            worst = std::max({worst, std::abs(y[k] - logit), std::abs(z[k] - logit)});
        }
        right += std::max_element(y.begin(), y.end()) - y.begin() == labels[i];
        ++count;
    }
    CHECK(count * 10 == expected.size());
    CHECK(worst <= 1e-4f);
    CHECK(static_cast<double>(right) / static_cast<double>(count) >= 0.98);
}
