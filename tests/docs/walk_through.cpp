// SPDX-License-Identifier: BSD-3-Clause
// The code of README.md and docs/workflow.md, compiled and run as it stands there.
#include <array>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <zeropoint/observe/fixed_qparams_observer.hpp>

#include "network.hpp"

// clang-format off
// [overrides]
struct mixed_qconfig : zp::qconfig<
    my_qconfig::activation, my_qconfig::weight,
    zp::for_layer<"conv2", zp::qnnpack_qconfig>,                // one layer, quantized in another way
    zp::for_type<zp::op::linear, zp::tensorrt_qconfig>,         // all layers of a type; a name goes before a type
    zp::keep_float<"conv1">,                                    // one layer in float32
    zp::keep_float_type<zp::op::sigmoid>,                       // all layers of a type in float32
    zp::requantize_with<zp::float_bias>> {};                    // for the whole model
// [/overrides]

// [algorithms]
struct fast_qconfig : zp::qconfig<
    my_qconfig::activation, my_qconfig::weight,
    zp::algorithm<zp::fastest>,                                                        // else zp::balanced
    zp::for_type<zp::op::linear, zp::algorithm<zp::smallest>>,
    zp::for_layer<"conv2", zp::algorithm<zp::conv2d_algorithm::winograd_2x2>>> {};
// [/algorithms]

// [fixed-input]
struct pixels_qconfig : zp::qconfig<
    my_qconfig::activation, my_qconfig::weight,
    zp::for_layer<"input", zp::qconfig<
        zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::fixed_qparams_observer<zp::qparams{1.0f / 255, 0}>>,
        my_qconfig::weight>>> {};
// [/fixed-input]

// [named]
struct two_branches : zp::model<zp::input<8, 8, 3>,
    zp::named<"sum", zp::add<zp::conv2d<"left", zp::conv{.out_channels = 8}>, zp::conv2d<"right", zp::conv{.out_channels = 8}>>>,
    zp::sigmoid> {};
struct sum_in_float : zp::qconfig<my_qconfig::activation, my_qconfig::weight, zp::keep_float<"sum">> {};
// [/named]

// [free-form]
struct two_scales {
    static constexpr int nodes = 8;  // an upper bound
    static constexpr void lower(zp::builder& b) {
        const int x = b.input({16, 16, 3});
        const int fine = zp::relu::lower(b, b.conv2d(x, "fine", {.out_channels = 8, .kernel = 3, .stride = 2, .padding = 1}));
        const int coarse = b.conv2d(b.avg_pool2d(x, "", {.kernel = 2}), "coarse", {.out_channels = 8});
        const int both[] = {fine, coarse};
        b.adaptive_avg_pool2d(b.concat(both), "", 1);
    }
};
// [/free-form]

// [stubs]
struct quantized_head : zp::model<zp::input<8, 8, 1>,
    zp::conv2d<"stem", zp::conv{.out_channels = 8, .kernel = 3, .padding = 1}>, zp::relu,         // stays float32
    zp::quant_stub, zp::conv2d<"head", zp::conv{.out_channels = 8, .kernel = 3}>, zp::dequant_stub> {};
// [/stubs]

// [custom-layer]
struct square {
    static constexpr const char* kind = "square";
    static constexpr zp::shape output_shape(zp::shape in) { return in; }
    static constexpr int parameters(zp::shape) { return 1; }  // one float, "Name.weight" in the file
    static void forward(const zp::operands<float>& o) {
        for (int i = 0; i != o.y_shape().size(); ++i) o.y()[i] = o.parameters()[0] * o.x()[i] * o.x()[i];
    }
};
struct with_square : zp::model<zp::input<1, 1, 4>, zp::linear<"a", 8>, zp::custom<"energy", square>, zp::linear<"b", 2>> {};
// [/custom-layer]

// [block]
template <zp::fixed_string Name, int Channels>
struct basic_block : zp::sequential<
    zp::residual<
        zp::conv2d<Name + ".conv1", zp::conv{.out_channels = Channels, .kernel = 3, .padding = 1, .bias = false}>,
        zp::batch_norm2d<Name + ".bn1">, zp::relu,
        zp::conv2d<Name + ".conv2", zp::conv{.out_channels = Channels, .kernel = 3, .padding = 1, .bias = false}>,
        zp::batch_norm2d<Name + ".bn2">>,
    zp::relu> {};

struct residual_net : zp::model<zp::input<8, 8, 16>, basic_block<"layer1.0", 16>, basic_block<"layer1.1", 16>> {};
// [/block]
// clang-format on

// [budget]
using int8_digits = zp::quantized<digits_cnn, my_qconfig>;
static_assert(int8_digits::arena_bytes <= 8 * 1024, "the working memory of one call");
static_assert(int8_digits::parameter_bytes <= 16 * 1024, "packed weights, biases and scales");
static_assert(int8_digits::output_shape == zp::shape{1, 1, 10});
// [/budget]

// [state]
template <class Network> constexpr int rows_of(const zp::operator_kind& kind) {
    int count = 0;
    for (const zp::node& row : Network::rows()) count += row.op->kind == &kind;
    return count;
}
static_assert(rows_of<zp::fused<digits_cnn>>(zp::op::batch_norm) == 0, "every batch norm is folded");
static_assert(rows_of<int8_digits>(zp::op::quantize) == 1 && rows_of<int8_digits>(zp::op::dequantize) == 1,
              "int8 from end to end");
// [/state]

static_assert(rows_of<zp::quantized<digits_cnn, mixed_qconfig>>(zp::op::quantize) == 1);
static_assert(rows_of<zp::fused<residual_net>>(zp::op::relu) == 0);
static_assert(zp::float_model<two_scales>::output_shape == zp::shape{1, 1, 16});

TEST_CASE("README: from a float file to an int8 file") {
    const scratch_folder folder("readme");
    const std::string float_file = folder.file("digits_cnn.safetensors"),
                      int8_file = folder.file("digits_cnn.int8.safetensors");
    const auto calibration_images = made_up::inputs<digits_cnn>(64, 2, 0, 1);
    const std::array<float, 64> image{};
    std::array<float, 10> logits{}, again{};
    // [pipeline]
    const auto trained = zp::load<digits_cnn>(float_file);  // a PyTorch state dict, checked tensor by tensor
    const auto fused = zp::fuse(trained);                   // batch norms folded, activations fused
    const auto prepared = zp::prepare<my_qconfig>(fused);   // an observer for every activation
    const auto calibrated = zp::calibrate(prepared, calibration_images);
    const auto int8 = zp::convert(calibrated);  // zp::quantized<digits_cnn, my_qconfig>
    int8(image, logits);                        // const, noexcept, no allocation
    zp::save(int8, int8_file);
    // [/pipeline]
    // [deploy]
    const auto deployed = zp::load<zp::quantized<digits_cnn, my_qconfig>>(int8_file);
    deployed(image, again);
    // [/deploy]
    CHECK(logits == again);
    using reader = digits_cnn;  // as an imported header would call it
    const std::string& path = int8_file;
    // [imported]
    const auto net = zp::load<zp::quantized<reader, my_qconfig>>(path);
    const auto scores = net(image);
    // [/imported]
    CHECK(scores == logits);
    static_assert(noexcept(int8(image, logits)));
}

TEST_CASE("workflow: the verbs one by one") {
    const scratch_folder folder("verbs");
    const auto images = made_up::inputs<digits_cnn>(40, 3, 0, 1);
    const auto fused = zp::fuse(zp::load<digits_cnn>(folder.file("digits_cnn.safetensors")));

    std::uint64_t last = 0;
    const auto show = [&](std::uint64_t n) { last = n; };
    // [calibrate]
    const auto calibrated = zp::calibrate(zp::prepare<my_qconfig>(fused), images,
                                          [&](const zp::calibration_progress& done) { show(done.samples); });
    // [/calibrate]
    CHECK(last == 40);

    // [report]
    const zp::calibration_report report = zp::report(calibrated);
    const std::string table = zp::to_string(report);
    // [/report]
    CHECK(report.samples == 40);
    CHECK(zp::calibrate(calibrated, images).samples() == 80);
    CHECK(table.find("conv1") != std::string::npos);

    // [convert]
    zp::conversion_notes notes;
    const auto int8 = zp::convert(calibrated, &notes);
    // [/convert]
    CHECK(notes.raised_weight_scales.empty());

    const std::vector<float> x = images.front();
    std::array<float, 10> y{}, z{};
    // [run]
    const auto memory = std::make_unique<int8_digits::workspace>();  // one a thread
    int8(x, y, *memory);
    int8(zp::nchw(x), y, *memory);  // an image with its channels outermost
    // [/run]
    int8(x, z);
    CHECK(y == z);  // one channel: both orders are the same

    // [bytes]
    const std::vector<std::byte> file = zp::to_bytes(int8);
    const auto reloaded = zp::load<int8_digits>(file, "built-in model");
    // [/bytes]
    reloaded(x, z);
    CHECK(y == z);
}

TEST_CASE("workflow: calibrating in parts") {
    const scratch_folder folder("parts");
    const auto fused = zp::fuse(zp::load<digits_cnn>(folder.file("digits_cnn.safetensors")));
    const auto first_half = made_up::inputs<digits_cnn>(20, 4, 0, 1),
               second_half = made_up::inputs<digits_cnn>(20, 5, 0, 1);
    const auto prepared = zp::prepare<zp::qnnpack_qconfig>(fused);
    // [merge]
    auto rest = std::async(std::launch::async, [&] { return zp::calibrate(prepared, second_half); });
    auto calibrated = zp::calibrate(prepared, first_half);
    calibrated.merge(rest.get());
    const auto int8 = zp::convert(calibrated);
    // [/merge]
    CHECK(calibrated.samples() == 40);
    std::array<float, 10> y{};
    int8(first_half.front(), y);
}

namespace {
template <class Net, class QConfig> auto quantized(std::size_t samples = 40) {
    return zp::convert(
        zp::calibrate(zp::prepare<QConfig>(made_up::network<Net>()), made_up::inputs<Net>(samples, 6, 0, 1)));
}
}  // namespace

TEST_CASE("workflow: overrides, fixed input, branches, stubs, custom layers") {
    const auto pixels = quantized<digits_cnn, pixels_qconfig>();
    CHECK(pixels.ranges()[pixels.rows()[0].out.qparams_id] == zp::qparams{1.0f / 255, 0});

    const auto mixed = quantized<digits_cnn, mixed_qconfig>();
    std::array<float, 10> y{};
    mixed(std::array<float, 64>{}, y);

    const auto fast = quantized<digits_cnn, fast_qconfig>();
    std::array<float, 10> of_fast{}, of_balanced{};
    fast(std::array<float, 64>{1.0f}, of_fast);
    quantized<digits_cnn, my_qconfig>()(std::array<float, 64>{1.0f}, of_balanced);
    CHECK(of_fast == of_balanced);  // algorithms change no result
    // [print]
    std::string table = zp::to_string(fast);  // zp::print_tabular(fast) writes it to stdout
    // [/print]
    CHECK(table.find("winograd_2x2") != table.npos);

    quantized<two_branches, sum_in_float>();
    quantized<two_scales, my_qconfig>();
    quantized<quantized_head, my_qconfig>();
    quantized<with_square, my_qconfig>();
}

TEST_CASE("workflow: what an error says") {
    const auto prepared = zp::prepare<my_qconfig>(made_up::network<digits_cnn>());
    std::vector<float> bad(64, 0.5f);
    bad[5] = zp::infinity;
    CHECK_THROWS_WITH_AS(
        (void)zp::calibrate(prepared, bad),
        "input, calibration input 1: expected finite values, but value 5 of 64 (channel 0) is inf: clean "
        "the calibration data, or the weights before this layer",
        zp::calibration_error);
    CHECK_THROWS_WITH_AS(
        (void)zp::convert(zp::calibrate(prepared, std::vector<std::vector<float>>{})),
        "input: histogram_observer has seen no values, expected at least one batch: calibrate before converting",
        zp::calibration_error);
}
