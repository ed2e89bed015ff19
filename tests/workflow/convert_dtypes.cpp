// SPDX-License-Identifier: BSD-3-Clause
// One network under many dtypes, qschemes and rules equals the simulation at every row.
#include <doctest/doctest.h>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>

#include "integer_simulation.hpp"

namespace {

using simulation::activation;
using simulation::pooling;
using simulation::square;
using zp::conv;
using per_tensor_observer = zp::min_max_observer;
using per_channel_observer = zp::per_channel_min_max_observer;
template <class DType, class QScheme, class Rule = zp::pytorch_rule>
using activations = zp::quantizer<DType, QScheme, per_tensor_observer, Rule>;
template <class DType, class QScheme, class Rule = zp::pytorch_rule>
using weights =
    zp::quantizer<DType, QScheme, std::conditional_t<QScheme::is_per_tensor, per_tensor_observer, per_channel_observer>,
                  Rule>;

struct net
    : zp::model<
          zp::input<5, 4, 3>, zp::conv2d<"a", conv{.out_channels = 20, .kernel = 3, .padding = 1}>,
          zp::batch_norm2d<"bn">, zp::relu, zp::conv2d<"b", conv{.kernel = 3, .padding = 1, .groups = zp::depthwise}>,
          zp::residual<zp::conv2d<"c", conv{.out_channels = 20}>>, zp::max_pool2d<2>, zp::flatten, zp::linear<"d", 4>> {
};

template <class Config> void check() {
    const auto trained = made_up::network<net>(7);
    const auto calibration = made_up::inputs<net>(4, 7, -1, 2);
    const auto int8 = simulation::converted<Config>(trained, calibration);
    simulation::script<net, Config> s(trained, calibration);
    for (const auto& image : made_up::inputs<net>(2, 83, -1.2f, 2.4f)) {
        const auto x = s.quantize(s.input(image), s.range("input"));
        const auto a = s.convolve("a", x, square(3, 1, 1), s.range("a"), activation::relu, "bn");
        const auto b = s.convolve("b", a, square(3, 1, 1, 1, 20), s.range("b"));
        const auto c = s.convolve_add("c", b, square(1), b, s.range("add_6"));
        auto pooled = s.pool(pooling::max, c, square(2, 2));
        pooled.extents = {1, 1, pooled.extents.size()};
        s.dequantize(s.convolve("d", pooled, square(1), s.range("d")));
        CHECK(simulation::differences(int8, s, image) == "");
    }
}

using affine_quint8 = activations<zp::quint8, zp::per_tensor_affine>;
using usual_weights = weights<zp::qint8, zp::per_channel_symmetric>;

struct int8_affine : zp::qconfig<activations<zp::qint8, zp::per_tensor_affine>, usual_weights> {};
struct int8_symmetric : zp::qconfig<activations<zp::qint8, zp::per_tensor_symmetric>,
                                    weights<zp::qint8_narrow, zp::per_channel_symmetric>> {};
struct uint8_symmetric
    : zp::qconfig<activations<zp::quint8, zp::per_tensor_symmetric>, weights<zp::qint8, zp::per_tensor_symmetric>> {};
struct reduced : zp::qconfig<activations<zp::quint8_reduced, zp::per_tensor_affine>, usual_weights> {};
struct reduced_signed : zp::qconfig<activations<zp::qint8_reduced, zp::per_tensor_affine>,
                                    weights<zp::qint8_reduced, zp::per_tensor_affine>> {};
struct affine_weights : zp::qconfig<affine_quint8, weights<zp::qint8, zp::per_channel_affine>> {};
struct unsigned_weights : zp::qconfig<affine_quint8, weights<zp::quint8, zp::per_tensor_affine>> {};
struct unsigned_symmetric_weights
    : zp::qconfig<activations<zp::qint8, zp::per_tensor_affine>, weights<zp::quint8, zp::per_channel_symmetric>> {};
struct int4_weights : zp::qconfig<affine_quint8, weights<zp::qint4, zp::per_channel_symmetric>> {};
struct uint4_weights : zp::qconfig<affine_quint8, weights<zp::quint4, zp::per_channel_affine>> {};
struct tflite_rules : zp::qconfig<activations<zp::qint8, zp::per_tensor_affine, zp::tflite_rule>,
                                  weights<zp::qint8_narrow, zp::per_channel_symmetric, zp::tflite_rule>> {};
struct onnxruntime_rules : zp::qconfig<activations<zp::quint8, zp::per_tensor_affine, zp::onnxruntime_rule>,
                                       weights<zp::qint8_narrow, zp::per_tensor_symmetric, zp::onnxruntime_rule>> {};
struct five_bits : zp::qconfig<activations<zp::custom_range<std::uint8_t, 0, 31>, zp::per_tensor_affine>,
                               weights<zp::custom_range<std::int8_t, -16, 15>, zp::per_channel_symmetric>> {};

}  // namespace

TEST_CASE("convert: signed activations, affine") { check<int8_affine>(); }
TEST_CASE("convert: signed activations, symmetric, narrow weights") { check<int8_symmetric>(); }
TEST_CASE("convert: unsigned activations, symmetric about 128, weights per tensor") { check<uint8_symmetric>(); }
TEST_CASE("convert: reduced activations") { check<reduced>(); }
TEST_CASE("convert: reduced signed activations, reduced affine weights") { check<reduced_signed>(); }
TEST_CASE("convert: affine weights") { check<affine_weights>(); }
TEST_CASE("convert: unsigned weights, affine per tensor") { check<unsigned_weights>(); }
TEST_CASE("convert: unsigned weights, symmetric per channel") { check<unsigned_symmetric_weights>(); }
TEST_CASE("convert: 4-bit weights") { check<int4_weights>(); }
TEST_CASE("convert: unsigned 4-bit weights") { check<uint4_weights>(); }
TEST_CASE("convert: TFLite's rules") { check<tflite_rules>(); }
TEST_CASE("convert: ONNX Runtime's rules") { check<onnxruntime_rules>(); }
TEST_CASE("convert: ranges of one's own, five bits") { check<five_bits>(); }
