// SPDX-License-Identifier: BSD-3-Clause
// Fused layers of fixed size, composed by hand: equal to the formula, and to the same layer in a model; tensors that do not
// fit are refused.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <zeropoint/kernel/reference/conv3d.hpp>
#include <zeropoint/layer/static_layers.hpp>
#include <zeropoint/operators/conv3d.hpp>

#include "../support/errors.hpp"
#include "../support/made_up.hpp"

namespace {

using zp::conv;
namespace op = zp::op;
using zp::shape;

/// One output of a convolution whose weights are in PyTorch's order, from the formula: see the numerics contract.
template <class Input, class Output, class Layer>
int expected_code(const std::vector<float>& weights, const std::vector<float>& bias, const Layer& layer,
                  const conv& options, const Input* x, int row, int column, int out, bool relu) {
    constexpr shape in = Layer::input_shape;
    const int group_in = in.channels / options.groups, group_out = Layer::output_shape.channels / options.groups;
    const int taps = options.kernel.height * options.kernel.width, depth = taps * group_in;
    float largest = 0;
    for (int k = 0; k != depth; ++k)
        largest = std::max(largest, std::abs(weights[static_cast<std::size_t>(out * depth + k)]));
    const zp::qparams w{largest / 127.5f, 0};
    const zp::qparams range = layer.input_qparams(), y = layer.output_qparams();
    auto sum = static_cast<std::int64_t>(
        std::nearbyint(double{bias[static_cast<std::size_t>(out)]} / (double{range.scale} * double{w.scale})));
    for (int ky = 0; ky != options.kernel.height; ++ky)
        for (int kx = 0; kx != options.kernel.width; ++kx) {
            const int iy = row * options.stride.height - options.padding.height + ky,
                      ix = column * options.stride.width - options.padding.width + kx;
            if (iy < 0 || iy >= in.height || ix < 0 || ix >= in.width) continue;
            for (int c = 0; c != group_in; ++c)
                sum +=
                    std::int64_t{x[(iy * in.width + ix) * in.channels + out / group_out * group_in + c] -
                                 range.zero_point} *
                    zp::quantize<zp::qint8>(
                        weights[static_cast<std::size_t>(out * depth + c * taps + ky * options.kernel.width + kx)], w);
        }
    const auto multiplier = static_cast<float>(double{range.scale} * double{w.scale} / double{y.scale});
    const float steps = std::nearbyint(static_cast<float>(sum) * multiplier);
    const int lowest = relu ? y.zero_point : std::numeric_limits<Output>::min(),
              highest = std::numeric_limits<Output>::max();
    return static_cast<int>(std::fmin(std::fmax(steps + static_cast<float>(y.zero_point), static_cast<float>(lowest)),
                                      static_cast<float>(highest)));
}

template <class DType> zp::tensor<DType> codes(shape extents, zp::qparams range, std::uint64_t seed) {
    zp::tensor<DType> tensor(extents, range);
    made_up::generator next(seed);
    for (auto& code : tensor.values())
        code = static_cast<typename DType::storage>(next.integer(DType::quant_min, DType::quant_max));
    return tensor;
}

constexpr conv options{.out_channels = 6, .kernel = {3, 2}, .stride = {2, 1}, .padding = {1, 0}, .groups = 2};
using small = zp::quantized_conv2d<shape{5, 4, 4}, options, op::relu>;
using small_signed =
    zp::quantized_conv2d<shape{5, 4, 4}, options, op::none, zp::fused_policy<zp::quint8, zp::qint8, zp::qint8>>;

using zp_test::error_of;

}  // namespace

TEST_CASE_TEMPLATE("static layers: quantized_conv2d equals the formula", Layer, small, small_signed) {
    constexpr bool is_signed = std::is_same_v<Layer, small_signed>;
    using output = std::conditional_t<is_signed, zp::qint8, zp::quint8>;
    const auto weights = made_up::values(6 * 2 * 6, 1), bias = made_up::values(6, 2);
    const zp::qparams x_range{0.02f, 113}, y_range{0.03f, is_signed ? -5 : 40};
    const Layer layer(weights, bias, x_range, y_range);
    const auto x = codes<zp::quint8>(Layer::input_shape, x_range, 3);
    zp::tensor<output> y(Layer::output_shape, y_range);
    typename Layer::workspace memory;
    layer(x, y, memory);
    CHECK(Layer::output_shape == shape{3, 3, 6});
    for (int row = 0; row != 3; ++row)
        for (int column = 0; column != 3; ++column)
            for (int c = 0; c != 6; ++c)
                CHECK(static_cast<int>(y.values()[static_cast<std::size_t>((row * 3 + column) * 6 + c)]) ==
                      expected_code<std::uint8_t, typename output::storage>(weights, bias, layer, options, x.data(),
                                                                            row, column, c, !is_signed));
}

TEST_CASE("static layers: quantized_linear with and without a bias") {
    using layer_type = zp::quantized_linear<37, 5>;
    const auto weights = made_up::values(37 * 5, 4);
    const zp::qparams x_range{0.1f, 0}, y_range{0.2f, 128};
    const std::vector<float> zeros(5);
    const layer_type with(weights, zeros, x_range, y_range), without(weights, {}, x_range, y_range);
    const auto x = codes<zp::quint8>({1, 1, 37}, x_range, 5);
    zp::tensor<zp::quint8> a({1, 1, 5}, y_range), b({1, 1, 5}, y_range);
    layer_type::workspace memory;
    with(x, a, memory);
    without(x, b, memory);
    for (int c = 0; c != 5; ++c) {
        CHECK(static_cast<int>(a.values()[static_cast<std::size_t>(c)]) ==
              expected_code<std::uint8_t, std::uint8_t>(weights, zeros, with, conv{.out_channels = 5}, x.data(), 0, 0,
                                                        c, false));
        CHECK(a.values()[static_cast<std::size_t>(c)] == b.values()[static_cast<std::size_t>(c)]);
    }
}

TEST_CASE("static layers: quantized_linear of several rows") {
    using layer_type = zp::quantized_linear<20, 9, op::relu, zp::fused_policy<>, zp::default_architecture, 3>;
    static_assert(layer_type::input_shape == shape{3, 1, 20} && layer_type::output_shape == shape{3, 1, 9});
    const auto weights = made_up::values(20 * 9, 6), bias = made_up::values(9, 7);
    const zp::qparams x_range{0.02f, 100}, y_range{0.05f, 60};
    const layer_type layer(weights, bias, x_range, y_range);
    const auto x = codes<zp::quint8>(layer_type::input_shape, x_range, 8);
    zp::tensor<zp::quint8> y(layer_type::output_shape, y_range);
    layer_type::workspace memory;
    layer(x, y, memory);
    for (int row = 0; row != 3; ++row)
        for (int c = 0; c != 9; ++c)
            CHECK(static_cast<int>(y.values()[static_cast<std::size_t>(row * 9 + c)]) ==
                  expected_code<std::uint8_t, std::uint8_t>(weights, bias, layer, conv{.out_channels = 9}, x.data(),
                                                            row, 0, c, true));
}

TEST_CASE("static layers: any row with filters, such as depthwise ones and those along sequences") {
    const auto check = []<class Layer>(std::type_identity<Layer>, const conv& window) {
        const auto count = static_cast<std::size_t>(Layer::output_shape.channels * window.kernel.height *
                                                    window.kernel.width * Layer::input_shape.channels / window.groups);
        const auto weights = made_up::values(count, 9),
                   bias = made_up::values(static_cast<std::size_t>(Layer::output_shape.channels), 10);
        const zp::qparams x_range{0.02f, 113}, y_range{0.03f, 40};
        const Layer layer(weights, bias, x_range, y_range);
        const auto x = codes<zp::quint8>(Layer::input_shape, x_range, 11);
        zp::tensor<zp::quint8> y(Layer::output_shape, y_range);
        typename Layer::workspace memory;
        layer(x, y, memory);
        constexpr shape out = Layer::output_shape;
        for (int row = 0; row != out.height; ++row)
            for (int column = 0; column != out.width; ++column)
                for (int c = 0; c != out.channels; ++c)
                    CHECK(static_cast<int>(
                              y.values()[static_cast<std::size_t>((row * out.width + column) * out.channels + c)]) ==
                          expected_code<std::uint8_t, std::uint8_t>(weights, bias, layer, window, x.data(), row, column,
                                                                    c, true));
    };
    constexpr conv one_a_channel{.kernel = 3, .padding = 1, .groups = zp::depthwise};
    check(std::type_identity<zp::static_layer<zp::conv2d<"each", one_a_channel>, shape{6, 5, 16}, op::relu>>{},
          {.out_channels = 16, .kernel = 3, .padding = 1, .groups = 16});
    check(std::type_identity<zp::static_layer<zp::conv1d<"steps", conv{.out_channels = 7, .kernel = 3, .stride = 2}>,
                                              shape{1, 12, 5}, op::relu>>{},
          {.out_channels = 7, .kernel = {1, 3}, .stride = {1, 2}});
}

TEST_CASE("static layers: a convolution over a volume") {
    constexpr zp::volume_conv window{.out_channels = 6, .kernel = {2, 3, 3}, .padding = {1, 0, 1}, .groups = 2};
    using layer_type = zp::static_layer<zp::conv3d<"edges", window>, shape{5, 4, 8, 3}>;
    static_assert(layer_type::output_shape == shape{3, 4, 6, 4});
    const auto weights = made_up::values(6 * 4 * 18, 12);
    const zp::qparams x_range{0.02f, 113}, y_range{0.05f, 120};
    const layer_type layer(weights, {}, x_range, y_range);
    const auto x = codes<zp::quint8>(layer_type::input_shape, x_range, 13);
    zp::tensor<zp::quint8> y(layer_type::output_shape, y_range);
    layer_type::workspace memory;
    layer(x, y, memory);
    zp::kernel::conv3d_geometry g;
    g.plane.in = {5, 4, 8}, g.plane.out = {3, 4, 6};
    g.plane.kernel_height = g.plane.kernel_width = 3, g.plane.padding_left = 1, g.plane.groups = 2;
    g.in_depth = 3, g.out_depth = 4, g.kernel_depth = 2, g.padding_front = 1;
    std::vector<std::int8_t> weight_codes(weights.size());
    std::vector<float> multipliers;
    for (std::size_t c = 0; c != 6; ++c) {
        float largest = 0;
        for (std::size_t k = 0; k != 72; ++k) largest = std::max(largest, std::abs(weights[c * 72 + k]));
        const zp::qparams range{largest / 127.5f, 0};
        for (std::size_t tap = 0; tap != 18; ++tap)
            for (std::size_t in = 0; in != 4; ++in)
                weight_codes[(c * 18 + tap) * 4 + in] =
                    zp::quantize<zp::qint8>(weights[(c * 4 + in) * 18 + tap], range);
        multipliers.push_back(static_cast<float>(double{x_range.scale} * double{range.scale} / double{y_range.scale}));
    }
    std::vector<int> expected(y.values().size());
    zp::kernel::reference::conv3d(
        g, x.data(), 113, weight_codes.data(), nullptr, nullptr,
        [&](std::int32_t sum, int c) {
            const float steps = std::nearbyint(static_cast<float>(sum) * multipliers[static_cast<std::size_t>(c)]);
            return std::clamp(static_cast<int>(steps) + 120, 0, 255);
        },
        expected.data());
    CHECK(std::equal(expected.begin(), expected.end(), y.values().begin()));
    CHECK(error_of([&] { layer_type(made_up::values(5, 1), {}, x_range, y_range); }) ==
          "edges: expected 432 values of weight, found 5");
}

TEST_CASE("static layers: tensors of other extents or another scale are refused, weights of another count too") {
    const auto weights = made_up::values(72, 1), bias = made_up::values(6, 2);
    const zp::qparams x_range{0.5f, 3}, y_range{0.25f, 0};
    const small layer(weights, bias, x_range, y_range);
    small::workspace memory;
    zp::tensor<zp::quint8> x(small::input_shape, x_range), y(small::output_shape, y_range);
    CHECK(error_of([&] { layer(x, y, memory); }) == "no error");
    zp::tensor<zp::quint8> wide({5, 5, 4}, x_range), coarse(small::input_shape, {1.0f, 3}),
        shifted(small::output_shape, {0.25f, 1});
    CHECK(error_of([&] { layer(wide, y, memory); }) ==
          "quantized_conv2d: the input is 5x4x4, but a tensor of 5x5x4 came");
    CHECK(error_of([&] { layer(x, wide, memory); }) ==
          "quantized_conv2d: the output is 3x3x6, but a tensor of 5x5x4 came");
    CHECK(error_of([&] { layer(coarse, y, memory); }).find("quantized_conv2d: the input was made for scale 0.5") == 0);
    CHECK(error_of([&] { layer(x, shifted, memory); }).find("quantized_conv2d: the output was made for scale 0.25") ==
          0);
    CHECK(error_of([&] { small(made_up::values(71, 1), bias, x_range, y_range); }) ==
          "quantized_conv2d: expected 72 values of weight, found 71");
    CHECK(error_of([&] { small(weights, made_up::values(7, 1), x_range, y_range); }) ==
          "quantized_conv2d: expected 6 values of bias, found 7");
}

TEST_CASE("static layers: sizes are constants, the pointer form is noexcept") {
    static_assert(small::output_shape == shape{3, 3, 6} && small::parameter_bytes > 72);
    static_assert(noexcept(std::declval<const small&>().run(nullptr, nullptr, std::declval<small::workspace&>())));
}

template <zp::algorithm_policy Algorithm>
using with_algorithm = zp::fused_policy<zp::quint8, zp::qint8, zp::quint8, zp::nearest_even, Algorithm>;

TEST_CASE("static layers: the algorithm is a policy, and changes no result") {
    constexpr conv padded{.out_channels = 16, .kernel = 3, .padding = 1};
    using panels =
        zp::quantized_conv2d<shape{6, 6, 8}, padded, op::relu, with_algorithm<zp::conv2d_algorithm::implicit_gemm>>;
    using tiles =
        zp::quantized_conv2d<shape{6, 6, 8}, padded, op::relu, with_algorithm<zp::conv2d_algorithm::winograd_4x4>>;
    using smallest = zp::quantized_conv2d<shape{6, 6, 8}, padded, op::relu, with_algorithm<zp::smallest>>;
    static_assert(panels::algorithm == zp::conv2d_algorithm::implicit_gemm);
    static_assert(tiles::algorithm == zp::conv2d_algorithm::winograd_4x4);
    // Winograd's weights are no larger than others, its scratch is.
    static_assert(smallest::algorithm == zp::conv2d_algorithm::implicit_gemm &&
                  sizeof(smallest::workspace) < sizeof(tiles::workspace));
    const auto weights = made_up::values(16 * 8 * 9, 6), bias = made_up::values(16, 7);
    const zp::qparams x_range{0.02f, 113}, y_range{0.03f, 40};
    const auto x = codes<zp::quint8>({6, 6, 8}, x_range, 8);
    zp::tensor<zp::quint8> a({6, 6, 16}, y_range), b({6, 6, 16}, y_range);
    panels::workspace panels_memory;
    tiles::workspace tiles_memory;
    panels(weights, bias, x_range, y_range)(x, a, panels_memory);
    tiles(weights, bias, x_range, y_range)(x, b, tiles_memory);
    CHECK(std::equal(a.values().begin(), a.values().end(), b.values().begin()));
}
