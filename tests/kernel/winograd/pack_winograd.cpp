// SPDX-License-Identifier: BSD-3-Clause
// Packed Winograd weights: their exact inverse, and where the input channels are split.
#include "../support/convolution_kernels.hpp"

using namespace zp_test;
using namespace zp::kernel;

namespace {

conv2d_geometry small_window(int in_channels, int out_channels, int groups = 1) {
    return {.in = {3, 3, in_channels},
            .out = {3, 3, out_channels},
            .kernel_height = 3,
            .kernel_width = 3,
            .padding_top = 1,
            .padding_left = 1,
            .groups = groups};
}

template <class Winograd, class In, class Weight> void check_inverse_of(const problem<In, Weight>& p) {
    const conv2d_geometry& g = p.geometry;
    const winograd_method& method = Winograd::method;
    for_each_architecture([&](auto architecture) {
        using arch = decltype(architecture);
        INFO(operations<arch>::name, " ", method.outputs, ": ", describe(g));
        zp::aligned_buffer packed(winograd_layout<arch>(g, method).bytes);
        std::memset(packed.data(), 0x3c, packed.size());
        pack_winograd<arch>(g, method, p.view(), p.codes, packed.data());
        std::vector<Weight> weights(p.weights.size());
        std::vector<std::int32_t> bias(static_cast<std::size_t>(g.out.channels), 123);
        unpack_winograd<arch>(g, method, packed.data(), weights.data(), bias.data());
        CHECK((weights == p.weights));
        CHECK((bias == (p.bias.empty() ? std::vector<std::int32_t>(bias.size()) : p.bias)));
    });
}
template <class In, class Weight> void check_inverse(const problem<In, Weight>& p) {
    check_inverse_of<winograd_4x4>(p);
    check_inverse_of<winograd_2x2>(p);
}

/// The ends of the parts of a convolution with one output channel.
std::vector<std::int32_t> parts_of(const std::vector<std::int8_t>& weights, activation_codes codes,
                                   const winograd_method& method = winograd_4x4::method) {
    using arch = zp::portable;
    const conv2d_geometry g = small_window(static_cast<int>(weights.size()) / 9, 1);
    const winograd_layout<arch> layout(g, method);
    zp::aligned_buffer packed(layout.bytes);
    pack_winograd<arch>(g, method, conv2d_weights<std::int8_t>{weights.data()}, codes, packed.data());
    const winograd_weights<arch> reading(g, method, packed.data());
    std::vector<std::int32_t> ends;
    for (const std::int32_t* end = reading.ends(0); ends.empty() || ends.back() != layout.depth; ++end)
        ends.push_back(*end);
    CHECK(static_cast<int>(ends.size()) <= layout.most_parts);
    return ends;
}

/// Weights of `channels` channels that add up to `sum`, most of them 127.
std::vector<std::int8_t> weights_adding_up_to(int sum, int channels) {
    std::vector<std::int8_t> weights(static_cast<std::size_t>(channels) * 9);
    for (auto& w : weights) {
        w = static_cast<std::int8_t>(std::min(sum, 127));
        sum -= w;
    }
    REQUIRE(sum == 0);
    return weights;
}
std::vector<std::int8_t> negated(std::vector<std::int8_t> weights) {
    for (auto& w : weights) w = static_cast<std::int8_t>(-w);
    return weights;
}
using ends = std::vector<std::int32_t>;

}  // namespace

TEST_CASE("winograd_pack: unpacking gives back weights and bias") {
    random_engine random(41);
    for (int i = 0; i != 60; ++i) {
        const int groups = uniform(random, 0, 1) == 0 ? 1 : uniform(random, 2, 5);
        const conv2d_geometry g =
            small_window(groups * uniform(random, 1, 30), groups * uniform(random, 1, 35), groups);
        check_inverse(problem<std::uint8_t, std::int8_t>(random, g, pick_codes<std::uint8_t>(random), operands::random,
                                                         pick_operands(random), i % 3 == 0));
        check_inverse(problem<std::int8_t, std::uint8_t>(random, g, pick_codes<std::int8_t>(random), operands::random,
                                                         pick_operands(random), i % 2 == 0));
    }
    for (const int channels : {118, 233, 500}) {  // in several parts
        check_inverse(problem<std::uint8_t, std::int8_t>(random, small_window(channels, 3), {0, 0, 255},
                                                         operands::random, operands::lowest, false));
    }
}

TEST_CASE("winograd_pack: channels are split where a sum could reach the limit, and nowhere before") {
    const activation_codes full{0, 0, 255};
    // 255 * 131586 = 2^25 - 2 fits, 255 * 131587 does not.
    CHECK((parts_of(weights_adding_up_to(131586, 116), full) == ends{116}));
    CHECK((parts_of(weights_adding_up_to(131587, 116), full) == ends{112, 116}));
    CHECK((parts_of(negated(weights_adding_up_to(131586, 116)), full) == ends{116}));
    CHECK((parts_of(negated(weights_adding_up_to(131587, 116)), full) == ends{112, 116}));
    // The other end: all codes are below their zero point.
    CHECK((parts_of(weights_adding_up_to(131586, 116), {255, 0, 255}) == ends{116}));
    CHECK((parts_of(weights_adding_up_to(131587, 116), {255, 0, 255}) == ends{112, 116}));
    CHECK((parts_of(weights_adding_up_to(131587, 116), {127, -128, 127}) == ends{112, 116}));
    CHECK((parts_of(weights_adding_up_to(131587, 116), {-128, -128, 127}) == ends{112, 116}));
    // The limit itself: 128 * 262144 = 2^25.
    CHECK((parts_of(weights_adding_up_to(262143, 232), {0, 0, 128}) == ends{232}));
    CHECK((parts_of(weights_adding_up_to(262144, 232), {0, 0, 128}) == ends{228, 232}));
    // A zero point in the middle halves the reach of weights of one sign, and 7-bit codes do.
    CHECK((parts_of(weights_adding_up_to(262143, 232), {128, 0, 255}) == ends{232}));
    CHECK((parts_of(weights_adding_up_to(262144, 232), {128, 0, 255}) == ends{228, 232}));
    CHECK((parts_of(weights_adding_up_to(262144, 232), {0, 0, 127}) == ends{232}));
    // A zero point outside of the codes that come counts as one of them: padding has it.
    CHECK((parts_of(weights_adding_up_to(131587, 116), {255, 0, 1}) == ends{112, 116}));
    // No more than most_parts, each as long as it can be.
    const std::vector<std::int8_t> lowest(9 * 1000, -128);
    CHECK((parts_of(lowest, full) == ends{112, 224, 336, 448, 560, 672, 784, 896, 1000}));
}

TEST_CASE("winograd_pack: weights of both signs reach their limit together") {
    // high * positive - low * negative, and high - low = 255: the zero point makes no difference where they are equal.
    const auto alternating = [](int w) {
        std::vector<std::int8_t> weights(9 * 232);
        for (std::size_t i = 0; i != weights.size(); ++i) weights[i] = static_cast<std::int8_t>(i % 2 == 0 ? w : -w);
        return weights;
    };
    for (const int zero_point : {0, 64, 128, 255}) {
        CHECK((parts_of(alternating(126), {zero_point, 0, 255}) == ends{232}));  // 255 * 1044 * 126 < 2^25
        CHECK((parts_of(alternating(127), {zero_point, 0, 255}) == ends{228, 232}));
    }
}

TEST_CASE("winograd_pack: the limit of 2x2 is sixteen times as far") {
    const activation_codes full{0, 0, 255};
    // 255 * 2105376 = 2^29 - 32
    CHECK((parts_of(weights_adding_up_to(2105376, 1844), full, winograd_2x2::method) == ends{1844}));
    CHECK((parts_of(weights_adding_up_to(2105377, 1844), full, winograd_2x2::method) == ends{1840, 1844}));
}

TEST_CASE("winograd_pack: split convolutions are exact, whole ones just below the limit as well") {
    random_engine random(42);
    const auto exact = [&]<class Winograd>(Winograd, const std::vector<std::int8_t>& weights, activation_codes codes,
                                           operands x) {
        const conv2d_geometry g = small_window(static_cast<int>(weights.size()) / 9, 1);
        problem<std::uint8_t, std::int8_t> p(random, g, codes, x, operands::random, false);
        p.weights = weights;
        const auto sums = expected<std::int32_t>(p, accumulators{});
        bool all = true;
        for_each_architecture([&](auto architecture) {
            using arch = decltype(architecture);
            zp::aligned_buffer packed(winograd_layout<arch>(g, Winograd::method).bytes);
            zp::aligned_buffer scratch(winograd_plan<arch>(g, Winograd::method).scratch_bytes);
            pack_winograd<arch>(g, Winograd::method, p.view(), codes, packed.data());
            std::vector<std::int32_t> y(sums.size());
            winograd_conv2d<arch>(g, winograd_transforms_of<arch, Winograd, std::uint8_t>, p.x.data(), codes,
                                  packed.data(), accumulators{}, y.data(), scratch.data());
            all = all && y == sums;
        });
        return all;
    };
    // The window of the pixel in the middle holds all nine taps.
    for (const int sum : {131585, 131586, 131587, 131588}) {
        const auto weights = weights_adding_up_to(sum, 116);
        CHECK(exact(winograd_4x4{}, weights, {0, 0, 255}, operands::highest));
        CHECK(exact(winograd_4x4{}, negated(weights), {0, 0, 255}, operands::highest));
        CHECK(exact(winograd_4x4{}, weights, {255, 0, 255}, operands::lowest));
        CHECK(exact(winograd_4x4{}, negated(weights), {255, 0, 255}, operands::lowest));
    }
    const auto far = weights_adding_up_to(2105377, 1844);
    CHECK(exact(winograd_2x2{}, far, {0, 0, 255}, operands::highest));
    CHECK(exact(winograd_4x4{}, far, {0, 0, 255}, operands::highest));
}
