// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/dynamic/dynamic_quantize.hpp>
#include <zeropoint/kernel/reference/dynamic.hpp>
#include <zeropoint/scheme/choose_qparams.hpp>

#include "../../support/arrays.hpp"

namespace {

namespace kernel = zp::kernel;

template <class DType, bool IsSymmetric, class Rule = zp::pytorch_rule> struct rule_of {
    using dtype = DType;
    zp::qparams operator()(float low, float high) const { return Rule::template choose<DType, IsSymmetric>(low, high); }
};

/// Rows that are hard to quantize, each repeated and cut to `count` values.
std::vector<std::vector<float>> hard_rows(std::size_t count) {
    const float most = std::numeric_limits<float>::max(), none = std::numeric_limits<float>::quiet_NaN();
    std::vector<std::vector<float>> rows = {{0.0f},
                                            {-0.0f},
                                            {1.0f},
                                            {-3.0f, -2.0f},
                                            {5.0f, 7.0f, 6.0f},
                                            {1e-30f, -1e-38f},
                                            {most, 1.0f},
                                            {-most, most},
                                            {most},
                                            {1e-45f, 0.0f},
                                            {127.5f, -0.5f, 2.5f, 127.0f},
                                            {1.0f, none},
                                            {zp::infinity, 2},
                                            {0, -zp::infinity},
                                            {-1e20f, 1e-20f}};
    for (auto& row : rows) {
        const std::size_t length = row.size();
        row.resize(count);
        for (std::size_t i = length; i < count; ++i) row[i] = row[i % length];
    }
    return rows;
}

template <class Arch, class Rule> void compare(const std::vector<float>& x) {
    using dtype = typename Rule::dtype;
    using storage = typename dtype::storage;
    float scale = 0;
    std::int32_t zero_point = 0;
    std::vector<storage> expected(x.size()), codes(x.size());
    kernel::reference::dynamic_quantize(x.data(), x.size(), dtype::quant_min, dtype::quant_max, Rule(), scale,
                                        zero_point, expected.data());
    const auto range =
        kernel::dynamic_quantize<Arch>(x.data(), x.size(), {dtype::quant_min, dtype::quant_max}, Rule(), codes.data());
    CHECK(codes == expected);
    CHECK(range.zero_point == zero_point);
    CHECK((range.scale == scale || (std::isnan(range.scale) && std::isnan(scale))));
}

}  // namespace

TEST_CASE_TEMPLATE("dynamic_quantize: equals the definition", Rule, rule_of<zp::quint8, false>,
                   rule_of<zp::quint8_reduced, false>, rule_of<zp::qint8, false>, rule_of<zp::qint8, true>,
                   rule_of<zp::qint8_narrow, true, zp::tflite_rule>, rule_of<zp::quint8, false, zp::fbgemm_rule>) {
    for (const std::size_t count : {1u, 2u, 3u, 7u, 8u, 31u, 32u, 33u, 64u, 100u, 257u}) {
        CAPTURE(count);
        arrays::for_each_architecture([&]<class Arch>() {
            for (const auto& row : hard_rows(count)) compare<Arch, Rule>(row);
            for (const float size : {1e-12f, 1e-6f, 0.7f, 1e4f}) {
                compare<Arch, Rule>(arrays::reals(count, count, -size, size));
                compare<Arch, Rule>(arrays::reals(count, count + 1, 0, size));
                compare<Arch, Rule>(arrays::reals(count, count + 2, -size, -size / 3));
            }
        });
    }
}

TEST_CASE("dynamic_quantize: nothing at all has the range of zero") {
    const auto range = kernel::dynamic_quantize<zp::default_architecture, std::uint8_t>(
        nullptr, 0, {0, 255}, rule_of<zp::quint8, false>(), nullptr);
    CHECK(range.scale == 0x1p-23f);
    CHECK(range.zero_point == 0);
}

TEST_CASE("dynamic_quantize_rows: a row depends on nothing but itself") {
    using rule = rule_of<zp::quint8, false>;
    constexpr std::size_t count = 45;
    std::vector<float> x;
    for (const auto& row : hard_rows(count)) x.insert(x.end(), row.begin(), row.end());
    const std::size_t rows = x.size() / count;
    arrays::for_each_architecture([&]<class Arch>() {
        std::vector<std::uint8_t> all(x.size()), one(count);
        std::vector<kernel::dynamic_range> ranges(rows);
        kernel::dynamic_quantize_rows<Arch>(x.data(), rows, count, {0, 255}, rule(), ranges.data(), all.data());
        for (std::size_t row = 0; row != rows; ++row) {
            const auto range =
                kernel::dynamic_quantize<Arch>(x.data() + row * count, count, {0, 255}, rule(), one.data());
            CHECK(arrays::same_bits(std::vector<float>{range.scale}, std::vector<float>{ranges[row].scale}));
            CHECK(range.zero_point == ranges[row].zero_point);
            CHECK(std::equal(one.begin(), one.end(), all.begin() + static_cast<std::ptrdiff_t>(row * count)));
        }
    });
}
