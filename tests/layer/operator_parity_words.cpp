// SPDX-License-Identifier: BSD-3-Clause
// Layers and operators over activations of 16 bits against golden vectors of LiteRT (scripts/golden/operators_litert*.py).
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <type_traits>
#include <vector>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/convolution/conv2d.hpp>
#include <zeropoint/kernel/convolution/conv_transpose2d.hpp>
#include <zeropoint/kernel/elementwise/elementwise_int16.hpp>
#include <zeropoint/kernel/epilogue/table_int16.hpp>
#include <zeropoint/graph/operator_info.hpp>
#include <zeropoint/operators/requantization.hpp>

#include "../support/golden_file.hpp"

namespace {

using arch = zp::default_architecture;
using zp::kernel::conv2d_algorithm;
using zp_test::golden_file;
using word = std::int16_t;
using policy = zp::fixed_point_double_rounding;
constexpr zp::kernel::activation_codes words{0, -32768, 32767};

/// A layer under the policy. FULLY_CONNECTED with one weight scale has the product of both scales in float.
template <conv2d_algorithm Algorithm, zp::filter_kernels Family, bool IsConnected, class Geometry>
std::vector<word> computed(const golden_file& file, const std::string& group, const Geometry& g,
                           const std::vector<std::int8_t>& weights) {
    constexpr bool is_transposed = Family == zp::filter_kernels::conv_transpose2d;
    using kernels = std::conditional_t<is_transposed, zp::kernel::conv_transpose2d_kernels<arch, Algorithm>,
                                       zp::kernel::conv2d_kernels<arch, Algorithm>>;
    const float x_scale = file.range(group, 0).scale, y_scale = file.range(group, 1).scale;
    const auto scales = file.values<float>(group + "/weight_scale");
    const auto bias = file.values<std::int64_t>(group + "/bias");
    const auto x = file.values<word>(group + "/x");
    std::vector<std::int32_t> multipliers, shifts;
    for (int c = 0; c != g.out.channels; ++c) {
        const float scale = scales[scales.size() == 1 ? 0 : static_cast<std::size_t>(c)];
        const zp::fixed_point_multiplier m = scales.size() == 1
                                                 ? policy::int16_multiplier(IsConnected, {1, x_scale * scale, y_scale})
                                                 : policy::int16_multiplier(IsConnected, {x_scale, scale, y_scale});
        multipliers.push_back(m.multiplier);
        shifts.push_back(m.shift);
    }
    zp::aligned_buffer packed(kernels::packed_bytes(g, false)), scratch(kernels::scratch_bytes(g) + 64);
    kernels::pack(g, zp::kernel::conv2d_weights<std::int8_t>{weights.data(), nullptr, nullptr, bias.data()}, words,
                  packed.data());
    const zp::kernel::requantize_int16<policy::int16_halves(IsConnected)> epilogue{
        multipliers.data(), shifts.data(), bias.data(), {0, -32768, 32767}};
    std::vector<word> y(static_cast<std::size_t>(g.out.size()));
    if constexpr (is_transposed)
        kernels::run(g, x.data(), words, false, packed.data(), epilogue, y.data(), scratch.data());
    else kernels::run(g, x.data(), words, packed.data(), epilogue, y.data(), scratch.data());
    return y;
}
int furthest(const std::vector<word>& a, const std::vector<word>& b) {
    int most = a.size() == b.size() ? 0 : 65536;
    for (std::size_t i = 0; most != 65536 && i != a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
    return most;
}

}  // namespace

TEST_CASE("operator_parity_words: layers have LiteRT's codes") {
    const golden_file file("operators_litert_words"), products("operators_litert");
    const auto codes = [](const golden_file& from, const std::string& group) {
        return from.values<word>(group + "/codes");
    };
    zp::kernel::conv2d_geometry image{.in = {6, 5, 4}, .out = {6, 5, 8}, .kernel_height = 3, .kernel_width = 3};
    image.padding_top = image.padding_left = 1;
    std::string group = "CONV_2D/int16";
    auto weights = file.values<std::int8_t>(group + "/weight");
    CHECK((computed<conv2d_algorithm::implicit_gemm, zp::filter_kernels::conv2d, false>(file, group, image, weights) ==
           codes(file, group)));
    group = "DEPTHWISE_CONV_2D/int16";
    image.out.channels = image.groups = 4;
    const auto taps = file.values<std::int8_t>(group + "/weight");
    weights.clear();
    for (std::size_t c = 0; c != 4; ++c)
        for (std::size_t tap = 0; tap != 9; ++tap) weights.push_back(taps[4 * tap + c]);
    CHECK((computed<conv2d_algorithm::depthwise, zp::filter_kernels::conv2d, false>(file, group, image, weights) ==
           codes(file, group)));
    group = "TRANSPOSE_CONV/int16";
    zp::kernel::conv_transpose2d_geometry transposed{.in = {3, 4, 5}, .out = {6, 8, 6}};
    transposed.kernel_height = transposed.kernel_width = 3;
    transposed.stride_height = transposed.stride_width = 2;
    CHECK((computed<conv2d_algorithm::implicit_gemm, zp::filter_kernels::conv_transpose2d, false>(
               file, group, transposed, file.values<std::int8_t>(group + "/weight")) == codes(file, group)));
    group = "CONV_2D/int16_deep";
    weights = file.values<std::int8_t>(group + "/weight");
    CHECK((computed<conv2d_algorithm::implicit_gemm, zp::filter_kernels::conv2d, false>(
               file, group, zp::kernel::conv2d_geometry{.in = {2, 3, 1000}, .out = {2, 3, 5}}, weights) ==
           codes(file, group)));
    for (const std::string name : {"FULLY_CONNECTED/int16", "FULLY_CONNECTED/int16_ties"}) {
        const auto extents = products.extents(name + "/weight");
        const int outputs = static_cast<int>(extents[0]), inputs = static_cast<int>(extents[1]);
        const int rows = static_cast<int>(products.extents(name + "/x")[0]);
        CHECK((computed<conv2d_algorithm::implicit_gemm, zp::filter_kernels::conv2d, true>(
                   products, name, zp::kernel::conv2d_geometry{.in = {rows, 1, inputs}, .out = {rows, 1, outputs}},
                   products.values<std::int8_t>(name + "/weight")) == codes(products, name)));
    }
}

TEST_CASE("operator_parity_words: sums, products and functions are exact, or within a code of it") {
    const golden_file file("operators_litert_words"), binary("operators_litert");
    const auto a = binary.values<word>("ADD/int16/a"), b = binary.values<word>("ADD/int16/b");
    std::vector<word> y(a.size());
    const auto scale = [&](const char* group, std::size_t i) { return binary.range(group, i).scale; };
    zp::kernel::add_int16<arch>(a.data(), b.data(), a.size(),
                                zp::kernel::make_add_int16_parameters(scale("ADD/int16", 0), scale("ADD/int16", 1),
                                                                      scale("ADD/int16", 2), -32768, 32767),
                                y.data());
    CHECK((y == binary.exact<word>("ADD/int16")));
    const auto u = binary.values<word>("MUL/int16/a"), v = binary.values<word>("MUL/int16/b");
    const zp::fixed_point_multiplier m = zp::quantize_multiplier_single_rounding(
        double{scale("MUL/int16", 0)} * double{scale("MUL/int16", 1)} / double{scale("MUL/int16", 2)});
    y.resize(u.size());
    zp::kernel::mul_int16<arch>(u.data(), v.data(), u.size(), {m.multiplier, m.shift}, y.data());
    CHECK((y == binary.exact<word>("MUL/int16")));
    CHECK(furthest(y, binary.values<word>("MUL/int16/codes")) <= 1);
    std::vector<std::int32_t> nodes(zp::kernel::table_int16_nodes);
    const auto check = [&](const std::string& group, auto function) {
        const auto x = file.values<word>(group + "/x");
        y.resize(x.size());
        zp::kernel::make_table_int16(function, file.range(group, 0).scale, file.range(group, 1).scale, nodes.data());
        zp::kernel::table_int16<arch>(x.data(), x.size(), nodes.data(), -32768, 32767, y.data());
        CHECK(furthest(y, file.exact<word>(group)) <= 1);
        CHECK(furthest(y, file.values<word>(group + "/codes")) <= 2);
    };
    check("LOGISTIC/int16", [](double x) { return 1 / (1 + std::exp(-x)); });
    check("TANH/int16", [](double x) { return std::tanh(x); });
}
