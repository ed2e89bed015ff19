// SPDX-License-Identifier: BSD-3-Clause
// normalize: in front of a convolution it goes into weights, bias and border; elsewhere it is a table a channel.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <zeropoint/io/model_file.hpp>
#include <zeropoint/operators/normalize.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/fixed_qparams_observer.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/workflow/convert.hpp>

#include "../support/made_up.hpp"
#include "../support/run.hpp"

namespace {

using zp::conv;
using imagenet = zp::normalize<zp::means<485, 456, 406>, zp::deviations<229, 224, 225>>;

using activations = zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>;
using weights = zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>;
/// Bytes of an image as they are: 0 to 1 in steps of 1/255.
using bytes = zp::qconfig<
    zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::fixed_qparams_observer<zp::qparams{1.0f / 255, 0}>>, weights>;
struct config : zp::qconfig<activations, weights, zp::for_layer<"input", bytes>> {};

template <class... Front>
struct padded
    : zp::model<zp::input<9, 7, 3>, Front...,
                zp::conv2d<"a", conv{.out_channels = 6, .kernel = 3, .stride = 2, .padding = 1, .bias = false}>,
                zp::batch_norm2d<"bn">, zp::relu, zp::conv2d<"b", conv{.out_channels = 2}>> {};
struct normalized : padded<imagenet> {};
struct plain : padded<> {};
struct grouped
    : zp::model<zp::input<5, 5, 3>, imagenet, zp::conv2d<"a", conv{.out_channels = 6, .kernel = 3, .groups = 3}>> {};
struct twice_read : zp::model<zp::input<5, 5, 3>, imagenet,
                              zp::concat<zp::conv2d<"a", conv{.out_channels = 2}>, zp::identity>, zp::relu> {};
/// What the border and the folded convolution are, written by hand.
struct by_hand : zp::model<zp::input<11, 9, 3>, zp::conv2d<"a", conv{.out_channels = 6, .kernel = 3, .stride = 2}>,
                           zp::relu, zp::conv2d<"b", conv{.out_channels = 2}>> {};

constexpr float mean[] = {0.485f, 0.456f, 0.406f}, deviation[] = {0.229f, 0.224f, 0.225f};

using zp_test::run;
void check_close(const std::vector<float>& a, const std::vector<float>& b) {
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i != a.size(); ++i) CHECK(std::abs(a[i] - b[i]) < 2e-5f * (1 + std::abs(a[i])));
}
std::vector<float> by_formula(std::vector<float> x) {
    for (std::size_t i = 0; i != x.size(); ++i) x[i] = (x[i] - mean[i % 3]) / deviation[i % 3];
    return x;
}
/// x with the means around it: 9 x 7 becomes 11 x 9.
std::vector<float> surrounded(const std::vector<float>& x) {
    std::vector<float> y;
    for (int row = -1; row != 10; ++row)
        for (int column = -1; column != 8; ++column)
            for (int c = 0; c != 3; ++c) {
                const bool inside = row >= 0 && row < 9 && column >= 0 && column < 7;
                y.push_back(inside ? x[static_cast<std::size_t>((row * 7 + column) * 3 + c)] : mean[c]);
            }
    return y;
}

}  // namespace

TEST_CASE("fuse: normalize goes into the convolution behind it, with the means around the image") {
    const auto trained = made_up::network<normalized>(3);
    const auto same = made_up::network<plain>(3);  // the same weights: normalize has none
    const auto fused = zp::fuse(trained);
    REQUIRE(fused.rows().size() == 4);  // input, mean_border, a + bn + relu, b
    CHECK(std::string(fused.rows()[1].op->name) == "mean_border");
    CHECK(fused.rows()[1].out.extents == zp::shape{11, 9, 3});
    for (const auto& image : made_up::inputs<normalized>(4, 5, 0, 1)) {
        check_close(run(trained, image), run(same, by_formula(image)));
        check_close(run(fused, image), run(trained, image));
    }
}

TEST_CASE("fuse: without padding, and in groups, normalize leaves no row") {
    const auto trained = made_up::network<grouped>(4);
    const auto fused = zp::fuse(trained);
    CHECK(fused.rows().size() == 2);
    for (const auto& image : made_up::inputs<grouped>(4, 6, 0, 1)) check_close(run(fused, image), run(trained, image));
}

TEST_CASE("fuse: normalize stays where something else reads it") {
    const auto trained = made_up::network<twice_read>(4);
    const auto fused = zp::fuse(trained);
    CHECK(fused.rows().size() == 5);
    for (const auto& image : made_up::inputs<twice_read>(2, 6, 0, 1)) CHECK(run(fused, image) == run(trained, image));
    // In int8: a table a channel.
    const auto int8 = zp::convert(zp::calibrate(zp::prepare<config>(fused), made_up::inputs<twice_read>(20, 7, 0, 1)));
    std::vector<float> y(125);
    auto memory = std::make_unique<decltype(int8)::workspace>();
    const auto image = made_up::inputs<twice_read>(1, 8, 0, 1)[0];
    std::vector<std::uint8_t> x, found;
    int8.run(image.data(), y.data(), memory->bytes, [&](int i, const void* values) {
        const auto* codes = static_cast<const std::uint8_t*>(values);
        if (i == 1) x.assign(codes, codes + 75);
        if (std::string(int8.rows()[static_cast<std::size_t>(i)].op->name) == "normalize")
            found.assign(codes, codes + 75);
    });
    REQUIRE(found.size() == 75);
    const zp::qparams range = int8.ranges()[int8.rows()[2].out.qparams_id];
    for (std::size_t i = 0; i != 75; ++i) {
        const double real = (double{int8.ranges()[0].scale} * x[i] - double{mean[i % 3]}) / double{deviation[i % 3]};
        const auto code = static_cast<int>(std::nearbyint(real / double{range.scale})) + range.zero_point;
        CHECK(int{found[i]} == std::clamp(code, 0, 255));
    }
}

TEST_CASE("convert: a folded normalize computes what the same convolution over a padded image does") {
    const auto trained = made_up::network<normalized>(3);
    const auto fused = zp::fuse(trained);
    const auto calibration = made_up::inputs<normalized>(6, 9, 0, 1);
    const auto int8 = zp::convert(zp::calibrate(zp::prepare<config>(fused), calibration));
    CHECK(int8.ranges()[0] == zp::qparams{1.0f / 255, 0});

    auto hand = made_up::network<by_hand>(1);
    const auto copy = [&](int from, int to) {
        const zp::node &source = fused.rows()[static_cast<std::size_t>(from)],
                       &target = hand.rows()[static_cast<std::size_t>(to)];
        REQUIRE(source.at.parameter_bytes == target.at.parameter_bytes);
        std::memcpy(hand.parameters() + target.at.parameter_offset, fused.parameters() + source.at.parameter_offset,
                    static_cast<std::size_t>(source.at.parameter_bytes));
    };
    copy(2, 1);
    copy(3, 3);
    std::vector<std::vector<float>> around;
    for (const auto& image : calibration) around.push_back(surrounded(image));
    const auto hand_int8 = zp::convert(zp::calibrate(zp::prepare<config>(zp::fuse(hand)), around));
    const auto loaded = zp::load<zp::quantized<normalized, config>>(zp::to_bytes(int8), "normalized");
    for (const auto& image : made_up::inputs<normalized>(6, 10, 0, 1)) {
        CHECK(run(int8, image) == run(hand_int8, surrounded(image)));
        CHECK(run(loaded, image) == run(int8, image));
    }
}
