// SPDX-License-Identifier: BSD-3-Clause
// GPTQ over a network of several layers beside PyTorch's: the same codes, where scales, zero points and rounded biases are the same.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/io/load_options.hpp>
#include <zeropoint/methods/gptq.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/operators/activations.hpp>
#include <zeropoint/workflow/calibrate.hpp>

#include "../support/golden_file.hpp"

namespace {

using zp::conv;

/// scripts/golden/gptq_network.py's.
template <int Low, int High, class Storage> using codes_of = zp::custom_range<Storage, Low, High>;
struct golden_net
    : zp::model<zp::input<6, 6, 2>, zp::conv2d<"a", conv{.out_channels = 4, .kernel = 3, .padding = 1}>, zp::relu,
                zp::conv2d<"b", conv{.kernel = 3, .stride = 2, .padding = 1, .groups = zp::depthwise}>, zp::relu,
                zp::conv2d<"c", conv{.out_channels = 6, .groups = 2}>> {};
struct two_bits
    : zp::qconfig<zp::quantizer<codes_of<0, 15, std::uint8_t>, zp::per_tensor_affine, zp::min_max_observer>,
                  zp::quantizer<codes_of<-2, 1, std::int8_t>, zp::per_channel_symmetric, zp::min_max_observer>> {};

}  // namespace

// Layers see what the network gives as it is rounded so far, biases are rounded, a group has a Hessian.
TEST_CASE("gptq: the codes of a network of several layers are PyTorch's") {
    const zp_test::golden_file golden("gptq_network");
    const auto values = golden.values<float>("network/images");
    const auto scale = golden.values<float>("network/scale");
    const auto zero_point = golden.values<std::int32_t>("network/zero_point");
    std::vector<std::vector<float>> images;
    for (auto at = values.begin(); at != values.end(); at += 72) images.emplace_back(at, at + 72);
    REQUIRE(images.size() == 40);
    auto source =
        zp::calibrate(zp::prepare<two_bits>(zp::fuse(zp::load<golden_net>(
                          zp_test::golden_path("gptq_network"), {.prefix = "model/", .ignores_others = true}))),
                      images);
    using layers = zp::coded_layers<golden_net, two_bits, zp::default_architecture>;
    REQUIRE(layers::rows().size() == 3);
    source.given().give_range(source.rows()[0].out.qparams_id, {scale[0], zero_point[0]});
    const std::string names[] = {"a", "b", "c"};
    for (std::size_t i = 0; i != 3; ++i) {
        const int row = layers(source).layer(layers::rows()[i]).from;
        std::vector<zp::qparams> channels;
        for (const float one : golden.values<float>("network/" + names[i] + ".scales")) channels.push_back({one, 0});
        source.given().give_weights(row, 0, channels);
        source.given().give_range(layers::float_view(row).n.out.qparams_id, {scale[i + 1], zero_point[i + 1]});
    }
    const auto check_outputs = [&](const auto& network, const char* name) {
        const auto int8 = zp::convert(network);
        const auto expected = golden.values<std::int32_t>(name);
        int wrong = 0;
        for (std::size_t i = 0; i != 8; ++i) {
            const auto y = int8(images[i]);
            for (std::size_t k = 0; k != y.size(); ++k)
                wrong += y[k] != scale[3] * static_cast<float>(expected[i * y.size() + k] - zero_point[3]);
        }
        CHECK(wrong == 0);
    };
    check_outputs(source, "network/nearest.outputs");
    const auto rounded = zp::gptq(source, images);
    check_outputs(rounded, "network/outputs");
    const layers walk(rounded);
    for (std::size_t i = 0; i != 3; ++i) {
        const zp::coded_layer layer = walk.layer(layers::rows()[i]);
        CAPTURE(layer.name);
        const auto codes = golden.values<std::int32_t>("network/" + names[i] + ".codes");
        REQUIRE(codes.size() == layer.rounded.size());
        int wrong = 0;
        for (std::size_t k = 0; k != codes.size(); ++k)
            wrong += layer.rounded[k] != layer.grid.at(k / layer.grid.depth, 0).scale * static_cast<float>(codes[k]);
        CHECK(wrong == 0);
    }
}
