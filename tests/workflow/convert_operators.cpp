// SPDX-License-Identifier: BSD-3-Clause
// Described operators through the passes: fused clamps, grids, known ranges, blocks, files and errors.
#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

#include <zeropoint/io/model_file.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>

#include "integer_simulation.hpp"

namespace {

using simulation::square;
using zp::conv;

struct config : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                            zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>> {};
struct signed_config
    : zp::qconfig<zp::quantizer<zp::qint8, zp::per_tensor_affine, zp::min_max_observer>, config::weight> {};

/// (x - shift[channel]) * weight[place] + Offset: two arrays, one of an image's extents, factors made beforehand.
template <int Offset> struct affine_map {
    static constexpr const char* kind = "affine_map";
    static constexpr int options[] = {Offset};
    static constexpr bool elementwise = true;
    static constexpr unsigned takes = zp::bounds;
    static constexpr zp::shape output_shape(zp::shape x) { return x; }
    static constexpr zp::parameter_list parameters(zp::shape x) {
        return zp::parameter_list().add_image("weight", x).add("shift", x.channels);
    }
    static float at(const float* parameters, const zp::shape& extents, int i, float x) {
        return (x - parameters[extents.size() + i % extents.channels]) * parameters[i] + Offset;
    }
    static void forward(const zp::operands<float>& o) {
        for (int i = 0; i != o.y_shape().size(); ++i)
            o.y()[i] = std::clamp(at(o.parameters(), o.y_shape(), i, o.x()[i]), o.lowest(), o.highest());
    }
    static constexpr int prepared_bytes(const zp::node_view&) { return 3 * sizeof(float); }
    static void prepare(const zp::preparation& p) {
        const float scales[] = {p.x_qparams().scale, p.y_qparams().scale, static_cast<float>(p.x_type().quant_max)};
        std::memcpy(p.prepared(), scales, sizeof scales);
    }
    static const char* problem(const zp::preparation& p) {
        return p.x_qparams().scale > 1e6f * p.y_qparams().scale ? "the output is too fine for its input" : nullptr;
    }
    template <class T> static void forward(const zp::operands<T>& o) {
        const auto* scales = o.template prepared<float>();
        const zp::kernel::output_codes y = o.y_codes();
        for (int i = 0; i != o.y_shape().size(); ++i) {
            const float x = scales[0] * static_cast<float>(o.x()[i] - o.x_qparams().zero_point);
            const double real = double{at(o.parameters(), o.y_shape(), i, x)} / double{scales[1]};
            const std::int64_t code = zp::round_half_even(real) + y.zero_point;
            o.y()[i] = static_cast<T>(std::clamp(code, std::int64_t{y.min}, std::int64_t{y.max}));
        }
    }
};
template <int Offset, int Channels>
struct mapped : zp::model<zp::input<2, 3, 2>, zp::conv2d<"a", conv{.out_channels = Channels}>,
                          zp::custom<"own", affine_map<Offset>>, zp::relu6, zp::conv2d<"b", conv{.out_channels = 2}>> {
};
using net = mapped<1, 3>;

/// One input's rows below those of the other: inputs have the output's scale, as those of a concat.
struct below {
    static constexpr const char* kind = "below";
    static constexpr zp::input_rule inputs = zp::input_rule::same_qparams;
    static constexpr bool accepts(std::span<const zp::shape> xs) { return xs.size() == 2 && xs[0] == xs[1]; }
    static constexpr zp::shape output_shape(std::span<const zp::shape> xs) {
        return {xs[0].height + xs[1].height, xs[0].width, xs[0].channels};
    }
    template <class T> static void forward(const zp::operands<T>& o) {
        const auto size = static_cast<std::size_t>(o.x_shape().size());
        std::memcpy(o.y(), o.x(0), size * sizeof(T));
        std::memcpy(o.y() + size, o.x(1), size * sizeof(T));
    }
};
struct stacked : zp::model<zp::input<2, 3, 2>, zp::conv2d<"first", conv{.out_channels = 2}>,
                           zp::custom<"both", below, zp::conv2d<"a", conv{.out_channels = 2}>, zp::max_pool2d<1>>,
                           zp::conv2d<"b", conv{.out_channels = 2}>> {};

/// A value between 0 and 1, whatever it has seen: its scale is a constant.
struct portion {
    static constexpr const char* kind = "portion";
    static constexpr float output_min = 0, output_max = 1;
    static constexpr zp::shape output_shape(zp::shape x) { return {1, 1, x.channels}; }
    template <class T> static void forward(const zp::operands<T>& o) {
        for (int c = 0; c != o.y_shape().channels; ++c) o.y()[c] = static_cast<T>(c);
    }
};
struct portions : zp::model<zp::input<2, 3, 2>, zp::conv2d<"a", conv{.out_channels = 3}>, zp::custom<"", portion>> {};

template <class Network> std::string text_of(const Network& model) {
    const auto bytes = zp::to_bytes(model);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

TEST_CASE_TEMPLATE("convert: an operator of the user's, its fused clamp, arrays and prepared block", Config, config,
                   signed_config) {
    const auto trained = made_up::network<net>(5);
    const auto calibration = made_up::inputs<net>(6, 5, -3, 3);
    const auto int8 = simulation::converted<Config>(trained, calibration);
    REQUIRE(int8.rows().size() == 6);  // input, quantize, a, own + relu6, b, dequantize
    CHECK(zp_test::has_clamp(int8.rows()[3], zp::op::relu6));
    CHECK(int8.rows()[3].at.arena_offset == int8.rows()[2].at.arena_offset);  // elementwise
    const float* parameters =
        reinterpret_cast<const float*>(trained.parameters() + trained.rows()[2].at.parameter_offset);
    simulation::script<net, Config> s(trained, calibration);
    for (const auto& image : made_up::inputs<net>(4, 82, -4, 4)) {
        const auto a = s.convolve("a", s.quantize(s.input(image), s.range("input")), square(1), s.range("a"));
        const auto range = s.range("own");
        auto own = a;
        own.range = range;
        const auto six = static_cast<int>(std::nearbyint(6 / double{range.scale})) + range.zero_point;
        for (std::size_t i = 0; i != own.codes.size(); ++i) {
            const float x = a.range.scale * static_cast<float>(a.codes[i] - a.range.zero_point);
            const float y = affine_map<1>::at(parameters, {2, 3, 3}, static_cast<int>(i), x);
            const auto code = static_cast<int>(std::nearbyint(double{y} / double{range.scale})) + range.zero_point;
            own.codes[i] = std::clamp(code, range.zero_point, std::min(six, a.max));
        }
        s.rows.push_back(own);
        s.dequantize(s.convolve("b", own, square(1), s.range("b")));
        CHECK(simulation::differences(int8, s, image) == "");
    }
}

TEST_CASE("load and save: the arrays of an operator have their names and PyTorch's order") {
    const auto trained = made_up::network<net>(5);
    const std::string text = text_of(trained);
    CHECK(text.find("\"own.weight\":{\"dtype\":\"F32\",\"shape\":[3,2,3]") != text.npos);
    CHECK(text.find("\"own.shift\":{\"dtype\":\"F32\",\"shape\":[3]") != text.npos);
    const auto bytes = zp::to_bytes(trained);
    CHECK(zp::to_bytes(zp::load<net>(bytes, "net")) == bytes);
    const auto file = zp::safetensors_file::parse(bytes, "net");
    const std::vector<float> weights = file.finite_floats("own.weight", {3, 2, 3});
    const float* inside = reinterpret_cast<const float*>(trained.parameters() + trained.rows()[2].at.parameter_offset);
    for (int c = 0; c != 3; ++c)
        for (int pixel = 0; pixel != 6; ++pixel)
            CHECK(weights[static_cast<std::size_t>(c * 6 + pixel)] == inside[pixel * 3 + c]);

    const auto int8 = simulation::converted<config>(trained, made_up::inputs<net>(6, 5));
    const auto int8_bytes = zp::to_bytes(int8);
    const auto loaded = zp::load<zp::quantized<net, config>>(int8_bytes, "int8");
    CHECK(zp::to_bytes(loaded) == int8_bytes);
    std::vector<float> y(12), again(12);
    for (const auto& image : made_up::inputs<net>(4, 83)) {
        int8(image, y);
        loaded(image, again);
        CHECK(y == again);
    }
    // Another option is another network.
    CHECK_THROWS_AS((zp::load<zp::quantized<mapped<2, 3>, config>>(int8_bytes, "int8")), zp::file_error);
}

TEST_CASE("convert: scales that an operator does not compute are an error with its name") {
    auto trained = made_up::network<net>(5);
    auto* own = reinterpret_cast<float*>(trained.parameters() + trained.rows()[2].at.parameter_offset);
    for (int i = 0; i != 18; ++i) own[i] = 0;
    const auto calibrate = [&](float offset) {
        auto calibrated =
            zp::calibrate(zp::prepare<config>(zp::fuse(trained)), made_up::inputs<net>(2, 5, offset, 2e9f));
        return zp::convert(calibrated);
    };
    CHECK_THROWS_WITH_AS(calibrate(1e9f), "convert: own (affine_map): the output is too fine for its input",
                         zp::value_error);
}

TEST_CASE("convert: inputs on one grid are brought there, or were there from the start") {
    const auto trained = made_up::network<stacked>(8);
    const auto calibration = made_up::inputs<stacked>(5, 8, -2, 2);
    const auto int8 = simulation::converted<config>(trained, calibration);
    simulation::script<stacked, config> s(trained, calibration);
    for (const auto& image : made_up::inputs<stacked>(3, 84, -2, 2)) {
        const auto all = s.range("both");
        const auto first =
            s.convolve("first", s.quantize(s.input(image), s.range("input")), square(1), s.range("first"));
        const auto a = s.convolve("a", first, square(1), all);
        const auto pooled =
            s.table(s.pool(simulation::pooling::max, first, square(1)), all, [](double x) { return x; });
        auto both = a;
        both.extents.height = 4;
        both.codes.insert(both.codes.end(), pooled.codes.begin(), pooled.codes.end());
        s.rows.push_back(both);
        s.dequantize(s.convolve("b", both, square(1), s.range("b")));
        CHECK(simulation::differences(int8, s, image) == "");
    }
}

TEST_CASE("convert: an operator of a known range") {
    const auto int8 = simulation::converted<config>(made_up::network<portions>(8), made_up::inputs<portions>(5, 8));
    const zp::qparams& range = int8.ranges()[int8.rows()[3].out.qparams_id];
    CHECK(range == zp::qparams{1.0f / 256, 0});
    std::vector<float> y(3);
    int8(made_up::inputs<portions>(1, 9)[0], y);
    CHECK(y == std::vector<float>{0, 1.0f / 256, 2.0f / 256});
}
