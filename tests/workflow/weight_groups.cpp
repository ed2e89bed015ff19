// SPDX-License-Identifier: BSD-3-Clause
// quantize_dynamic under a dynamic_group_policy: codes, scales and outputs equal their definition in plain loops, bit for bit; files.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <zeropoint/analysis/model_table.hpp>
#include <zeropoint/io/model_file.hpp>
#include <zeropoint/kernel/reference/nibble_product.hpp>
#include <zeropoint/layer/linear.hpp>
#include <zeropoint/layer/transformer_encoder.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/workflow/quantize_dynamic.hpp>

#include "../support/errors.hpp"
#include "../support/guarded_rows.hpp"
#include "../support/made_up.hpp"

namespace {

using zp::dynamic_group_policy;
using zp::group_range;
using zp::qint4;
using zp::quint4;
using zp_test::is;

/// A convolution, a flattened image, a fused clamp, odd depths, a layer without bias, an activation and a sum behind products.
struct images
    : zp::model<zp::input<4, 5, 3>, zp::conv2d<"conv", zp::conv{.out_channels = 7, .kernel = 3, .padding = 1}>,
                zp::relu, zp::flatten, zp::linear<"wide", 75>, zp::relu6, zp::linear<"odd", 33, zp::with_bias::no>,
                zp::gelu, zp::residual<zp::linear<"same", 33>>, zp::linear<"last", 18>> {};
struct sequences : zp::model<zp::input<1, 7, 40>, zp::linear<"a", 130>, zp::relu, zp::linear<"b", 37>> {};
template <class Policy, class... Options>
using every = zp::dynamic_qconfig<Policy, zp::quantize_every_layer, Options...>;

/// Codes, scales and offsets of a layer, by min and max.
struct layer {
    std::vector<int> codes;
    std::vector<float> scales, offsets, bias;
    std::size_t depth, group, groups;
    bool has_minimum;

    layer(const made_up::layer_floats& floats, std::size_t group_size, bool minimum)
        : bias(floats.bias),
          depth(floats.weights.size() / floats.bias.size()),
          group(group_size),
          groups((depth + group - 1) / group),
          has_minimum(minimum) {
        for (std::size_t c = 0; c != bias.size(); ++c)
            for (std::size_t g = 0; g != groups; ++g) {
                const std::span<const float> own =
                    std::span(floats.weights).subspan(c * depth + g * group, std::min(group, depth - g * group));
                const float low = std::min(0.0f, *std::ranges::min_element(own)),
                            high = std::max(0.0f, *std::ranges::max_element(own));
                const float offset = minimum ? zp::rounded_to_float16(low) : 0.0f;
                const float scale =
                    zp::rounded_to_float16(minimum ? (high - offset) / 15 : std::max(-low, high) / 7.5f);
                REQUIRE(scale >= 0x1p-14f);
                scales.push_back(scale);
                offsets.push_back(offset);
                for (const float weight : own) {
                    const float inverse = 1.0f / scale;
                    volatile float steps = (weight - offset) * inverse;
                    codes.push_back(
                        std::clamp(static_cast<int>(std::nearbyint(steps)), minimum ? 0 : -8, minimum ? 15 : 7));
                }
            }
    }
    std::vector<float> operator()(const std::vector<float>& x) const {
        std::vector<float> y;
        for (std::size_t row = 0; row != x.size() / depth; ++row)
            for (std::size_t c = 0; c != bias.size(); ++c)
                y.push_back(zp::kernel::reference::nibble_product(
                    x.data() + row * depth, depth, codes.data() + c * depth, scales.data() + c * groups,
                    has_minimum ? offsets.data() + c * groups : nullptr, group, bias[c]));
        return y;
    }
};

/// What stands in the epilogue of a product.
void finish(const zp::node& n, const std::vector<std::vector<float>>& all, std::vector<float>& y) {
    for (std::size_t i = 0; i != y.size(); ++i) {
        if (n.fused.function != nullptr) y[i] = zp::kernel::bounded_gelu(y[i]);
        else if (n.fused.adds_input_1) y[i] = all[static_cast<std::size_t>(n.inputs[1])][i] + y[i];
        else y[i] = std::clamp(y[i], n.fused.lowest, n.fused.highest);
    }
}

/// Every grouped node of a network against its definition, over what the network itself gives it; its file; each row between
/// unreadable pages.
template <class Net, class Policy> int check() {
    using config = every<Policy>;
    const auto fused = zp::fuse(made_up::network<Net>(3));
    const auto model = zp::quantize_dynamic<config>(fused);
    const auto loaded = zp::load<zp::dynamically_quantized<Net, config>>(zp::to_bytes(model), "groups");
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
            CHECK(n.is_grouped() == is(n, zp::op::linear));
            if (!n.is_grouped()) return;
            ++found;
            const layer expected(made_up::parameters_of(fused, n.name), std::size_t{Policy::group_size},
                                 !Policy::group_weight::is_signed);
            std::vector<float> wanted = expected(all[static_cast<std::size_t>(n.inputs[0])]);
            finish(n, all, wanted);
            CHECK(all.back() == wanted);
        });
        loaded(x, again);
        CHECK(y == again);
        zp_test::check_guarded(model, x.data());
    }
    return found;
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

/// The sum of squared errors of weights under a policy.
template <class Policy> double error_of_weights(const std::vector<float>& weights, std::size_t outputs) {
    const std::vector<float> bias(outputs);
    const auto quantized =
        zp::quantize_half_groups<typename Policy::weight_quantizer::groups>(weights, bias, "weights", nullptr);
    const std::size_t depth = weights.size() / outputs, group = std::size_t{Policy::group_size},
                      groups = (depth + group - 1) / group;
    double error = 0;
    for (std::size_t i = 0; i != weights.size(); ++i) {
        const std::size_t at = i / depth * groups + i % depth / group;
        const auto code = static_cast<std::int8_t>(quantized.codes[i]);
        const double offset = quantized.offsets.empty() ? 0 : double{quantized.offsets[at]};
        const double rest = double{quantized.scales[at]} * code + offset - double{weights[i]};
        error += rest * rest;
    }
    return error;
}

}  // namespace

TEST_CASE("weight groups: nodes equal their definition, and files hold them") {
    CHECK(check<images, dynamic_group_policy<>>() == 8);
    CHECK(check<sequences, dynamic_group_policy<quint4, 64>>() == 4);
    CHECK(check<sequences, dynamic_group_policy<qint4, 128>>() == 4);
    CHECK(check<sequences, dynamic_group_policy<quint4, 32>>() == 4);
}

TEST_CASE("weight groups: near the float model, nearer with a minimum or a search") {
    const double symmetric = sqnr<sequences, dynamic_group_policy<>>(),
                 minimum = sqnr<sequences, dynamic_group_policy<quint4, 32>>(),
                 large = sqnr<sequences, dynamic_group_policy<qint4, 128>>();
    CHECK(symmetric > 15);
    CHECK(minimum > symmetric);
    CHECK(large > 13);
    const auto weights = made_up::values(64 * 100, 8);
    using min_max = dynamic_group_policy<qint4, 32>;
    using searched = dynamic_group_policy<qint4, 32, group_range::least_squares>;
    CHECK(error_of_weights<searched>(weights, 64) < 0.85 * error_of_weights<min_max>(weights, 64));
    using minimums = dynamic_group_policy<quint4, 32>;
    using searched_minimums = dynamic_group_policy<quint4, 32, group_range::least_squares>;
    CHECK(error_of_weights<searched_minimums>(weights, 64) < 0.95 * error_of_weights<minimums>(weights, 64));
}

TEST_CASE("weight groups: files have float16 scales, and two codes in a byte") {
    const auto fused = zp::fuse(made_up::network<sequences>(3));
    const auto bytes = zp::to_bytes(zp::quantize_dynamic<every<dynamic_group_policy<quint4, 64>>>(fused));
    const auto file = zp::safetensors_file::parse(bytes, "groups");
    const layer expected(made_up::parameters_of(fused, "b"), 64, true);  // over 130 inputs
    REQUIRE(expected.groups == 3);
    CHECK(file.floats(file.expect("b.weight_scale", zp::file_dtype::F16, {37, 3})) == expected.scales);
    CHECK(file.floats(file.expect("b.weight_offset", zp::file_dtype::F16, {37, 3})) == expected.offsets);
    const auto& pairs = file.expect("b.weight", zp::file_dtype::U8, {37, 65}).bytes;
    std::vector<int> codes;
    for (std::size_t row = 0; row != 37; ++row)
        for (std::size_t k = 0; k != 130; ++k)
            codes.push_back(std::to_integer<int>(pairs[row * 65 + k / 2]) >> (k % 2 == 0 ? 0 : 4) & 15);
    CHECK(codes == expected.codes);
    using other = zp::dynamically_quantized<sequences, every<dynamic_group_policy<quint4, 32>>>;
    CHECK(zp_test::error_of([&] { zp::load<other>(bytes, "groups"); }).find("expected signature") != std::string::npos);
}

TEST_CASE("weight groups: a scale below the least, or damaged, is told") {
    const auto model = zp::quantize_dynamic<every<dynamic_group_policy<>>>(made_up::network<sequences>(3));
    using type = std::remove_cvref_t<decltype(model)>;
    const auto file = zp::safetensors_file::parse(zp::to_bytes(model), "groups");
    zp::safetensors_writer edited;
    for (const auto& [key, value] : file.metadata())
        if (!key.starts_with("crc32.")) edited.metadata(key, key == "format_version" ? "1" : value);
    for (const zp::file_tensor& tensor : file.tensors()) {
        std::vector<std::byte> own(tensor.bytes.begin(), tensor.bytes.end());
        if (tensor.name == "a.weight_scale") own[0] = own[1] = std::byte{0};
        edited.add(tensor.name, tensor.dtype, tensor.shape, own);
    }
    CHECK(zp_test::error_of([&] { zp::load<type>(edited.bytes(), "groups"); }) ==
          "groups: tensor \"a.weight_scale\": expected scales from 2^-14 to 65504, found 0");
}

TEST_CASE("weight groups: what tables say, what stays as it was") {
    using config = zp::dynamic_qconfig<dynamic_group_policy<>, zp::default_cost_rule, zp::keep_float<"b">>;
    const auto model = zp::quantize_dynamic<config>(made_up::network<sequences>(3));
    const std::string table = zp::to_string(model);
    CHECK(table.find("dynamic linear of 4 bits in groups of 32 + relu") != std::string::npos);
    CHECK(table.find("as the qconfig says") != std::string::npos);
}

TEST_CASE("weight groups: layers by themselves are rows of models, an encoder's linear layers too") {
    constexpr int inputs = 70, outputs = 45, rows = 5;
    using layer_type = zp::dynamic_linear<inputs, outputs, dynamic_group_policy<>, zp::default_architecture, rows>;
    made_up::layer_floats floats{made_up::values(inputs * outputs, 1), made_up::values(outputs, 2)};
    const layer_type own(floats.weights, floats.bias);
    const layer expected(floats, 32, false);
    typename layer_type::workspace memory;
    for (const int count : {1, 3, rows}) {
        const auto x = made_up::values(static_cast<std::size_t>(count * inputs), 3);
        std::vector<float> y(static_cast<std::size_t>(count * outputs));
        own(x, y, memory);
        CHECK(y == expected(x));
    }
    constexpr zp::transformer options{.model = 32, .heads = 4, .feed_forward = 64};
    using encoder = zp::transformer_encoder_layer<options, 6, dynamic_group_policy<>>;
    int grouped = 0;
    for (const zp::node& n : encoder::rows()) grouped += n.is_grouped();
    CHECK(grouped == 4);  // query, key and value in one
}

TEST_CASE("weight groups: weights that no float16 scale reaches are an error") {
    std::vector<float> weights(64 * 32, 0.1f);
    weights[70] = 1e5f;
    using layer_type = zp::dynamic_linear<64, 32, dynamic_group_policy<>>;
    CHECK(zp_test::error_of([&] { layer_type{weights}; }) ==
          "linear: expected finite weights of at most 65504, which float16 scales reach, found 1e+05");
}
