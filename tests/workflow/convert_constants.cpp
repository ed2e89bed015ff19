// SPDX-License-Identifier: BSD-3-Clause
// Constants of the state dict through all stages: beside plain loops, in files, with stubs, step by step.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <zeropoint/analysis/model_table.hpp>
#include <zeropoint/io/model_file.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/operators/binary.hpp>
#include <zeropoint/operators/constant.hpp>
#include <zeropoint/operators/gather.hpp>
#include <zeropoint/operators/matmul.hpp>
#include <zeropoint/operators/where.hpp>
#include <zeropoint/workflow/convert.hpp>
#include <zeropoint/workflow/presets.hpp>
#include <zeropoint/workflow/quantize_dynamic.hpp>
#include <zeropoint/workflow/streaming.hpp>

#include "../support/errors.hpp"
#include "../support/made_up.hpp"

namespace {

using zp::constant;
using zp::identity;
using zp_test::error_of;

template <class Dtype>
struct config : zp::qconfig<zp::quantizer<Dtype, zp::per_tensor_affine, zp::min_max_observer>,
                            zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>> {};

/// What a vision transformer has of them: a class token, positions, a layer scale; and a matrix and a vector as right operands.
struct tokens
    : zp::model<
          zp::input<1, 5, 6>, zp::stack<zp::axis::width, constant<"cls_token", 1, 1, 6>, identity>,
          zp::add<identity, constant<"pos_embed", 1, 6, 6>>,
          zp::add<zp::sequential<zp::linear<"fc", 6>, zp::mul<identity, constant<"ls.gamma", 1, 1, 6>>>, identity>,
          zp::matmul<identity, constant<"mixing", 1, 6, 3>>, zp::sub<identity, constant<"mean", 1, 1, 3>>> {};

/// By its definition, over the parameters of a float network.
template <class Model> std::vector<float> expected(const Model& model, const std::vector<float>& x) {
    const auto values = [&](const char* name) { return made_up::parameters_of(model, name).weights; };
    const auto cls = values("cls_token"), pos = values("pos_embed"), gamma = values("ls.gamma"), mix = values("mixing"),
               mean = values("mean");
    const auto fc = made_up::parameters_of(model, "fc");
    std::vector<float> y;
    for (std::size_t token = 0; token != 6; ++token) {
        double z[6], w[6];
        for (std::size_t c = 0; c != 6; ++c)
            z[c] = double{token == 0 ? cls[c] : x[(token - 1) * 6 + c]} + double{pos[token * 6 + c]};
        for (std::size_t c = 0; c != 6; ++c) {
            double sum = double{fc.bias[c]};
            for (std::size_t k = 0; k != 6; ++k) sum += z[k] * double{fc.weights[c * 6 + k]};
            w[c] = sum * double{gamma[c]} + z[c];
        }
        for (std::size_t o = 0; o != 3; ++o) {
            double sum = -double{mean[o]};
            for (std::size_t k = 0; k != 6; ++k) sum += w[k] * double{mix[k * 3 + o]};
            y.push_back(static_cast<float>(sum));
        }
    }
    return y;
}
double decibels(std::span<const float> real, std::span<const float> rounded) {
    double signal = 0, noise = 1e-30;
    for (std::size_t i = 0; i != real.size(); ++i) {
        signal += double{real[i]} * double{real[i]};
        noise += std::pow(double{real[i]} - double{rounded[i]}, 2);
    }
    return 10 * std::log10(signal / noise);
}
template <class Network> std::vector<float> run(const Network& model, const std::vector<float>& x) {
    std::vector<float> y(static_cast<std::size_t>(model.output_shape.size()));
    model(x, y);
    return y;
}
template <class Config, class Net> auto converted(const zp::float_model<Net>& trained) {
    return zp::convert(zp::calibrate(zp::prepare<Config>(zp::fuse(trained)), made_up::inputs<Net>(16)));
}
const zp::node& row_of(std::span<const zp::node> rows, std::string_view name) {
    return *std::find_if(rows.begin(), rows.end(), [&](const zp::node& n) { return name == n.name; });
}

/// Every constant of an int8 network is the codes that its range makes of the floats.
template <class Code, class Network, class Trained> void check_codes(const Network& int8, const Trained& trained) {
    int found = 0;
    for (const zp::node& row : int8.rows()) {
        if (row.op->kind != &zp::op::constant) continue;
        ++found;
        const std::vector<float> floats = made_up::parameters_of(trained, row.name).weights;
        const zp::qparams range = int8.ranges()[row.out.qparams_id];
        std::vector<Code> codes(floats.size());
        std::memcpy(codes.data(), int8.parameters() + row.at.parameter_offset, codes.size() * sizeof(Code));
        for (std::size_t i = 0; i != floats.size(); ++i) {
            const float steps = std::nearbyint(floats[i] * (1 / range.scale)) + static_cast<float>(range.zero_point);
            CHECK(codes[i] == static_cast<Code>(std::clamp(steps, static_cast<float>(row.out.quant_min),
                                                           static_cast<float>(row.out.quant_max))));
        }
    }
    CHECK(found == 5);
}

}  // namespace

TEST_CASE("constant: class token, positions, layer scale and matrices beside plain loops, in float") {
    const auto trained = made_up::network<tokens>(4);
    const auto fused = zp::fuse(trained);
    for (const auto& x : made_up::inputs<tokens>(3)) {
        CHECK(decibels(expected(trained, x), run(trained, x)) > 120);
        CHECK(decibels(expected(trained, x), run(fused, x)) > 120);
    }
    static_assert(zp::float_model<tokens>::inputs().size() == 1);
}

TEST_CASE_TEMPLATE("constant: codes of its own range in int8, through a file", Dtype, zp::quint8, zp::qint8) {
    const auto trained = made_up::network<tokens>(4);
    const auto int8 = converted<config<Dtype>>(trained);
    check_codes<typename Dtype::storage>(int8, trained);
    using network = zp::quantized<tokens, config<Dtype>>;
    static_assert(zp::budget_of<network>.boundaries == 0);
    const auto file = zp::to_bytes(int8);
    const auto loaded = zp::load<network>(file);
    CHECK((zp::to_bytes(loaded) == file));
    for (const auto& x : made_up::inputs<tokens>(4, 9)) {
        CHECK(decibels(expected(trained, x), run(int8, x)) > 30);
        CHECK(run(loaded, x) == run(int8, x));
    }
    const std::string text = zp::to_string(int8);
    for (const char* part : {"constant", "cls_token", "pos_embed", "ls.gamma"}) {
        CAPTURE(part);
        CHECK(text.find(part) != std::string::npos);
    }
}

namespace {
/// Without a matmul, which has no form over 16 bits.
struct sums
    : zp::model<zp::input<3, 4, 5>, zp::add<identity, constant<"row", 1, 4, 1>>,
                zp::mul<constant<"gamma", 1, 1, 5>, identity>,
                zp::add<constant<"image", 3, 4, 5>, zp::conv2d<"c", zp::conv{.out_channels = 5}>>,
                zp::sub<identity, constant<"column", 3, 1, 1>>, zp::concat<identity, constant<"more", 3, 4, 2>>> {};
}  // namespace

TEST_CASE("constant: codes of 16 bits; a sum that spreads over them; a concat's range") {
    const auto trained = made_up::network<sums>(6);
    const auto words = converted<zp::int16_qconfig>(trained);
    check_codes<std::int16_t>(words, trained);
    const auto bytes = converted<zp::default_qconfig>(trained);
    const auto values = [&](const char* name) { return made_up::parameters_of(trained, name).weights; };
    const auto row = values("row"), gamma = values("gamma"), image = values("image"), column = values("column"),
               more = values("more");
    const auto c = made_up::parameters_of(trained, "c");
    for (const auto& x : made_up::inputs<sums>(3, 5)) {
        std::vector<float> y;
        for (std::size_t pixel = 0; pixel != 12; ++pixel) {
            double z[5];
            for (std::size_t k = 0; k != 5; ++k)
                z[k] = (double{x[pixel * 5 + k]} + double{row[pixel % 4]}) * double{gamma[k]};
            for (std::size_t o = 0; o != 5; ++o) {
                double sum = double{c.bias[o]} + double{image[pixel * 5 + o]} - double{column[pixel / 4]};
                for (std::size_t k = 0; k != 5; ++k) sum += z[k] * double{c.weights[o * 5 + k]};
                y.push_back(static_cast<float>(sum));
            }
            y.insert(y.end(), {more[pixel * 2], more[pixel * 2 + 1]});
        }
        CHECK(decibels(y, run(trained, x)) > 120);
        CHECK(decibels(y, run(bytes, x)) > 30);
        CHECK(decibels(y, run(words, x)) > 48);
        const auto loaded = zp::load<zp::quantized<sums, zp::int16_qconfig>>(zp::to_bytes(words));
        CHECK(run(loaded, x) == run(words, x));
    }
    // Nothing else reads "more": it is on the concat's grid, and copied.
    const auto rows = bytes.rows();
    CHECK(row_of(rows, "more").out.qparams_id == rows[rows.size() - 2].out.qparams_id);
}

namespace {
struct every_layer {
    static constexpr const char* why_float(const zp::node_view&) { return nullptr; }
};
}  // namespace

TEST_CASE("constant: dynamic models keep its floats") {
    const auto trained = made_up::network<tokens>(4);
    const auto dynamic = zp::quantize_dynamic<zp::dynamic_qconfig<zp::dynamic_policy<>, every_layer>>(trained);
    for (const zp::node& row : dynamic.rows())
        if (row.op->kind == &zp::op::constant) CHECK(row.is_float());
    const auto loaded = zp::load<std::remove_const_t<decltype(dynamic)>>(zp::to_bytes(dynamic));
    for (const auto& x : made_up::inputs<tokens>(3)) {
        CHECK(decibels(expected(trained, x), run(dynamic, x)) > 30);
        CHECK(run(loaded, x) == run(dynamic, x));
    }
}

namespace {
struct scaled : zp::model<zp::input<1, 4, 3>, zp::mul<identity, constant<"gamma", 1, 1, 3>>> {};
std::vector<std::byte> state_dict(const zp::file_shape& shape, const std::vector<float>& values) {
    zp::safetensors_writer file;
    file.add("gamma", shape, values);
    return file.bytes();
}
}  // namespace

TEST_CASE("constant: a state dict may have it in any shape of as many values, under its own name") {
    const std::vector<float> gamma{2, -3, 0.5f}, x{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    const std::vector<float> y{2, -6, 1.5f, 8, -15, 3, 14, -24, 4.5f, 20, -33, 6};
    using network = zp::float_model<scaled>;
    for (const zp::file_shape& shape : {zp::file_shape{3}, {1, 1, 3}, {1, 3}, {3, 1, 1, 1}})
        CHECK(run(zp::load<network>(state_dict(shape, gamma)), x) == y);
    CHECK(error_of<zp::file_error>([&] {
              zp::load<network>(state_dict({4}, {1, 2, 3, 4}), "x");
          }) == "x: tensor \"gamma\": expected F32, F64, F16 or BF16 [1, 1, 3], found F32 [4]");
    CHECK(error_of<zp::file_error>([&] {
              zp::load<network>(state_dict({3}, {1, zp::infinity, 3}), "x");
          }) != "no error");
    const auto loaded = zp::load<network>(state_dict({3}, gamma));
    const auto again = zp::load<network>(zp::to_bytes(loaded));
    CHECK(run(again, x) == y);
}

namespace {
/// A constant outside of the stubs, and one between them.
struct with_stubs
    : zp::model<zp::input<2, 2, 4>, zp::add<identity, constant<"before", 1, 1, 4>>, zp::quant_stub,
                zp::add<identity, constant<"between", 1, 1, 4>>, zp::conv2d<"c", zp::conv{.out_channels = 4}>,
                zp::dequant_stub, zp::mul<identity, constant<"behind", 1, 1, 4>>> {};
/// As an output as well.
struct given_out
    : zp::model<zp::input<1, 2, 3>, zp::add<identity, zp::sequential<constant<"c", 1, 1, 3>, zp::output<"c">>>,
                zp::output<"sum">> {};
}  // namespace

TEST_CASE("constant: a constant is quantized where what reads it is between the stubs") {
    const auto trained = made_up::network<with_stubs>(3);
    const auto int8 = converted<config<zp::quint8>>(trained);
    CHECK(row_of(int8.rows(), "before").is_float());
    CHECK(row_of(int8.rows(), "between").out.is_codes());
    CHECK(row_of(int8.rows(), "behind").is_float());
    for (const auto& x : made_up::inputs<with_stubs>(3)) CHECK(decibels(run(trained, x), run(int8, x)) > 30);
}

TEST_CASE("constant: given out") {
    const auto trained = made_up::network<given_out>(3);
    const auto c = made_up::parameters_of(trained, "c").weights;
    const std::array<float, 6> x{1, 2, 3, 4, 5, 6};
    std::array<float, 3> given{};
    std::array<float, 6> sum{};
    trained(x, zp::out(given, sum));
    CHECK(std::equal(c.begin(), c.end(), given.begin()));
    for (std::size_t i = 0; i != 6; ++i) CHECK(sum[i] == x[i] + c[i % 3]);
}

namespace {
struct sequence : zp::model<zp::input<1, 6, 4>, zp::linear<"fc", 4>, zp::mul<identity, constant<"gamma", 1, 1, 4>>,
                            zp::add<identity, constant<"shift", 1, 1, 4>>> {};
}  // namespace

TEST_CASE("constant: a vector is the same in each step of a stream") {
    const auto trained = made_up::network<sequence>(8);
    const auto int8 = converted<config<zp::quint8>>(trained);
    const auto check = [](const auto& model) {
        zp::streaming<std::remove_cvref_t<decltype(model)>> stream(model);
        for (const auto& x : made_up::inputs<sequence>(2)) {
            stream.reset();
            const std::vector<float> whole = run(model, x);
            for (std::size_t step = 0; step != 6; ++step) {
                std::array<float, 4> y{};
                stream(std::span(x).subspan(step * 4, 4), y);
                CHECK(std::equal(y.begin(), y.end(), whole.begin() + static_cast<std::ptrdiff_t>(step * 4)));
            }
        }
    };
    check(int8);
}
