// SPDX-License-Identifier: BSD-3-Clause
// Functions of one code, conversions, and operators with a constant: LiteRT's, ONNX Runtime's and PyTorch's golden vectors
// (scripts/golden/operators_litert.py, operators_onnxruntime.py, operators_elementwise.py, operators_unary.py).
#include <zeropoint/kernel/dynamic/dynamic_quantize.hpp>
#include <zeropoint/kernel/dynamic/quantize.hpp>
#include <zeropoint/kernel/elementwise/add.hpp>
#include <zeropoint/kernel/elementwise/prelu.hpp>
#include <zeropoint/kernel/epilogue/lookup_table.hpp>
#include <zeropoint/kernel/reduction/pooling.hpp>
#include <zeropoint/operators/mul_scalar.hpp>
#include <zeropoint/scheme/choose_qparams.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numbers>
#include <numeric>
#include <ratio>
#include <string>
#include <vector>

#include "../support/golden_file.hpp"

namespace {

namespace kernel = zp::kernel;
using arch = zp::default_architecture;
using zp_test::deviation_of;
using zp_test::golden_file;

template <class T> constexpr std::int32_t lowest = std::numeric_limits<T>::min();
template <class T> constexpr std::int32_t highest = std::numeric_limits<T>::max();
template <class T> const std::string dtype_name = std::is_signed_v<T> ? "qint8" : "quint8";

using function = std::function<double(double)>;

template <class T> std::vector<T> table_of(const function& f, zp::qparams x, zp::qparams y, bool relu = false) {
    std::vector<T> table(kernel::lookup_table_size);
    kernel::make_lookup_table<T>(f, x.scale, x.zero_point, y.scale, y.zero_point, relu ? y.zero_point : lowest<T>,
                                 highest<T>, table.data());
    return table;
}
template <class T> std::vector<T> looked_up(const std::vector<T>& x, const std::vector<T>& table) {
    std::vector<T> y(x.size());
    kernel::lookup_table<arch>(x.data(), x.size(), table.data(), y.data());
    return y;
}

double identity(double x) { return x; }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double leaky_relu(double x) { return x > 0 ? x : double{0.1f} * x; }

// The table of a group's function is exact, and the other system's differs in `differing` of its 256 codes, by one.
template <class T>
void check_table(const golden_file& golden, const std::string& group, const function& f, std::size_t differing) {
    CAPTURE(group);
    const auto table = table_of<T>(f, golden.range(group, 0), golden.range(group, 1));
    CHECK(table == golden.exact<T>(group));
    const auto distance = deviation_of(table, golden.values<T>(group + "/codes"));
    CHECK(distance.largest <= 1);
    CHECK(distance.differing == differing);
}

}  // namespace

TEST_CASE(
    "operator parity: tables of LiteRT's functions are exact; where its kernels round twice, they are one code off") {
    const golden_file golden("operators_litert");
    struct unary {
        const char* name;
        function f;
        std::size_t differing;
    };
    const unary functions[] = {
        {"LOGISTIC", sigmoid, 0},
        {"TANH", [](double x) { return std::tanh(x); }, 0},
        {"EXP", [](double x) { return std::exp(x); }, 0},
        {"GELU", [](double x) { return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2)); }, 0},
        {"ABS", [](double x) { return std::abs(x); }, 0},
        {"LOG", [](double x) { return std::log(x); }, 0},
        {"RSQRT", [](double x) { return 1 / std::sqrt(x); }, 0},
        {"RELU_N1_TO_1", [](double x) { return std::clamp(x, -1.0, 1.0); }, 0},
        {"RELU", [](double x) { return std::max(x, 0.0); }, 0},
        {"RELU6", [](double x) { return std::clamp(x, 0.0, 6.0); }, 15},                  // ties
        {"HARD_SWISH", [](double x) { return x * std::clamp(x + 3, 0.0, 6.0) / 6; }, 5},  // 16-bit fixed point
        {"LEAKY_RELU", leaky_relu, 16},                                                   // ties
    };
    for (const unary& u : functions) check_table<std::int8_t>(golden, std::string(u.name) + "/int8", u.f, u.differing);
    // Ties of QUANTIZE between codes are what tells LiteRT's double rounding from one rounding to even.
    check_table<std::int8_t>(golden, "QUANTIZE/quarter", identity, 64);
    check_table<std::int8_t>(golden, "QUANTIZE/any", identity, 0);
}

TEST_CASE_TEMPLATE("operator parity: tables of ONNX Runtime's functions", T, std::uint8_t, std::int8_t) {
    const golden_file golden("operators_onnxruntime");
    check_table<T>(golden, "QLinearSigmoid/" + dtype_name<T>, sigmoid, 0);
    check_table<T>(golden, "QLinearLeakyRelu/" + dtype_name<T>, leaky_relu, std::is_signed_v<T> ? 9 : 1);
    const std::string concat = "QLinearConcat/" + dtype_name<T>;
    std::vector<T> y;
    const auto x0 = golden.values<T>(concat + "/x0"), x1 = golden.values<T>(concat + "/x1");
    const auto y0 = looked_up(x0, table_of<T>(identity, golden.range(concat, 0), golden.range(concat, 2)));
    const auto y1 = looked_up(x1, table_of<T>(identity, golden.range(concat, 1), golden.range(concat, 2)));
    for (std::ptrdiff_t image = 0; image != 2; ++image) {
        y.insert(y.end(), y0.begin() + image * 27, y0.begin() + (image + 1) * 27);
        y.insert(y.end(), y1.begin() + image * 36, y1.begin() + (image + 1) * 36);
    }
    CHECK(y == golden.exact<T>(concat));
}

TEST_CASE_TEMPLATE("operator parity: ADD and QLinearAdd give the exact codes", T, std::uint8_t, std::int8_t) {
    std::vector<std::pair<const char*, std::string>> groups{{"operators_onnxruntime", "QLinearAdd/" + dtype_name<T>}};
    if (std::is_signed_v<T>) groups.emplace_back("operators_litert", "ADD/int8");
    for (const auto& [file, name] : groups) {
        const std::string group = name;  // not the binding, which Clang does not capture
        CAPTURE(group);
        const golden_file golden(file);
        const auto a = golden.values<T>(group + "/a"), b = golden.values<T>(group + "/b");
        const auto r = golden.ranges(group);
        std::vector<T> y(a.size());
        kernel::add<arch>(a.data(), b.data(), a.size(),
                          kernel::make_add_parameters(r[0].scale, r[0].zero_point, r[1].scale, r[1].zero_point,
                                                      r[2].scale, r[2].zero_point, lowest<T>, highest<T>),
                          y.data());
        CHECK(y == golden.exact<T>(group));
    }
}

TEST_CASE_TEMPLATE("operator parity: cat_relu, add_scalar and mul_scalar are PyTorch's", T, std::uint8_t, std::int8_t) {
    const golden_file golden("operators_elementwise");
    const std::string cat = "cat_relu/" + dtype_name<T>;
    std::vector<T> joined;
    for (std::size_t i = 0; i != 3; ++i) {
        const auto x = golden.values<T>(cat + "/x" + std::to_string(i));  // [1, C, 3, 5]: channel by channel
        const auto y = looked_up(x, table_of<T>(identity, golden.range(cat, i), golden.range(cat, 3), true));
        joined.insert(joined.end(), y.begin(), y.end());
    }
    CHECK(joined == golden.exact<T>(cat));

    for (const std::string name : {"add_scalar", "add_scalar_relu"}) {
        CHECK(golden.groups<T>(name + "/").size() == 5);
        for (const std::string& group : golden.groups<T>(name + "/")) {
            CAPTURE(group);
            const zp::qparams x = golden.range(group, 0), y = golden.range(group, 1);
            const double constant = golden.values<double>(group + "/constant")[0];
            const double steps = std::nearbyint(constant / double{x.scale}) * double{x.scale};
            const auto a = golden.values<T>(group + "/a");
            const bool relu = name != "add_scalar";
            const auto rounded = looked_up(a, table_of<T>([=](double v) { return v + steps; }, x, y, relu));
            CHECK(rounded == golden.exact<T>(group));
            CHECK(deviation_of(rounded, golden.values<T>(group + "/codes")).largest <= 1);
            // zp::add_scalar adds the constant itself, PyTorch the nearest multiple of the input's scale.
            const auto ours = looked_up(a, table_of<T>([=](double v) { return v + constant; }, x, y, relu));
            CHECK(deviation_of(ours, golden.values<T>(group + "/codes")).largest <= 1);
        }
    }
    for (const std::string name : {"mul_scalar", "mul_scalar_relu"}) {
        CHECK(golden.groups<T>(name + "/").size() == 4);
        for (const std::string& group : golden.groups<T>(name + "/")) {
            CAPTURE(group);
            const zp::qparams x = golden.range(group, 0), y = golden.range(group, 1);
            const double constant = golden.values<double>(group + "/constant")[0];
            const auto a = golden.values<T>(group + "/a");
            const bool relu = name != "mul_scalar";
            const auto codes = looked_up(a, table_of<T>([=](double v) { return v * constant; }, x, y, relu));
            CHECK(codes == golden.exact<T>(group));
            if (constant <= 0)
                continue;  // zp::mul_scalar takes what is above 0: codes stay, and so does the zero point
            const zp::qparams derived = constant == 0.75 ? zp::operators::mul_scalar<std::ratio<3, 4>>::derive(x)
                                                         : zp::operators::mul_scalar<std::ratio<5, 2>>::derive(x);
            CHECK(derived.scale == y.scale);
            CHECK(derived.zero_point == y.zero_point);
            if (!relu) CHECK(codes == a);
        }
    }
}

TEST_CASE("operator parity: prelu with a slope a channel is PyTorch's") {
    const golden_file golden("operators_unary");
    const std::string group = "quantized/prelu/quint8_0";
    const auto r = golden.ranges(group);
    const auto weight = golden.values<std::uint8_t>(group + "/weight");
    const zp::shape extents{8, 8, 4};
    const auto x = golden_file::channels_last(golden.values<std::uint8_t>(group + "/x"), extents);
    std::vector<float> factors;
    for (const std::uint8_t code : weight)
        factors.push_back(
            kernel::make_prelu_factor(r[1].scale * static_cast<float>(code - r[1].zero_point), r[0].scale, r[2].scale));
    std::vector<std::uint8_t> y(x.size());
    kernel::prelu<arch>(x.data(), extents, factors.data(), 4,
                        kernel::make_prelu_parameters(r[0].scale, r[0].zero_point, r[2].scale, r[2].zero_point, 0, 255),
                        y.data());
    CHECK(y == golden_file::channels_last(golden.exact<std::uint8_t>(group), extents));
}

namespace {

template <class Q> void check_conversions(const std::string& name) {
    CAPTURE(name);
    const golden_file golden("operators_onnxruntime");
    const zp::qparams range = golden.range("QuantizeLinear/" + name, 0);
    const auto x = golden.values<float>("QuantizeLinear/" + name + "/x");
    std::vector<Q> codes(x.size());
    kernel::quantize<arch, Q>(x.data(), x.size(), range.scale, range.zero_point, std::numeric_limits<Q>::min(),
                              std::numeric_limits<Q>::max(), codes.data());
    // ONNX Runtime divides by the scale, zeropoint multiplies with its reciprocal: they may differ next to a tie.
    const auto distance = deviation_of(codes, golden.values<Q>("QuantizeLinear/" + name + "/codes"));
    CHECK(distance.largest <= 1);
    CHECK(distance.differing <= 4);
    const zp::qparams back = golden.range("DequantizeLinear/" + name, 0);
    const auto from = golden.values<Q>("DequantizeLinear/" + name + "/codes");
    std::vector<float> y(from.size());
    kernel::dequantize<arch, Q>(from.data(), from.size(), back.scale, back.zero_point, y.data());
    CHECK(y == golden.values<float>("DequantizeLinear/" + name + "/y"));
}

}  // namespace

TEST_CASE("operator parity: QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear of ONNX Runtime") {
    check_conversions<std::uint8_t>("uint8");
    check_conversions<std::int8_t>("int8");
    check_conversions<std::int16_t>("int16");
    const golden_file golden("operators_onnxruntime");
    const auto groups = golden.groups("DynamicQuantizeLinear/");
    CHECK(groups.size() == 4);
    for (const std::string& group : groups) {
        CAPTURE(group);
        const auto x = golden.values<float>(group + "/x");
        std::vector<std::uint8_t> codes(x.size());
        const auto choose = [](float low, float high) {
            return zp::onnxruntime_rule::choose<zp::quint8, false>(low, high);
        };
        const kernel::dynamic_range range =
            kernel::dynamic_quantize<arch>(x.data(), x.size(), {0, 255}, choose, codes.data());
        const zp::qparams theirs = golden.range(group, 0);
        CHECK(std::abs(range.scale - theirs.scale) <= 1.2e-7f * theirs.scale);  // a float step: they divide floats
        CHECK(range.zero_point == theirs.zero_point);
        const auto distance = deviation_of(codes, golden.values<std::uint8_t>(group + "/codes"));
        CHECK(distance.largest <= 1);
        CHECK(distance.differing <= 1);
    }
}

TEST_CASE_TEMPLATE("operator parity: pooling of sequences is exact, and PyTorch's but for ties", T, std::uint8_t,
                   std::int8_t) {
    const golden_file golden("operators_pooling");
    std::size_t count = 0;
    for (const std::string name : {"max_pool1d", "avg_pool1d", "adaptive_avg_pool1d"}) {
        for (const std::string& group : golden.groups<T>(name + "/")) {
            CAPTURE(group);
            const auto o = golden.options(group);
            const auto shape_of = [&](const char* tensor) -> zp::shape {
                return {1, golden.extent(group + tensor, 2), golden.extent(group + tensor, 1)};
            };
            kernel::conv2d_geometry g;
            g.in = shape_of("/x"), g.out = shape_of("/codes");
            const std::int32_t zero_point = golden.range(group, 0).zero_point;
            const auto x = golden_file::channels_last(golden.values<T>(group + "/x"), g.in);
            std::vector<T> y(static_cast<std::size_t>(g.out.size()));
            if (name[1] == 'd') {
                kernel::adaptive_avg_pool2d<arch>(g.in, g.out, zero_point, x.data(), y.data());
            } else {
                g.kernel_width = o[0], g.stride_width = o[1], g.padding_left = o[2];
                if (name[0] == 'm') {
                    g.dilation_width = o[3];
                    kernel::max_pool2d<arch>(g, x.data(), y.data());
                } else {
                    kernel::avg_pool2d<arch>(g, o[4] != 0, zero_point, x.data(), y.data());
                }
            }
            CHECK(y == golden_file::channels_last(golden.exact<T>(group), g.out));
            const auto theirs = golden_file::channels_last(golden.values<T>(group + "/codes"), g.out);
            CHECK(deviation_of(y, theirs).largest <= 1);
            ++count;
        }
    }
    CHECK(count == 5);
}

TEST_CASE("operator parity: AVERAGE_POOL_2D rounds ties away from code 0 in LiteRT and its policy, to even elsewhere") {
    const golden_file golden("operators_litert");
    for (const std::string group : {"MAX_POOL_2D/int8", "AVERAGE_POOL_2D/int8"}) {
        CAPTURE(group);
        kernel::conv2d_geometry g;  // SAME, 3x3 by stride 2: the side in front gets the smaller half of the padding
        g.in = {7, 6, 5}, g.out = {4, 3, 5};
        g.kernel_height = g.kernel_width = 3, g.stride_height = g.stride_width = 2;
        g.padding_top = 1, g.padding_left = 0;
        const auto x = golden.values<std::int8_t>(group + "/x");
        std::vector<std::int8_t> y(static_cast<std::size_t>(g.out.size()));
        if (group[0] == 'M') kernel::max_pool2d<arch>(g, x.data(), y.data());
        else kernel::avg_pool2d<arch>(g, false, golden.range(group, 0).zero_point, x.data(), y.data());
        CHECK(y == golden.exact<std::int8_t>(group));
        const auto distance = deviation_of(y, golden.values<std::int8_t>(group + "/codes"));
        CHECK(distance.largest <= 1);
        CHECK(distance.differing == (group[0] == 'M' ? 0 : 2));
        if (group[0] == 'M') continue;
        kernel::avg_pool2d<arch, kernel::ties_away_from_zero>(g, false, 0, x.data(), y.data());
        CHECK(y == golden.values<std::int8_t>(group + "/codes"));
    }
}

// zeropoint's avg_pool2d keeps the grid of its input; what puts the mean on another one is a table behind it, so that two
// roundings meet: at most one code, where the grids are about as fine.
TEST_CASE_TEMPLATE("operator parity: QLinearAveragePool is a pool and a table", T, std::uint8_t, std::int8_t) {
    const golden_file golden("operators_onnxruntime");
    const std::string group = "QLinearAveragePool/" + dtype_name<T>;
    kernel::conv2d_geometry g;
    g.in = golden.image_shape(group + "/x"), g.out = golden.image_shape(group + "/codes");
    g.kernel_height = g.kernel_width = 3, g.stride_height = g.stride_width = 2, g.padding_top = g.padding_left = 1;
    const auto r = golden.ranges(group);
    const auto x = golden.image<T>(group + "/x");
    std::vector<T> mean(static_cast<std::size_t>(g.out.size()));
    kernel::avg_pool2d<arch>(g, false, r[0].zero_point, x.data(), mean.data());
    const auto theirs = golden.image<T>(group + "/codes");
    const auto distance = deviation_of(looked_up(mean, table_of<T>(identity, r[0], r[1])), theirs);
    CHECK(distance.largest <= 1);
    CHECK(distance.differing <= theirs.size() / 4);
}
