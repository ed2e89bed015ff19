// SPDX-License-Identifier: BSD-3-Clause
// Convolutions over volumes, transposed ones too, through the stages: floats and codes against plain loops over the weights of files, which are
// PyTorch's.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <zeropoint/analysis/model_table.hpp>
#include <zeropoint/io/model_file.hpp>
#include <zeropoint/operators/volume_pooling.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/workflow/quantize_dynamic.hpp>

#include "integer_simulation.hpp"
#include "../support/run.hpp"

namespace {

using zp::volume_conv;
using zp::volume_conv_transpose;

struct config : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                            zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>> {};
struct signed_config
    : zp::qconfig<zp::quantizer<zp::qint8, zp::per_tensor_affine, zp::min_max_observer>, config::weight> {};
struct affine_config
    : zp::qconfig<config::activation,
                  zp::quantizer<zp::quint8, zp::per_channel_affine, zp::per_channel_min_max_observer>> {};
struct plain_loops : zp::qconfig<config::activation, config::weight, zp::algorithm<zp::conv2d_algorithm::direct>> {};

constexpr volume_conv first{.out_channels = 10, .kernel = {3, 2, 3}, .stride = {1, 2, 1}, .padding = {1, 0, 1}};
constexpr volume_conv second{
    .out_channels = 12, .kernel = {2, 1, 3}, .padding = {0, 1, 0}, .dilation = {2, 1, 1}, .groups = 2, .bias = false};
constexpr volume_conv third{.kernel = {3, 3, 1}, .stride = {2, 1, 1}, .padding = {1, 1, 0}, .groups = zp::depthwise};

// The options of the convolutions are kept beside them, and the extents of the weight of "b" in a file.
struct chain : zp::model<zp::input<4, 6, 7, 3>, zp::conv3d<"a", first>, zp::batch_norm3d<"n">, zp::relu,
                         zp::conv3d<"b", second>, zp::conv3d<"c", third>> {
    static constexpr volume_conv options[] = {first, second, third};
    static inline const zp::file_shape second_weight{12, 5, 2, 1, 3};
};
static_assert(zp::float_model<chain>::output_shape == zp::shape{5, 5, 12, 1});

// Phases without taps along height in the first, along depth in the second.
constexpr volume_conv_transpose up_first{
    .out_channels = 10, .kernel = {3, 2, 3}, .stride = {2, 3, 1}, .padding = {1, 0, 1}, .output_padding = {1, 0, 0}};
constexpr volume_conv_transpose up_second{
    .out_channels = 12, .kernel = {1, 2, 2}, .stride = {2, 1, 2}, .dilation = {1, 2, 1}, .groups = 2, .bias = false};
constexpr volume_conv_transpose up_third{.kernel = {2, 3, 1}, .padding = {1, 1, 0}, .groups = zp::depthwise};

struct up_chain : zp::model<zp::input<3, 3, 4, 6>, zp::conv_transpose3d<"a", up_first>, zp::batch_norm3d<"n">, zp::relu,
                            zp::conv_transpose3d<"b", up_second>, zp::conv_transpose3d<"c", up_third>> {
    static constexpr volume_conv_transpose options[] = {up_first, up_second, up_third};
    static inline const zp::file_shape second_weight{10, 6, 1, 2, 2};
};
static_assert(zp::float_model<up_chain>::output_shape == zp::shape{10, 8, 12, 10});

constexpr volume_conv same{.out_channels = 16, .kernel = 3, .padding = 1};
struct block : zp::model<zp::input<3, 5, 4, 16>, zp::residual<zp::conv3d<"a", same>>, zp::relu> {};

struct video
    : zp::model<
          zp::input<8, 12, 12, 3>,
          zp::conv3d<"stem",
                     volume_conv{.out_channels = 16, .kernel = {3, 5, 5}, .stride = {1, 2, 2}, .padding = {1, 2, 2}}>,
          zp::batch_norm3d<"n1">, zp::sigmoid, zp::max_pool3d<2>,
          zp::residual<zp::conv3d<"body", same>, zp::batch_norm3d<"n2">>, zp::relu, zp::adaptive_avg_pool3d<1>,
          zp::flatten, zp::linear<"classes", 5>> {};

// Sums of x * w over all windows, weights out x in / groups x depth x height x width. Whole numbers are exact.
std::vector<double> products(const zp::shape& in, const zp::shape& out, const volume_conv& o,
                             const std::vector<double>& x, const std::vector<double>& weights) {
    const int groups = o.groups == zp::depthwise ? in.channels : o.groups;
    const int group_in = in.channels / groups, group_out = out.channels / groups;
    std::vector<double> sums;
    for (int i = 0; i != out.size(); ++i) {
        const int c = i % out.channels, pixel = i / out.channels;
        const int column = pixel % out.width, row = pixel / out.width % out.height,
                  plane = pixel / out.width / out.height;
        double sum = 0;
        auto w = weights.begin() + std::ptrdiff_t{c} * group_in * o.kernel.depth * o.kernel.height * o.kernel.width;
        for (int k = 0; k != group_in; ++k)
            for (int z = 0; z != o.kernel.depth; ++z)
                for (int y = 0; y != o.kernel.height; ++y)
                    for (int v = 0; v != o.kernel.width; ++v, ++w) {
                        const int iz = plane * o.stride.depth - o.padding.depth + z * o.dilation.depth;
                        const int iy = row * o.stride.height - o.padding.height + y * o.dilation.height;
                        const int ix = column * o.stride.width - o.padding.width + v * o.dilation.width;
                        if (iz < 0 || iz >= in.depth || iy < 0 || iy >= in.height || ix < 0 || ix >= in.width) continue;
                        sum += *w * x[static_cast<std::size_t>(((iz * in.height + iy) * in.width + ix) * in.channels +
                                                               c / group_out * group_in + k)];
                    }
        sums.push_back(sum);
    }
    return sums;
}

// The same of a transposed one, weights in x out / groups x depth x height x width.
std::vector<double> products(const zp::shape& in, const zp::shape& out, const volume_conv_transpose& o,
                             const std::vector<double>& x, const std::vector<double>& weights) {
    const int groups = o.groups == zp::depthwise ? in.channels : o.groups;
    const int group_in = in.channels / groups, group_out = out.channels / groups;
    std::vector<double> sums(static_cast<std::size_t>(out.size()));
    for (std::size_t i = 0; i != x.size(); ++i) {
        const int c = static_cast<int>(i) % in.channels, pixel = static_cast<int>(i) / in.channels;
        const int column = pixel % in.width, row = pixel / in.width % in.height, plane = pixel / in.width / in.height;
        auto w = weights.begin() + std::ptrdiff_t{c} * group_out * o.kernel.depth * o.kernel.height * o.kernel.width;
        for (int k = 0; k != group_out; ++k)
            for (int z = 0; z != o.kernel.depth; ++z)
                for (int y = 0; y != o.kernel.height; ++y)
                    for (int v = 0; v != o.kernel.width; ++v, ++w) {
                        const int oz = plane * o.stride.depth - o.padding.depth + z * o.dilation.depth;
                        const int oy = row * o.stride.height - o.padding.height + y * o.dilation.height;
                        const int ox = column * o.stride.width - o.padding.width + v * o.dilation.width;
                        if (oz < 0 || oz >= out.depth || oy < 0 || oy >= out.height || ox < 0 || ox >= out.width)
                            continue;
                        sums[static_cast<std::size_t>(((oz * out.height + oy) * out.width + ox) * out.channels +
                                                      c / group_in * group_out + k)] += *w * x[i];
                    }
    }
    return sums;
}

template <class T> std::vector<double> doubles(const std::vector<T>& x) { return {x.begin(), x.end()}; }
template <class T> std::vector<T> tensor(const zp::safetensors_file& file, const std::string& name) {
    return file.values<T>(file.expect(name));
}

// The codes of an int8 row over those of its input, from what its file holds; `residual` is added before the rounding.
template <class Weight, class Options>
std::vector<double> codes_of(const zp::safetensors_file& file, const zp::node_view& v, const Options& o,
                             std::vector<double> x, zp::qparams x_range, zp::qparams y_range, bool relu,
                             const std::vector<double>* residual = nullptr) {
    const zp::node& row = v.n;
    for (double& code : x) code -= x_range.zero_point;
    const std::string name = row.name;
    auto weights = doubles(tensor<Weight>(file, name + ".weight"));
    const auto scales = tensor<float>(file, name + ".weight_scale");
    const auto bias = tensor<std::int32_t>(file, name + ".bias");
    if (row.weights.affine) {
        const auto zero_points = tensor<std::int32_t>(file, name + ".weight_zero_point");
        for (std::size_t i = 0; i != weights.size(); ++i)
            weights[i] -= zero_points[i / (weights.size() / zero_points.size())];
    }
    std::vector<double> y = products(v.x_shape(), v.y_shape(), o, x, weights);
    for (std::size_t i = 0; i != y.size(); ++i) {
        const std::size_t c = i % static_cast<std::size_t>(row.out.extents.channels);
        const auto sum = static_cast<std::int64_t>(y[i]) + bias[c];
        const double steps = residual == nullptr
                                 ? simulation::requantized(simulation::policy::nearest_even, sum, 0, x_range.scale,
                                                           scales[c], y_range.scale)
                                 : simulation::requantized_sum(sum, static_cast<int>(x[i]), x_range.scale,
                                                               x_range.scale, scales[c], y_range.scale);
        y[i] = std::clamp(steps + y_range.zero_point, relu ? double(y_range.zero_point) : double(row.out.quant_min),
                          double(row.out.quant_max));
    }
    return y;
}

using zp_test::run;
template <class Network> double decibels(const auto& exact, const Network& int8, const auto& inputs) {
    double signal = 0, noise = 0;
    for (const auto& x : inputs) {
        const auto wanted = run(exact, x), y = run(int8, x);
        for (std::size_t i = 0; i != y.size(); ++i) {
            signal += std::pow(double{wanted[i]}, 2);
            noise += std::pow(double{wanted[i]} - double{y[i]}, 2);
        }
    }
    return 10 * std::log10(signal / noise);
}
template <class Net> zp::float_model<Net> trained_network() {
    auto model = made_up::network<Net>(11);
    for (const zp::node& row : model.rows())
        if (row.op->multiplies) {
            auto* weights = reinterpret_cast<float*>(model.parameters() + row.at.parameter_offset);
            for (int i = 0; i != row.weights.count; ++i) weights[i] *= 0.5f;
        }
    return model;
}

std::vector<double> dequantized(const std::vector<double>& codes, zp::qparams range) {
    std::vector<double> y;
    for (const double code : codes) y.push_back(double{range.scale * static_cast<float>(code - range.zero_point)});
    return y;
}
std::vector<double> quantized(const std::vector<float>& x, zp::qparams range, int low, int high) {
    std::vector<double> codes;
    for (const float value : x) codes.push_back(zp::quantize(value, range, low, high));
    return codes;
}

template <class Net, class Config, class Weight> void check_chain() {
    const auto trained = trained_network<Net>();
    const auto inputs = made_up::inputs<Net>(5, 3);
    const auto int8 = simulation::converted<Config>(trained, inputs);
    REQUIRE(int8.rows().size() == 6);  // the batch_norm and the relu are in the first
    const auto bytes = zp::to_bytes(int8);
    const auto file = zp::safetensors_file::parse(bytes, "int8");
    const auto loaded = zp::load<zp::quantized<Net, Config>>(bytes, "int8");
    CHECK(zp::to_bytes(loaded) == bytes);
    CHECK(file.expect("b.weight").shape == Net::second_weight);
    const auto range = [&](std::size_t row) { return int8.ranges()[int8.rows()[row].out.qparams_id]; };
    for (const auto& x : inputs) {
        auto y = quantized(x, range(1), int8.rows()[1].out.quant_min, int8.rows()[1].out.quant_max);
        for (std::size_t i = 0; i != 3; ++i)
            y = codes_of<Weight>(file, zp_test::view_of(int8.rows(), int8.rows()[2 + i]), Net::options[i], y,
                                 range(1 + i), range(2 + i), i == 0);
        CHECK(doubles(run(int8, x)) == dequantized(y, range(4)));
        CHECK(run(loaded, x) == run(int8, x));
    }
    CHECK(decibels(trained, int8, inputs) > 30);
}

}  // namespace

TEST_CASE_TEMPLATE("float: conv3d and conv_transpose3d are PyTorch's, with their weights as files have them", Net,
                   chain, up_chain) {
    const auto model = trained_network<Net>();
    const auto bytes = zp::to_bytes(model);
    const auto file = zp::safetensors_file::parse(bytes, "float");
    CHECK(zp::to_bytes(zp::load<Net>(bytes, "float")) == bytes);
    CHECK(file.expect("b.weight").shape == Net::second_weight);
    const auto value = [&](const char* name) { return doubles(tensor<float>(file, name)); };
    const auto view = [&](std::size_t row) { return zp_test::view_of(model.rows(), model.rows()[row]); };
    const zp::node_view a = view(1), b = view(4), c_view = view(5);
    for (const auto& x : made_up::inputs<Net>(3)) {
        auto y = products(a.x_shape(), a.y_shape(), Net::options[0], doubles(x), value("a.weight"));
        for (std::size_t i = 0; i != y.size(); ++i) {
            const std::size_t c = i % 10;
            const double factor = value("n.weight")[c] / std::sqrt(value("n.running_var")[c] + 1e-5);
            y[i] = (y[i] + value("a.bias")[c] - value("n.running_mean")[c]) * factor + value("n.bias")[c];
            y[i] = std::max(y[i], 0.0);
        }
        y = products(b.x_shape(), b.y_shape(), Net::options[1], y, value("b.weight"));
        y = products(c_view.x_shape(), c_view.y_shape(), Net::options[2], y, value("c.weight"));
        const auto plain = run(model, x), fused = run(zp::fuse(model), x);
        int different = 0;
        for (std::size_t i = 0; i != y.size(); ++i) {
            y[i] += value("c.bias")[i % 12];
            for (const float found : {plain[i], fused[i]})
                different += double{found} != doctest::Approx(y[i]).epsilon(1e-4);
        }
        CHECK(different == 0);
    }
}

TEST_CASE("convert: conv3d with batch_norm and relu, groups, dilation and one filter a channel") {
    check_chain<chain, config, std::int8_t>();
    check_chain<chain, signed_config, std::int8_t>();
    check_chain<chain, affine_config, std::uint8_t>();
    check_chain<chain, plain_loops, std::int8_t>();
}

TEST_CASE("convert: conv_transpose3d with batch_norm and relu, groups, dilation, gaps and one filter a channel") {
    check_chain<up_chain, config, std::int8_t>();
}

TEST_CASE("convert: a residual is added in the convolution, before its one rounding") {
    const auto trained = trained_network<block>();
    const auto inputs = made_up::inputs<block>(5, 4);
    const auto int8 = simulation::converted<config>(trained, inputs);
    REQUIRE(int8.rows().size() == 4);
    const auto bytes = zp::to_bytes(int8);
    const auto file = zp::safetensors_file::parse(bytes, "int8");
    const zp::qparams x_range = int8.ranges()[int8.rows()[1].out.qparams_id],
                      y_range = int8.ranges()[int8.rows()[2].out.qparams_id];
    for (const auto& x : inputs) {
        const auto codes = quantized(x, x_range, 0, 255);
        const auto y = codes_of<std::int8_t>(file, zp_test::view_of(int8.rows(), int8.rows()[2]), same, codes, x_range,
                                             y_range, true, &codes);
        CHECK(doubles(run(int8, x)) == dequantized(y, y_range));
    }
    CHECK(decibels(trained, int8, inputs) > 30);
}

TEST_CASE("convert: a small network over video, with a table behind a convolution") {
    const auto trained = trained_network<video>();
    const auto inputs = made_up::inputs<video>(8, 6);
    const auto int8 = simulation::converted<config>(trained, inputs);
    const auto loaded = zp::load<zp::quantized<video, config>>(zp::to_bytes(int8), "video");
    for (const auto& x : inputs) CHECK(run(loaded, x) == run(int8, x));
    CHECK(decibels(trained, int8, inputs) > 30);
    const zp::model_table table = zp::table_of(int8);
    std::int64_t macs = 0;
    for (const auto& row : table.rows) macs += row.macs;
    CHECK(macs == std::int64_t{8 * 6 * 6} * 16 * 3 * 75 + std::int64_t{4 * 3 * 3} * 16 * 16 * 27 + 80);

    struct every_layer : zp::dynamic_qconfig<zp::dynamic_policy<>, zp::quantize_every_layer> {};
    const auto dynamic = zp::quantize_dynamic<every_layer>(trained);
    CHECK(decibels(trained, dynamic, inputs) > 30);
}

TEST_CASE("signature: the window of a conv3d or conv_transpose3d along depth is part of it") {
    zp::graph<1> g;
    g.size = 1;
    SUBCASE("conv3d") { g.nodes[0].op = &zp::operators::conv3d_info; }
    SUBCASE("conv_transpose3d") { g.nodes[0].op = &zp::operators::conv_transpose3d_info; }
    const auto before = zp::signature_of(g, "nearest_even");
    for (int zp::window3d::*option : {&zp::window3d::kernel_depth, &zp::window3d::stride_depth,
                                      &zp::window3d::padding_front, &zp::window3d::dilation_depth}) {
        zp::graph<1> other = g;
        auto window = zp::options_of<zp::window3d>(other.nodes[0]);
        ++(window.*option);
        zp::set_options(other.nodes[0], window);
        CHECK(zp::signature_of(other, "nearest_even") != before);
    }
}
