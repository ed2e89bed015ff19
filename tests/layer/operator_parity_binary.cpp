// SPDX-License-Identifier: BSD-3-Clause
// Operators on two arrays of codes, and means, against golden vectors (scripts/golden/operators_*.py).
#include <zeropoint/kernel/elementwise/add.hpp>
#include <zeropoint/kernel/elementwise/max_min.hpp>
#include <zeropoint/kernel/elementwise/mul.hpp>
#include <zeropoint/kernel/elementwise/squared_difference.hpp>
#include <zeropoint/kernel/reduction/axis_moments.hpp>
#include <zeropoint/kernel/reduction/axis_sums.hpp>
#include <zeropoint/scheme/requantization.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "../support/golden_file.hpp"

namespace {

namespace kernel = zp::kernel;

using arch = zp::default_architecture;
using zp_test::golden_file;

template <class T> constexpr std::int32_t lowest = std::numeric_limits<T>::min();
template <class T> constexpr std::int32_t highest = std::numeric_limits<T>::max();
template <class T> const char* const dtype_name = std::is_signed_v<T> ? "qint8" : "quint8";

template <class T> void check_one_code_at_most(const std::vector<T>& codes, const std::vector<T>& theirs) {
    REQUIRE(codes.size() == theirs.size());
    for (std::size_t i = 0; i != codes.size(); ++i) CHECK(std::abs(codes[i] - theirs[i]) <= 1);
}

// codes = run(a, b, count, ranges of a, b and y, y) for a group.
template <class T, class Run> void check_group(const golden_file& golden, const std::string& group, Run run) {
    CAPTURE(group);
    const auto a = golden.values<T>(group + "/a"), b = golden.values<T>(group + "/b");
    std::vector<T> codes(a.size());
    run(a.data(), b.data(), a.size(), golden.ranges(group), codes.data());
    CHECK(codes == golden.exact<T>(group));
    check_one_code_at_most(codes, golden.values<T>(group + "/codes"));
}

template <class T> kernel::axis_sum_parameters mean_parameters(const zp::qparams& x, int n, const zp::qparams& y) {
    return kernel::make_sum_parameters(x.scale, x.zero_point, n, y.scale, y.zero_point, lowest<T>, highest<T>);
}

}  // namespace

TEST_CASE("operator parity: SUB, MUL, SQUARED_DIFFERENCE, MAXIMUM and MINIMUM give the exact codes, LiteRT's") {
    using T = std::int8_t;
    using ranges = std::vector<zp::qparams>;
    const golden_file golden("operators_litert");
    check_group<T>(golden, "SUB/int8", [](const T* a, const T* b, std::size_t count, const ranges& r, T* y) {
        kernel::sub<arch>(a, b, count,
                          kernel::make_sub_parameters(r[0].scale, r[0].zero_point, r[1].scale, r[1].zero_point,
                                                      r[2].scale, r[2].zero_point, -128, 127),
                          y);
    });
    check_group<T>(golden, "MUL/int8", [](const T* a, const T* b, std::size_t count, const ranges& r, T* y) {
        kernel::mul<arch>(a, b, count,
                          kernel::make_mul_parameters(r[0].scale, r[0].zero_point, r[1].scale, r[1].zero_point,
                                                      r[2].scale, r[2].zero_point, -128, 127),
                          y);
    });
    {  // LiteRT's fixed point
        const std::string group = "MUL/int8";
        const zp::qparams a = golden.range(group, 0), b = golden.range(group, 1), y = golden.range(group, 2);
        const auto m = zp::quantize_multiplier(double{a.scale * b.scale / y.scale});
        const auto left = golden.values<T>(group + "/a"), right = golden.values<T>(group + "/b");
        std::vector<T> codes(left.size());
        kernel::mul_fixed_point(left.data(), right.data(), left.size(),
                                {m.multiplier, m.shift, a.zero_point, b.zero_point, y.zero_point, -128, 127},
                                codes.data());
        CHECK(codes == golden.values<T>(group + "/codes"));
    }
    check_group<T>(
        golden, "SQUARED_DIFFERENCE/int8", [](const T* a, const T* b, std::size_t count, const ranges& r, T* y) {
            const auto parameters = kernel::make_squared_difference_parameters(
                r[0].scale, r[0].zero_point, r[1].scale, r[1].zero_point, r[2].scale, r[2].zero_point, -128, 127);
            kernel::squared_difference<arch>(a, b, count, parameters, y);
        });
    const T *same = nullptr, low = -128, high = 127;
    check_group<T>(golden, "MAXIMUM/int8", [=](const T* a, const T* b, std::size_t count, const ranges&, T* y) {
        kernel::extremum<arch, kernel::larger_of>(a, b, count, same, same, low, high, y);
    });
    check_group<T>(golden, "MINIMUM/int8", [=](const T* a, const T* b, std::size_t count, const ranges&, T* y) {
        kernel::extremum<arch, kernel::smaller_of>(a, b, count, same, same, low, high, y);
    });
}

TEST_CASE_TEMPLATE("operator parity: QLinearMul gives the exact codes, ONNX Runtime's", T, std::uint8_t, std::int8_t) {
    const golden_file golden("operators_onnxruntime");
    check_group<T>(golden, std::string("QLinearMul/") + dtype_name<T>,
                   [](const T* a, const T* b, std::size_t count, const std::vector<zp::qparams>& r, T* y) {
                       kernel::mul<arch>(
                           a, b, count,
                           kernel::make_mul_parameters(r[0].scale, r[0].zero_point, r[1].scale, r[1].zero_point,
                                                       r[2].scale, r[2].zero_point, lowest<T>, highest<T>),
                           y);
                   });
}

TEST_CASE_TEMPLATE("operator parity: means are exact, and PyTorch's but for ties", T, std::uint8_t, std::int8_t) {
    const golden_file golden("operators_pooling");
    for (const char* number : {"0", "1", "2"}) {
        const std::string group = "mean/" + std::string(number) + "_" + dtype_name<T>;
        CAPTURE(group);
        const zp::shape in = golden.image_shape(group + "/x");
        const auto x = golden.image<T>(group + "/x");
        zp::shape out = in;
        for (const std::int32_t axis : golden.values<std::int32_t>(group + "/options"))
            (axis == 1 ? out.channels : axis == 2 ? out.height : out.width) = 1;
        const zp::qparams range = golden.ranges(group)[0];
        std::vector<T> y(static_cast<std::size_t>(out.size()));
        kernel::sum_axes<arch>(in, out, x.data(), mean_parameters<T>(range, in.size() / out.size(), range), y.data());
        CHECK(y == golden_file::channels_last(golden.exact<T>(group), out));
        check_one_code_at_most(y, golden_file::channels_last(golden.values<T>(group + "/codes"), out));
    }
}

TEST_CASE_TEMPLATE("operator parity: standard deviations are exact, and PyTorch's", T, std::uint8_t, std::int8_t) {
    const golden_file golden("operators_pooling");
    const auto groups = golden.groups<T>("std/");
    CHECK(groups.size() == 3);
    for (const std::string& group : groups) {
        CAPTURE(group);
        const zp::shape in = golden.image_shape(group + "/x"), out = golden.image_shape(group + "/codes");
        const zp::qparams range = golden.range(group, 0);
        const auto x = golden.image<T>(group + "/x");
        std::vector<T> y(static_cast<std::size_t>(out.size()));
        const auto parameters = kernel::make_moment_parameters(
            kernel::moment::standard_deviation, in.size() / out.size(), golden.options(group)[0], range.scale,
            range.scale, range.zero_point, lowest<T>, highest<T>);
        kernel::moments_along<arch, kernel::moment::standard_deviation>(in, out, x.data(), parameters, y.data());
        CHECK(y == golden.image<T>(group + "/codes"));
    }
}

TEST_CASE_TEMPLATE("operator parity: QLinearGlobalAveragePool is a mean onto another grid", T, std::uint8_t,
                   std::int8_t) {
    const golden_file golden("operators_onnxruntime");
    const std::string group = std::string("QLinearGlobalAveragePool/") + dtype_name<T>;
    const zp::shape in = golden.image_shape(group + "/x");
    const auto x = golden.image<T>(group + "/x");
    const auto ranges = golden.ranges(group);
    std::vector<T> y(static_cast<std::size_t>(in.channels));
    kernel::sum_axes<arch>(in, {1, 1, in.channels}, x.data(), mean_parameters<T>(ranges[0], in.pixels(), ranges[1]),
                           y.data());
    CHECK(y == golden.exact<T>(group));
}

TEST_CASE("operator parity: MEAN gives the exact codes, LiteRT's") {
    const golden_file golden("operators_litert");
    const auto x = golden.values<std::int8_t>("MEAN/int8/x");  // [1, 7, 6, 5], channels last
    const auto ranges = golden.ranges("MEAN/int8");
    std::vector<std::int8_t> y(5);
    kernel::sum_axes<arch>({7, 6, 5}, {1, 1, 5}, x.data(), mean_parameters<std::int8_t>(ranges[0], 42, ranges[1]),
                           y.data());
    CHECK(y == golden.exact<std::int8_t>("MEAN/int8"));
}
