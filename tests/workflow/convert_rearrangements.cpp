// SPDX-License-Identifier: BSD-3-Clause
// Layers that move values, and resizing: the float network against index formulas, and int8 networks, which give the very
// same values from the dequantized input.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <ratio>
#include <vector>

#include <zeropoint/kernel/reference/interpolate.hpp>
#include <zeropoint/kernel/reference/rearrange.hpp>
#include <zeropoint/operators/argmax.hpp>
#include <zeropoint/operators/batch_space.hpp>
#include <zeropoint/operators/full_like.hpp>
#include <zeropoint/operators/gather.hpp>
#include <zeropoint/operators/interpolate.hpp>
#include <zeropoint/operators/pad.hpp>
#include <zeropoint/operators/permute.hpp>
#include <zeropoint/operators/reshape.hpp>
#include <zeropoint/operators/shuffle.hpp>
#include <zeropoint/operators/slice.hpp>
#include <zeropoint/operators/where.hpp>
#include <zeropoint/zeropoint.hpp>

#include "../support/made_up.hpp"
#include "../support/run.hpp"

namespace {

namespace kernel = zp::kernel;
namespace reference = zp::kernel::reference;
using reference::position;
using zp::axis;
using zp::sides;

struct unsigned_codes
    : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                  zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>> {};
struct signed_codes
    : zp::qconfig<zp::quantizer<zp::qint8, zp::per_tensor_affine, zp::min_max_observer>,
                  zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>> {};

// clang-format off
struct moves : zp::model<zp::input<6, 8, 12>,
    zp::channel_shuffle<3>, zp::slice<axis::width, 1, -1>, zp::pad<sides{1, 2, 0, 1}, zp::pad_mode::reflect>,
    zp::pixel_shuffle<2>, zp::transpose<axis::height, axis::width>, zp::flip<axis::width>, zp::roll<1, -2>,
    zp::gather<axis::channels, 2, 0, 0, 1>, zp::permute<axis::height, axis::width, axis::channels>, zp::upsample<2>,
    zp::slice<axis::height, 0, zp::to_end, 3>, zp::reshape<5, 12, -1>, zp::zero_pad2d<1>, zp::space_to_depth<7>,
    zp::pixel_unshuffle<1>, zp::depth_to_space<7>, zp::chunk<1, 5>, zp::reshape<14, 7, 5>> {};

struct choices : zp::model<zp::input<6, 5, 4>,
    zp::where<zp::sequential<zp::relu, zp::slice<axis::channels, 1, 2>>,
              zp::sigmoid,
              zp::stack<axis::height, zp::slice<axis::height, 0, 2>, zp::sequential<zp::slice<axis::height, 2>, zp::tanh>>>,
    zp::constant_pad2d<1, 3000>> {};

struct resized : zp::model<zp::input<5, 6, 17>,
    zp::upsample<2, zp::resize_mode::bilinear>,
    zp::interpolate<zp::resize{.size = {7, 9}, .mode = zp::resize_mode::bilinear_align_corners}>> {};

struct classes : zp::model<zp::input<4, 5, 21>, zp::argmax> {};
struct many_classes : zp::model<zp::input<1, 1, 200>, zp::argmax> {};

// A convolution of dilation {2, 3}, and what TFLite makes of one; blocks of other extents and back.
struct dilated : zp::model<zp::input<8, 12, 5>,
    zp::conv2d<"c", zp::conv{.out_channels = 6, .kernel = 3, .dilation = {2, 3}}>> {};
struct in_blocks : zp::model<zp::input<8, 12, 5>, zp::space_to_batch<2, 3>,
    zp::conv3d<"c", zp::volume_conv{.out_channels = 6, .kernel = {1, 3, 3}}>, zp::batch_to_space<2, 3>> {};
struct there_and_back : zp::model<zp::input<8, 12, 5>, zp::space_to_batch<4, 2>, zp::abs, zp::batch_to_space<4, 2>> {};
static_assert(zp::float_model<in_blocks>::rows()[1].out.extents == zp::shape{4, 4, 5, 6});
static_assert(zp::float_model<in_blocks>::output_shape == zp::float_model<dilated>::output_shape);
template <class Constant> struct filled : zp::model<zp::input<2, 3, 4>, zp::full_like<Constant>> {};

struct shuffle_unit : zp::model<zp::input<8, 8, 3>, zp::conv2d<"stem", zp::conv{.out_channels = 16, .kernel = 3}>, zp::relu,
    zp::concat<zp::chunk<0, 2>, zp::sequential<zp::chunk<1, 2>, zp::conv2d<"a", zp::conv{.out_channels = 8}>, zp::relu>>,
    zp::channel_shuffle<2>, zp::reflection_pad2d<1>, zp::conv2d<"b", zp::conv{.out_channels = 4, .kernel = 3}>,
    zp::upsample<2, zp::resize_mode::bilinear>, zp::pixel_shuffle<2>> {};
// clang-format on

struct image {
    zp::shape extents;
    std::vector<float> values;
};
template <class Fill> image made(const zp::shape& extents, Fill fill) {
    image y{extents, std::vector<float>(static_cast<std::size_t>(extents.size()))};
    fill(y.values.data());
    return y;
}
template <class Source> image moved(const image& x, const zp::shape& out, Source source) {
    return made(out, [&](float* y) { reference::rearrange(x.extents, out, x.values.data(), y, source); });
}

image expected_moves(image x) {
    const auto apply = [&](const zp::shape& out, auto source) { x = moved(x, out, source); };
    x = made(x.extents, [&](float* y) { reference::channel_shuffle(x.extents, 3, x.values.data(), y); });
    apply({6, 6, 12}, [](position p) { return position{p.h, p.w + 1, p.c}; });
    apply({7, 9, 12}, [](position p) {
        return position{p.h == 6 ? 4 : p.h, p.w == 0 ? 1 : p.w > 6 ? 11 - p.w : p.w - 1, p.c};
    });
    x = made({14, 18, 3}, [&](float* y) { reference::pixel_shuffle(x.extents, {14, 18, 3}, 2, x.values.data(), y); });
    apply({18, 14, 3}, [](position p) { return position{p.w, p.h, p.c}; });
    apply({18, 14, 3}, [](position p) { return position{p.h, 13 - p.w, p.c}; });
    apply({18, 14, 3}, [](position p) { return position{(p.h + 17) % 18, (p.w + 2) % 14, p.c}; });
    apply({18, 14, 4}, [](position p) { return position{p.h, p.w, p.c == 0 ? 2 : p.c == 3 ? 1 : 0}; });
    apply({14, 4, 18}, [](position p) { return position{p.c, p.h, p.w}; });
    apply({28, 8, 18}, [](position p) { return position{p.h / 2, p.w / 2, p.c}; });
    apply({10, 8, 18}, [](position p) { return position{3 * p.h, p.w, p.c}; });
    x = made({5, 12, 24}, [&](float* y) { reference::reshape(x.extents, {5, 12, 24}, x.values.data(), y); });
    const image inner = x;
    x = made({7, 14, 24}, [&](float* y) {
        const kernel::pad_sides one{{1, 1, 0}, {1, 1, 0}};
        reference::pad(inner.extents, {7, 14, 24}, one, kernel::pad_mode::constant, 0.0f, inner.values.data(), y);
    });
    apply({7, 14, 5}, [](position p) { return position{p.h, p.w, p.c + 5}; });  // a shuffle and its inverse before it
    x.extents = {14, 7, 5};
    return x;
}

// Nearly normal.
std::vector<std::vector<float>> normal_inputs(const zp::shape& extents, int count) {
    zp_test::generator next(77);
    std::vector<std::vector<float>> all(static_cast<std::size_t>(count));
    for (auto& x : all) {
        x.resize(static_cast<std::size_t>(extents.size()));
        for (float& value : x)
            for (int i = 0; i != 12; ++i) value += next.real(-0.5f, 0.5f);
    }
    return all;
}

template <class Config, class Net> auto converted(const zp::float_model<Net>& trained, const auto& inputs) {
    return zp::convert(zp::calibrate(zp::prepare<Config>(zp::fuse(trained)), inputs));
}
using zp_test::run;
// Codes as floats, which hold them exactly.
template <class Network> zp::qparams range_of(const Network& network, int row) {
    return network.ranges()[Network::rows()[static_cast<std::size_t>(row)].out.qparams_id];
}
std::vector<float> dequantized(const std::vector<float>& x, const zp::qparams& range, int low, int high) {
    std::vector<float> y;
    for (const float value : x) y.push_back(zp::dequantize(zp::quantize(value, range, low, high), range));
    return y;
}
double decibels(const auto& exact, const auto& int8, const std::vector<std::vector<float>>& inputs) {
    double signal = 0, noise = 0;
    for (const auto& x : inputs) {
        const std::vector<float> wanted = run(exact, x), y = run(int8, x);
        for (std::size_t i = 0; i != y.size(); ++i) {
            signal += std::pow(double{wanted[i]}, 2);
            noise += std::pow(double{wanted[i]} - double{y[i]}, 2);
        }
    }
    return 10 * std::log10(signal / noise);
}
int boundaries(std::span<const zp::node> rows) {
    int count = 0;
    for (const zp::node& row : rows) count += row.op->is_boundary && !zp_test::is(row, zp::op::requantize);
    return count;
}

static_assert(zp::source<moves>::table.output().op->moves_nothing);  // a reshape that is a view
static_assert(!zp::source<many_classes>::table.output().op->has_codes);

}  // namespace

TEST_CASE("convert: layers that move values move codes, and no value changes") {
    const zp::float_model<moves> trained{};
    const auto inputs = normal_inputs(zp::float_model<moves>::input_shape, 4);
    const auto int8 = converted<signed_codes>(trained, inputs);
    CHECK(boundaries(int8.rows()) == 2);
    const auto loaded = zp::load<zp::quantized<moves, signed_codes>>(zp::to_bytes(int8), "moves");
    for (const auto& x : inputs) {
        CHECK(run(trained, x) == expected_moves({{6, 8, 12}, x}).values);
        const auto codes = dequantized(x, range_of(int8, 1), -128, 127);
        CHECK(run(int8, x) == expected_moves({{6, 8, 12}, codes}).values);
        CHECK(run(loaded, x) == run(int8, x));
    }
    CHECK(decibels(trained, int8, inputs) > 30);
}

TEST_CASE("convert: where, stack and a padding that is not zero, on grids of their own") {
    const zp::float_model<choices> trained{};
    auto inputs = normal_inputs(zp::float_model<choices>::input_shape, 4);
    for (auto& x : inputs)  // conditions that no rounding changes
        for (std::size_t i = 1; i < x.size(); i += 4) x[i] = x[i] > 0 ? 2.0f : -1.0f;
    const auto int8 = converted<unsigned_codes>(trained, inputs);
    const auto loaded = zp::load<zp::quantized<choices, unsigned_codes>>(zp::to_bytes(int8), "choices");
    const auto is_padding = [](int i) {
        const int h = i / 28, w = i / 4 % 7;
        return h == 0 || h == 7 || w == 0 || w == 6;
    };
    const auto code_near = [](double real, const zp::qparams& range) {
        return static_cast<float>(
            std::clamp(std::nearbyint(real / double{range.scale}) + range.zero_point, 0.0, 255.0));
    };
    for (const auto& x : inputs) {
        const std::vector<float> y = run(trained, x), z = run(int8, x);
        const zp::qparams in = range_of(int8, 1), out = range_of(int8, static_cast<int>(int8.rows().size()) - 1);
        for (int i = 0; i != 8 * 7 * 4; ++i) {
            const auto at = static_cast<std::size_t>(i);
            if (is_padding(i)) {
                CHECK(y[at] == 3.0f);
                CHECK(std::abs(z[at] - 3) <= out.scale / 2);
                continue;
            }
            const int h = i / 28 - 1, w = i / 4 % 7 - 1, pixel = h * 5 + w;
            const auto source = static_cast<std::size_t>(pixel * 4 + i % 4),
                       condition = static_cast<std::size_t>(pixel * 4 + 1);
            const double kept = double{x[source]};
            const double sigmoid = 1 / (1 + std::exp(-kept)), other = h < 2 ? kept : std::tanh(kept);
            CHECK(y[at] == doctest::Approx(x[condition] > 0 ? sigmoid : other).epsilon(1e-5));
            // In codes: one rounding to each grid on the way.
            const auto code = zp::quantize(x[source], in, 0, 255);
            const bool chosen = zp::quantize(x[condition], in, 0, 255) > in.zero_point;
            const double value = double{zp::dequantize(code, in)};
            const double tolerance = (double{in.scale} + double{out.scale}) * 0.51 + 1.0 / 128;
            const double real = chosen ? 1 / (1 + std::exp(-value)) : h < 2 ? value : std::tanh(value);
            CHECK(std::abs(double{z[at]} - real) < tolerance);
            if (chosen) {  // exact: the sigmoid's code on 1 / 256, then the table of the operand
                const double first = double{code_near(1 / (1 + std::exp(-value)), {1.0f / 256, 0})} / 256;
                CHECK(z[at] == (code_near(first, out) - static_cast<float>(out.zero_point)) * out.scale);
            }
        }
        CHECK(run(loaded, x) == z);
    }
    CHECK(decibels(trained, int8, inputs) > 30);
}

TEST_CASE("convert: bilinear interpolation rounds once a layer") {
    const zp::float_model<resized> trained{};
    const auto inputs = normal_inputs(zp::float_model<resized>::input_shape, 3);
    const auto int8 = converted<unsigned_codes>(trained, inputs);
    for (const auto& x : inputs) {
        const zp::qparams range = range_of(int8, 1);
        std::vector<std::uint8_t> codes, doubled(10 * 12 * 17), last(7 * 9 * 17);
        for (const float value : x) codes.push_back(static_cast<std::uint8_t>(zp::quantize(value, range, 0, 255)));
        reference::interpolate_bilinear(zp::kernel::resize_rule::half_pixel, {5, 6, 17}, {10, 12, 17}, {2, 1}, {2, 1},
                                        range.zero_point, codes.data(), doubled.data());
        reference::interpolate_bilinear(zp::kernel::resize_rule::align_corners, {10, 12, 17}, {7, 9, 17}, {7, 10},
                                        {9, 12}, range.zero_point, doubled.data(), last.data());
        std::vector<float> wanted;
        for (const std::uint8_t code : last) wanted.push_back(zp::dequantize(code, range));
        CHECK(run(int8, x) == wanted);
    }
    CHECK(decibels(trained, int8, inputs) > 30);
}

TEST_CASE("convert: argmax gives indices") {
    const zp::float_model<classes> trained{};
    const auto inputs = normal_inputs(zp::float_model<classes>::input_shape, 5);
    const auto int8 = converted<signed_codes>(trained, inputs);
    CHECK(boundaries(int8.rows()) == 2);
    const auto first_largest = [](const std::vector<float>& x) {
        std::vector<float> y;
        for (auto pixel = x.begin(); pixel != x.end(); pixel += 21)
            y.push_back(static_cast<float>(std::max_element(pixel, pixel + 21) - pixel));
        return y;
    };
    for (const auto& x : inputs) {
        CHECK(run(trained, x) == first_largest(x));
        CHECK(run(int8, x) == first_largest(dequantized(x, range_of(int8, 1), -128, 127)));
    }
}

TEST_CASE("convert: a unit of a shuffle network") {
    const auto trained = made_up::network<shuffle_unit>(4);
    const auto inputs = normal_inputs(zp::float_model<shuffle_unit>::input_shape, 6);
    const auto int8 = converted<unsigned_codes>(trained, inputs);
    CHECK(boundaries(int8.rows()) == 2);
    CHECK(decibels(trained, int8, inputs) > 30);
}

TEST_CASE("space_to_batch, batch_to_space: a convolution between them is a dilated one") {
    const auto inputs = normal_inputs({8, 12, 5}, 6);
    const auto wanted = made_up::network<dilated>(4);
    const auto blocks = made_up::network<in_blocks>(4);  // the same weights: a depth of 1 changes no order
    for (const auto& x : inputs) {
        const auto exact = run(wanted, x), found = run(blocks, x);
        int different = 0;
        for (std::size_t i = 0; i != exact.size(); ++i)
            different += double{found[i]} != doctest::Approx(double{exact[i]}).epsilon(1e-5);
        CHECK(different == 0);
    }
    const auto int8 = converted<unsigned_codes>(blocks, inputs);
    const auto dilated_int8 = converted<unsigned_codes>(wanted, inputs);
    for (const auto& x : inputs) CHECK(run(int8, x) == run(dilated_int8, x));
    CHECK(int8.rows().size() == 6);  // input, quantize, three layers, dequantize: codes move
    const auto loaded = zp::load<zp::quantized<in_blocks, unsigned_codes>>(zp::to_bytes(int8), "blocks");
    CHECK(run(loaded, inputs[0]) == run(int8, inputs[0]));
    const auto back = made_up::network<there_and_back>();
    for (const auto& x : inputs) {
        std::vector<float> magnitudes;
        for (const float value : x) magnitudes.push_back(std::abs(value));
        CHECK(run(back, x) == magnitudes);
    }
}

TEST_CASE_TEMPLATE("full_like: a constant, exact in codes too", Constant, std::ratio<-3, 7>, std::ratio<5>,
                   std::ratio<0>) {
    using net = filled<Constant>;
    const auto inputs = normal_inputs({2, 3, 4}, 2);
    const auto trained = made_up::network<net>();
    const std::vector<float> wanted(24, static_cast<float>(static_cast<double>(Constant::num) / Constant::den));
    CHECK(run(trained, inputs[0]) == wanted);
    CHECK(run(converted<unsigned_codes>(trained, inputs), inputs[1]) == wanted);
    CHECK(run(converted<signed_codes>(trained, inputs), inputs[1]) == wanted);
}
