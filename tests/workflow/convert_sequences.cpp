// SPDX-License-Identifier: BSD-3-Clause
// Layers along a sequence, 1 x length x channels: conv1d, pooling, and a linear layer over each of its vectors.
#include <doctest/doctest.h>

#include <string>

#include <zeropoint/io/model_file.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>

#include "../support/float_reference.hpp"
#include "integer_simulation.hpp"

namespace {

using simulation::activation;
using simulation::pooling;
using zp::conv;

struct config : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                            zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>> {};

struct net
    : zp::model<zp::input<1, 19, 3>,
                zp::conv1d<"a", conv{.out_channels = 8, .kernel = 5, .stride = 2, .padding = 2, .dilation = 1}>,
                zp::batch_norm1d<"bn">, zp::relu, zp::max_pool1d<zp::pool{.kernel = 3, .stride = 1, .padding = 1}>,
                zp::conv1d<"b", conv{.out_channels = 8, .kernel = 3, .padding = 2, .dilation = 2, .groups = 4}>,
                zp::avg_pool1d<2>, zp::linear<"each", 6>, zp::relu, zp::linear<"again", 4>, zp::adaptive_avg_pool1d<1>,
                zp::flatten, zp::linear<"all", 2>> {};

constexpr simulation::window along(int kernel, int stride = 1, int padding = 0, int dilation = 1, int groups = 1) {
    return {1, kernel, 1, stride, 0, padding, 1, dilation, groups};
}

}  // namespace

TEST_CASE("convert: conv1d, pooling and linear along a sequence") {
    static_assert(zp::float_model<net>::output_shape == zp::shape{1, 1, 2});
    static_assert(zp::float_model<net>::rows()[1].out.extents == zp::shape{1, 10, 8});
    static_assert(zp::float_model<net>::rows()[7].out.extents == zp::shape{1, 5, 6});
    const auto trained = made_up::network<net>(4);
    const auto calibration = made_up::inputs<net>(5, 7, -2, 2);
    const auto int8 = simulation::converted<config>(trained, calibration);
    simulation::script<net, config> s(trained, calibration);
    for (const auto& image : made_up::inputs<net>(3, 83, -2.5f, 2.5f)) {
        const auto x = s.quantize(s.input(image), s.range("input"));
        const auto a = s.convolve("a", x, along(5, 2, 2), s.range("a"), activation::relu, "bn");
        const auto b = s.convolve("b", s.pool(pooling::max, a, along(3, 1, 1)), along(3, 1, 2, 2, 4), s.range("b"));
        const auto halved = s.pool(pooling::average, b, along(2, 2));
        const auto each = s.convolve("each", halved, along(1), s.range("each"), activation::relu);
        const auto again = s.convolve("again", each, along(1), s.range("again"));
        s.dequantize(s.convolve("all", s.pool(pooling::average, again, along(5, 5)), along(1), s.range("all")));
        CHECK(simulation::differences(int8, s, image) == "");
    }
}

TEST_CASE("load and save: the weight of a conv1d has three extents, as PyTorch's") {
    const auto trained = made_up::network<net>(4);
    const auto bytes = zp::to_bytes(trained);
    const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    CHECK(text.find("\"a.weight\":{\"dtype\":\"F32\",\"shape\":[8,3,5]") != std::string::npos);
    const auto again = zp::load<net>(bytes, "net");
    for (const auto& image : made_up::inputs<net>(2, 84)) {
        std::vector<float> expected(2), found(2);
        trained(image, expected);
        again(image, found);
        CHECK(expected == found);
    }
}
