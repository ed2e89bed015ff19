// SPDX-License-Identifier: BSD-3-Clause
// Models over volumes through the stages: pooling against its definition, and what sees pixels alone against the same layers
// over an image of as many rows.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <zeropoint/io/model_file.hpp>
#include <zeropoint/kernel/reference/pooling.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/operators.hpp>

#include "integer_simulation.hpp"
#include "../support/run.hpp"

namespace {

namespace reference = zp::kernel::reference;
using zp::volume_pool;

struct config : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                            zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>> {};
struct signed_config
    : zp::qconfig<zp::quantizer<zp::qint8, zp::per_tensor_affine, zp::min_max_observer>, config::weight> {};
template <class Config> using code = std::conditional_t<std::is_same_v<Config, config>, std::uint8_t, std::int8_t>;

struct pools
    : zp::model<zp::input<7, 6, 7, 19>,
                zp::max_pool3d<volume_pool{
                    .kernel = {3, 2, 3}, .stride = {2, 1, 2}, .padding = {1, 1, 0}, .dilation = {2, 1, 2}}>,
                zp::avg_pool3d<volume_pool{
                    .kernel = 3, .stride = {1, 2, 1}, .padding = 1, .ceil_mode = true, .count_include_pad = false}>,
                zp::adaptive_avg_pool3d<2, 1, 2>> {};
struct halved : zp::model<zp::input<4, 4, 6, 3>, zp::avg_pool3d<2>, zp::max_pool3d<volume_pool{.kernel = {1, 2, 3}}>> {
};

// The windows of `pools`, counted by hand.
zp::kernel::conv3d_geometry first_windows() {
    zp::kernel::conv3d_geometry g;
    g.plane.in = {6, 7, 19}, g.plane.out = {7, 2, 19};
    g.in_depth = 7, g.out_depth = 3;
    g.kernel_depth = 3, g.plane.kernel_height = 2, g.plane.kernel_width = 3;
    g.stride_depth = 2, g.plane.stride_width = 2;
    g.padding_front = g.plane.padding_top = 1, g.dilation_depth = g.plane.dilation_width = 2;
    return g;
}
zp::kernel::conv3d_geometry second_windows() {
    zp::kernel::conv3d_geometry g;
    g.plane.in = {7, 2, 19}, g.plane.out = {4, 2, 19};
    g.in_depth = g.out_depth = 3;
    g.kernel_depth = g.plane.kernel_height = g.plane.kernel_width = 3;
    g.plane.stride_height = 2;
    g.padding_front = g.plane.padding_top = g.plane.padding_left = 1;
    return g;
}

using zp_test::run;

struct noise_meter {
    double signal = 0, noise = 0;
    void add(const std::vector<float>& exact, const std::vector<float>& y) {
        for (std::size_t i = 0; i != y.size(); ++i) {
            signal += double{exact[i]} * double{exact[i]};
            noise += (double{exact[i]} - double{y[i]}) * (double{exact[i]} - double{y[i]});
        }
    }
    double decibels() const { return 10 * std::log10(signal / noise); }
};

// Nearly normal.
template <class Net> std::vector<std::vector<float>> normal_inputs(std::size_t count) {
    auto all = made_up::inputs<Net>(count, 5, 0, 0);
    zp_test::generator next(9);
    for (auto& x : all)
        for (float& value : x)
            for (int i = 0; i != 12; ++i) value += next.real(-0.5f, 0.5f);
    return all;
}

// Layers that move channels and columns: 18 channels become 18.
using moved_channels =
    zp::sequential<zp::stack<zp::axis::channels, zp::chunk<1, 2>, zp::slice<zp::axis::channels, 0, 18, 2>>,
                   zp::flip<zp::axis::width>, zp::gather<zp::axis::width, 4, 0, 3, 3, 1>>;

// Layers that see pixels and channels, around one that pools the whole input.
template <class Input, class Global>
struct pixelwise
    : zp::model<Input,
                zp::normalize<zp::means<100, 200, 300, 0, -100, 50>, zp::deviations<1000, 900, 1100, 1000, 800, 1000>>,
                zp::unfused_batch_norm<"bn">, zp::relu, zp::layer_norm<"ln">,
                zp::mul<zp::identity, zp::sequential<Global, zp::sigmoid>>, zp::prelu<"slopes", 6>,
                zp::instance_norm<"in", zp::norm{}>, zp::residual<zp::tanh>,
                zp::concat<zp::identity, zp::softmax, zp::sub<zp::identity, zp::argmax>>,
                zp::where<zp::argmax, zp::identity, zp::sigmoid>, moved_channels,
                zp::mul<zp::identity, zp::sequential<zp::mean<zp::axes::channels>, zp::sigmoid>>,
                zp::sub<zp::identity, zp::mean<>>, zp::group_norm<"gn", 3>, zp::flatten, zp::linear<"fc", 7>> {};
struct of_volume : pixelwise<zp::input<3, 4, 5, 6>, zp::adaptive_avg_pool3d<1>> {};
struct of_image : pixelwise<zp::input<12, 5, 6>, zp::adaptive_avg_pool2d<1>> {};

struct small_volume : zp::model<zp::input<2, 3, 4, 5>, zp::instance_norm3d<>, zp::relu> {};
struct small_image : zp::model<zp::input<3, 4, 5>, zp::instance_norm<>, zp::relu> {};

static_assert(zp::float_model<of_volume>::input_shape == zp::shape{4, 5, 6, 3});
static_assert(zp::float_model<pools>::output_shape == zp::shape{1, 2, 19, 2});
static_assert(zp::float_model<halved>::output_shape == zp::shape{1, 1, 3, 2});

template <class Config> void check_pools() {
    const zp::float_model<pools> trained{};
    const auto inputs = normal_inputs<pools>(4);
    const auto int8 = simulation::converted<Config>(trained, inputs);
    REQUIRE(int8.rows().size() == 6);
    const auto loaded = zp::load<zp::quantized<pools, Config>>(zp::to_bytes(int8), "pools");
    const zp::qparams range = int8.ranges()[int8.rows()[1].out.qparams_id];
    const int low = int8.rows()[1].out.quant_min, high = int8.rows()[1].out.quant_max;
    noise_meter meter;
    for (const auto& x : inputs) {
        std::vector<code<Config>> codes, a(3 * 7 * 2 * 19), b(3 * 4 * 2 * 19), c(2 * 2 * 19);
        for (const float value : x) codes.push_back(static_cast<code<Config>>(zp::quantize(value, range, low, high)));
        reference::max_pool3d(first_windows(), codes.data(), a.data());
        reference::avg_pool3d(second_windows(), false, range.zero_point, a.data(), b.data());
        reference::adaptive_avg_pool3d({4, 2, 19, 3}, {1, 2, 19, 2}, range.zero_point, b.data(), c.data());
        std::vector<float> wanted;
        for (const auto y : c) wanted.push_back(zp::dequantize(y, range));
        CHECK(run(int8, x) == wanted);
        CHECK(run(loaded, x) == wanted);
        meter.add(run(trained, x), wanted);
    }
    CHECK(meter.decibels() > 30);
}

}  // namespace

TEST_CASE("convert: pooling of volumes, in both signs of codes") {
    check_pools<config>();
    check_pools<signed_config>();
}

TEST_CASE("float: pooling of volumes is the largest value and the mean of each window") {
    const zp::float_model<halved> model{};
    for (const auto& x : normal_inputs<halved>(3)) {
        const std::vector<float> y = run(model, x);
        const auto at = [&](int plane, int row, int column, int c) {
            return double{x[static_cast<std::size_t>(((plane * 4 + row) * 6 + column) * 3 + c)]};
        };
        for (int plane = 0; plane != 2; ++plane)
            for (int c = 0; c != 3; ++c) {
                double largest = -1e9;
                for (int row = 0; row != 2; ++row)
                    for (int column = 0; column != 3; ++column) {
                        double sum = 0;
                        for (int i = 0; i != 8; ++i)
                            sum += at(2 * plane + i / 4, 2 * row + i / 2 % 2, 2 * column + i % 2, c);
                        largest = std::max(largest, sum / 8);
                    }
                CHECK(double{y[static_cast<std::size_t>(plane * 3 + c)]} == doctest::Approx(largest).epsilon(1e-5));
            }
    }
}

TEST_CASE("convert: to layers that see pixels a volume is an image of depth x height rows") {
    auto image = made_up::network<of_image>(3);
    for (const zp::node& row : image.rows()) {  // no variance below 0
        auto* values = reinterpret_cast<float*>(image.parameters() + row.at.parameter_offset);
        if (!row.op->multiplies)
            for (int i = 0; i != row.weights.count; ++i) values[i] = 0.5f + std::abs(values[i]) / 4;
    }
    const auto float_bytes = zp::to_bytes(image);
    const auto volume = zp::load<of_volume>(float_bytes, "the same parameters");
    CHECK(zp::to_bytes(volume) == float_bytes);
    const auto inputs = normal_inputs<of_volume>(6);
    const auto int8 = simulation::converted<config>(volume, inputs);
    const auto int8_image = simulation::converted<config>(image, inputs);
    const auto loaded = zp::load<zp::quantized<of_volume, config>>(zp::to_bytes(int8), "int8");
    noise_meter meter;
    for (const auto& x : inputs) {
        const std::vector<float> exact = run(volume, x), y = run(int8, x);
        CHECK(exact == run(image, x));
        CHECK(exact == run(zp::fuse(volume), x));
        CHECK(y == run(int8_image, x));
        CHECK(y == run(loaded, x));
        meter.add(exact, y);
    }
    CHECK(meter.decibels() > 15);  // of ten rounded layers
}

TEST_CASE("convert: a file of a volume is none of an image, and its channels may come first") {
    const zp::float_model<small_volume> model{};
    const auto inputs = normal_inputs<small_volume>(8);
    const auto int8 = simulation::converted<config>(model, inputs);
    const auto bytes = zp::to_bytes(int8);
    CHECK_THROWS_AS((zp::load<zp::quantized<small_image, config>>(bytes, "volume")), zp::file_error);
    noise_meter meter;
    for (const auto& x : inputs) {
        std::vector<float> first(x.size()), y(x.size());  // N x C x D x H x W
        for (std::size_t i = 0; i != x.size(); ++i) first[i % 5 * 24 + i / 5] = x[i];
        int8(zp::nchw(first), y);
        CHECK(y == run(int8, x));
        meter.add(run(model, x), y);
    }
    CHECK(meter.decibels() > 30);
}
