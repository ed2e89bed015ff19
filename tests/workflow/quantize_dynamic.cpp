// SPDX-License-Identifier: BSD-3-Clause
// quantize_dynamic: linear layers and convolutions of all kinds equal their definition in plain loops, bit for bit; the rest stays float; files.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include <zeropoint/analysis/model_table.hpp>
#include <zeropoint/io/model_file.hpp>
#include <zeropoint/kernel/reference/conv3d.hpp>
#include <zeropoint/kernel/reference/conv_transpose2d.hpp>
#include <zeropoint/kernel/reference/conv_transpose3d.hpp>
#include <zeropoint/kernel/reference/dynamic.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/workflow/quantize_dynamic.hpp>

#include "../support/made_up.hpp"

namespace {

/// Both a vector and a sequence, a flattened image, a fused clamp, and layers that are too small.
struct net
    : zp::model<zp::input<6, 6, 3>, zp::conv2d<"conv", zp::conv{.out_channels = 8, .kernel = 3}>, zp::relu, zp::flatten,
                zp::linear<"wide", 70>, zp::relu6, zp::linear<"narrow", 15>, zp::linear<"last", 40>> {};
struct images
    : zp::model<zp::input<9, 7, 5>, zp::conv2d<"a", zp::conv{.out_channels = 70, .kernel = 3, .padding = 1}>, zp::relu6,
                zp::conv2d<"b", zp::conv{.out_channels = 33, .kernel = {3, 5}, .stride = 2, .padding = {2, 0}}>,
                zp::conv2d<"grouped", zp::conv{.out_channels = 66, .kernel = {3, 1}, .groups = 3}>,
                zp::conv2d<"c", zp::conv{.out_channels = 64}>> {};
/// The second has outputs that no input reaches.
struct upsampled
    : zp::model<
          zp::input<5, 4, 40>,
          zp::conv_transpose2d<"a", zp::conv_transpose{.out_channels = 33, .kernel = 3, .stride = 2, .padding = 1}>,
          zp::relu, zp::conv_transpose2d<"b", zp::conv_transpose{.out_channels = 20, .kernel = 2, .stride = 3}>> {};
struct volumes
    : zp::model<zp::input<4, 5, 4, 6>, zp::conv3d<"a", zp::volume_conv{.out_channels = 32, .kernel = 3, .padding = 1}>,
                zp::relu6,
                zp::conv_transpose3d<"b", zp::volume_conv_transpose{
                                              .out_channels = 17, .kernel = {2, 3, 2}, .stride = {3, 2, 1}}>> {};
struct sequences : zp::model<zp::input<1, 9, 40>, zp::linear<"a", 300>, zp::relu, zp::linear<"b", 37>> {};

using zp::dynamic_policy;
namespace op = zp::op;
using affine_weights = dynamic_policy<zp::quint8, zp::per_row_affine, zp::quint8, zp::per_channel_affine>;
using symmetric = dynamic_policy<zp::qint8, zp::per_tensor_symmetric, zp::qint8, zp::per_tensor_symmetric>;
template <class Policy> using every = zp::dynamic_qconfig<Policy, zp::quantize_every_layer>;

/// What an int32 sum becomes; volatile keeps compilers from contracting.
template <class Policy>
float dequantized(const zp::node& row, const zp::quantized_weights& w, std::int32_t sum, float x_scale, int channel) {
    const auto c = static_cast<std::size_t>(channel);
    volatile float scale = x_scale * w.scales[c];
    volatile float product = static_cast<float>(sum) * scale;
    const float value = product + w.float_bias[c];
    return std::clamp(value, row.fused.lowest, row.fused.highest);
}

/// One dynamic convolution by plain loops.
template <class Policy>
std::vector<float> expected_image(const zp::node_view& v, const zp::quantized_weights& w, const std::vector<float>& x) {
    using weight = typename Policy::weight_storage;
    const auto* codes = reinterpret_cast<const weight*>(w.codes.data());
    const zp::kernel::conv2d_geometry g = v.n.op->geometry(v);
    const auto [low, high] = std::minmax_element(x.begin(), x.end());
    const zp::qparams range = typename Policy::choose_image_range{}(std::min(*low, 0.0f), std::max(*high, 0.0f));
    CHECK(range.zero_point == 0);
    std::vector<float> y;
    for (int r = 0; r != g.out.height; ++r)
        for (int column = 0; column != g.out.width; ++column)
            for (int c = 0; c != g.out.channels; ++c) {
                std::int32_t sum = 0;
                for (int i = 0; i != g.kernel_height; ++i)
                    for (int j = 0; j != g.kernel_width; ++j) {
                        const int a = r * g.stride_height - g.padding_top + i,
                                  b = column * g.stride_width - g.padding_left + j;
                        if (a < 0 || b < 0 || a >= g.in.height || b >= g.in.width) continue;
                        for (int k = 0; k != g.in.channels; ++k) {
                            const auto at = static_cast<std::size_t>((a * g.in.width + b) * g.in.channels + k);
                            const int zero_point =
                                w.zero_points.empty() ? 0 : w.zero_points[static_cast<std::size_t>(c)];
                            const int filter =
                                codes[((c * g.kernel_height + i) * g.kernel_width + j) * g.in.channels + k];
                            sum += zp::quantize(x[at], range, -128, 127) * (filter - zero_point);
                        }
                    }
                y.push_back(dequantized<Policy>(v.n, w, sum, range.scale, c));
            }
    return y;
}

/// Of other kinds, by their references.
template <class Policy>
std::vector<float> expected_convolution(const zp::node_view& v, const zp::quantized_weights& w,
                                        const std::vector<float>& x) {
    const zp::node& row = v.n;
    namespace reference = zp::kernel::reference;
    const auto* weights = reinterpret_cast<const typename Policy::weight_storage*>(w.codes.data());
    const std::int32_t* zero_points = w.zero_points.empty() ? nullptr : w.zero_points.data();
    const auto [low, high] = std::minmax_element(x.begin(), x.end());
    const zp::qparams range = typename Policy::choose_image_range{}(std::min(*low, 0.0f), std::max(*high, 0.0f));
    std::vector<std::int8_t> codes;
    for (const float value : x) codes.push_back(static_cast<std::int8_t>(zp::quantize(value, range, -128, 127)));
    const auto finish = [&](std::int32_t sum, int c) { return dequantized<Policy>(row, w, sum, range.scale, c); };
    std::vector<float> y(static_cast<std::size_t>(row.out.extents.size()));
    if (zp_test::is(row, op::conv3d))
        reference::conv3d(zp::volume_window(v), codes.data(), 0, weights, zero_points, nullptr, finish, y.data());
    else if (zp_test::is(row, op::conv_transpose2d))
        reference::conv_transpose2d(zp::transposed_window(v), codes.data(), 0, weights, zero_points, nullptr, finish,
                                    y.data());
    else
        reference::conv_transpose3d(zp::transposed_volume_window(v), codes.data(), 0, weights, zero_points, nullptr,
                                    finish, y.data());
    return y;
}

/// One dynamic row by plain loops, from float weights in the library's order.
template <class Policy>
std::vector<float> expected(const zp::node_view& v, const made_up::layer_floats& floats, const std::vector<float>& x) {
    const zp::node& row = v.n;
    std::vector<std::string> raised;
    const zp::quantized_weights w = zp::quantize_filters<typename Policy::weight_quantizer, zp::default_architecture>(
        floats.weights, floats.bias, {}, "row", raised);
    using weight = typename Policy::weight_storage;
    const auto* codes = reinterpret_cast<const weight*>(w.codes.data());
    if (zp_test::is(row, op::conv2d)) return expected_image<Policy>(v, w, x);
    if (!zp_test::is(row, op::linear)) return expected_convolution<Policy>(v, w, x);
    const int rows = row.out.extents.width, depth = v.x_shape().size() / rows;
    std::vector<float> y;
    const auto range_of = [&](int from, int count) {
        float low = 0, high = 0;
        for (int i = from * depth; i != (from + count) * depth; ++i) {
            low = std::min(low, x[static_cast<std::size_t>(i)]);
            high = std::max(high, x[static_cast<std::size_t>(i)]);
        }
        return typename Policy::choose_range{}(low, high);
    };
    const zp::qparams whole = range_of(0, rows);
    for (int r = 0; r != rows; ++r) {
        const zp::qparams range = Policy::is_per_row ? range_of(r, 1) : whole;
        for (int c = 0; c != row.weights.channels; ++c) {
            std::int32_t sum = 0;
            for (int k = 0; k != depth; ++k) {
                const int code = zp::quantize(x[static_cast<std::size_t>(r * depth + k)], range, Policy::limits.min,
                                              Policy::limits.max) -
                                 range.zero_point;
                const int zero_point = w.zero_points.empty() ? 0 : w.zero_points[static_cast<std::size_t>(c)];
                sum += code * (codes[c * depth + k] - zero_point);
            }
            y.push_back(dequantized<Policy>(row, w, sum, range.scale, c));
        }
    }
    return y;
}

/// Every dynamic row against expected(), over what the network itself gives it.
template <class Net, class Config> void check(const Config&) {
    const auto fused = zp::fuse(made_up::network<Net>(3));
    const auto model = zp::quantize_dynamic<Config>(fused);
    const auto loaded = zp::load<zp::dynamically_quantized<Net, Config>>(zp::to_bytes(model), "dynamic");
    CHECK(zp::to_bytes(loaded) == zp::to_bytes(model));
    int dynamic_rows = 0;
    for (const auto& x : made_up::inputs<Net>(3, 7, -2, 3)) {
        std::vector<std::vector<float>> all;
        std::vector<float> y(static_cast<std::size_t>(model.output_shape.size())), again = y;
        auto memory = std::make_unique<typename std::remove_cvref_t<decltype(model)>::workspace>();
        model.run(x.data(), y.data(), memory->bytes, [&](int i, const void* values) {
            const zp::node& row = model.rows()[static_cast<std::size_t>(i)];
            const auto* floats = static_cast<const float*>(values);
            all.emplace_back(floats, floats + row.out.extents.size());
            if (!row.is_dynamic()) return;
            ++dynamic_rows;
            CHECK(all.back() == expected<typename Config::policy>(zp_test::view_of(model.rows(), row),
                                                                  made_up::parameters_of(fused, row.name),
                                                                  all[static_cast<std::size_t>(row.inputs[0])]));
        });
        loaded(x, again, *std::make_unique<typename std::remove_cvref_t<decltype(loaded)>::workspace>());
        CHECK(y == again);
    }
    CHECK(dynamic_rows != 0);
}

}  // namespace

TEST_CASE("quantize_dynamic: rows equal their definition, and files hold them") {
    check<net>(zp::dynamic_qconfig<>{});
    check<net>(every<dynamic_policy<>>{});
    check<net>(every<affine_weights>{});
    check<net>(every<symmetric>{});
    check<images>(zp::dynamic_qconfig<>{});
    check<images>(every<affine_weights>{});
    check<images>(every<symmetric>{});
    check<upsampled>(every<dynamic_policy<>>{});
    check<upsampled>(every<affine_weights>{});
    check<volumes>(every<dynamic_policy<>>{});
    check<volumes>(every<affine_weights>{});
    check<sequences>(zp::dynamic_qconfig<>{});
    check<sequences>(every<affine_weights>{});
    check<sequences>(every<symmetric>{});
}

TEST_CASE("quantize_dynamic: what stays float, and why") {
    using config = zp::dynamic_qconfig<dynamic_policy<>, zp::default_cost_rule, zp::keep_float<"last">>;
    const auto model = zp::quantize_dynamic<config>(made_up::network<net>(3));
    const zp::model_table table = zp::table_of(model);
    REQUIRE(table.rows.size() == 5);  // input, conv, wide, narrow, last
    CHECK(table.rows[1].operation == "conv2d + relu");
    CHECK(table.rows[1].why == "stays float32: fewer than 32 products an output");
    CHECK(zp::table_of(zp::quantize_dynamic(made_up::network<images>(3))).rows[3].why ==
          "stays float32: groups have no dynamic form");
    CHECK(table.rows[2].operation == "dynamic linear + relu6");
    CHECK(table.rows[2].packed_bytes > 70 * 128);
    CHECK(table.rows[3].why == "stays float32: fewer than 16 outputs");
    CHECK(table.rows[4].why == "stays float32: as the qconfig says");
    static_assert(zp::budget_of<zp::dynamically_quantized<net, config>>.boundaries == 0);
}

TEST_CASE("quantize_dynamic: a file of another network, or of another policy, is an error") {
    const auto bytes = zp::to_bytes(zp::quantize_dynamic(made_up::network<net>(3)));
    CHECK_THROWS_AS((zp::load<zp::dynamically_quantized<sequences>>(bytes, "dynamic")), zp::file_error);
    CHECK_THROWS_AS((zp::load<zp::dynamically_quantized<net, every<symmetric>>>(bytes, "dynamic")), zp::file_error);
    CHECK_THROWS_AS((zp::load<net>(bytes, "dynamic")), zp::file_error);
    auto trained = made_up::network<net>(3);
    reinterpret_cast<float*>(trained.parameters() + trained.rows()[4].at.parameter_offset)[5] =
        std::numeric_limits<float>::infinity();
    CHECK_THROWS_WITH_AS(zp::quantize_dynamic(trained), doctest::Contains("wide"), zp::calibration_error);
}
