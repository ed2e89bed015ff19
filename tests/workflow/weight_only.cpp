// SPDX-License-Identifier: BSD-3-Clause
// quantize_dynamic under a weight_only_policy: codes, scales and outputs equal their definition in plain loops, bit for bit; files.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <zeropoint/analysis/model_table.hpp>
#include <zeropoint/io/model_file.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/workflow/quantize_dynamic.hpp>

#include "../support/golden_file.hpp"
#include "../support/made_up.hpp"
#include "../support/weight_only_reference.hpp"

namespace {

using zp::qint4;
using zp::qint8;
using zp::weight_only_policy;
using zp_test::is;

/// A flattened image, a fused clamp, an odd depth, a layer without bias, and a convolution.
struct images
    : zp::model<zp::input<4, 5, 3>, zp::conv2d<"conv", zp::conv{.out_channels = 7, .kernel = 3, .padding = 1}>,
                zp::relu, zp::flatten, zp::linear<"wide", 75>, zp::relu6, zp::linear<"odd", 33, zp::with_bias::no>,
                zp::linear<"last", 18>> {};
struct sequences : zp::model<zp::input<1, 7, 40>, zp::linear<"a", 130>, zp::relu, zp::linear<"b", 37>> {};
template <class Policy, class... Options>
using every = zp::dynamic_qconfig<Policy, zp::quantize_every_layer, Options...>;

/// Codes and scales of a layer: symmetric, one scale for each group of an output's inputs; PyTorch's formula.
struct layer {
    std::vector<int> codes;
    std::vector<float> scales, bias;
    std::size_t depth, group, groups;

    layer(const made_up::layer_floats& floats, std::size_t group_size, int quant_min, int quant_max)
        : bias(floats.bias),
          depth(floats.weights.size() / floats.bias.size()),
          group(group_size == 0 ? depth : group_size),
          groups((depth + group - 1) / group) {
        for (std::size_t c = 0; c != bias.size(); ++c)
            for (std::size_t g = 0; g != groups; ++g) {
                float largest = 0;
                const auto begin = g * group, end = std::min(depth, begin + group);
                for (std::size_t k = begin; k != end; ++k)
                    largest = std::max(largest, std::abs(floats.weights[c * depth + k]));
                const float scale = std::max(largest / (static_cast<float>(quant_max - quant_min) / 2), 0x1p-23f);
                scales.push_back(scale);
                for (std::size_t k = begin; k != end; ++k) {
                    const float inverse = 1.0f / scale;
                    volatile float steps = floats.weights[c * depth + k] * inverse;
                    codes.push_back(std::clamp(static_cast<int>(std::nearbyint(steps)), quant_min, quant_max));
                }
            }
    }
    std::vector<float> operator()(const std::vector<float>& x, float lowest, float highest) const {
        std::vector<float> y = zp_test::weight_only_product(x, depth, codes, scales, bias, group);
        for (float& value : y) value = std::clamp(value, lowest, highest);
        return y;
    }
};

/// Every weight-only node of a network against its definition, over what the network itself gives it; and its file.
template <class Net, class Policy> int check() {
    using config = every<Policy>;
    const auto fused = zp::fuse(made_up::network<Net>(3));
    const auto model = zp::quantize_dynamic<config>(fused);
    const auto loaded = zp::load<zp::dynamically_quantized<Net, config>>(zp::to_bytes(model), "weights");
    CHECK(zp::to_bytes(loaded) == zp::to_bytes(model));
    int found = 0;
    for (const auto& x : made_up::inputs<Net>(2, 7, -2, 3)) {
        std::vector<std::vector<float>> all;
        std::vector<float> y(static_cast<std::size_t>(model.output_shape.size())), again = y;
        typename std::remove_cvref_t<decltype(model)>::workspace memory;
        model.run(x.data(), y.data(), memory.bytes, [&](int i, const void* values) {
            const zp::node& n = model.rows()[static_cast<std::size_t>(i)];
            const auto* floats = static_cast<const float*>(values);
            all.emplace_back(floats, floats + n.out.extents.size());
            CHECK(n.is_weight_only() == is(n, zp::op::linear));
            CHECK_FALSE(n.is_dynamic());
            if (!n.is_weight_only()) return;
            ++found;
            const layer expected(made_up::parameters_of(fused, n.name), std::size_t{Policy::group_size},
                                 Policy::weight::quant_min, Policy::weight::quant_max);
            CHECK(all.back() == expected(all[static_cast<std::size_t>(n.inputs[0])], n.fused.lowest, n.fused.highest));
        });
        loaded(x, again);
        CHECK(y == again);
    }
    return found;
}

/// A layer of golden vectors by its group: PyTorch's codes and scales, and what they give in float64.
template <int Inputs, int Outputs, int Rows, class Policy>
void check_golden(const zp_test::golden_file& file, const std::string& group) {
    struct net : zp::model<zp::input<1, Rows, Inputs>, zp::linear<"a", Outputs>> {};
    zp::float_model<net> trained;
    std::ranges::copy(file.values<float>(group + "/weight"), zp_test::array_of(trained, trained.rows()[1], 0).begin());
    std::ranges::copy(file.values<float>(group + "/bias"), zp_test::array_of(trained, trained.rows()[1], 1).begin());
    const auto model = zp::quantize_dynamic<every<Policy>>(trained);
    const zp::quantized_weights weights =
        std::remove_cvref_t<decltype(model)>::stage::unpacks[1](
            {zp_test::view_of(model.rows(), model.rows()[1]), nullptr, const_cast<std::byte*>(model.parameters())})
            .matrices.front();
    const auto codes = file.values<std::int8_t>(group + "/codes");
    const auto own = std::as_bytes(std::span(codes));
    CHECK(std::ranges::equal(weights.codes, own));
    CHECK(weights.scales == file.values<float>(group + "/weight_scale"));
    const auto expected = file.values<float>(group + "/y");
    std::vector<float> y(expected.size());
    model(file.values<float>(group + "/x"), y);
    for (std::size_t i = 0; i != y.size(); ++i)
        CHECK(std::abs(y[i] - expected[i]) <= 4e-6f * (10 + std::abs(expected[i])));
}

/// How near the float model's outputs a quantized one's are, in decibels.
template <class Net, class Policy> double sqnr() {
    const auto trained = made_up::network<Net>(5);
    const auto model = zp::quantize_dynamic<every<Policy>>(trained);
    double signal = 0, error = 0;
    for (const auto& x : made_up::inputs<Net>(4, 9)) {
        std::vector<float> y(static_cast<std::size_t>(model.output_shape.size())), exact = y;
        model(x, y);
        trained(x, exact);
        for (std::size_t i = 0; i != y.size(); ++i) {
            signal += double{exact[i]} * double{exact[i]};
            error += (double{y[i]} - double{exact[i]}) * (double{y[i]} - double{exact[i]});
        }
    }
    return 10 * std::log10(signal / error);
}

}  // namespace

TEST_CASE("weight-only: nodes equal their definition, and files hold them") {
    CHECK(check<images, weight_only_policy<>>() == 6);
    CHECK(check<images, weight_only_policy<qint8, 32>>() == 6);
    CHECK(check<images, weight_only_policy<qint4>>() == 6);
    CHECK(check<images, weight_only_policy<qint4, 32>>() == 6);
    CHECK(check<images, weight_only_policy<zp::qint8_narrow, 8>>() == 6);
    CHECK(check<sequences, weight_only_policy<>>() == 4);
    CHECK(check<sequences, weight_only_policy<qint4, 8>>() == 4);
}

TEST_CASE("weight-only: PyTorch's codes and scales") {
    const zp_test::golden_file file("operators_weight_only");
    check_golden<40, 5, 3, weight_only_policy<>>(file, "linear_8/0");
    check_golden<64, 18, 5, weight_only_policy<qint8, 32>>(file, "linear_8/1");
    check_golden<40, 5, 3, weight_only_policy<qint4, 8>>(file, "linear_4/0");
    check_golden<64, 18, 5, weight_only_policy<qint4, 32>>(file, "linear_4/1");
    CHECK(zp_test::unread_tensors("operators_weight_only").empty());
}

TEST_CASE("weight-only: near the float model") {
    CHECK(sqnr<images, weight_only_policy<>>() > 35);
    CHECK(sqnr<sequences, weight_only_policy<>>() > 35);
    CHECK(sqnr<images, weight_only_policy<qint4, 32>>() > 15);
    CHECK(sqnr<sequences, weight_only_policy<qint4, 8>>() > 15);
}

TEST_CASE("weight-only: files have a scale a group, and 4-bit codes two in a byte") {
    const auto fused = zp::fuse(made_up::network<images>(3));
    const auto bytes = zp::to_bytes(zp::quantize_dynamic<every<weight_only_policy<qint4, 32>>>(fused));
    const auto file = zp::safetensors_file::parse(bytes, "weights");
    const layer expected(made_up::parameters_of(fused, "odd"), 32, -8, 7);  // over 75 inputs
    REQUIRE(expected.groups == 3);
    CHECK(file.values<float>(file.expect("odd.weight_scale", zp::file_dtype::F32, {33, 3})) == expected.scales);
    const auto& pairs = file.expect("odd.weight", zp::file_dtype::U8, {33, 38}).bytes;
    std::vector<int> codes;
    for (std::size_t row = 0; row != 33; ++row)
        for (std::size_t k = 0; k != 75; ++k) {
            const int bits = std::to_integer<int>(pairs[row * 38 + k / 2]) >> (k % 2 == 0 ? 0 : 4) & 15;
            codes.push_back(bits < 8 ? bits : bits - 16);
        }
    CHECK(codes == expected.codes);
    CHECK(file.values<float>(file.expect("odd.bias", zp::file_dtype::F32, {33})) == expected.bias);

    const auto whole = zp::to_bytes(zp::quantize_dynamic<every<weight_only_policy<>>>(fused));
    const auto of_bytes = zp::safetensors_file::parse(whole, "weights");
    CHECK_NOTHROW(of_bytes.expect("odd.weight", zp::file_dtype::I8, {33, 75}));
    CHECK_NOTHROW(of_bytes.expect("odd.weight_scale", zp::file_dtype::F32, {33}));
}

TEST_CASE("weight-only: what tables say, what stays float, and why") {
    using config = zp::dynamic_qconfig<weight_only_policy<qint4, 32>, zp::default_cost_rule, zp::keep_float<"odd">>;
    const auto model = zp::quantize_dynamic<config>(made_up::network<images>(3));
    const zp::model_table table = zp::table_of(model);
    REQUIRE(table.rows.size() == 5);
    CHECK(table.rows[1].why == "stays float32: there is no form with integer weights alone");
    CHECK(table.rows[2].operation == "weight-only linear of 4 bits + relu6");
    // Panels of 16 outputs: half a byte a weight, a scale for 32 of them, a bias; each array in whole lines.
    CHECK(table.rows[2].packed_bytes == 80 * (140 / 2 + 2 + 5 * 4 + 4));
    CHECK(table.rows[3].why == "stays float32: as the qconfig says");
    CHECK(table.rows[4].why == "stays float32: fewer than 4096 weights");
    const auto eight = zp::quantize_dynamic<every<weight_only_policy<>>>(made_up::network<images>(3));
    CHECK(zp::table_of(eight).rows[2].operation == "weight-only linear of 8 bits + relu6");
}

TEST_CASE("weight-only: a file of another policy is an error, and so are weights that are not finite") {
    const auto bytes =
        zp::to_bytes(zp::quantize_dynamic<every<weight_only_policy<qint4, 32>>>(made_up::network<images>(3)));
    const auto refused = [&]<class Config>(Config) {
        CHECK_THROWS_WITH_AS((zp::load<zp::dynamically_quantized<images, Config>>(bytes, "weights")),
                             doctest::Contains("signature"), zp::file_error);
    };
    refused(every<weight_only_policy<qint4, 64>>());
    refused(every<weight_only_policy<qint4>>());
    refused(every<weight_only_policy<qint8, 32>>());
    refused(every<zp::dynamic_policy<>>());
    auto trained = made_up::network<images>(3);
    for (const zp::node& n : trained.rows())
        if (std::string(n.name) == "odd") zp_test::array_of(trained, n, 0)[5] = std::numeric_limits<float>::infinity();
    CHECK_THROWS_WITH_AS(zp::quantize_dynamic<every<weight_only_policy<>>>(trained),
                         "odd: expected finite weights, found inf", zp::calibration_error);
}
