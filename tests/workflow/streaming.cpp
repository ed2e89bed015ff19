// SPDX-License-Identifier: BSD-3-Clause
// Models that run step by step: what the whole sequence gives at each step, in float, dynamic and int8.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include <zeropoint/analysis/model_table.hpp>
#include <zeropoint/operators/layer_norm.hpp>
#include <zeropoint/operators/pad.hpp>
#include <zeropoint/operators/lstm.hpp>
#include <zeropoint/operators/l2_normalization.hpp>
#include <zeropoint/operators/softmax.hpp>
#include <zeropoint/operators/topk.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/workflow/convert.hpp>
#include <zeropoint/workflow/presets.hpp>
#include <zeropoint/workflow/streaming.hpp>

#include "../support/made_up.hpp"

namespace {

using zp::conv;

template <class DType>
struct config_of : zp::qconfig<zp::quantizer<DType, zp::per_tensor_affine, zp::min_max_observer>,
                               zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>> {
};
struct unsigned_config : config_of<zp::quint8> {};
struct signed_config : config_of<zp::qint8> {};
/// A float island around one convolution, and adds that are rows of their own.
struct mixed_config : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                                  zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>,
                                  zp::keep_float<"wide">, zp::separate_sums> {};

/// In front of a convolution as many steps of zeros as it looks back.
template <int Steps, class Convolution>
struct causal : zp::sequential<zp::zero_pad2d<zp::sides(Steps, 0, 0, 0)>, Convolution> {};

constexpr int length = 30, features = 7;
struct net
    : zp::model<
          zp::input<1, length, features>, causal<4, zp::conv1d<"wide", conv{.out_channels = 40, .kernel = 5}>>,
          zp::relu,
          zp::residual<causal<8, zp::conv1d<"depthwise", conv{.kernel = 3, .dilation = 4, .groups = zp::depthwise}>>,
                       zp::batch_norm1d<"norm">, zp::hardswish, zp::conv1d<"point", conv{.out_channels = 40}>>,
          zp::concat<
              causal<2, zp::conv1d<"grouped", conv{.out_channels = 12, .kernel = 2, .dilation = 2, .groups = 4}>>,
              zp::sequential<zp::linear<"each", 36>, zp::sigmoid>>,
          zp::layer_norm<"layer_norm">, zp::lstm<"lstm", 33>, zp::gru<"gru", 32>, zp::linear<"scores", 5>, zp::sort<>,
          zp::l2_normalization, zp::softmax> {};

/// Stacks of recurrent layers, whose states lie behind each other.
struct stacks : zp::model<zp::input<1, length, features>, zp::lstm<"lstm", 33, zp::recurrent_options{.layers = 2}>,
                          zp::gru<"gru", 32, zp::recurrent_options{.layers = 3}>, zp::linear<"scores", 5>> {};

/// Dilated windows whose steps are matrix products of one row, some through a fused table, one with a residual.
struct dilated
    : zp::model<zp::input<1, length, features>,
                causal<8, zp::conv1d<"first", conv{.out_channels = 16, .kernel = 3, .dilation = 4}>>, zp::tanh,
                zp::residual<causal<9, zp::conv1d<"second", conv{.out_channels = 16, .kernel = 4, .dilation = 3}>>>,
                causal<2, zp::conv1d<"third", conv{.out_channels = 33, .kernel = 2, .dilation = 2}>>, zp::relu,
                zp::linear<"scores", 5>> {};

/// Float layers of more than 32 outputs, whose sums run in one order.
struct wide : zp::model<zp::input<1, length, features>,
                        causal<8, zp::conv1d<"first", conv{.out_channels = 40, .kernel = 5, .dilation = 2}>>, zp::relu,
                        zp::linear<"scores", 33>> {};

/// Made up, but for weights of recurrent rows so small that a last bit does not grow from step to step.
template <class Net = net> zp::float_model<Net> trained_network() {
    auto model = made_up::network<Net>(3);
    for (const zp::node& row : model.rows()) {
        if (row.op->state_values == 0) continue;
        auto* weights = reinterpret_cast<float*>(model.parameters() + row.at.parameter_offset);
        for (int i = 0; i != row.weights.count; ++i) weights[i] *= 0.08f;
    }
    return model;
}

/// Outputs of a whole sequence and of its steps.
template <class Network> struct outputs {
    static constexpr std::size_t given = Network::output_shape.channels;
    std::vector<float> whole, steps;
    outputs(const Network& model, const std::vector<float>& x) : whole(length * given), steps(length * given) {
        model(x, whole, *std::make_unique<typename Network::workspace>());
        const auto stream = std::make_unique<zp::streaming<Network>>(model);
        for (int round = 0; round != 2; ++round, stream->reset())  // the second of the same sequence, from zeros again
            for (std::size_t step = 0; step != length; ++step)
                (*stream)(std::span(x).subspan(step * features, features),
                          std::span(steps).subspan(step * given, given));
    }
    double largest_difference() const {
        double largest = 0;
        for (std::size_t i = 0; i != whole.size(); ++i)
            largest = std::max(largest, std::abs(double{whole[i]} - double{steps[i]}));
        return largest;
    }
};

/// Float rows may differ in their last bits: sums and functions run over vectors of other lengths.
template <class Config, class Net = net> void compare_int8(double most = 0) {
    const auto trained = trained_network<Net>();
    const auto int8 = zp::convert(zp::calibrate(zp::prepare<Config>(trained), made_up::inputs<Net>(3, 1, -2, 2)));
    for (const auto& x : made_up::inputs<Net>(2, 5, -2, 2)) {
        const outputs both(int8, x);
        CHECK(both.largest_difference() <= most);
        CHECK(std::any_of(both.whole.begin(), both.whole.end(), [](float y) { return std::abs(y) > 0.25f; }));
    }
}

}  // namespace

TEST_CASE("streaming: int8 networks give the same integers step by step") {
    compare_int8<unsigned_config>();
    compare_int8<signed_config>();
    compare_int8<zp::int16_qconfig>(1e-5);  // softmax and layer_norm are rows of floats
}

TEST_CASE("streaming: float islands, float networks and dynamic ones") {
    compare_int8<mixed_config>(0.01);
    const auto trained = trained_network();
    const auto fused = zp::fuse(trained);
    using config =
        zp::dynamic_qconfig<zp::dynamic_policy<>, zp::quantize_every_layer, zp::keep_float_type<zp::op::conv2d>>;
    const auto dynamic = zp::quantize_dynamic<config>(fused);
    for (const auto& x : made_up::inputs<net>(2, 5, -2, 2)) {
        CHECK(outputs(trained, x).largest_difference() < 1e-5);
        CHECK(outputs(fused, x).largest_difference() < 1e-5);
        CHECK(outputs(dynamic, x).largest_difference() < 0.01);  // a last bit may become a code
    }
}

TEST_CASE("streaming: stacks of recurrent layers") {
    compare_int8<unsigned_config, stacks>();
    compare_int8<zp::int16_qconfig, stacks>();
    const auto trained = trained_network<stacks>();
    const auto dynamic = zp::quantize_dynamic(trained);
    for (const auto& x : made_up::inputs<stacks>(2, 5, -2, 2)) {
        CHECK(outputs(trained, x).largest_difference() < 1e-5);
        CHECK(outputs(dynamic, x).largest_difference() < 0.01);  // a last bit may become a code
    }
}

TEST_CASE("streaming: dilated convolutions") {
    compare_int8<unsigned_config, dilated>();
    compare_int8<signed_config, dilated>();
    compare_int8<zp::int16_qconfig, dilated>();
    const auto trained = trained_network<dilated>();
    for (const auto& x : made_up::inputs<dilated>(2, 5, -2, 2)) CHECK(outputs(trained, x).largest_difference() < 1e-5);
    const zp::streaming<zp::float_model<dilated>> stream(trained);
    const zp::model_table table = zp::table_of(stream.step_network());
    CHECK(table.rows[1].operation == "window");
    CHECK(table.rows[1].out == zp::shape{1, 3, features});  // the taps, not what lies between them
}

TEST_CASE("streaming: float layers of more than 32 outputs have the bits of the whole sequence") {
    const auto trained = trained_network<wide>();
    for (const auto& x : made_up::inputs<wide>(2, 5, -2, 2))
        if constexpr (zp::has_vectors<zp::default_architecture>) CHECK(outputs(trained, x).largest_difference() == 0);
        else CHECK(outputs(trained, x).largest_difference() < 1e-5);
}

TEST_CASE("streaming: the table of one step") {
    const auto trained = trained_network();
    const zp::streaming<zp::float_model<net>> stream(trained);
    const zp::model_table table = zp::table_of(stream.step_network());
    REQUIRE(table.rows.size() > 3);
    CHECK(table.rows[1].operation == "window");
    CHECK(table.rows[1].out == zp::shape{1, 5, features});
    CHECK(table.rows[2].operation == "conv1d");
    CHECK(table.rows[2].out == zp::shape{1, 1, 40});
    CHECK(table.rows[2].macs == 5 * features * 40);
    static_assert(zp::streaming<zp::float_model<net>>::input_shape == zp::shape{1, 1, features});
}

namespace {

/// An operator of the user's with a state: the sum of the steps so far, in float.
struct running_sum {
    static constexpr const char* kind = "running_sum";
    static constexpr zp::stream_rule stream = zp::stream_rule::stateful;
    static constexpr zp::shape output_shape(zp::shape x) { return x; }
    static constexpr zp::state_list states(const zp::node_view& v) {
        return zp::state_list()
            .add("count", zp::scalar_type::int32, 1)
            .add("sum", v.y_type().storage, v.x_shape().channels);
    }
    static void forward(const zp::operands<float>& o) noexcept {
        auto* sum = o.state<float>(1);
        for (int step = 0; step != o.x_shape().width; ++step) {
            const int channels = o.x_shape().channels, count = ++*o.state<std::int32_t>();
            for (int c = 0; c != channels; ++c) {
                sum[c] += o.x()[step * channels + c];
                o.y()[step * channels + c] = sum[c] + static_cast<float>(count);
            }
        }
    }
};
struct sums_net : zp::model<zp::input<1, 4, 3>, zp::custom<"sums", running_sum>> {};

}  // namespace

TEST_CASE("streaming: the state of an operator of one's own begins with zeros, and is kept by streams alone") {
    const zp::float_model<sums_net> model;
    const std::vector<float> x = {1, 2, 3, 10, 20, 30, 100, 200, 300, 1000, 2000, 3000};
    const std::vector<float> expected = {2, 3, 4, 13, 24, 35, 114, 225, 336, 1115, 2226, 3337};
    std::vector<float> whole(12);
    for (int call = 0; call != 2; ++call) {
        model(x, whole);
        CHECK(whole == expected);
    }
    zp::streaming<zp::float_model<sums_net>> stream(model);
    for (int round = 0; round != 2; ++round, stream.reset()) {
        std::vector<float> steps(12);
        for (std::size_t step = 0; step != 4; ++step)
            stream(std::span(x).subspan(step * 3, 3), std::span(steps).subspan(step * 3, 3));
        CHECK(steps == expected);
    }
}
