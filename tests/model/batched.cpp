// SPDX-License-Identifier: BSD-3-Clause
// Batches: the bits of so many single calls, of every stage; what is computed for all inputs at once.
#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <zeropoint/model/batched.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>
#include <zeropoint/operators.hpp>
#include <zeropoint/workflow/calibrate.hpp>
#include <zeropoint/workflow/convert.hpp>
#include <zeropoint/workflow/fuse.hpp>
#include <zeropoint/workflow/prepare.hpp>
#include <zeropoint/workflow/presets.hpp>
#include <zeropoint/workflow/quantize_dynamic.hpp>

#include "../support/made_up.hpp"

namespace {

using zp::conv;

// A large product, one for which code is generated, and one whose weights are words alone and bytes in a batch.
struct mlp : zp::model<zp::input<1, 1, 150>, zp::linear<"fc1", 230>, zp::relu, zp::linear<"fc2", 60>, zp::sigmoid,
                       zp::linear<"fc3", 7>> {};
struct image_net
    : zp::model<zp::input<7, 6, 5>, zp::conv2d<"stem", conv{.out_channels = 24, .kernel = 3, .padding = 1}>, zp::relu,
                zp::residual<zp::conv2d<"expand", conv{.out_channels = 40}>, zp::relu6,
                             zp::conv2d<"depthwise", conv{.kernel = 3, .padding = 1, .groups = zp::depthwise}>,
                             zp::hardswish, zp::conv2d<"project", conv{.out_channels = 24}>>,
                zp::concat<zp::sequential<zp::max_pool2d<2>>, zp::sequential<zp::avg_pool2d<2>>>, zp::softmax,
                zp::flatten, zp::linear<"fc", 9>> {};
// Tiles of all images: not as many as a block, and several blocks.
struct winograd_net : zp::model<zp::input<9, 6, 32>,
                                zp::residual<zp::conv2d<"a", conv{.out_channels = 32, .kernel = 3, .padding = 1}>>> {};
struct winograd : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                              zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>,
                              zp::algorithm<zp::conv2d_algorithm::winograd_4x4>> {};
struct sequence_net
    : zp::model<zp::input<1, 6, 16>, zp::encoder_layer<"encoder", 4, 24>, zp::lstm<"lstm", 8>,
                zp::conv1d<"conv", conv{.out_channels = 12, .kernel = 3, .padding = 1}>, zp::linear<"last", 10>> {};
struct volume_net
    : zp::model<zp::input<3, 4, 4, 4>, zp::conv3d<"a", zp::volume_conv{.out_channels = 8, .kernel = 3, .padding = 1}>,
                zp::relu, zp::conv3d<"b", zp::volume_conv{.out_channels = 5}>> {};

template <class Config, class Net> auto converted(const zp::float_model<Net>& model) {
    return zp::convert(zp::calibrate(zp::prepare<Config>(zp::fuse(model)), made_up::inputs<Net>(3, 5)));
}
template <class Policy, class Net> auto dynamic(const zp::float_model<Net>& model) {
    return zp::quantize_dynamic<zp::dynamic_qconfig<Policy, zp::quantize_every_layer>>(zp::fuse(model));
}
/// Names of the layers that are computed for all inputs at once; checks the outputs of N inputs.
template <int N, class Network> std::set<std::string> check_batch(const Network& model) {
    constexpr auto in = static_cast<std::size_t>(Network::input_shape.size()),
                   out = static_cast<std::size_t>(Network::output_shape.size());
    const auto x = made_up::values(N * in, 11);
    std::vector<float> wanted(N * out), y(N * out, -1.0f);
    const auto one = std::make_unique<typename Network::workspace>();
    for (std::size_t i = 0; i != N; ++i) model.run(x.data() + i * in, wanted.data() + i * out, one->bytes);
    using batch = zp::batched<Network, N>;
    const batch all(model);
    const auto memory = std::make_unique<typename batch::workspace>();
    std::fill(std::begin(memory->bytes), std::end(memory->bytes), std::byte{0xA5});
    for (int again = 0; again != 2; ++again) {
        all(x, y, *memory);
        CHECK(y == wanted);
    }
    std::set<std::string> joined;
    for (int i = 0; i != static_cast<int>(batch::rows().size()); ++i)
        if (batch::is_joined(i)) joined.insert(zp::display_name(batch::rows(), i));
    return joined;
}
using names = std::set<std::string>;
names layers_of(const names& all, const names& asked) {
    names found;
    for (const std::string& name : asked)
        if (all.count(name) != 0) found.insert(name);
    return found;
}

}  // namespace

TEST_CASE("batches of vectors: every linear layer is one product") {
    const auto model = made_up::network<mlp>(3);
    const names layers{"fc1", "fc2", "fc3"};
    const auto int8 = converted<zp::default_qconfig>(model);
    CHECK(layers_of(check_batch<5>(int8), layers) == layers);
    check_batch<20>(int8);  // more rows than code is generated for
    CHECK(layers_of(check_batch<3>(converted<zp::int16_qconfig>(model)), layers) == layers);
    CHECK(layers_of(check_batch<3>(dynamic<zp::dynamic_policy<>>(model)), layers) == layers);
    // One range for all inputs would make them depend on one another.
    using together = zp::dynamic_policy<zp::quint8, zp::per_tensor_affine>;
    CHECK(layers_of(check_batch<3>(dynamic<together>(model)), layers).empty());
}

TEST_CASE("batches of images: 1x1 convolutions are one product, windows are of one image") {
    const auto model = made_up::network<image_net>(3);
    const names layers{"stem", "expand", "depthwise", "project", "fc"};
    const auto int8 = converted<zp::default_qconfig>(model);
    CHECK(layers_of(check_batch<5>(int8), layers) == names{"expand", "project", "fc"});
    check_batch<1>(int8);
    check_batch<3>(zp::fuse(model));
}

TEST_CASE("batches of images: Winograd's tiles are those of all images") {
    const auto int8 = converted<winograd>(made_up::network<winograd_net>(3));
    CHECK(int8.rows()[2].by.algorithm == zp::conv2d_algorithm::winograd_4x4);
    CHECK(check_batch<3>(int8).count("a") == 0);
    check_batch<20>(int8);
}

TEST_CASE("batches of sequences and volumes") {
    const auto model = made_up::network<sequence_net>(3);
    const auto joined = check_batch<3>(converted<zp::default_qconfig>(model));
    CHECK(joined.count("last") == 1);
    CHECK(joined.count("lstm") == 0);
    const auto volumes = made_up::network<volume_net>(3);
    CHECK(layers_of(check_batch<3>(converted<zp::default_qconfig>(volumes)), {"a", "b"}) == names{"b"});
    check_batch<3>(zp::fuse(volumes));
}
