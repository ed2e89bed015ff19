// SPDX-License-Identifier: BSD-3-Clause
// Operators on 8-bit codes against golden vectors made by PyTorch (scripts/golden/operators_*.py).
#include <zeropoint/kernel/elementwise/add.hpp>
#include <zeropoint/kernel/elementwise/mul.hpp>
#include <zeropoint/kernel/epilogue/lookup_table.hpp>
#include <zeropoint/kernel/movement/concat.hpp>
#include <zeropoint/kernel/reduction/pooling.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numbers>
#include <set>
#include <string>
#include <vector>

#include "../support/golden_file.hpp"

namespace {

using arch = zp::default_architecture;
using zp_test::golden_file;

template <class T> constexpr std::int32_t lowest = std::numeric_limits<T>::min();
template <class T> constexpr std::int32_t highest = std::numeric_limits<T>::max();

template <class T> std::vector<T> table_of(const std::function<double(double)>& f, zp::qparams x, zp::qparams y) {
    std::vector<T> table(zp::kernel::lookup_table_size);
    zp::kernel::make_lookup_table<T>(f, x.scale, x.zero_point, y.scale, y.zero_point, lowest<T>, highest<T>,
                                     table.data());
    return table;
}

double elu(double x, double alpha, double scale = 1, double input_scale = 1) {
    return x > 0 ? x * scale : alpha * std::expm1(x * input_scale) * scale;
}
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double gelu(double x) { return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2)); }
double softplus(double x) { return std::log1p(std::exp(-std::abs(x))) + std::max(x, 0.0); }

// The functions of the file, with their options.
using unary = std::function<double(double, const std::vector<float>&)>;
const std::map<std::string, unary>& functions() {
    using numbers = const std::vector<float>&;
    static const std::map<std::string, unary> all = {
        {"quantized/sigmoid", [](double x, numbers) { return sigmoid(x); }},
        {"quantized/sigmoid_out", [](double x, numbers) { return sigmoid(x); }},
        {"quantized/tanh", [](double x, numbers) { return std::tanh(x); }},
        {"quantized/hardsigmoid", [](double x, numbers) { return std::clamp(x + 3, 0.0, 6.0) / 6; }},
        {"quantized/hardswish", [](double x, numbers) { return x * std::clamp(x + 3, 0.0, 6.0) / 6; }},
        {"quantized/elu", [](double x, numbers o) { return elu(x, o[0], o[1], o[2]); }},
        {"quantized/celu", [](double x, numbers o) { return elu(x, o[0], 1, 1 / double{o[0]}); }},
        {"quantized/leaky_relu", [](double x, numbers o) { return x > 0 ? x : o[0] * x; }},
        {"quantized/leaky_relu_out", [](double x, numbers o) { return x > 0 ? x : o[0] * x; }},
        {"quantized/relu", [](double x, numbers) { return std::max(x, 0.0); }},
        {"quantized/relu6", [](double x, numbers) { return std::clamp(x, 0.0, 6.0); }},
        {"quantized/clamp", [](double x, numbers o) { return std::clamp<double>(x, o[0], o[1]); }},
        {"quantized/threshold", [](double x, numbers o) { return x > o[0] ? x : o[1]; }},
        {"quantized/gelu", [](double x, numbers) { return gelu(x); }},
        {"table/silu", [](double x, numbers) { return x * sigmoid(x); }},
        {"table/mish", [](double x, numbers) { return x * std::tanh(softplus(x)); }},
        {"table/softplus", [](double x, numbers) { return softplus(x); }},
        {"table/selu", [](double x, numbers) { return elu(x, 1.6732632423543772848, 1.0507009873554804934); }},
        {"table/gelu_tanh",
         [](double x, numbers) {
             return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
         }},
        {"table/softsign", [](double x, numbers) { return x / (1 + std::abs(x)); }},
        {"table/log_sigmoid", [](double x, numbers) { return -softplus(-x); }},
        {"table/tanhshrink", [](double x, numbers) { return x - std::tanh(x); }},
        {"table/softshrink", [](double x, numbers) { return std::copysign(std::max(std::abs(x) - 0.5, 0.0), x); }},
        {"table/exp", [](double x, numbers) { return std::exp(x); }},
        {"table/log", [](double x, numbers) { return std::log(std::max(x, 0.01)); }},
        {"table/sqrt", [](double x, numbers) { return std::sqrt(std::max(x, 0.0)); }},
        {"table/rsqrt", [](double x, numbers) { return 1 / std::sqrt(std::max(x, 0.05)); }},
        {"table/abs", [](double x, numbers) { return std::abs(x); }},
        {"table/neg", [](double x, numbers) { return -x; }},
        {"table/square", [](double x, numbers) { return x * x; }},
        {"table/sin", [](double x, numbers) { return std::sin(x); }},
        {"table/erf", [](double x, numbers) { return std::erf(x); }},
    };
    return all;
}

}  // namespace

TEST_CASE_TEMPLATE("operator parity: add and mul give the exact codes, which are PyTorch's", T, std::uint8_t,
                   std::int8_t) {
    const golden_file golden("operators_elementwise");
    for (const std::string name : {"add", "add_relu", "mul", "mul_relu"}) {
        const auto groups = golden.groups<T>(name + "/");
        CHECK(groups.size() == 3);
        for (const std::string& group : groups) {
            CAPTURE(group);
            const auto a = golden.values<T>(group + "/a"), b = golden.values<T>(group + "/b");
            const zp::qparams x = golden.range(group, 0), z = golden.range(group, 1), y = golden.range(group, 2);
            const std::int32_t low = name.find("relu") != std::string::npos ? y.zero_point : lowest<T>;
            std::vector<T> codes(a.size());
            if (name[0] == 'a')
                zp::kernel::add<arch>(a.data(), b.data(), a.size(),
                                      zp::kernel::make_add_parameters(x.scale, x.zero_point, z.scale, z.zero_point,
                                                                      y.scale, y.zero_point, low, highest<T>),
                                      codes.data());
            else
                zp::kernel::mul<arch>(a.data(), b.data(), a.size(),
                                      zp::kernel::make_mul_parameters(x.scale, x.zero_point, z.scale, z.zero_point,
                                                                      y.scale, y.zero_point, low, highest<T>),
                                      codes.data());
            CHECK(codes == golden.exact<T>(group));
        }
    }
}

TEST_CASE_TEMPLATE("operator parity: concat with a table an input", T, std::uint8_t, std::int8_t) {
    const golden_file golden("operators_elementwise");
    const auto groups = golden.groups<T>("cat/");
    CHECK(groups.size() == 1);
    for (const std::string& group : groups) {
        const zp::shape out = golden.image_shape(group + "/codes");
        std::vector<T> codes(static_cast<std::size_t>(out.size()));
        std::size_t channel = 0;
        for (std::size_t i = 0; i != 3; ++i) {
            const std::string name = group + "/x" + std::to_string(i);
            const zp::shape extents = golden.image_shape(name);
            const auto x = golden.image<T>(name);
            const auto table = table_of<T>([](double v) { return v; }, golden.range(group, i), golden.range(group, 3));
            const auto channels = static_cast<std::size_t>(extents.channels);
            zp::kernel::copy_channels<arch>(x.data(), x.size() / channels, channels, table.data(),
                                            codes.data() + channel, static_cast<std::size_t>(out.channels));
            channel += channels;
        }
        CHECK(codes == golden_file::channels_last(golden.exact<T>(group), out));
    }
}

TEST_CASE_TEMPLATE("operator parity: tables of every function are PyTorch's codes", T, std::uint8_t, std::int8_t) {
    const golden_file golden("operators_unary");
    for (const auto& [name, function] : functions()) {
        const auto groups = golden.groups<T>(name + "/");
        CHECK(groups.size() == (name[0] == 'q' ? 2 : 1));
        for (const std::string& group : groups) {
            CAPTURE(group);
            const auto options = golden.options<float>(group);
            const auto f = [&, &body = function](double x) { return body(x, options); };
            CHECK(table_of<T>(f, golden.range(group, 0), golden.range(group, 1)) == golden.exact<T>(group));
        }
    }
}

TEST_CASE_TEMPLATE("operator parity: pooling is exact, and PyTorch's but for ties", T, std::uint8_t, std::int8_t) {
    const golden_file golden("operators_pooling");
    std::size_t count = 0;
    for (const std::string name : {"max_pool2d", "avg_pool2d", "adaptive_avg_pool2d"}) {
        for (const std::string& group : golden.groups<T>(name + "/")) {
            CAPTURE(group);
            const auto options = golden.values<std::int32_t>(group + "/options");
            const std::int32_t zero_point = golden.range(group, 0).zero_point;
            zp::kernel::conv2d_geometry g;
            g.in = golden.image_shape(group + "/x");
            g.out = golden.image_shape(group + "/codes");
            const auto x = golden_file::channels_last(golden.values<T>(group + "/x"), g.in);
            std::vector<T> y(static_cast<std::size_t>(g.out.size()));
            if (name == "adaptive_avg_pool2d") {
                zp::kernel::adaptive_avg_pool2d<arch>(g.in, g.out, zero_point, x.data(), y.data());
            } else {
                const std::size_t each = name == "max_pool2d" ? 4 : 3;  // options an axis
                g.kernel_height = options[0], g.stride_height = options[1], g.padding_top = options[2];
                g.kernel_width = options[each], g.stride_width = options[each + 1], g.padding_left = options[each + 2];
                if (name == "max_pool2d") {
                    g.dilation_height = options[3], g.dilation_width = options[7];
                    zp::kernel::max_pool2d<arch>(g, x.data(), y.data());
                } else {
                    zp::kernel::avg_pool2d<arch>(g, options[7] != 0, zero_point, x.data(), y.data());
                }
            }
            CHECK(y == golden_file::channels_last(golden.exact<T>(group), g.out));
            const auto theirs = golden_file::channels_last(golden.values<T>(group + "/codes"), g.out);
            for (std::size_t i = 0; i != y.size(); ++i) CHECK(std::abs(y[i] - theirs[i]) <= 1);
            ++count;
        }
    }
    CHECK(count == 9);
}
