// SPDX-License-Identifier: BSD-3-Clause
// Streams whose steps take several positions, or give several: what the whole sequence gives, for strides, pools and transposed
// convolutions.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include <zeropoint/analysis/model_table.hpp>
#include <zeropoint/operators/binary.hpp>
#include <zeropoint/operators/causal_conv1d.hpp>
#include <zeropoint/operators/conv_transpose2d.hpp>
#include <zeropoint/operators/lstm.hpp>
#include <zeropoint/operators/pad.hpp>
#include <zeropoint/operators/slice.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/workflow/convert.hpp>
#include <zeropoint/workflow/presets.hpp>
#include <zeropoint/workflow/streaming.hpp>

#include "../support/made_up.hpp"

namespace {

using zp::conv, zp::pool;

template <class DType>
struct config_of : zp::qconfig<zp::quantizer<DType, zp::per_tensor_affine, zp::min_max_observer>,
                               zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>> {
};
struct unsigned_config : config_of<zp::quint8> {};
struct signed_config : config_of<zp::qint8> {};

template <int Zeros, class Layer>
struct behind_zeros : zp::sequential<zp::zero_pad2d<zp::sides(Zeros, 0, 0, 0)>, Layer> {};

/// Strides 3 and 5, windows that overlap and windows that leave positions out, zeros of a pad, of a layer's own, and both.
struct odd
    : zp::model<zp::input<1, 60, 7>,
                behind_zeros<2, zp::conv1d<"three", conv{.out_channels = 12, .kernel = 5, .stride = 3}>>, zp::relu,
                behind_zeros<1, zp::conv1d<"five", conv{.out_channels = 9, .kernel = 4, .stride = 5, .padding = 1}>>,
                zp::tanh, zp::linear<"scores", 3>> {
    static constexpr int positions = 15;
};

/// Pools of all kinds between windows with a dilation, which look back over several steps.
struct pools
    : zp::model<zp::input<1, 64, 6>, zp::max_pool1d<pool{.kernel = 3, .stride = 2, .padding = 1}>,
                behind_zeros<8, zp::conv1d<"dilated", conv{.out_channels = 17, .kernel = 3, .dilation = 4}>>,
                zp::batch_norm1d<"norm">, zp::hardswish,
                zp::residual<behind_zeros<2, zp::avg_pool1d<pool{.kernel = 3, .stride = 1}>>,
                             zp::conv1d<"inside", conv{.out_channels = 17}>>,
                zp::avg_pool1d<2>,
                behind_zeros<
                    7, zp::conv1d<"depthwise", conv{.kernel = 3, .stride = 2, .dilation = 3, .groups = zp::depthwise}>>,
                behind_zeros<3, zp::max_pool1d<pool{.kernel = 4, .stride = 2, .padding = 2, .dilation = 2}>>,
                zp::gru<"gru", 16>, zp::linear<"scores", 4>> {
    static constexpr int positions = 16;
};

/// Down by 2 and 3, up by 3 and 2, as a codec, beside what comes in; ends that transposed convolutions add are cut off.
template <int Length> using first_steps = zp::slice<zp::axis::width, 0, Length>;
struct codec
    : zp::model<zp::input<1, 36, 5>,
                zp::residual<
                    zp::causal_conv1d<"in", conv{.out_channels = 8, .kernel = 7}>, zp::relu,
                    behind_zeros<2, zp::conv1d<"half", conv{.out_channels = 16, .kernel = 4, .stride = 2}>>, zp::relu,
                    zp::conv1d<"sixth", conv{.out_channels = 24, .kernel = 3, .stride = 3}>, zp::lstm<"lstm", 16>,
                    zp::conv_transpose1d<"up3", zp::conv_transpose{.out_channels = 12, .kernel = 7, .stride = 3}>,
                    first_steps<18>, zp::relu,
                    zp::conv_transpose1d<
                        "up2", zp::conv_transpose{.out_channels = 6, .kernel = 3, .stride = 2, .dilation = 2}>,
                    first_steps<36>, zp::tanh,
                    zp::causal_conv1d<"out", conv{.out_channels = 5, .kernel = 3, .dilation = 2}>>> {
    static constexpr int positions = 6;
};

/// As networks trained elsewhere have it: padding on both sides, and the end cut off; gates of two halves of the channels.
struct both_sides
    : zp::model<zp::input<1, 24, 6>,
                zp::conv1d<"first", conv{.out_channels = 16, .kernel = 3, .padding = 4, .dilation = 2}>,
                first_steps<24>,
                zp::mul<zp::sequential<zp::chunk<0, 2>, zp::tanh>, zp::sequential<zp::chunk<1, 2>, zp::sigmoid>>,
                zp::zero_pad2d<zp::sides(3, 2, 0, 0)>,
                zp::conv1d<"second", conv{.out_channels = 8, .kernel = 5, .stride = 2}>, zp::linear<"scores", 3>> {
    static constexpr int positions = 2;
};

/// Up alone: a step takes one position and gives four.
struct up
    : zp::model<
          zp::input<1, 10, 6>,
          zp::conv_transpose1d<"up", zp::conv_transpose{.out_channels = 8, .kernel = 5, .stride = 4, .groups = 2}>,
          first_steps<40>, zp::relu, zp::causal_conv1d<"out", conv{.out_channels = 3, .kernel = 4}>> {
    static constexpr int positions = 1;
};

/// Outputs of a whole sequence and of its steps, twice. What a sequence has behind its last whole step is left out. The second time
/// it is left for a while and taken up again.
template <class Network> struct outputs {
    using stream_type = zp::streaming<Network>;
    static constexpr auto taken = static_cast<std::size_t>(stream_type::input_shape.size()),
                          given = static_cast<std::size_t>(stream_type::output_shape.size());
    std::vector<float> whole, steps;
    outputs(const Network& model, const std::vector<float>& x)
        : whole(static_cast<std::size_t>(Network::output_shape.size())) {
        model(x, whole, *std::make_unique<typename Network::workspace>());
        const auto stream = std::make_unique<stream_type>(model);
        const std::size_t count = x.size() / taken;
        REQUIRE(count > 2);
        REQUIRE(count * given <= whole.size());
        whole.resize(count * given);
        for (int round = 0; round != 2; ++round, stream->reset()) {
            steps.assign(whole.size(), 0.0f);
            for (std::size_t step = 0; step != count; ++step) {
                if (round == 1 && step == 2) leave(*stream, x);
                (*stream)(std::span(x).subspan(step * taken, taken), std::span(steps).subspan(step * given, given));
            }
        }
    }
    static void leave(stream_type& stream, const std::vector<float>& x) {
        std::vector<float> other(given);
        std::vector<std::byte> kept(stream.state().begin(), stream.state().end());
        stream.reset();
        for (std::size_t step = 0; step != 3; ++step) stream(std::span(x).subspan(step * taken, taken), other);
        stream.restore(std::span<const std::byte, stream_type::state_bytes>(kept));
    }
    double largest_difference() const {
        double largest = 0;
        for (std::size_t i = 0; i != whole.size(); ++i)
            largest = std::max(largest, std::abs(double{whole[i]} - double{steps[i]}));
        return largest;
    }
};

template <class Config, class Net> void compare_int8() {
    static_assert(zp::streaming<zp::quantized<Net, Config>>::input_shape.width == Net::positions);
    const auto int8 =
        zp::convert(zp::calibrate(zp::prepare<Config>(made_up::network<Net>(3)), made_up::inputs<Net>(3, 1, -2, 2)));
    for (const auto& x : made_up::inputs<Net>(2, 5, -2, 2)) {
        const outputs both(int8, x);
        CHECK(both.largest_difference() == 0);
        CHECK(std::any_of(both.whole.begin(), both.whole.end(), [](float y) { return std::abs(y) > 0.25f; }));
    }
}
template <class Net> void compare_float() {
    const auto trained = made_up::network<Net>(3);
    for (const auto& x : made_up::inputs<Net>(2, 5, -2, 2)) CHECK(outputs(trained, x).largest_difference() < 1e-5);
}

/// A detector for every second position, one for every sixth.
struct two_rates : zp::model<zp::input<1, 24, 3>,
                             zp::conv1d<"fast", conv{.out_channels = 4, .kernel = 3, .stride = 2, .padding = 1}>,
                             zp::output<"often">, zp::max_pool1d<3>, zp::linear<"slow", 2>, zp::output<"rarely">> {};

}  // namespace

TEST_CASE("streaming: strides of 3 and 5") {
    compare_int8<unsigned_config, odd>();
    compare_int8<zp::int16_qconfig, odd>();
}
TEST_CASE("streaming: pools") {
    compare_int8<signed_config, pools>();
    compare_float<pools>();
}
TEST_CASE("streaming: down and up again") {
    compare_int8<unsigned_config, codec>();
    compare_float<codec>();
}
TEST_CASE("streaming: padding on both sides whose end is cut off") { compare_int8<unsigned_config, both_sides>(); }
TEST_CASE("streaming: several positions for one") { compare_int8<signed_config, up>(); }

TEST_CASE("streaming: outputs of two rates") {
    const auto trained = made_up::network<two_rates>(3);
    zp::streaming<zp::float_model<two_rates>> stream(trained);
    static_assert(stream.input_shape == zp::shape{1, 6, 3});
    static_assert(decltype(stream)::network_type::outputs()[0].extents == zp::shape{1, 3, 4});
    static_assert(decltype(stream)::network_type::outputs()[1].extents == zp::shape{1, 1, 2});
    const std::vector<float> x = made_up::inputs<two_rates>(1)[0];
    std::array<float, 48> often, whole_often;
    std::array<float, 8> rarely, whole_rarely;
    trained(zp::in(x), zp::out(whole_often, whole_rarely));
    const std::span<float> frequent(often), seldom(rarely);
    for (std::size_t step = 0; step != 4; ++step)
        stream(zp::in(std::span(x).subspan(step * 18, 18)),
               zp::out(frequent.subspan(step * 12, 12), seldom.subspan(step * 2, 2)));
    for (std::size_t i = 0; i != often.size(); ++i) CHECK(often[i] == doctest::Approx(whole_often[i]));
    for (std::size_t i = 0; i != rarely.size(); ++i) CHECK(rarely[i] == doctest::Approx(whole_rarely[i]));
}
