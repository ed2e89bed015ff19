// SPDX-License-Identifier: BSD-3-Clause
// The classic networks in int8, calibrated on four images: their logits point where those of the float network point, on
// other images. Under the default qconfig, MobileNetV3 under accurate_qconfig.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/models/googlenet.hpp>
#include <zeropoint/models/mobilenet_v2.hpp>
#include <zeropoint/models/mobilenet_v3.hpp>
#include <zeropoint/models/resnet.hpp>
#include <zeropoint/workflow/calibrate.hpp>
#include <zeropoint/workflow/convert.hpp>
#include <zeropoint/workflow/fuse.hpp>
#include <zeropoint/workflow/prepare.hpp>
#include <zeropoint/workflow/presets.hpp>

#include "../support/extent.hpp"
#include "state_dict.hpp"

namespace {

double cosine(const std::vector<float>& a, const std::vector<float>& b) {
    double product = 0, squares_a = 0, squares_b = 0;
    for (std::size_t i = 0; i != a.size(); ++i) {
        product += double{a[i]} * double{b[i]};
        squares_a += double{a[i]} * double{a[i]};
        squares_b += double{b[i]} * double{b[i]};
    }
    return product / std::sqrt(squares_a * squares_b);
}

template <class Network>
std::vector<float> logits(const Network& network, const std::vector<float>& image,
                          typename Network::workspace& memory) {
    std::vector<float> y(static_cast<std::size_t>(Network::output_shape.size()));
    network(image, y, memory);
    return y;
}

/// The least cosine of the logits of int8 and float over images that calibration did not see.
template <class Net, class Config = zp::default_qconfig> double least_cosine(const std::string& name) {
    const networks::seeded_network<Net> seeded(name);
    const auto fused = zp::fuse(seeded.model);
    const auto int8 =
        zp::convert(zp::calibrate(zp::prepare<Config>(fused), networks::images<Net>(name + " calibration", 4)));
    const auto float_memory = std::make_unique<typename decltype(fused)::workspace>();
    const auto int8_memory = std::make_unique<typename decltype(int8)::workspace>();
    double least = 1;
    for (const std::vector<float>& image : networks::images<Net>(name, 4))
        least = std::min(least, cosine(logits(fused, image, *float_memory), logits(int8, image, *int8_memory)));
    MESSAGE(name << ": cosine of int8 to float at least " << least);
    return least;
}

}  // namespace

TEST_CASE("ResNet-18 in int8: cosine of the logits to float at least 0.98") {
    if (zp_test::fewer_problems > 1) return;
    CHECK(least_cosine<zp::models::resnet18<>>("resnet18") >= 0.98);
}
TEST_CASE("GoogLeNet in int8: cosine of the logits to float at least 0.98") {
    if (zp_test::fewer_problems > 1) return;
    CHECK(least_cosine<zp::models::googlenet<>>("googlenet") >= 0.98);
}
TEST_CASE("MobileNetV2 in int8: cosine of the logits to float at least 0.98") {
    if (zp_test::fewer_problems > 1) return;
    CHECK(least_cosine<zp::models::mobilenet_v2<>>("mobilenet_v2") >= 0.98);
}
TEST_CASE("MobileNetV3 in int8: cosine of the logits to float at least 0.98") {
    if (zp_test::fewer_problems > 1) return;
    CHECK(least_cosine<zp::models::mobilenet_v3_large<>, zp::accurate_qconfig>("mobilenet_v3_large") >= 0.98);
}
