// SPDX-License-Identifier: BSD-3-Clause
// Training through the operators of image networks.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/operators.hpp>

#include "../support/made_up.hpp"
#include "check_training.hpp"

namespace {

using zp::conv;

struct swish {
    static constexpr const char* kind = "swish_of_mine";
    template <class Number> Number operator()(Number x) const { return x / (1 + std::exp(Number(-1.3) * x)); }
};

// clang-format off
/// As MobileNetV3: inverted residuals, depthwise filters, squeeze and excite.
struct mobile : zp::model<zp::input<6, 6, 4>,
    zp::conv2d<"stem", conv{.out_channels = 6, .kernel = 3, .padding = 1, .bias = false}>, zp::batch_norm2d<"norm">, zp::hardswish,
    zp::residual<
        zp::conv2d<"expand", conv{.out_channels = 12}>, zp::relu6,
        zp::conv2d<"depthwise", conv{.kernel = 3, .padding = 1, .groups = zp::depthwise}>, zp::silu,
        zp::mul<zp::identity, zp::sequential<zp::adaptive_avg_pool2d<1>, zp::conv2d<"squeeze", conv{.out_channels = 4}>, zp::relu,
                                             zp::conv2d<"excite", conv{.out_channels = 12}>, zp::sigmoid>>,
        zp::conv2d<"project", conv{.out_channels = 6}>>,
    zp::concat<zp::sequential<zp::conv2d<"left", conv{.out_channels = 4, .kernel = 3, .stride = 2, .padding = 1}>, zp::leaky_relu<100>>,
               zp::max_pool2d<2>, zp::avg_pool2d<2>>,
    zp::mean<>, zp::flatten, zp::linear<"fc", 5>> {};

/// What moves, pads and resizes, and norms that stay.
struct shuffled : zp::model<zp::input<4, 4, 4>,
    zp::conv2d<"first", conv{.out_channels = 8, .kernel = 3, .padding = 1}>, zp::prelu<"slopes", 8>,
    zp::concat<zp::slice<zp::axis::channels, 0, 4>, zp::sequential<zp::slice<zp::axis::channels, 4>, zp::flip<zp::axis::width>>>,
    zp::channel_shuffle<2>, zp::group_norm<"group", 2>, zp::activation<swish>,
    zp::pixel_shuffle<2>, zp::reflection_pad2d<zp::sides{1}>, zp::conv2d<"grouped", conv{.out_channels = 4, .kernel = 3, .stride = 2, .groups = 2}>,
    zp::unfused_batch_norm<"unfused">, zp::gelu, zp::upsample<2, zp::resize_mode::bilinear>,
    zp::maximum<zp::identity, zp::conv2d<"other", conv{.out_channels = 4}>>,
    zp::permute<zp::axis::channels, zp::axis::height, zp::axis::width>, zp::reduce_max<zp::axes::width>,
    zp::flatten, zp::linear<"fc", 3>> {};
// clang-format on

/// Made-up parameters, with variances above zero.
template <class Net> auto network(std::uint64_t seed) {
    auto model = made_up::network<Net>(seed);
    for (const zp::node& row : model.rows()) {
        const zp::parameter_list list = zp::parameters_of(zp_test::view_of(model.rows(), row));
        for (int k = 0; k != list.count; ++k)
            if (list.arrays[k].is_variance)
                for (float& value : zp_test::array_of(model, row, k)) value = 0.5f + std::fabs(value);
    }
    return model;
}

struct config : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                            zp::quantizer<zp::qint8_narrow, zp::per_channel_symmetric, zp::min_max_observer>> {};

}  // namespace

TEST_CASE("train: an inverted residual with squeeze and excite") {
    check_training::gradients(network<mobile>(1));
    check_training::trained_is_converted<config>(network<mobile>(1));
}
TEST_CASE("train: what moves values, and norms that stay") {
    check_training::gradients(network<shuffled>(2));
    check_training::trained_is_converted<config>(network<shuffled>(2));
}
