// The networks of zeropoint/models against PyTorch's modules: the names and shapes of all parameters, the statistics of
// every batch norm, and the logits. Golden file and rules: scripts/golden/networks.py.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/models/ds_cnn.hpp>
#include <zeropoint/models/googlenet.hpp>
#include <zeropoint/models/inception_v3.hpp>
#include <zeropoint/models/mobilenet_v2.hpp>
#include <zeropoint/models/resnet.hpp>
#include <zeropoint/models/vgg.hpp>

#include "../support/extent.hpp"
#include "state_dict.hpp"

namespace {

/// The largest difference, as a share of the largest expected magnitude.
double relative_difference(const std::vector<float>& found, const std::vector<float>& expected) {
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
    const auto golden = zp::safetensors_file::read(ZEROPOINT_SOURCE_DIR "/tests/golden/networks.safetensors");
    const networks::seeded_network<Net> seeded(name);
    CHECK(std::to_string(seeded.found.trained) == golden.expect_metadata(name + ".parameters"));
    CHECK(std::to_string(seeded.found.hash) == golden.expect_metadata(name + ".state_dict"));

    const zp::file_tensor& statistics = golden.expect(name + "/statistics");
    if (!seeded.statistics.empty()) CHECK(relative_difference(seeded.statistics, golden.floats(statistics)) < 1e-3);
    else CHECK(statistics.size() == 0);

    const zp::file_tensor& logits = golden.expect(name + "/logits");
    const auto images = networks::images<Net>(name, static_cast<int>(logits.shape[0]));
    const auto memory = std::make_unique<typename zp::float_model<Net>::workspace>();
    std::vector<float> found;
    for (const std::vector<float>& image : images) {
        std::vector<float> y(static_cast<std::size_t>(zp::float_model<Net>::output_shape.size()));
        seeded.model(image, y, *memory);
        found.insert(found.end(), y.begin(), y.end());
    }
    const double difference = relative_difference(found, golden.floats(logits));
    MESSAGE(name << ": logits within " << difference << " of PyTorch's");
    CHECK(difference < 1e-3);
}

using small_image = zp::input<64, 64, 3>;

}  // namespace

TEST_CASE("ResNet and ResNeXt: parameters, statistics and logits are PyTorch's") {
    compare_with_pytorch<zp::models::resnet18<small_image>>("resnet18");
    compare_with_pytorch<zp::models::resnet50<small_image>>("resnet50");
}
TEST_CASE("ResNeXt-101: parameters, statistics and logits are PyTorch's") {
    compare_with_pytorch<zp::models::resnext101_32x8d<small_image>>("resnext101_32x8d");
}
TEST_CASE("VGG: parameters, statistics and logits are PyTorch's") {
    compare_with_pytorch<zp::models::vgg16<zp::input<32, 32, 3>, 1000, 256>>("vgg16");
    compare_with_pytorch<zp::models::vgg11_bn<zp::input<32, 32, 3>, 10, 32>>("vgg11_bn");
}
TEST_CASE("MobileNetV2: parameters, statistics and logits are PyTorch's") {
    compare_with_pytorch<zp::models::mobilenet_v2<small_image>>("mobilenet_v2");
    compare_with_pytorch<zp::models::mobilenet_v2<zp::input<32, 48, 3>, 10, 35>>("mobilenet_v2_035");
}
TEST_CASE("GoogLeNet: parameters, statistics and logits are PyTorch's") {
    compare_with_pytorch<zp::models::googlenet<small_image>>("googlenet");
}
TEST_CASE("Inception-v3: parameters, statistics and logits are PyTorch's") {
    compare_with_pytorch<zp::models::inception_v3<zp::input<75, 75, 3>>>("inception_v3");
}
TEST_CASE("DS-CNN: parameters, statistics and logits are PyTorch's") {
    compare_with_pytorch<zp::models::ds_cnn<>>("ds_cnn");
}
