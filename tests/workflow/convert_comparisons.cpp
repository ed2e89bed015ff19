// SPDX-License-Identifier: BSD-3-Clause
// Comparisons of activations and with constants: every stage, row by row, and what they are for, conditions and masks.
#include <zeropoint/kernel/reference/compare.hpp>
#include <zeropoint/operators/binary.hpp>
#include <zeropoint/operators/compare.hpp>
#include <zeropoint/operators/where.hpp>

#include "operator_rows.hpp"

#include <ratio>

namespace {

using operator_rows::written;
using zp::identity;
using zp::kernel::comparison;

/// In the order of zp::kernel::comparison.
constexpr const zp::operator_kind* tested[] = {&zp::op::equal,      &zp::op::not_equal, &zp::op::less,
                                               &zp::op::less_equal, &zp::op::greater,   &zp::op::greater_equal};

comparison comparison_of(const zp::node& row) {
    return static_cast<comparison>(std::find(std::begin(tested), std::end(tested), row.op->kind) - std::begin(tested));
}

/// The real number of a ratio that a row compares with.
double constant_of(const zp::node& row) {
    return double{static_cast<float>(double(row.op->options[0]) / row.op->options[1])};
}
bool is_true(comparison which, double a, double b) {
    switch (which) {
        case comparison::equal: return a == b;
        case comparison::not_equal: return a != b;
        case comparison::less: return a < b;
        case comparison::less_equal: return a <= b;
        case comparison::greater: return a > b;
        default: return a >= b;
    }
}

std::vector<double> real_result(const zp::node& row, const std::vector<written>& x) {
    std::vector<double> y;
    for (int i = 0; i != row.out.extents.size(); ++i) {
        const double a = x[0].numbers[operator_rows::place_in(x[0].extents, row.out.extents, i)];
        const double b =
            x.size() == 1 ? constant_of(row) : x[1].numbers[operator_rows::place_in(x[1].extents, row.out.extents, i)];
        y.push_back(is_true(comparison_of(row), a, b));
    }
    return y;
}
std::vector<double> code_result(const zp::node& row, const std::vector<written>& x, const zp::qparams& range) {
    CHECK(range == zp::qparams{1.0f, 0});
    if (x.size() == 1) return real_result(row, {x[0].real()});
    std::vector<double> y;
    for (int i = 0; i != row.out.extents.size(); ++i) {
        const auto code = [&](const written& operand) {
            return static_cast<int>(operand.numbers[operator_rows::place_in(operand.extents, row.out.extents, i)]);
        };
        y.push_back(zp::kernel::reference::compare(comparison_of(row), code(x[0]), x[0].range.scale,
                                                   x[0].range.zero_point, code(x[1]), x[1].range.scale,
                                                   x[1].range.zero_point));
    }
    return y;
}

/// With clamps of the same scale, tables of other scales, and a value a row, a column, a channel or an image.
struct of_two
    : zp::model<zp::input<6, 5, 12>,
                zp::concat<zp::equal<identity, zp::relu>, zp::not_equal<zp::relu6, identity>,
                           zp::less<identity, zp::sigmoid>, zp::less_equal<zp::tanh, identity>,
                           zp::greater<identity, zp::leaky_relu<>>, zp::greater_equal<zp::hardswish, identity>>> {};
struct spreading
    : zp::model<zp::input<6, 5, 12>, zp::concat<zp::less<identity, zp::conv2d<"a", zp::conv{.out_channels = 1}>>,
                                                zp::greater<zp::adaptive_avg_pool2d<1>, identity>,
                                                zp::not_equal<identity, zp::adaptive_avg_pool2d<6, 1>>,
                                                zp::less_equal<zp::adaptive_avg_pool2d<1, 5>, identity>>> {};
struct with_constants
    : zp::model<zp::input<6, 5, 12>,
                zp::concat<zp::equal_scalar<std::ratio<0>>, zp::not_equal_scalar<std::ratio<0>>,
                           zp::less_scalar<std::ratio<1, 3>>, zp::less_equal_scalar<std::ratio<-1, 2>>,
                           zp::greater_scalar<std::ratio<1, 2>>, zp::greater_equal_scalar<std::ratio<1>>>> {};
/// x where it is above its mean, else a quarter of it; and a mask times x.
struct chosen : zp::model<zp::input<6, 5, 12>,
                          zp::where<zp::greater<identity, zp::adaptive_avg_pool2d<1>>, identity, zp::leaky_relu<250>>,
                          zp::mul<zp::greater_equal_scalar<std::ratio<0>>, identity>> {};

}  // namespace

TEST_CASE_TEMPLATE("convert: comparisons of two activations", Dtype, zp::quint8, zp::qint8) {
    operator_rows::check<of_two, operator_rows::config<Dtype>>(6, tested, real_result, code_result);
}

TEST_CASE("convert: comparisons of operands that spread, and with constants") {
    operator_rows::check<spreading, operator_rows::config<zp::qint8>>(4, tested, real_result, code_result);
    operator_rows::check<with_constants, operator_rows::config<zp::quint8>>(6, tested, real_result, code_result);
}

TEST_CASE("convert: a comparison is a condition and a mask") {
    using config = operator_rows::config<zp::qint8>;
    const zp::float_model<chosen> trained{};
    std::vector<std::vector<float>> inputs;
    for (std::uint64_t seed = 0; seed != 6; ++seed) inputs.push_back(operator_rows::normal(360, seed));
    const auto int8 = zp::convert(zp::calibrate(zp::prepare<config>(zp::fuse(trained)), inputs));
    for (const zp::node& row : int8.rows()) {
        const bool is_float = row.op->is_input || zp_test::is(row, zp::op::dequantize);
        CHECK(row.out.storage == (is_float ? zp::scalar_type::float32 : zp::scalar_type::int8));
    }
    double signal = 0, noise = 0;
    for (const auto& x : inputs) {
        std::vector<float> y(360), z(360);
        trained(x, y);
        int8(x, z);
        for (std::size_t c = 0; c != 12; ++c) {
            double mean = 0;
            for (std::size_t p = 0; p != 30; ++p) mean += double{x[p * 12 + c]} / 30;
            for (std::size_t i = c; i < 360; i += 12) {
                const double value = double{x[i]} > mean ? double{x[i]} : std::max(double{x[i]}, 0.25 * double{x[i]});
                CHECK(double{y[i]} == doctest::Approx(std::max(value, 0.0)).epsilon(1e-6));
                signal += double{y[i]} * double{y[i]};
                noise += std::pow(double{y[i]} - double{z[i]}, 2);
            }
        }
    }
    CHECK(10 * std::log10(signal / noise) > 30);
}
