// SPDX-License-Identifier: BSD-3-Clause
// Transposed convolutions as layers of a model: float and int8 equal their definition at every row, whatever is fused
// into them; files; tables; quantize_dynamic.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <zeropoint/analysis/model_table.hpp>
#include <zeropoint/io/model_file.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/workflow/quantize_dynamic.hpp>

#include "../support/float_reference.hpp"
#include "../support/same_tensors.hpp"
#include "integer_simulation.hpp"

namespace {

using simulation::activation;
using simulation::policy;
using simulation::square;
using simulation::window;
using zp::conv;
using zp::conv_transpose;
namespace op = zp::op;

template <class DType> using activations = zp::quantizer<DType, zp::per_tensor_affine, zp::min_max_observer>;
using weights = zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>;
struct config : zp::qconfig<activations<zp::quint8>, weights> {};

window transposed(window w, int output_padding_height = 0, int output_padding_width = 0) {
    w.transposed = true;
    w.output_padding_height = output_padding_height;
    w.output_padding_width = output_padding_width;
    return w;
}

// Every option once, both algorithms, what can be fused behind one, and a sum with a residual.
struct decoder
    : zp::model<
          zp::input<3, 4, 8>,
          zp::conv_transpose2d<"grouped", conv_transpose{.out_channels = 6,
                                                         .kernel = {4, 3},
                                                         .stride = {2, 3},
                                                         .padding = {1, 0},
                                                         .output_padding = {1, 2},
                                                         .groups = 2,
                                                         .bias = false}>,
          zp::batch_norm2d<"bn">, zp::relu,
          zp::conv_transpose2d<"dilated", conv_transpose{.out_channels = 18, .kernel = {2, 3}, .dilation = {3, 2}}>,
          zp::relu6,
          zp::conv_transpose2d<"depthwise", conv_transpose{.kernel = 3, .padding = 2, .groups = zp::depthwise}>,
          zp::named<"bent", zp::hardswish>,
          zp::named<"sum", zp::residual<zp::conv2d<"mix", conv{.out_channels = 10}>, zp::relu,
                                        zp::conv_transpose2d<
                                            "back", conv_transpose{.out_channels = 18, .kernel = 3, .padding = 1}>>>,
          zp::relu, zp::conv_transpose2d<"gaps", conv_transpose{.out_channels = 3, .kernel = 1, .stride = 2}>,
          zp::conv2d<"last", conv{.out_channels = 2, .kernel = 3, .stride = 3}>> {};

// What U-Nets and autoencoders grow by.
struct doubled
    : zp::model<zp::input<4, 5, 20>,
                zp::conv_transpose2d<"up", conv_transpose{.out_channels = 9, .kernel = 2, .stride = 2}>, zp::relu> {};

struct sequence
    : zp::model<zp::input<1, 9, 4>,
                zp::conv_transpose1d<
                    "a",
                    conv_transpose{
                        .out_channels = 6, .kernel = 5, .stride = 3, .padding = 1, .output_padding = 1, .groups = 2}>,
                zp::relu, zp::conv_transpose1d<"b", conv_transpose{.out_channels = 3, .kernel = 3, .dilation = 2}>> {};

double hardswish(double v) { return v * std::min(std::max(v + 3, 0.0), 6.0) / 6; }

/// The rows of the int8 decoder, as they must be.
template <class Script> void simulate_decoder(Script& s, const std::vector<float>& image) {
    const auto x = s.quantize(s.input(image), s.range("input"));
    const auto grouped = s.convolve("grouped", x, transposed({4, 3, 2, 3, 1, 0, 1, 1, 2}, 1, 2), s.range("grouped"),
                                    activation::relu, "bn");
    const auto dilated =
        s.convolve("dilated", grouped, transposed({2, 3, 1, 1, 0, 0, 3, 2}), s.range("dilated"), activation::relu6);
    const auto bent = s.convolve_then("depthwise", dilated, transposed(square(3, 1, 2, 1, 18)), s.range("depthwise"),
                                      s.range("bent"), hardswish);
    const auto mix = s.convolve("mix", bent, square(1), s.range("mix"), activation::relu);
    const auto sum = s.convolve_add("back", mix, transposed(square(3, 1, 1)), bent, s.range("sum"), activation::relu);
    const auto gaps = s.convolve("gaps", sum, transposed(square(1, 2)), s.range("gaps"));
    s.dequantize(s.convolve("last", gaps, square(3, 3), s.range("last")));
}

}  // namespace

TEST_CASE("float: transposed convolutions with all options, as written and fused") {
    static_assert(zp::float_model<decoder>::rows()[1].out.extents == zp::shape{7, 14, 6});
    static_assert(zp::float_model<decoder>::rows()[4].out.extents == zp::shape{10, 18, 18});
    static_assert(zp::fused<decoder>::rows().size() == 10);
    const auto trained = made_up::network<decoder>(4);
    const auto fused = zp::fuse(trained);
    for (const auto& image : made_up::inputs<decoder>(2, 80)) {
        std::vector<float> y(static_cast<std::size_t>(trained.output_shape.size())), fused_y(y.size());
        trained(image, y);
        fused(image, fused_y);
        const auto expected = float_reference::run(trained, image).back();
        CHECK(float_reference::difference(y, expected) < 1e-4);
        CHECK(float_reference::difference(fused_y, expected) < 1e-4);
    }
}

TEST_CASE("convert: transposed convolutions with all that is fused into them, by each algorithm") {
    struct panels
        : zp::qconfig<activations<zp::quint8>, weights,
                      zp::for_type<op::conv_transpose2d, zp::algorithm<zp::conv2d_algorithm::implicit_gemm>>> {};
    const auto trained = made_up::network<decoder>(4);
    const auto calibration = made_up::inputs<decoder>(5, 4);
    const auto int8 = simulation::converted<config>(trained, calibration);
    const auto by_panels = simulation::converted<panels>(trained, calibration);
    CHECK(int8.rows()[4].by.algorithm == zp::conv2d_algorithm::depthwise);
    CHECK(by_panels.rows()[4].by.algorithm == zp::conv2d_algorithm::implicit_gemm);
    simulation::script<decoder, config> s(trained, calibration);
    for (const auto& image : made_up::inputs<decoder>(3, 80, -1.2f, 1.2f)) {
        simulate_decoder(s, image);
        CHECK(simulation::differences(int8, s, image) == "");
        CHECK(simulation::differences(by_panels, s, image) == "");
    }
    CHECK(zp_test::same_tensors(zp::to_bytes(int8), zp::to_bytes(by_panels)));
}

TEST_CASE("convert: a transposed convolution under every requantization, signed codes and affine weights") {
    const auto trained = made_up::network<doubled>(5);
    const auto calibration = made_up::inputs<doubled>(5, 5);
    const auto check = [&]<class Config>(Config, policy how) {
        const auto int8 = simulation::converted<Config>(trained, calibration);
        simulation::script<doubled, Config> s(trained, calibration, how);
        for (const auto& image : made_up::inputs<doubled>(2, 81, -1.2f, 1.2f)) {
            const auto x = s.quantize(s.input(image), s.range("input"));
            s.dequantize(s.convolve("up", x, transposed(square(2, 2)), s.range("up"), activation::relu));
            CHECK(simulation::differences(int8, s, image) == "");
        }
    };
    struct float_bias : zp::qconfig<activations<zp::qint8>, weights, zp::requantize_with<zp::float_bias>> {};
    struct twice : zp::qconfig<activations<zp::quint8>, weights, zp::requantize_with<zp::fixed_point_double_rounding>> {
    };
    struct once : zp::qconfig<activations<zp::qint8>, weights, zp::requantize_with<zp::fixed_point_single_rounding>> {};
    struct affine : zp::qconfig<activations<zp::quint8>,
                                zp::quantizer<zp::quint8, zp::per_channel_affine, zp::per_channel_min_max_observer>> {};
    check(config{}, policy::nearest_even);
    check(float_bias{}, policy::float_bias);
    check(twice{}, policy::double_rounding);
    check(once{}, policy::single_rounding);
    check(affine{}, policy::nearest_even);
    const auto bytes = zp::to_bytes(simulation::converted<affine>(trained, calibration));
    CHECK(zp::to_bytes(zp::load<zp::quantized<doubled, affine>>(bytes, "affine")) == bytes);
}

TEST_CASE("convert: conv_transpose1d along a sequence") {
    static_assert(zp::float_model<sequence>::rows()[1].out.extents == zp::shape{1, 28, 6});
    const auto trained = made_up::network<sequence>(6);
    const auto calibration = made_up::inputs<sequence>(5, 6);
    const auto int8 = simulation::converted<config>(trained, calibration);
    simulation::script<sequence, config> s(trained, calibration);
    for (const auto& image : made_up::inputs<sequence>(3, 82)) {
        const auto x = s.quantize(s.input(image), s.range("input"));
        const auto a =
            s.convolve("a", x, transposed({1, 5, 1, 3, 0, 1, 1, 1, 2}, 0, 1), s.range("a"), activation::relu);
        s.dequantize(s.convolve("b", a, transposed({1, 3, 1, 1, 0, 0, 1, 2}), s.range("b")));
        CHECK(simulation::differences(int8, s, image) == "");
    }
}

TEST_CASE("convert: a transposed convolution is 30 dB from the float one") {
    const auto trained = made_up::network<doubled>(7);
    zp_test::generator next(83);
    std::vector<std::vector<float>> images(8, std::vector<float>(4 * 5 * 20));
    for (auto& image : images)
        for (float& value : image)
            for (int i = 0; i != 12; ++i) value += next.real(-0.5f, 0.5f);  // nearly normal
    const auto int8 = simulation::converted<config>(trained, images);
    double signal = 0, noise = 0;
    for (const auto& image : images) {
        std::vector<float> wanted(8 * 10 * 9), found(wanted.size());
        trained(image, wanted);
        int8(image, found);
        for (std::size_t i = 0; i != wanted.size(); ++i) {
            signal += double{wanted[i]} * double{wanted[i]};
            noise += (double{wanted[i]} - double{found[i]}) * (double{wanted[i]} - double{found[i]});
        }
    }
    CHECK(10 * std::log10(signal / noise) > 30);
}

TEST_CASE("load and save: weights of transposed convolutions have PyTorch's names, shapes and order") {
    const auto trained = made_up::network<sequence>(6);
    const auto bytes = zp::to_bytes(trained);
    const auto file = zp::safetensors_file::parse(bytes, "sequence");
    const auto values = file.finite_floats("a.weight", {4, 3, 5});
    const auto inside = made_up::parameters_of(trained, "a").weights;  // [out][tap][in of the group]
    for (std::size_t in = 0; in != 4; ++in)
        for (std::size_t out = 0; out != 3; ++out)
            for (std::size_t tap = 0; tap != 5; ++tap)
                CHECK(values[(in * 3 + out) * 5 + tap] == inside[((in / 2 * 3 + out) * 5 + tap) * 2 + in % 2]);
    CHECK(zp::to_bytes(zp::load<sequence>(bytes, "sequence")) == bytes);

    const auto wide = made_up::network<decoder>(4);
    const auto int8 = simulation::converted<config>(wide, made_up::inputs<decoder>(5, 4));
    const auto codes = zp::to_bytes(int8);
    const auto codes_file = zp::safetensors_file::parse(codes, "decoder");
    CHECK(codes_file.expect("grouped.weight").shape == zp::file_shape{8, 3, 4, 3});
    CHECK(codes_file.expect("grouped.weight_scale").shape == zp::file_shape{6});
    const auto again = zp::load<zp::quantized<decoder, config>>(codes, "decoder");
    CHECK(zp::to_bytes(again) == codes);
    for (const auto& image : made_up::inputs<decoder>(2, 84)) {
        std::vector<float> expected(static_cast<std::size_t>(int8.output_shape.size())), found(expected.size());
        int8(image, expected);
        again(image, found);
        CHECK(expected == found);
    }
}

TEST_CASE(
    "model table: algorithms, panels and products of transposed convolutions; small ones stay float in "
    "quantize_dynamic") {
    using int8_type = zp::quantized<doubled, config>;
    static_assert(zp::budget_of<int8_type>.macs == 4 * 5 * 20 * 9 * 4);
    static_assert(int8_type::rows()[2].by.algorithm == zp::conv2d_algorithm::implicit_gemm);
    const auto trained = made_up::network<doubled>(5);
    const auto int8 = simulation::converted<config>(trained, made_up::inputs<doubled>(5, 5));
    const auto row = zp::table_of(int8).rows[2];
    CHECK(row.operation == "conv_transpose2d + relu");
    CHECK(row.algorithm == "implicit_gemm");
    CHECK(row.why.rfind("balanced: ", 0) == 0);
    constexpr int width = zp::kernel::panel_width<zp::default_architecture>, channels = 4 * 9;  // of four taps
    CHECK(row.panels.rfind(std::to_string((channels + width - 1) / width) + ' ', 0) == 0);
    CHECK(row.packed_bytes > 20 * 9 * 4);
    CHECK(zp::table_of(made_up::network<sequence>(6)).rows[1].operation == "conv_transpose1d");

    const auto dynamic = zp::quantize_dynamic(trained);
    CHECK(zp::table_of(dynamic).rows[1].why == "stays float32: fewer than 32 products an output");
    const auto image = made_up::inputs<doubled>(1, 85).front();
    std::vector<float> expected(8 * 10 * 9), found(expected.size());
    trained(image, expected);
    dynamic(image, found);
    CHECK(expected == found);
    const auto bytes = zp::to_bytes(dynamic);
    CHECK(zp::to_bytes(zp::load<zp::dynamically_quantized<doubled>>(bytes, "dynamic")) == bytes);
}

TEST_CASE("algorithms: what computes no phases is not taken for a transposed convolution") {
    zp::node rows[2];
    zp::builder b(rows, 2);
    b.conv_transpose2d(b.input({8, 8, 64}), "c", {.out_channels = 64, .kernel = 3, .padding = 1});
    rows[1].by.policy = zp::conv2d_algorithm::winograd_4x4;
    CHECK(zp::operators::choose_algorithm<zp::default_architecture>({rows, rows[1]}) ==
          zp::conv2d_algorithm::automatic);
    rows[1].by.policy = zp::conv2d_algorithm::depthwise;
    CHECK(zp::operators::choose_algorithm<zp::default_architecture>({rows, rows[1]}) ==
          zp::conv2d_algorithm::automatic);
    rows[1].by.policy = zp::fastest;
    CHECK(zp::operators::choose_algorithm<zp::default_architecture>({rows, rows[1]}) ==
          zp::conv2d_algorithm::implicit_gemm);
}
