// SPDX-License-Identifier: BSD-3-Clause
// Float islands, and layers of other dtypes in between, equal the simulation at every row.
#include <doctest/doctest.h>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>

#include "../support/float_reference.hpp"
#include "integer_simulation.hpp"

namespace {

using simulation::activation;
using simulation::pooling;
using simulation::square;
using zp::conv;
namespace op = zp::op;

template <class DType> using activations = zp::quantizer<DType, zp::per_tensor_affine, zp::min_max_observer>;
using weights = zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>;
struct signed_codes
    : zp::qconfig<activations<zp::qint8>, zp::quantizer<zp::qint4, zp::per_tensor_symmetric, zp::min_max_observer>> {};
template <class... Options> struct with : zp::qconfig<activations<zp::quint8>, weights, Options...> {};

/// A layer of the user's own: the square of each value, times a parameter a channel.
struct squares {
    static constexpr const char* kind = "squares";
    static constexpr zp::shape output_shape(zp::shape in) { return in; }
    static constexpr int parameters(zp::shape in) { return in.channels; }
    static void forward(const zp::operands<float>& o) {
        for (int i = 0; i != o.y_shape().size(); ++i)
            o.y()[i] = o.x()[i] * o.x()[i] * o.parameters()[i % o.y_shape().channels];
    }
};

struct net : zp::model<zp::input<4, 4, 3>, zp::conv2d<"a", conv{.out_channels = 6, .kernel = 3, .padding = 1}>,
                       zp::batch_norm2d<"bn_a">, zp::relu,
                       zp::concat<zp::sequential<zp::conv2d<"b", conv{.out_channels = 4}>, zp::relu>,
                                  zp::conv2d<"c", conv{.out_channels = 5}>>,
                       zp::max_pool2d<2>, zp::batch_norm2d<"late">, zp::conv2d<"d", conv{.out_channels = 3}>,
                       zp::flatten, zp::linear<"e", 4>> {};
struct with_custom : zp::model<zp::input<2, 2, 3>, zp::conv2d<"a", conv{.out_channels = 4}>, zp::custom<"own", squares>,
                               zp::conv2d<"b", conv{.out_channels = 2}>> {};

/// What the int8 network leaves at its float rows, each checked against its definition over the row in front of it.
template <class Int8> std::vector<std::vector<float>> float_rows(const Int8& model, const std::vector<float>& x) {
    std::vector<std::vector<float>> all;
    std::vector<float_reference::row_values> exact;
    typename Int8::workspace memory;
    std::vector<float> y(static_cast<std::size_t>(model.output_shape.size()));
    model.run(x.data(), y.data(), memory.bytes, [&](int i, const void* values) {
        const zp::node& row = model.rows()[static_cast<std::size_t>(i)];
        std::vector<float> found;
        if (row.out.storage == zp::scalar_type::float32)
            found.assign(static_cast<const float*>(values), static_cast<const float*>(values) + row.out.extents.size());
        if (!found.empty() && row.op->kind != &op::input && row.op->kind != &op::dequantize &&
            row.op->kind != &op::custom)
            CHECK(float_reference::difference(found, float_reference::row_output(model, row, exact)) < 3e-6);
        exact.emplace_back(found.begin(), found.end());
        all.push_back(found);
    });
    return all;
}

}  // namespace

TEST_CASE("convert: a batch norm that nothing folds stays float, quantize and dequantize around it") {
    using config = with<zp::keep_float<"late">>;
    const auto trained = made_up::network<net>(9);
    const auto calibration = made_up::inputs<net>(5, 9);
    const auto int8 = simulation::converted<config>(trained, calibration);
    simulation::script<net, config> s(trained, calibration);
    for (const auto& image : made_up::inputs<net>(3, 85)) {
        const auto floats = float_rows(int8, image);
        const auto x = s.quantize(s.input(image), s.range("input"));
        const auto a = s.convolve("a", x, square(3, 1, 1), s.range("a"), activation::relu, "bn_a");
        const auto all = s.range("concat_7");
        const auto joined =
            s.concat({s.convolve("b", a, square(1), all, activation::relu), s.convolve("c", a, square(1), all)});
        s.dequantize(s.pool(pooling::max, joined, square(2, 2)));
        const auto late = s.quantize(s.floats({2, 2, 9}, floats[8]), s.range("late"));
        auto d = s.convolve("d", late, square(1), s.range("d"));
        d.extents = {1, 1, 12};
        s.dequantize(s.convolve("e", d, square(1), s.range("e")));
        CHECK(simulation::differences(int8, s, image) == "");
    }
}

TEST_CASE("convert: a float branch of a concat, a layer of other dtypes, and a float end") {
    using config = with<zp::keep_float<"late">, zp::keep_float<"b">, zp::for_layer<"d", signed_codes>,
                        zp::keep_float_type<op::linear>>;
    const auto trained = made_up::network<net>(10);
    const auto calibration = made_up::inputs<net>(5, 10);
    const auto int8 = simulation::converted<config>(trained, calibration);
    simulation::script<net, config> s(trained, calibration);
    for (const auto& image : made_up::inputs<net>(3, 86)) {
        const auto floats = float_rows(int8, image);
        const auto x = s.quantize(s.input(image), s.range("input"));
        const auto a = s.convolve("a", x, square(3, 1, 1), s.range("a"), activation::relu, "bn_a");
        s.dequantize(a);
        const auto b = s.floats({4, 4, 4}, floats[4]);
        const auto all = s.range("concat_7");
        const auto c = s.convolve("c", a, square(1), all);
        const auto moved = s.table(s.quantize(b, s.range("b")), all, [](double v) { return v; });
        s.dequantize(s.pool(pooling::max, s.concat({moved, c}), square(2, 2)));
        const auto late = s.quantize(s.floats({2, 2, 9}, floats[11]), s.range("late"));
        auto d = s.convolve<signed_codes>("d", late, square(1), s.range<signed_codes>("d"));
        s.dequantize(d);
        s.floats({1, 1, 4}, floats[15]);
        CHECK(floats[15].size() == 4);
        // The linear layer reads the image as it lies.
        s.rows[14].extents = {2, 2, 3};
        CHECK(simulation::differences(int8, s, image) == "");
    }
}

TEST_CASE("convert: a layer of the user's runs in float32") {
    using config = with<>;
    const auto trained = made_up::network<with_custom>(11);
    const auto calibration = made_up::inputs<with_custom>(5, 11);
    const auto int8 = simulation::converted<config>(trained, calibration);
    simulation::script<with_custom, config> s(trained, calibration);
    const auto own = made_up::parameters_of(trained, "own").weights;
    REQUIRE(own.size() == 4);
    for (const auto& image : made_up::inputs<with_custom>(3, 87)) {
        const auto a = s.convolve("a", s.quantize(s.input(image), s.range("input")), square(1), s.range("a"));
        std::vector<float> squared = s.dequantize(a).floats;
        for (std::size_t i = 0; i != squared.size(); ++i) squared[i] = squared[i] * squared[i] * own[i % 4];
        const auto back = s.quantize(s.floats({2, 2, 4}, squared), s.range("own"));
        s.dequantize(s.convolve("b", back, square(1), s.range("b")));
        CHECK(simulation::differences(int8, s, image) == "");
    }
}

TEST_CASE("convert: between stubs codes, outside floats") {
    struct partly : zp::model<zp::input<3, 3, 2>, zp::conv2d<"a", conv{.out_channels = 4}>, zp::relu, zp::quant_stub,
                              zp::conv2d<"b", conv{.out_channels = 4}>, zp::relu, zp::dequant_stub,
                              zp::conv2d<"c", conv{.out_channels = 4}>> {};
    const auto trained = made_up::network<partly>(12);
    const auto calibration = made_up::inputs<partly>(5, 12);
    const auto int8 = simulation::converted<with<>>(trained, calibration);
    simulation::script<partly, with<>> s(trained, calibration);
    for (const auto& image : made_up::inputs<partly>(3, 88)) {
        const auto floats = float_rows(int8, image);
        s.input(image);
        const auto a = s.quantize(s.floats({3, 3, 4}, floats[1]), s.range("a"));
        s.dequantize(s.convolve("b", a, square(1), s.range("b"), activation::relu));
        s.floats({3, 3, 4}, floats[5]);
        CHECK(simulation::differences(int8, s, image) == "");
    }
}
