// SPDX-License-Identifier: BSD-3-Clause
// Presets: what each promises in its name, and that it converts a network to one that says nearly the same.
#include <doctest/doctest.h>

#include <cmath>
#include <type_traits>
#include <vector>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/workflow/convert.hpp>
#include <zeropoint/workflow/presets.hpp>

#include "../support/made_up.hpp"

namespace {

using zp::conv;

struct net : zp::model<zp::input<6, 6, 3>, zp::conv2d<"a", conv{.out_channels = 16, .kernel = 3, .padding = 1}>,
                       zp::batch_norm2d<"bn">, zp::relu, zp::residual<zp::conv2d<"b", conv{.out_channels = 16}>>,
                       zp::hardswish, zp::adaptive_avg_pool2d<1>, zp::flatten, zp::linear<"c", 12>> {};

/// Signal-to-noise ratio of the converted network's outputs, in decibels.
template <class Config> double signal_to_noise() {
    const auto trained = made_up::network<net>(1);
    const auto int8 = zp::convert(zp::calibrate(zp::prepare<Config>(trained), made_up::inputs<net>(64, 1)));
    double signal = 0, noise = 0;
    for (const auto& x : made_up::inputs<net>(32, 2)) {
        std::vector<float> a(12), b(12);
        trained(x, a);
        int8(x, b);
        for (std::size_t i = 0; i != 12; ++i) {
            signal += double{a[i]} * double{a[i]};
            noise += (double{a[i]} - double{b[i]}) * (double{a[i]} - double{b[i]});
        }
    }
    return 10 * std::log10(signal / noise);
}

template <class Config> using activation = typename Config::activation;
template <class Config> using weight = typename Config::weight;
template <class Config> using policy = typename zp::qconfig_entries<Config>::requantization;

}  // namespace

TEST_CASE("presets: dtypes, schemes and arithmetic are those of the systems they are named after") {
    using std::is_same_v;
    static_assert(is_same_v<activation<zp::default_qconfig>::dtype, zp::quint8> &&
                  is_same_v<policy<zp::default_qconfig>, zp::nearest_even>);
    static_assert(is_same_v<activation<zp::fbgemm_qconfig>::dtype, zp::quint8> &&
                  is_same_v<activation<zp::fbgemm_qconfig>::rule, zp::reduce_range<zp::pytorch_rule>> &&
                  is_same_v<policy<zp::fbgemm_qconfig>, zp::float_bias>);
    static_assert(is_same_v<activation<zp::seven_bit_qconfig>::dtype, zp::quint8_reduced>);
    static_assert(weight<zp::fbgemm_qconfig>::qscheme::is_per_channel &&
                  weight<zp::qnnpack_qconfig>::qscheme::is_per_tensor);
    static_assert(is_same_v<activation<zp::tflite_qconfig>::dtype, zp::qint8> &&
                  is_same_v<weight<zp::tflite_qconfig>::dtype, zp::qint8_narrow>);
    static_assert(is_same_v<policy<zp::tflite_qconfig>, zp::fixed_point_double_rounding> &&
                  is_same_v<activation<zp::tflite_qconfig>::rule, zp::tflite_rule>);
    static_assert(zp::table_bits_of<zp::default_qconfig> == 10 && zp::table_bits_of<zp::accurate_qconfig> == 10 &&
                  zp::table_bits_of<zp::fbgemm_qconfig> == 8 && zp::table_bits_of<zp::qnnpack_qconfig> == 8 &&
                  zp::table_bits_of<zp::tflite_qconfig> == 8);
    static_assert(zp::qconfig_entries<zp::accurate_qconfig>::corrects_biases &&
                  !zp::qconfig_entries<zp::default_qconfig>::corrects_biases);
    static_assert(activation<zp::tensorrt_qconfig>::qscheme::is_symmetric &&
                  weight<zp::tensorrt_qconfig>::qscheme::is_symmetric);
}
TEST_CASE("presets: the default converts well") { CHECK(signal_to_noise<zp::default_qconfig>() > 30); }
TEST_CASE("presets: accurate converts well") { CHECK(signal_to_noise<zp::accurate_qconfig>() > 30); }
TEST_CASE("presets: fbgemm converts well") { CHECK(signal_to_noise<zp::fbgemm_qconfig>() > 24); }
TEST_CASE("presets: seven bits convert as fbgemm does") { CHECK(signal_to_noise<zp::seven_bit_qconfig>() > 24); }
TEST_CASE("presets: fbgemm has codes for values beyond the calibrated range, seven bits cut them") {
    struct alone : zp::model<zp::input<1, 1, 4>, zp::linear<"fc", 1>> {};
    zp::float_model<alone> model;
    auto* block = reinterpret_cast<float*>(model.parameters() + model.rows()[1].at.parameter_offset);
    for (int i = 0; i != 4; ++i) block[i] = 1;
    const std::vector<std::vector<float>> calibration(40, {0, 1, 1, 0});
    const auto largest = [&]<class Config>() {
        const auto int8 = zp::convert(zp::calibrate(zp::prepare<Config>(model), calibration));
        std::vector<float> y(1);
        int8(std::vector<float>{1.5f, 1.5f, 0, 0}, y);
        return y[0];
    };
    CHECK(largest.template operator()<zp::fbgemm_qconfig>() == doctest::Approx(3).epsilon(0.02));
    CHECK(largest.template operator()<zp::seven_bit_qconfig>() == doctest::Approx(2).epsilon(0.02));
}
TEST_CASE("presets: qnnpack converts well") { CHECK(signal_to_noise<zp::qnnpack_qconfig>() > 28); }
TEST_CASE("presets: tflite converts well") { CHECK(signal_to_noise<zp::tflite_qconfig>() > 30); }
TEST_CASE("presets: tensorrt converts") { CHECK(signal_to_noise<zp::tensorrt_qconfig>() > 18); }
