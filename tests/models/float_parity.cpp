// SPDX-License-Identifier: BSD-3-Clause
// The networks of zeropoint/models against PyTorch's modules: the names and shapes of all parameters, the statistics of
// every batch norm, and the logits. Golden file and rules: scripts/golden/networks.py.
#include <zeropoint/models/ds_cnn.hpp>
#include <zeropoint/models/googlenet.hpp>
#include <zeropoint/models/inception_v3.hpp>
#include <zeropoint/models/mobilenet_v2.hpp>
#include <zeropoint/models/mobilenet_v3.hpp>
#include <zeropoint/models/resnet.hpp>
#include <zeropoint/models/vgg.hpp>

#include "pytorch_parity.hpp"

namespace {

using networks::compare_with_pytorch;
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
TEST_CASE("MobileNetV3: parameters, statistics and logits are PyTorch's") {
    compare_with_pytorch<zp::models::mobilenet_v3_large<small_image>>("mobilenet_v3_large");
    compare_with_pytorch<zp::models::mobilenet_v3_small<small_image>>("mobilenet_v3_small");
}
TEST_CASE("GoogLeNet: parameters, statistics and logits are PyTorch's") {
    compare_with_pytorch<zp::models::googlenet<small_image>>("googlenet");
}
TEST_CASE("Inception-v3: parameters, statistics and logits are PyTorch's") {
    compare_with_pytorch<zp::models::inception_v3<zp::input<107, 107, 3>>>("inception_v3");
}
TEST_CASE("DS-CNN: parameters, statistics and logits are PyTorch's") {
    compare_with_pytorch<zp::models::ds_cnn<>>("ds_cnn");
}
